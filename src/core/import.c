/* SPDX-License-Identifier: Apache-2.0 */
#include "core/import.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/sync.h"
#include "base/text.h"
#include "core/layer.h"
#include "core/unpack.h"

#define PREFIX_MAX (sizeof(WS_SESSION_ARCHIVE_OBJECTS) + NAME_MAX + 2)
/* As wsiso-git makes a pool (git_pool.c). */
#define POOL_HEAD "ref: refs/heads/none\n"
#define POOL_CONFIG \
	"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"

/* Of the session, by the names that they have in it. */
enum { UPPER, HOME };
static const char *const folders[] = { [UPPER] = "upper", [HOME] = "home" };

void ws_import_release(struct ws_import *im)
{
	ws_archive_release(&im->archive);
	ws_entry_release(&im->next);
	ws_session_archive_release(&im->about);
	ws_json_free(im->spec);
	im->spec = NULL;
	if (im->base.fd >= 0 && im->base.name[0])
		ws_scratch_discard(im->root, im->base.name);
	if (im->rest.fd >= 0 && im->rest.name[0])
		ws_scratch_discard(im->root, im->rest.name);
	ws_closep(&im->base.fd);
	ws_closep(&im->rest.fd);
}

/* ---- what it is ---- */

static int fail_archive(struct ws_err *err)
{
	ws_fail_within(err, "the archive");
	if (err->kind == WS_DISK_FULL)
		return ws_hint(err, "make room there, or lower snapshots.min_free_gb");
	if (err->kind != WS_STATE_CORRUPT)
		return -1;
	return ws_hint(err, "take what wsiso export --format session wrote, unchanged");
}

static bool is_named(const struct ws_import *im, const char *path)
{
	return im->next.type != WS_ENTRY_END && !strcmp(ws_buf_str(&im->next.path), path);
}

/* The file PATH, which must be the next, to RET. */
static int take_text(struct ws_import *im, const char *path, struct ws_buf *ret,
		     struct ws_err *err)
{
	if (!is_named(im, path))
		return ws_fail(err, WS_STATE_CORRUPT, "there is no '%s' where it must be",
			       path);
	if (ws_unpack_text(&im->archive, &im->next, WS_JSON_MAX_SIZE, ret, err) < 0)
		return -1;
	return ws_archive_take(&im->archive, &im->next, err);
}

static int read_about(struct ws_import *im, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf manifest = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf spec = WS_BUF_INIT;

	if (ws_archive_take(&im->archive, &im->next, err) < 0 ||
	    take_text(im, WS_SESSION_ARCHIVE_MANIFEST, &manifest, err) < 0 ||
	    ws_session_archive_parse(&manifest, &im->about, err) < 0 ||
	    take_text(im, WS_SESSION_ARCHIVE_SPEC, &spec, err) < 0)
		return -1;
	if (ws_json_parse(WS_SESSION_ARCHIVE_SPEC, ws_buf_str(&spec), spec.len, &im->spec,
			  err) == 0 &&
	    im->spec->type == WS_JSON_OBJECT)
		return 0;
	return ws_fail(err, WS_STATE_CORRUPT, "its spec cannot be read");
}

int ws_import_open(const struct ws_root *root, const char *file, struct ws_import *ret,
		   struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = strcmp(file, "-") == 0
				       ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				       : open(file, O_RDONLY | O_NOCTTY | O_CLOEXEC);

	ret->root = root;
	if (fd < 0)
		return ws_fail_errno(err, "read '%s'", file);
	if (ws_archive_read(fd, &ret->archive, err) < 0)
		return -1;
	return read_about(ret, err) < 0 ? fail_archive(err) : 0;
}

/* ---- its trees ---- */

/*
 * Of what is kept free nobody's archive takes anything; where there is less already,
 * create has warned, and the least of all counts.
 */
static int measure_room(struct ws_import *im, const struct ws_spec *spec,
			struct ws_err *err)
{
	uint64_t left, kept = (uint64_t)(spec->snapshots.min_free_gb * 1e9);

	if (ws_fs_free(im->root->fd, &left) < 0)
		return ws_fail_errno(err, "look for free space in '%s'", im->root->path);
	im->room = WS_ROOM_INIT;
	im->room.fd = im->root->fd;
	im->room.floor =
		kept > WS_ROOT_LEAST_FREE && left >= kept ? kept : WS_ROOT_LEAST_FREE;
	return 0;
}

