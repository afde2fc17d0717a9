/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/lock.h"
#include "base/text.h"
#include "core/keyed.h"
#include "core/layer.h"
#include "core/setup.h"
#include "core/snapshot.h"
#include "core/store_run.h"
#include "core/vcs_git.h"

/* ---- what is kept for a key ---- */

struct sort {
	enum ws_store_row row;
	const char *folder;
	/* exclusively, without waiting */
	int (*lock)(const struct ws_root *root, const char *key, struct ws_err *err);
};

static int lock_snapshot(const struct ws_root *root, const char *key, struct ws_err *err)
{
	return ws_snapshot_try(root, key, true, err);
}

static int lock_setup(const struct ws_root *root, const char *key, struct ws_err *err)
{
	return ws_setup_lock(root, key, true, 0, err);
}

static const struct sort snapshots = { WS_STORE_SNAPSHOTS, "snapshots", lock_snapshot };
static const struct sort setups = { WS_STORE_SETUPS, "setups", lock_setup };

static void note_lost(struct ws_store_run *run, const struct sort *sort, const char *key,
		      const char *why)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s.json", sort->folder, key);

	ws_store_note(run, sort->row, WS_STORE_WARNING, path, "wsiso gc", "%s", why);
}

/*
 * A record that cannot be read is as good as none: what it was for is made anew. Nobody
 * makes or takes it while the lock is held.
 */
static void note_damaged(struct ws_store_run *run, const struct sort *sort,
			 const char *key, const char *path)
{
	struct ws_err ignored = WS_ERR_INIT;
	WS_AUTO_CLOSE int held = run->repair ? sort->lock(run->root, key, &ignored) : -1;
	int rc = 1;

	if (run->repair) {
		rc = held < 0 ? -1 : unlinkat(run->root->fd, path, 0);
		if (held < 0)
			errno = EWOULDBLOCK;
	}
	ws_store_note_repair(run, sort->row, WS_STORE_FAILED, path, rc,
			     "it is damaged, and as good as none");
}

/* RC and ERR: what came of reading it. Is there anything to look at? */
static bool is_read(struct ws_store_run *run, const struct sort *sort, const char *key,
		    int rc, const struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s.json", sort->folder, key);

	run->seen[sort->row]++;
	if (rc < 0) {
		run->unsure = true;
		ws_store_note(run, sort->row, WS_STORE_FAILED, path,
			      err->kind == WS_STATE_VERSION ? "use the wsiso that made it"
							    : "look at that file",
			      "%s", err->msg);
	} else if (rc == 0 &&
		   faccessat(run->root->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		note_damaged(run, sort, key, path);
	}
	return rc > 0;
}

/* Does somebody make, or remove, it right now? */
static bool is_busy(const struct ws_store_run *run, const struct sort *sort,
		    const char *key)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s.lock", sort->folder, key);
	WS_AUTO_CLOSE int fd = ws_open_beneath(run->root->fd, path, O_RDONLY, 0);

	return fd >= 0 && ws_lock_try(fd, false) < 0;
}

static void check_snapshot(struct ws_store_run *run, const char *key)
{
	WS_AUTO(ws_snapshot) struct ws_snapshot s = WS_SNAPSHOT_INIT;
	struct ws_err err = WS_ERR_INIT;
	int rc = ws_snapshot_read(run->root, key, &s, &err);

	if (!is_read(run, &snapshots, key, rc, &err))
		return;
	for (size_t i = 0; i < s.layers.n; i++)
		ws_refs_add(&run->named_layers, s.layers.v[i]);
	if (s.pool)
		ws_refs_add(&run->named_pools, s.pool);
	if (is_busy(run, &snapshots, key))
		return;
	for (size_t i = 0; i < s.layers.n; i++)
		if (!s.building && !ws_layer_exists(run->root, s.layers.v[i])) {
			note_lost(run, &snapshots, key,
				  "a layer of it is gone: it is made anew when it is "
				  "asked for");
			return;
		}
	if (s.building)
		note_lost(run, &snapshots, key, "whoever built it is gone");
}

static void check_setup(struct ws_store_run *run, const char *key)
{
	WS_AUTO(ws_setup) struct ws_setup s = WS_SETUP_INIT;
	struct ws_err err = WS_ERR_INIT;
	int rc = ws_setup_load(run->root, key, &s, &err);

	if (!is_read(run, &setups, key, rc, &err))
		return;
	if (s.layer)
		ws_refs_add(&run->named_layers, s.layer);
	if (ws_setup_has_failed(&s) || is_busy(run, &setups, key))
		return;
	if (!strcmp(s.state, "running"))
		note_lost(run, &setups, key, "whoever made it is gone");
	else if (!ws_setup_is_done(run->root, &s))
		note_lost(run, &setups, key,
			  "its layer is gone: it is made anew when it is asked for");
}

