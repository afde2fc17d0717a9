/* SPDX-License-Identifier: Apache-2.0 */
#include "core/snapshot.h"

#include <string.h>

#include "base/fs.h"
#include "base/jsonw.h"
#include "base/lock.h"
#include "base/log.h"
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
	WS_FIELD(ws_snapshot, pool, STRING, true),
	WS_FIELD(ws_snapshot, layers, STRV, true),
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
	ws_strv_release(&s->layers);
}

/* A manifest can be made again, so one that is damaged is as good as none. */
static int damaged(const char *path, const char *why)
{
	ws_warn("'%s' is damaged (%s) and will be made anew", path, why);
	return 0;
}

static bool names_are_sane(const struct ws_snapshot *s)
{
	for (size_t i = 0; i < s->layers.n; i++)
		if (s->layers.v[i][0] == '.' || !s->layers.v[i][0] ||
		    strchr(s->layers.v[i], '/'))
			return false;
	return s->pool[0] != '.' && !strchr(s->pool, '/');
}

/* 1, finished or only planned; 0: there is none. */
static int read_manifest(const struct ws_root *root, const char *key,
			 struct ws_snapshot *ret, struct ws_err *err)
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
	int rc = read_manifest(root, key, &s, err);

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

int ws_snapshot_lock(const struct ws_root *root, const char *key, struct ws_err *err)
{
	WS_AUTO_CLOSE int dir = ws_root_dir(root, FOLDER, err);
	WS_AUTO_FREE char *name = ws_format("%s.lock", key);
	WS_AUTO_CLOSE int fd = dir < 0 ? -1 : ws_lock_open(dir, name);

	if (dir < 0)
		return -1;
	if (fd < 0)
		return ws_fail_errno(err, "open the lock of snapshot '%s'", key);
	if (ws_lock_wait(fd, true, LOCK_TIMEOUT_MS, "the snapshot", err) < 0)
		return -1;
	return ws_steal_fd(&fd);
}

int ws_snapshot_clear(const struct ws_root *root, const char *key, struct ws_err *err)
{
	WS_AUTO(ws_snapshot) struct ws_snapshot s = { 0 };
	int rc = read_manifest(root, key, &s, err);

	/* what a finished one lists may be in a session's stack: not ours to remove */
	if (rc <= 0 || !s.building)
		return rc < 0 ? -1 : 0;
	for (size_t i = 0; i < s.layers.n; i++)
		if (ws_layer_discard(root, s.layers.v[i], err) < 0)
			return -1;
	return 0;
}
