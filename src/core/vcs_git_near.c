/* SPDX-License-Identifier: Apache-2.0 */
#include "core/vcs_git_near.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "core/keyed.h"
#include "core/snapshot_make.h"
#include "core/vcs_git.h"

#define ASKED 16      /* those used last: the next revision is mostly near one of them */
#define LAYERS_MAX 10 /* of files, the new one included: a longer stack is slow to read */
#define TIMEOUT_MS 600000

struct candidate {
	struct ws_snapshot s;
	uint64_t used;
};

struct candidates {
	struct candidate v[ASKED + 1];
	size_t n;
};

static void candidates_release(struct candidates *c)
{
	while (c->n)
		ws_snapshot_release(&c->v[--c->n].s);
}

void ws_git_near_release(struct ws_git_near *n)
{
	ws_freep(&n->revision);
	ws_strv_release(&n->layers);
	ws_freep(&n->index);
	ws_keyed_let_go(&n->hold);
}

/* ---- what may be near ---- */

/* Its layers are those of its files, and on top the git layer with the index. */
static bool fits(const struct ws_snapshot *s, const struct ws_snapshot *other)
{
	return other->family && !strcmp(other->family, s->family) && other->revision &&
	       other->layers.n >= 2 && other->layers.n <= LAYERS_MAX &&
	       ws_text_starts(other->layers.v[other->layers.n - 1],
			      WS_LAYER_INDEX.prefix);
}

/* Takes S over; used last first. */
static void keep(struct candidates *all, struct ws_snapshot *s, uint64_t used)
{
	size_t at = all->n++;

	for (; at > 0 && all->v[at - 1].used < used; at--)
		all->v[at] = all->v[at - 1];
	all->v[at] = (struct candidate){ *s, used };
	*s = WS_SNAPSHOT_INIT;
	if (all->n > ASKED)
		ws_snapshot_release(&all->v[--all->n].s);
}

/*
 * Of two that are near enough the first is taken: the one with fewer layers, or all
 * stacks grow until they are too high.
 */
static void put_low_first(struct candidates *all)
{
	for (size_t i = 1; i < all->n; i++) {
		struct candidate one = all->v[i];
		size_t at = i;

		for (; at > 0 && all->v[at - 1].s.layers.n > one.s.layers.n; at--)
			all->v[at] = all->v[at - 1];
		all->v[at] = one;
	}
}

/* One that cannot be read is no help, and no matter here. */
static int find_candidates(const struct ws_root *root, const struct ws_snapshot *s,
			   struct candidates *ret, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv keys = WS_STRV_INIT;

	if (ws_snapshot_list(root, &keys, err) < 0)
		return -1;
	for (size_t i = 0; i < keys.n; i++) {
		WS_AUTO(ws_snapshot) struct ws_snapshot other = WS_SNAPSHOT_INIT;
		struct ws_err ignored = WS_ERR_INIT;

		if (ws_snapshot_load(root, keys.v[i], &other, &ignored) == 1 &&
		    fits(s, &other))
			keep(ret, &other, ws_snapshot_last_use(root, &other));
	}
	put_low_first(ret);
	return 0;
}

static char *index_of(const struct ws_root *root, const struct ws_snapshot *s)
{
	return ws_format("%s/layers/%s/root/%s/.git/index", root->path,
			 s->layers.v[s->layers.n - 1], s->name);
}

/* ---- which is it ---- */

static int ask(const struct ws_root *root, const struct ws_snapshot *s,
	       const struct candidates *all, char **ret_revision, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv argv = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf answer = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;

	ws_strv_add(&argv, "near", "--commit", s->revision, "--pool", NULL);
	ws_strv_addf(&argv, "%s/pools/%s/objects", root->path, s->pool);
	for (size_t i = 0; i < all->n; i++) {
		ws_strv_push(&argv, all->v[i].s.revision);
		ws_strv_take(&argv, index_of(root, &all->v[i].s));
	}
	if (ws_git_ask(&argv, NULL, 0, TIMEOUT_MS, &answer, err) < 0 ||
	    ws_json_parse("wsiso-git", ws_buf_str(&answer), answer.len, &doc, err) < 0)
		return -1;
	*ret_revision = ws_strdup(ws_json_str(doc, "near", NULL));
	return 0;
}

/* 1, and it stays; 0: it is going, or being made, right now. */
static int hold(const struct ws_root *root, const char *key, struct ws_git_near *ret)
{
	struct ws_err ignored = WS_ERR_INIT;
	WS_AUTO_CLOSE int lock = ws_snapshot_try(root, key, false, &ignored);
	WS_AUTO(ws_snapshot) struct ws_snapshot s = WS_SNAPSHOT_INIT;

	if (lock < 0 || ws_snapshot_load(root, key, &s, &ignored) <= 0)
		return 0;
	ws_snapshot_touch(root, key);
	ret->revision = ws_strdup(s.revision);
	ret->index = index_of(root, &s);
	for (size_t i = 0; i + 1 < s.layers.n; i++)
		ws_strv_push(&ret->layers, s.layers.v[i]);
	ret->hold = ws_steal_fd(&lock);
	return 1;
}

int ws_git_near_find(const struct ws_root *root, const struct ws_snapshot *s,
		     struct ws_git_near *ret, struct ws_err *err)
{
	WS_AUTO(candidates) struct candidates all = { .n = 0 };
	WS_AUTO_FREE char *revision = NULL;

	if (find_candidates(root, s, &all, err) < 0)
		return -1;
	if (!all.n)
		return 0;
	if (ask(root, s, &all, &revision, err) < 0)
		return -1;
	for (size_t i = 0; revision && i < all.n; i++)
		if (!strcmp(all.v[i].s.revision, revision))
			return hold(root, all.v[i].s.key, ret);
	return 0;
}
