/* SPDX-License-Identifier: Apache-2.0 */
#include "core/shared.h"

#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/lock.h"
#include "base/log.h"
#include "core/layer.h"

#define LOCK_TIMEOUT_MS 60000

int ws_shared_lock(const struct ws_root *root, bool exclusive, struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = ws_root_dir(root, "layers", err);

	if (fd < 0 ||
	    ws_lock_wait(fd, exclusive, LOCK_TIMEOUT_MS, "the store of layers", err) < 0)
		return -1;
	return ws_steal_fd(&fd);
}

void ws_shared_release(struct ws_shared *sh)
{
	ws_refs_release(&sh->layers);
	ws_refs_release(&sh->homes);
	ws_strv_release(&sh->names);
}

static void look_at(const struct ws_root *root, const char *id,
		    const struct ws_session *but, struct ws_shared *ret)
{
	WS_AUTO(ws_strv) struct ws_strv layers = WS_STRV_INIT;
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	struct ws_err err = WS_ERR_INIT;

	if (ws_session_open_name(root, id, &s, &err) < 0) {
		if (err.kind != WS_SESSION_MISSING && err.kind != WS_SESSION_EXPIRED &&
		    err.kind != WS_USAGE)
			ret->unsure = true;
		return;
	}
	ws_session_layers(&s, &layers);
	for (size_t i = 0; i < layers.n; i++)
		ws_refs_add(&ret->layers, layers.v[i]);
	if (s.home)
		ws_refs_add(&ret->homes, s.home);
	if (but && s.alias && !strcmp(s.alias, but->id) &&
	    s.alias_created == but->created)
		ws_strv_push(&ret->names, id);
}

int ws_shared_look(const struct ws_root *root, const struct ws_session *but,
		   struct ws_shared *ret, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv ids = WS_STRV_INIT;

	if (ws_session_list(root, false, &ids, err) < 0)
		return -1;
	for (size_t i = 0; i < ids.n; i++)
		if (!but || strcmp(ids.v[i], but->id) != 0)
			look_at(root, ids.v[i], but, ret);
	ws_refs_settle(&ret->layers);
	ws_refs_settle(&ret->homes);
	return 0;
}

/* ---- the end of one session ---- */

/* Layers of S that are nobody's snapshot: its own, and what its parents left to it. */
static int find_layers(const struct ws_root *root, const struct ws_session *s,
		       struct ws_strv *ret, bool *ret_others, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv all = WS_STRV_INIT;

	*ret_others = s->forked || s->parent;
	for (size_t i = 0; i < s->stack.n; i++) {
		WS_AUTO_FREE char *owner = ws_layer_owner(s->stack.v[i]);

		if (owner)
			ws_strv_push(ret, s->stack.v[i]);
	}
	if (ws_dir_list(root->fd, "layers", &all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.n; i++) {
		if (!ws_layer_is_private(all.v[i], s->id) || ws_strv_has(ret, all.v[i]))
			continue;
		/* half-made, or of one that had this name before */
		ws_strv_push(ret, all.v[i]);
		*ret_others = true;
	}
	return 0;
}

static int discard_home(const struct ws_root *root, const char *home, struct ws_err *err)
{
	WS_AUTO_CLOSE int homes = ws_root_dir(root, "homes", err);

	return homes < 0 ? -1 : ws_root_discard(root, homes, home, err);
}

static int discard(const struct ws_root *root, const struct ws_session *s,
		   const struct ws_strv *layers, const struct ws_shared *sh,
		   struct ws_err *err)
{
	if (sh->unsure) {
		ws_warn("a session cannot be read: what it may have of '%s' stays until gc",
			s->id);
		return 0;
	}
	for (size_t i = 0; i < layers->n; i++)
		if (!ws_refs_count(&sh->layers, layers->v[i]) &&
		    ws_layer_discard(root, layers->v[i], err) < 0)
			return -1;
	if (s->home && !ws_refs_count(&sh->homes, s->home))
		return discard_home(root, s->home, err);
	return 0;
}

int ws_shared_discard(const struct ws_root *root, const struct ws_session *s,
		      struct ws_err *err)
{
	WS_AUTO(ws_shared) struct ws_shared sh = WS_SHARED_INIT;
	WS_AUTO(ws_strv) struct ws_strv layers = WS_STRV_INIT;
	WS_AUTO_CLOSE int lock = -1;
	bool others = false;

	if (find_layers(root, s, &layers, &others, err) < 0)
		return -1;
	if (!layers.n && !s->home)
		return 0;
	/* one that was never forked, and is nobody's child, shares nothing */
	if (others) {
		lock = ws_shared_lock(root, true, err);
		if (lock < 0 || ws_shared_look(root, s, &sh, err) < 0)
			return -1;
	}
	return discard(root, s, &layers, &sh, err);
}
