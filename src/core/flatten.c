/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flatten.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/lock.h"
#include "base/text.h"
#include "core/frozen.h"
#include "core/layer.h"
#include "core/layer_copy.h"
#include "core/sandbox.h"
#include "core/shared.h"

static bool is_frozen(const char *layer)
{
	return ws_text_starts(layer, WS_LAYER_FROZEN "-");
}

/* The end of the run of frozen layers that begins at AT, before END. */
static size_t run_of(const struct ws_session *s, size_t at, size_t end)
{
	while (at < end && is_frozen(s->stack.v[at]))
		at++;
	return at;
}

/* Layers FROM to TO - 1 of S, counted from the bottom. */
struct part {
	const struct ws_root *root;
	const struct ws_session *s;
	size_t from, to;
};

static int join(void *data, int scratch, struct ws_err *err)
{
	WS_AUTO(ws_stack) struct ws_stack st = WS_STACK_INIT;
	const struct part *p = data;
	unsigned n = (unsigned)p->s->stack.n;
	WS_AUTO_CLOSE int dir = -1;

	if (ws_stack_open(p->root, p->s, &st, err) < 0)
		return -1;
	if (mkdirat(scratch, "root", 0700) == 0)
		dir = ws_open_dir(scratch, "root");
	if (dir < 0)
		return ws_fail_errno(err, "make a layer");
	return ws_layer_copy(&st, n - (unsigned)p->to + 1, n - (unsigned)p->from, dir,
			     WS_LAYER_LINK, err);
}

/* The new stack; runs do not reach across where the session's own uppers begin. */
static int flatten(const struct ws_root *root, struct ws_session *s, size_t *ret_n,
		   struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv stack = WS_STRV_INIT;
	size_t n = s->stack.n, own = n - s->frozen, mine = 0;

	for (size_t i = 0; i < n;) {
		size_t end = run_of(s, i, i < own ? own : n);
		char name[WS_LAYER_NAME_MAX];

		if (end < i + 2) {
			end = i + 1;
			ws_strv_push(&stack, s->stack.v[i]);
		} else {
			struct part part = { root, s, i, end };

			ws_layer_private_name(WS_LAYER_FROZEN, s->id, name);
			if (ws_frozen_make(root, name, join, &part, NULL, err) < 0)
				return -1;
			ws_strv_push(&stack, name);
		}
		mine += i >= own;
		i = end;
	}
	*ret_n = n - stack.n;
	if (*ret_n == 0)
		return 0;
	ws_strv_release(&s->stack);
	s->stack = stack;
	stack = WS_STRV_INIT;
	s->frozen = mine;
	return ws_session_save(s, err);
}

int ws_flatten(const struct ws_root *root, const char *id, size_t *ret_n,
	       struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session before = WS_SESSION_INIT;
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	WS_AUTO_CLOSE int lock = -1;
	WS_AUTO_CLOSE int use = -1;
	WS_AUTO_CLOSE int store = -1;
	int live;

	*ret_n = 0;
	if (ws_session_open_record(root, id, &before, err) < 0 ||
	    ws_session_lock(root, &before, &lock, err) < 0 ||
	    ws_session_open_record(root, id, &s, err) < 0)
		return -1;
	live = ws_sandbox_peek(&s, &sb, err);
	use = live ? -1 : ws_lock_open(s.dir, "use");
	if (live != 0 || use < 0 || ws_lock_try(use, true) < 0)
		return live < 0 ? -1 : 0;
	store = ws_shared_lock(root, false, err);
	return store < 0 ? -1 : flatten(root, &s, ret_n, err);
}