static int take_tree(struct ws_import *im, struct ws_unpack u, struct ws_err *err)
{
	u.archive = &im->archive;
	u.room = &im->room;
	if (!is_named(im, u.prefix))
		return ws_fail(err, WS_STATE_CORRUPT, "there is no '%s' where it must be",
			       u.prefix);
	return ws_unpack_tree(&u, &im->next, err);
}

static void name_pool(const struct ws_archived_repo *r, char ret[PREFIX_MAX])
{
	snprintf(ret, PREFIX_MAX, "pool-%.200s", r->name);
}

/* A pool is a repository, too: what the archive may not say of it is said here. */
static int finish_pool(int dir, const char *name, struct ws_err *err)
{
	static const char *const inside[] = { "objects/info", "objects/pack",
					      "refs/heads", "refs/tags" };
	WS_AUTO_CLOSE int pool = ws_open_dir(dir, name);
	WS_AUTO(ws_buf) struct ws_buf head = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf config = WS_BUF_INIT;

	if (pool < 0 || fchmod(pool, 0755) < 0)
		return ws_fail_errno(err, "open an object pool");
	for (size_t i = 0; i < WS_ARRAY_SIZE(inside); i++)
		if (ws_mkdirs(pool, inside[i], 0755) < 0)
			return ws_fail_errno(err, "make '%s' of a pool", inside[i]);
	ws_buf_addstr(&head, POOL_HEAD);
	ws_buf_addstr(&config, POOL_CONFIG);
	if (ws_write_atomic(pool, "HEAD", &head, false, err) < 0)
		return -1;
	return ws_write_atomic(pool, "config", &config, false, err);
}

static int take_pool(struct ws_import *im, const struct ws_archived_repo *r,
		     struct ws_err *err)
{
	char prefix[PREFIX_MAX], name[PREFIX_MAX];
	const struct ws_unpack pool = { .prefix = prefix,
					.to = im->rest.fd,
					.name = name,
					.wanted = ws_session_archive_pool_has };

	snprintf(prefix, sizeof(prefix), WS_SESSION_ARCHIVE_OBJECTS "/%.200s", r->name);
	name_pool(r, name);
	if (take_tree(im, pool, err) < 0)
		return -1;
	return finish_pool(im->rest.fd, name, err);
}

static int take_all(struct ws_import *im, struct ws_err *err)
{
	const struct ws_unpack trees[] = {
		{ .prefix = WS_SESSION_ARCHIVE_BASE, .to = im->base.fd, .name = "root" },
		{ .prefix = WS_SESSION_ARCHIVE_CHANGES,
		  .to = im->rest.fd,
		  .name = folders[UPPER],
		  .marks = true,
		  .ret_mode = &im->modes[UPPER] },
		{ .prefix = WS_SESSION_ARCHIVE_HOME,
		  .to = im->rest.fd,
		  .name = folders[HOME],
		  .ret_mode = &im->modes[HOME] },
	};
	WS_AUTO(ws_buf) struct ws_buf nothing = WS_BUF_INIT;

	for (size_t i = 0; i < WS_ARRAY_SIZE(trees); i++)
		if (take_tree(im, trees[i], err) < 0)
			return -1;
	for (size_t i = 0; i < im->about.nrepos; i++)
		if (im->about.repos[i].objects &&
		    take_pool(im, &im->about.repos[i], err) < 0)
			return -1;
	if (take_text(im, WS_SESSION_ARCHIVE_END, &nothing, err) < 0)
		return -1;
	if (nothing.len || im->next.type != WS_ENTRY_END)
		return ws_fail(err, WS_STATE_CORRUPT, "there is more behind its end");
	return ws_archive_end(&im->archive, err);
}

int ws_import_unpack(struct ws_import *im, const struct ws_spec *spec, struct ws_err *err)
{
	if (measure_room(im, spec, err) < 0 ||
	    ws_root_scratch(im->root, "import", im->base.name, &im->base.fd, err) < 0 ||
	    ws_root_scratch(im->root, "import", im->rest.name, &im->rest.fd, err) < 0)
		return -1;
	if (take_all(im, err) < 0)
		return fail_archive(err);
	if (ws_sync_tree(im->base.fd) < 0 || ws_sync_tree(im->rest.fd) < 0)
		return ws_fail_errno(err, "sync what was unpacked");
	return 0;
}

