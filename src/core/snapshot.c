/* SPDX-License-Identifier: Apache-2.0 */
#include "core/snapshot.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "base/text.h"
#include "core/keylock.h"
#include "core/layer.h"

#define FOLDER "snapshots"
#define MANIFEST_MAX (1u << 20)
#define LOCK_TIMEOUT_MS 3600000

static const struct ws_json_field fields[] = {
	WS_FIELD(ws_snapshot, version, U64, true),
	WS_FIELD(ws_snapshot, building, BOOL, false),
	WS_FIELD(ws_snapshot, key, STRING, true),
	WS_FIELD(ws_snapshot, repo, STRING, false),
	WS_FIELD(ws_snapshot, name, STRING, false),
	WS_FIELD(ws_snapshot, vcs, STRING, false),
	WS_FIELD(ws_snapshot, revision, STRING, false),
	WS_FIELD(ws_snapshot, pool, STRING, false),
	WS_FIELD(ws_snapshot, family, STRING, false),
	WS_FIELD(ws_snapshot, layers, STRV, true),
	WS_FIELD(ws_snapshot, made, STRV, false),
	WS_FIELD(ws_snapshot, created, U64, false),
	{ 0 },
};

void ws_snapshot_release(struct ws_snapshot *s)
{
	ws_freep(&s->key);
	ws_freep(&s->repo);
	ws_freep(&s->name);
	ws_freep(&s->vcs);
	ws_freep(&s->revision);
	ws_freep(&s->pool);
	ws_freep(&s->family);
	ws_strv_release(&s->layers);
	ws_strv_release(&s->made);
}

/* A manifest can be made again, so one that is damaged is as good as none. */
static int damaged(const char *path, const char *why)
{
	ws_warn("'%s' is damaged (%s) and will be made anew", path, why);
	return 0;
}

static bool is_name(const char *s)
{
	return *s && *s != '.' && !strchr(s, '/');
}

static bool names_are_sane(const struct ws_snapshot *s)
{
	for (size_t i = 0; i < s->layers.n; i++)
		if (!is_name(s->layers.v[i]))
			return false;
	for (size_t i = 0; i < s->made.n; i++)
		if (!ws_strv_has(&s->layers, s->made.v[i]))
			return false;
	return !s->pool || is_name(s->pool);
}

/* 1, finished or only planned; 0: there is none. */
int ws_snapshot_read(const struct ws_root *root, const char *key, struct ws_snapshot *ret,
		     struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format(FOLDER "/%s.json", key);
	WS_AUTO(ws_snapshot) struct ws_snapshot s = { 0 };
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (ws_read_file(root->fd, path, MANIFEST_MAX, &text) < 0)
		return errno == ENOENT
			       ? 0
			       : ws_fail_errno(err, "read '%s/%s'", root->path, path);
	if (ws_json_parse(path, ws_buf_str(&text), text.len, &doc, err) < 0)
		return damaged(path, err->msg);
	if (ws_json_int(doc, "version", 0) > WS_SNAPSHOT_VERSION)
		return ws_fail(err, WS_STATE_VERSION,
			       "snapshot '%s' was made by a newer wsiso", key);
	if (ws_json_decode(doc, fields, &s, err) < 0)
		return damaged(path, err->msg);
	if (!names_are_sane(&s))
		return damaged(path, "a bad name in it");
	*ret = s;
	s = (struct ws_snapshot){ 0 };
	return 1;
}

int ws_snapshot_load(const struct ws_root *root, const char *key, struct ws_snapshot *ret,
		     struct ws_err *err)
{
	WS_AUTO(ws_snapshot) struct ws_snapshot s = { 0 };
	int rc = ws_snapshot_read(root, key, &s, err);

	if (rc <= 0)
		return rc;
	if (s.building || !s.layers.n)
		return 0;
	for (size_t i = 0; i < s.layers.n; i++)
		if (!ws_layer_exists(root, s.layers.v[i]))
			return 0;
	*ret = s;
	s = (struct ws_snapshot){ 0 };
	return 1;
}

int ws_snapshot_save(const struct ws_root *root, const struct ws_snapshot *s,
		     struct ws_err *err)
{
	WS_AUTO_CLOSE int dir = ws_root_dir(root, FOLDER, err);
	WS_AUTO_FREE char *name = ws_format("%s.json", s->key);
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_jsonw w;

	if (dir < 0)
		return -1;
	ws_jsonw_init(&w, &text, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_fields(&w, fields, s);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_write_atomic(dir, name, &text, !s->building, err);
}

/* ---- locks ---- */

static const struct ws_keylock locks = { .folder = FOLDER, .what = "the snapshot" };

int ws_snapshot_lock(const struct ws_root *root, const char *key, bool exclusive,
		     struct ws_err *err)
{
	return ws_keylock_take(root, &locks, key, exclusive, LOCK_TIMEOUT_MS, err);
}

int ws_snapshot_try(const struct ws_root *root, const char *key, bool exclusive,
		    struct ws_err *err)
{
	return ws_keylock_take(root, &locks, key, exclusive, 0, err);
}

/* ---- what goes ---- */

int ws_snapshot_clear(const struct ws_root *root, const char *key, struct ws_err *err)
{
	WS_AUTO(ws_snapshot) struct ws_snapshot s = WS_SNAPSHOT_INIT;
	int rc = ws_snapshot_read(root, key, &s, err);
	const struct ws_strv *made;

	/* what a finished one lists may be in a session's stack: not ours to remove */
	if (rc <= 0 || !s.building)
		return rc < 0 ? -1 : 0;
	/* an older plan has only its own layers */
	made = s.made.n ? &s.made : &s.layers;
	for (size_t i = 0; i < made->n; i++)
		if (ws_layer_discard(root, made->v[i], err) < 0)
			return -1;
	return 0;
}

int ws_snapshot_forget(const struct ws_root *root, const char *key, struct ws_err *err)
{
	WS_AUTO_CLOSE int dir = ws_root_dir(root, FOLDER, err);
	WS_AUTO_FREE char *manifest = ws_format("%s.json", key);
	WS_AUTO_FREE char *lock = ws_format("%s.lock", key);

	if (dir < 0)
		return -1;
	if (unlinkat(dir, manifest, 0) < 0 && errno != ENOENT)
		return ws_fail_errno(err, "remove snapshot '%s'", key);
	if (unlinkat(dir, lock, 0) < 0 && errno != ENOENT)
		return ws_fail_errno(err, "remove the lock of snapshot '%s'", key);
	return 0;
}

/* ---- use ---- */

void ws_snapshot_touch(const struct ws_root *root, const char *key)
{
	ws_keylock_touch(root, &locks, key);
}

void ws_snapshot_let_go(int *hold)
{
	ws_keylock_let_go(hold);
}

uint64_t ws_snapshot_last_use(const struct ws_root *root, const struct ws_snapshot *s)
{
	uint64_t used = ws_keylock_last_use(root, &locks, s->key);

	return used ? used : s->created;
}

int ws_snapshot_list(const struct ws_root *root, struct ws_strv *ret, struct ws_err *err)
{
	int fd = ws_root_dir(root, FOLDER, err);
	const struct dirent *e;
	DIR *d;

	if (fd < 0)
		return -1;
	d = fdopendir(fd);
	if (!d) {
		ws_fail_errno(err, "read '%s/" FOLDER "'", root->path);
		ws_closep(&fd);
		return -1;
	}
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && ws_text_ends(e->d_name, ".json"))
			ws_strv_take(ret, ws_strndup(e->d_name, strlen(e->d_name) - 5));
	closedir(d);
	ws_strv_sort(ret);
	return 0;
}
