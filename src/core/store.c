/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"

#define STALE_S 3600 /* a file is written in a moment */
#define REPAIR_HINT "wsiso check --store --repair"

static const struct {
	const char *id;
	const char *nouns; /* what it counts; NULL: the detail is its own */
} rows[WS_STORE_ROWS] = {
	[WS_STORE_SPACE] = { "space", NULL },
	[WS_STORE_LINKS] = { "links", "entries of the state folder" },
	[WS_STORE_LEFTOVERS] = { "leftovers", "leftovers" },
	[WS_STORE_SESSIONS] = { "sessions", "records of sessions" },
	[WS_STORE_STACKS] = { "stacks", "stacks of layers" },
	[WS_STORE_FOLDERS] = { "folders", "folders of sessions" },
	[WS_STORE_SNAPSHOTS] = { "snapshots", "manifests of snapshots" },
	[WS_STORE_SETUPS] = { "setups", "records of setups" },
	[WS_STORE_LAYERS] = { "layers", "layers" },
	[WS_STORE_HOMES] = { "homes", "shared HOMEs" },
	[WS_STORE_POOLS] = { "pools", "object pools" },
};

static const char *const status_names[] = {
	[WS_STORE_OK] = "ok",
	[WS_STORE_WARNING] = "warning",
	[WS_STORE_REPAIRED] = "repaired",
	[WS_STORE_FAILED] = "failed",
};

const char *ws_store_status_name(enum ws_store_status status)
{
	return status_names[status];
}

void ws_store_report_release(struct ws_store_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		ws_freep(&r->v[i].subject);
		ws_freep(&r->v[i].detail);
		ws_freep(&r->v[i].remedy);
	}
	ws_freep(&r->v);
}

static void run_release(struct ws_store_run *run)
{
	ws_strv_release(&run->layers);
	ws_strv_release(&run->homes);
	ws_refs_release(&run->named_layers);
	ws_refs_release(&run->named_homes);
	ws_refs_release(&run->named_pools);
}

/* ---- items ---- */

/* Owns DETAIL from now on. */
static void add(struct ws_store_run *run, enum ws_store_row row,
		enum ws_store_status status, const char *subject, const char *remedy,
		char *detail)
{
	struct ws_store_report *r = run->report;

	r->v = ws_grow(r->v, r->n + 1, sizeof(*r->v));
	r->v[r->n++] = (struct ws_store_item){ .id = rows[row].id,
					       .subject = ws_strdup(subject),
					       .status = status,
					       .detail = detail,
					       .remedy = ws_strdup(remedy) };
	run->found[row]++;
	if (status == WS_STORE_FAILED)
		r->sound = false;
}

void ws_store_note(struct ws_store_run *run, enum ws_store_row row,
		   enum ws_store_status status, const char *subject, const char *remedy,
		   const char *detail, ...)
{
	va_list ap;

	va_start(ap, detail);
	add(run, row, status, subject, remedy, ws_vformat(detail, ap));
	va_end(ap);
}

void ws_store_note_repair(struct ws_store_run *run, enum ws_store_row row,
			  enum ws_store_status otherwise, const char *subject, int rc,
			  const char *detail)
{
	int saved = errno;

	if (rc == 0)
		add(run, row, WS_STORE_REPAIRED, subject, NULL, ws_strdup(detail));
	else if (rc > 0)
		add(run, row, otherwise, subject, REPAIR_HINT, ws_strdup(detail));
	else
		add(run, row, otherwise, subject, REPAIR_HINT " where it can be written",
		    ws_format("%s; it could not be repaired: %s", detail,
			      strerror(saved)));
}

/* A row in which all is well has one item. */
static void add_what_is_well(struct ws_store_run *run)
{
	for (size_t row = 0; row < WS_STORE_ROWS; row++)
		if (!run->found[row] && rows[row].nouns)
			add(run, row, WS_STORE_OK, NULL, NULL,
			    ws_format("%zu %s", run->seen[row], rows[row].nouns));
}

/* ---- the folder itself ---- */

static void check_space(struct ws_store_run *run, const struct ws_spec *spec)
{
	double wanted = spec->snapshots.min_free_gb * 1e9;
	uint64_t left = 0;
	char type[32];

	if (ws_fs_free(run->root->fd, &left) < 0)
		ws_store_note(run, WS_STORE_SPACE, WS_STORE_FAILED, NULL,
			      "look at the filesystem there", "cannot be told: %s",
			      strerror(errno));
	else if (left < WS_ROOT_LEAST_FREE)
		ws_store_note(run, WS_STORE_SPACE, WS_STORE_FAILED, NULL,
			      "make room there, or delete sessions",
			      "%llu MiB are free: create refuses",
			      (unsigned long long)(left >> 20));
	else
		ws_store_note(run, WS_STORE_SPACE,
			      (double)left < wanted ? WS_STORE_WARNING : WS_STORE_OK,
			      NULL,
			      (double)left < wanted ? "wsiso gc, or make room there"
						    : NULL,
			      "%.1f GB are free on %s", (double)left / 1e9,
			      ws_fs_type(run->root->fd, type));
}

