/* SPDX-License-Identifier: Apache-2.0 */
#include "core/snapshot_make.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/sync.h"
#include "base/text.h"
#include "core/layer.h"

#define TRIES 8

const struct ws_layer_sort WS_LAYER_BASE = { "base", "base" };
const struct ws_layer_sort WS_LAYER_DELTA = { "delta", "delta" };
const struct ws_layer_sort WS_LAYER_INDEX = { "index", "git" };

/* The layers on their way. */
struct build {
	const struct ws_root *root;
	struct ws_snapshot_maker *m;
	struct ws_snapshot *s;
	const char *id; /* whose own they are to be, or NULL */
	struct ws_scratch layers[WS_MAKER_LAYERS];
	size_t n;
	int lock; /* of the snapshot, or -1 */
};

static void build_release(struct build *b)
{
	for (size_t i = 0; i < WS_MAKER_LAYERS; i++)
		ws_closep(&b->layers[i].fd);
}

void ws_scratch_discard(const struct ws_root *root, const char *name)
{
	struct ws_err ignored = WS_ERR_INIT;
	WS_AUTO_CLOSE int tmp = ws_root_dir(root, "tmp", &ignored);

	if (tmp >= 0 && *name)
		ws_root_discard(root, tmp, name, &ignored);
}

static void name_layers(struct build *b)
{
	char random[17], name[WS_LAYER_NAME_MAX];

	ws_text_random(random, 8);
	for (; b->n < WS_MAKER_LAYERS && b->m->sorts[b->n]; b->n++) {
		if (b->id) {
			ws_layer_private_name(WS_LAYER_OWN, b->id, name);
			ws_strv_push(&b->s->made, name);
		} else {
			ws_strv_addf(&b->s->made, "%s-%.16s-%s",
				     b->m->sorts[b->n]->prefix, b->s->key, random);
		}
	}
	ws_strv_extend(&b->s->layers, &b->s->made);
}

static int fill(struct build *b, struct ws_err *err)
{
	for (size_t i = 0; i < b->n; i++)
		if (ws_root_scratch(b->root, b->m->sorts[i]->prefix, b->layers[i].name,
				    &b->layers[i].fd, err) < 0)
			return -1;
	if (b->m->fill(b->m, b->layers, b->lock, err) < 0)
		return -1;
	/* the manifest will vouch for all of it, after a power cut too */
	for (size_t i = 0; i < b->n; i++)
		if (ws_sync_tree(b->layers[i].fd) < 0)
			return ws_fail_errno(err, "sync the layers");
	return 0;
}

static int publish(const struct build *b, struct ws_err *err)
{
	for (size_t i = 0; i < b->n; i++) {
		WS_AUTO_FREE char *kind = ws_strdup(b->m->sorts[i]->kind);
		const struct ws_layer_meta meta = { .version = WS_LAYER_VERSION,
						    .kind = kind,
						    .repo = b->s->name,
						    .source = b->s->repo,
						    .revision = b->s->revision,
						    .created = b->s->created };

		if (ws_layer_publish(b->root, b->layers[i].name, b->s->made.v[i], &meta,
				     NULL, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * The manifest says first which layers there will be, and last that they are there: one
 * who finds only the first, and the lock free, knows what to clear away.
 */
static int build(struct build *b, struct ws_err *err)
{
	int rc;

	b->s->version = WS_SNAPSHOT_VERSION;
	b->s->created = ws_clock_wall_ns();
	if (b->m->plan && b->m->plan(b->m, b->s, err) < 0)
		return -1;
	name_layers(b);
	b->s->building = true;
	rc = fill(b, err);
	if (rc == 0 && !b->id)
		rc = ws_snapshot_save(b->root, b->s, err);
	if (rc == 0)
		rc = publish(b, err);
	b->s->building = false;
	if (rc == 0 && !b->id)
		rc = ws_snapshot_save(b->root, b->s, err);
	if (rc == 0)
		return 0;
	for (size_t i = 0; i < b->n; i++)
		ws_scratch_discard(b->root, b->layers[i].name);
	return -1;
}

/* A snapshot that came to nothing leaves no lock behind, unless its plan is on disk. */
static void tidy(const struct ws_root *root, const char *key)
{
	WS_AUTO_FREE char *manifest = ws_format("snapshots/%s.json", key);
	struct ws_err ignored = WS_ERR_INIT;

	if (faccessat(root->fd, manifest, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		ws_snapshot_forget(root, key, &ignored);
}

/* Somebody else's work counts as ours: 1; 0: it was not there and now is; -1. */
static int make_once(const struct ws_root *root, struct ws_snapshot_maker *m,
		     struct ws_snapshot *s, int lock, struct ws_err *err)
{
	WS_AUTO(ws_snapshot) struct ws_snapshot found = WS_SNAPSHOT_INIT;
	WS_AUTO(build)
	struct build b = { .root = root,
			   .m = m,
			   .s = s,
			   .layers = { { .fd = -1 }, { .fd = -1 } },
			   .lock = lock };
	int rc = ws_snapshot_load(root, s->key, &found, err);

	if (rc != 0)
		return rc;
	if (ws_snapshot_clear(root, s->key, err) < 0)
		return -1;
	ws_strv_clear(&s->layers);
	ws_strv_clear(&s->made);
	rc = build(&b, err);
	if (rc < 0)
		tidy(root, s->key);
	return rc;
}

/* 1: it is there, in S, and held; 0: there is none. */
static int share(const struct ws_root *root, struct ws_snapshot *s, int *ret_hold,
		 struct ws_err *err)
{
	WS_AUTO_CLOSE int hold = ws_snapshot_lock(root, s->key, false, err);
	WS_AUTO(ws_snapshot) struct ws_snapshot found = WS_SNAPSHOT_INIT;
	int rc = hold < 0 ? -1 : ws_snapshot_load(root, s->key, &found, err);

	if (rc <= 0)
		return rc;
	ws_snapshot_touch(root, s->key);
	ws_snapshot_release(s);
	*s = found;
	found = WS_SNAPSHOT_INIT;
	*ret_hold = ws_steal_fd(&hold);
	return 1;
}

int ws_snapshot_obtain(const struct ws_root *root, struct ws_snapshot_maker *m,
		       struct ws_snapshot *s, int *ret_hold, struct ws_err *err)
{
	for (int i = 0; i < TRIES; i++) {
		WS_AUTO_CLOSE int lock = -1;
		int rc = share(root, s, ret_hold, err);

		if (rc != 0)
			return rc < 0 ? -1 : 0;
		lock = ws_snapshot_lock(root, s->key, true, err);
		if (lock < 0 || make_once(root, m, s, lock, err) < 0)
			return -1;
		/* between this lock and a shared one it may go again: look once more */
	}
	return ws_fail(err, WS_SNAPSHOT_FAILED, "snapshot '%s' comes and goes", s->key);
}

int ws_snapshot_make_own(const struct ws_root *root, const char *id,
			 struct ws_snapshot_maker *m, struct ws_snapshot *s,
			 struct ws_err *err)
{
	WS_AUTO(build)
	struct build b = { .root = root,
			   .m = m,
			   .s = s,
			   .id = id,
			   .layers = { { .fd = -1 }, { .fd = -1 } },
			   .lock = -1 };

	ws_freep(&s->key);
	return build(&b, err);
}
