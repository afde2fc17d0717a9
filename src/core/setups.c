/* SPDX-License-Identifier: Apache-2.0 */
#include "core/setups.h"

#include <string.h>

#include "base/log.h"
#include "core/users.h"

static void info_release(struct ws_setup_info *i)
{
	ws_setup_release(&i->setup);
	ws_strv_release(&i->users);
}

void ws_setups_release(struct ws_setups *s)
{
	for (size_t i = 0; i < s->n; i++)
		info_release(&s->v[i]);
	ws_freep(&s->v);
	s->n = 0;
}

static bool stands_on(const struct ws_session *s, const struct ws_setup *setup)
{
	return setup->layer && ws_strv_has(&s->stack, setup->layer);
}

static void note_user(void *arg, const struct ws_session *s)
{
	struct ws_setups *all = arg;

	for (size_t i = 0; i < all->n; i++)
		if (stands_on(s, &all->v[i].setup))
			ws_strv_push(&all->v[i].users, s->id);
}

/* ---- list ---- */

/* Whoever runs a script has the lock. */
static const char *state_of(const struct ws_root *root, const struct ws_setup *s)
{
	struct ws_err busy = WS_ERR_INIT;
	WS_AUTO_CLOSE int lock = -1;

	if (strcmp(s->state, "running") != 0)
		return s->state;
	lock = ws_setup_lock(root, s->key, false, 0, &busy);
	return lock < 0 ? s->state : "lost";
}

static void add(const struct ws_root *root, struct ws_setups *all, const char *key)
{
	struct ws_setup s = WS_SETUP_INIT;
	struct ws_err err = WS_ERR_INIT;
	int rc = ws_setup_load(root, key, &s, &err);

	if (rc < 0)
		ws_warn("%s", err.msg);
	if (rc <= 0)
		return;
	all->v = ws_grow(all->v, all->n + 1, sizeof(*all->v));
	all->v[all->n++] =
		(struct ws_setup_info){ .setup = s,
					.state = state_of(root, &s),
					.last_use = ws_setup_last_use(root, &s) };
}

int ws_setups_list(const struct ws_root *root, struct ws_setups *ret, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv keys = WS_STRV_INIT;

	if (ws_setup_list(root, &keys, err) < 0)
		return -1;
	for (size_t i = 0; i < keys.n; i++)
		add(root, ret, keys.v[i]);
	return ws_users_visit(root, false, note_user, ret, err);
}

/* ---- remove ---- */

static int load(const struct ws_root *root, const char *key, struct ws_setup *ret,
		struct ws_err *err)
{
	int rc = ws_setup_load(root, key, ret, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return ws_fail(err, WS_BASE_MISSING, "there is no setup '%s'", key);
}

int ws_setups_remove(const struct ws_root *root, const char *key, struct ws_err *err)
{
	WS_AUTO(ws_setup) struct ws_setup before = WS_SETUP_INIT;
	__attribute__((cleanup(info_release))) struct ws_setup_info info = { 0 };
	struct ws_setups one = { .v = &info, .n = 1 };
	WS_AUTO_CLOSE int lock = -1;

	if (ws_setup_check_key(key, err) < 0 || load(root, key, &before, err) < 0)
		return -1;
	lock = ws_setup_lock(root, key, true, 0, err);
	if (lock < 0)
		return ws_fail_within(err, "setup '%s'", key);
	/* only now nobody is on his way to use it */
	if (load(root, key, &info.setup, err) < 0 ||
	    ws_users_visit(root, true, note_user, &one, err) < 0)
		return -1;
	if (info.users.n)
		return ws_users_refuse("setup", key, &info.users, err);
	if (ws_setup_remove(root, &info.setup, err) < 0)
		return -1;
	ws_journal(root, "setup-remove", "-", key);
	return 0;
}