static bool is_link(const struct ws_store_run *run, const char *name)
{
	struct stat st;

	return fstatat(run->root->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISLNK(st.st_mode);
}

/* Nothing of wsiso's is a link, and none is followed. */
static int check_links(struct ws_store_run *run, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;

	if (ws_dir_list(run->root->fd, ".", &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		run->seen[WS_STORE_LINKS]++;
		if (is_link(run, names.v[i]))
			ws_store_note(
				run, WS_STORE_LINKS, WS_STORE_FAILED, names.v[i],
				"put what it leads to in its place, or bind it there",
				"a link, which wsiso does not follow");
	}
	return 0;
}

void ws_store_list(struct ws_store_run *run, const char *folder, struct ws_strv *ret)
{
	struct ws_err err = WS_ERR_INIT;

	if (ws_dir_list(run->root->fd, folder, ret, &err) == 0) {
		ws_strv_sort(ret);
		return;
	}
	run->unsure = true;
	if (!is_link(run, folder)) /* that was told */
		ws_store_note(run, WS_STORE_LINKS, WS_STORE_FAILED, folder,
			      "look at that folder", "%s", err.msg);
}

/* ---- leftovers ---- */

static void check_swept(struct ws_store_run *run)
{
	struct ws_root_swept swept = { .look_only = true };
	struct stat st;

	ws_root_sweep(run->root, &swept);
	if (run->repair && swept.names.n)
		ws_root_sweep(run->root, NULL);
	for (size_t i = 0; i < swept.names.n; i++) {
		bool there = fstatat(run->root->fd, swept.names.v[i], &st,
				     AT_SYMLINK_NOFOLLOW) == 0;

		errno = EROFS; /* a sweep has warned of what it was */
		ws_store_note_repair(run, WS_STORE_LEFTOVERS, WS_STORE_WARNING,
				     swept.names.v[i],
				     !run->repair ? 1
				     : there	  ? -1
						  : 0,
				     "whoever made or deleted it is gone");
	}
	ws_strv_release(&swept.names);
}

/* Of a record that was never renamed into its place. */
static void check_unnamed(struct ws_store_run *run, const char *folder)
{
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;
	struct ws_err ignored = WS_ERR_INIT;
	WS_AUTO_CLOSE int dir = ws_open_dir(run->root->fd, folder);
	struct stat st;

	if (dir < 0 || ws_dir_list(dir, ".", &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		WS_AUTO_FREE char *path = ws_format("%s/%s", folder, names.v[i]);

		if (!ws_text_starts(names.v[i], WS_TMP_PREFIX) ||
		    fstatat(dir, names.v[i], &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode) || st.st_ctim.tv_sec > time(NULL) - STALE_S)
			continue;
		ws_store_note_repair(run, WS_STORE_LEFTOVERS, WS_STORE_WARNING, path,
				     run->repair ? unlinkat(dir, names.v[i], 0) : 1,
				     "a record whose writer died");
	}
}

static void check_leftovers(struct ws_store_run *run)
{
	WS_AUTO(ws_strv) struct ws_strv ids = WS_STRV_INIT;

	check_swept(run);
	check_unnamed(run, ".");
	check_unnamed(run, "snapshots");
	check_unnamed(run, "setups");
	ws_store_list(run, "sessions", &ids);
	for (size_t i = 0; i < ids.n; i++) {
		WS_AUTO_FREE char *path = ws_format("sessions/%s", ids.v[i]);

		check_unnamed(run, path);
	}
}

int ws_store_check(const struct ws_root *root, bool repair, struct ws_store_report *ret,
		   struct ws_err *err)
{
	__attribute__((cleanup(run_release))) struct ws_store_run run = {
		.root = root, .repair = repair, .report = ret
	};
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };

	if (ws_root_spec(root, NULL, NULL, false, &spec, err) < 0)
		return -1;
	check_space(&run, &spec);
	if (check_links(&run, err) < 0)
		return -1;
	check_leftovers(&run);
	ws_store_list(&run, "layers", &run.layers);
	ws_store_list(&run, "homes", &run.homes);
	ws_store_records(&run);
	ws_store_sessions(&run);
	ws_refs_settle(&run.named_layers);
	ws_refs_settle(&run.named_homes);
	ws_refs_settle(&run.named_pools);
	ws_store_shared(&run);
	add_what_is_well(&run);
	return 0;
}