/* Each KEY.json of the folder. */
static void check_keys(struct ws_store_run *run, const char *folder,
		       void (*check)(struct ws_store_run *run, const char *key))
{
	WS_AUTO(ws_strv) struct ws_strv files = WS_STRV_INIT;

	ws_store_list(run, folder, &files);
	for (size_t i = 0; i < files.n; i++)
		if (files.v[i][0] != '.' && ws_text_ends(files.v[i], ".json")) {
			files.v[i][strlen(files.v[i]) - strlen(".json")] = '\0';
			check(run, files.v[i]);
		}
}

void ws_store_records(struct ws_store_run *run)
{
	check_keys(run, snapshots.folder, check_snapshot);
	check_keys(run, setups.folder, check_setup);
}

/* ---- layers ---- */

/* Where git finds a base's objects: the pool, at the place that it has inside. */
static const char *fault_of_index(const struct ws_store_run *run, const char *name,
				  const struct ws_layer_meta *meta)
{
	WS_AUTO_FREE char *path =
		ws_format("layers/%s/root/%s/.git/objects/info/alternates", name,
			  meta->repo);
	WS_AUTO_FREE char *want = ws_git_alternates(meta->repo);
	WS_AUTO(ws_buf) struct ws_buf have = WS_BUF_INIT;

	return ws_read_file(run->root->fd, path, strlen(want), &have) == 0 &&
			       !strcmp(ws_buf_str(&have), want)
		       ? NULL
		       : "its git does not know where the objects are";
}

static const char *fault_of(const struct ws_store_run *run, const char *name,
			    const struct ws_layer_meta *meta)
{
	WS_AUTO_FREE char *root = ws_format("layers/%s/root", name);
	struct stat st;

	if (fstatat(run->root->fd, root, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return "it has no folder of files";
	if (st.st_uid != geteuid())
		return "it belongs to another user";
	if (ws_text_starts(name, "index-") && meta->repo)
		return fault_of_index(run, name, meta);
	return NULL;
}

static void check_layer(struct ws_store_run *run, const char *name)
{
	WS_AUTO(ws_layer_meta) struct ws_layer_meta meta = { 0 };
	bool named = ws_refs_count(&run->named_layers, name) > 0;
	WS_AUTO_FREE char *subject = ws_format("layers/%s", name);
	struct ws_err err = WS_ERR_INIT;
	const char *fault = NULL;
	struct stat st;

	if (fstatat(run->root->fd, subject, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return; /* it has just gone */
	run->seen[WS_STORE_LAYERS]++;
	if (ws_layer_load(run->root, name, &meta, &err) < 0)
		fault = err.kind == WS_BASE_MISSING ? "it has no meta.json" : err.msg;
	else
		fault = fault_of(run, name, &meta);
	if (fault)
		ws_store_note(
			run, WS_STORE_LAYERS, named ? WS_STORE_FAILED : WS_STORE_WARNING,
			subject,
			named ? "delete the sessions that stand on it, then wsiso gc"
			      : "remove it",
			"%s", fault);
	else if (!named && !run->unsure)
		ws_store_note(run, WS_STORE_LAYERS, WS_STORE_WARNING, subject, "wsiso gc",
			      "nobody has it");
}

/* ---- HOMEs and pools ---- */

static void check_home(struct ws_store_run *run, const char *name)
{
	WS_AUTO_FREE char *subject = ws_format("homes/%s", name);

	run->seen[WS_STORE_HOMES]++;
	if (!run->unsure && !ws_refs_count(&run->named_homes, name))
		ws_store_note(run, WS_STORE_HOMES, WS_STORE_WARNING, subject, "wsiso gc",
			      "nobody has it");
}

/* A pool that nobody has waits for gc; one that is not there is lost. */
static void check_pool(struct ws_store_run *run, const char *name)
{
	WS_AUTO_FREE char *subject = ws_format("pools/%s", name);
	WS_AUTO_FREE char *objects = ws_format("%s/objects", subject);
	WS_AUTO_CLOSE int dir = ws_open_dir(run->root->fd, objects);

	run->seen[WS_STORE_POOLS]++;
	if (dir < 0)
		ws_store_note(
			run, WS_STORE_POOLS, WS_STORE_FAILED, subject,
			"create a session at that repository again: it fills the pool",
			"it has no objects: git inside cannot read history");
}

void ws_store_shared(struct ws_store_run *run)
{
	for (size_t i = 0; i < run->layers.n; i++)
		check_layer(run, run->layers.v[i]);
	for (size_t i = 0; i < run->homes.n; i++)
		check_home(run, run->homes.v[i]);
	for (size_t i = 0; i < run->named_pools.n; i++)
		check_pool(run, run->named_pools.v[i].name);
}