/* ---- its place ---- */

static int publish_base(struct ws_import *im, struct ws_session *s, struct ws_err *err)
{
	const struct ws_layer_meta meta = { .version = WS_LAYER_VERSION,
					    .kind = (char[]){ "base" },
					    .created = ws_clock_wall_ns() };
	char name[WS_LAYER_NAME_MAX];

	ws_layer_private_name(WS_LAYER_OWN, s->id, name);
	if (ws_layer_publish(im->root, im->base.name, name, &meta, NULL, err) < 0)
		return -1;
	im->base.name[0] = '\0';
	ws_strv_push(&s->stack, name);
	return 0;
}

/* Nobody shares it, and no create finds it: its name is no repository's. */
static int publish_pool(const struct ws_import *im, const struct ws_archived_repo *r,
			char **ret, struct ws_err *err)
{
	WS_AUTO_CLOSE int pools = ws_root_dir(im->root, "pools", err);
	char name[PREFIX_MAX], random[33];
	WS_AUTO_FREE char *to = NULL;

	if (pools < 0)
		return -1;
	name_pool(r, name);
	ws_text_random(random, 16);
	to = ws_format("%s.git", random);
	if (utimensat(im->rest.fd, name, NULL, AT_SYMLINK_NOFOLLOW) < 0 ||
	    renameat2(im->rest.fd, name, pools, to, RENAME_NOREPLACE) < 0 ||
	    fsync(pools) < 0)
		return ws_fail_errno(err, "keep the objects of repo '%s'", r->name);
	*ret = ws_steal_ptr(&to);
	return 0;
}

char *ws_import_path(const char *name)
{
	return ws_format("/dev/null/%s", name);
}

static int take_repos(const struct ws_import *im, struct ws_session *s,
		      struct ws_err *err)
{
	s->repos = ws_alloc((im->about.nrepos + 1) * sizeof(*s->repos));
	for (size_t i = 0; i < im->about.nrepos; i++) {
		const struct ws_archived_repo *r = &im->about.repos[i];
		struct ws_session_repo *to = &s->repos[s->nrepos++];

		*to = (struct ws_session_repo){ .name = ws_strdup(r->name),
						.path = ws_import_path(r->name),
						.vcs = ws_strdup(r->vcs),
						.revision = ws_strdup(r->revision),
						.branch = ws_strdup(r->branch) };
		if (r->objects && publish_pool(im, r, &to->pool, err) < 0)
			return -1;
	}
	return 0;
}

/* It can be moved as long as its owner may write to it, and gets its mode then. */
static int put(const struct ws_import *im, const struct ws_session *s, size_t which,
	       struct ws_err *err)
{
	const char *name = folders[which];
	WS_AUTO_CLOSE int fd = ws_open_dir(im->rest.fd, name);

	if (fd >= 0 && renameat(im->rest.fd, name, s->dir, name) == 0 &&
	    fchmod(fd, im->modes[which]) == 0)
		return 0;
	return ws_fail_errno(err, "put '%s/%s' in its place", s->path, name);
}

/* The pools come last: no record names them yet. */
int ws_import_take(struct ws_import *im, struct ws_session *s, struct ws_err *err)
{
	if (publish_base(im, s, err) < 0)
		return -1;
	for (size_t i = 0; i < WS_ARRAY_SIZE(folders); i++)
		if (put(im, s, i, err) < 0)
			return -1;
	return take_repos(im, s, err);
}

void ws_import_undo(const struct ws_import *im, const struct ws_session *s)
{
	struct ws_err err = WS_ERR_INIT;
	WS_AUTO_CLOSE int pools = ws_root_dir(im->root, "pools", &err);

	for (size_t i = 0; pools >= 0 && i < s->nrepos; i++)
		if (s->repos[i].pool &&
		    ws_root_discard(im->root, pools, s->repos[i].pool, &err) < 0)
			ws_warn("%s", err.msg);
}
