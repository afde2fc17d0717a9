/* SPDX-License-Identifier: Apache-2.0 */
#include "core/snapshot.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "core/keyed.h"
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

static const struct ws_keyed sort = { .folder = FOLDER,
				      .noun = "snapshot",
				      .fields = fields,
				      .version = WS_SNAPSHOT_VERSION,
				      .max = MANIFEST_MAX };

void ws_snapshot_release(struct ws_snapshot *s)
{
	ws_json_release(fields, s);
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

int ws_snapshot_check_key(const char *key, struct ws_err *err)
{
	return ws_keyed_check(&sort, key, err);
}

/* 1, finished or only planned; 0: there is none. */
int ws_snapshot_read(const struct ws_root *root, const char *key, struct ws_snapshot *ret,
		     struct ws_err *err)
{
	WS_AUTO(ws_snapshot) struct ws_snapshot s = { 0 };
	int rc = ws_keyed_load(root, &sort, key, &s, err);

	if (rc <= 0)
		return rc;
	if (!names_are_sane(&s))
		return ws_keyed_damaged(&sort, key, "a bad name in it");
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
	return ws_keyed_save(root, &sort, s->key, s, !s->building, err);
}

/* ---- locks ---- */

int ws_snapshot_lock(const struct ws_root *root, const char *key, bool exclusive,
		     struct ws_err *err)
{
	return ws_keyed_lock(root, &sort, key, exclusive, LOCK_TIMEOUT_MS, err);
}

int ws_snapshot_try(const struct ws_root *root, const char *key, bool exclusive,
		    struct ws_err *err)
{
	return ws_keyed_lock(root, &sort, key, exclusive, 0, err);
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
	ws_keyed_touch(root, &sort, key);
}

uint64_t ws_snapshot_last_use(const struct ws_root *root, const struct ws_snapshot *s)
{
	return ws_keyed_last_use(root, &sort, s->key, s->created);
}

int ws_snapshot_list(const struct ws_root *root, struct ws_strv *ret, struct ws_err *err)
{
	return ws_keyed_list(root, &sort, ret, err);
}
