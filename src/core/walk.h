/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_WALK_H
#define WS_CORE_WALK_H

#include <stdbool.h>

#include "base/err.h"
#include "core/stack.h"

/*
 * A walk over what layers of a stack show, or over what the topmost of them say: each
 * folder before what is in it, names in the order of their bytes. Works on a live
 * session: what vanishes from its upper meanwhile is passed over; from a layer, which
 * never changes, nothing may.
 */
struct ws_walk_item {
	const char *path; /* "" is the top; good until the visit returns */
	const struct ws_stack_entry *e;
	bool whiteout;
	bool opaque; /* of a folder: what is below it does not show */
};

enum ws_walk_what {
	WS_WALK_VIEW,	 /* what is to be seen */
	WS_WALK_CHANGES, /* and whiteouts and opaque folders where they hide something */
	WS_WALK_MARKS,	 /* and any of them: a folder that is no layer may hold some */
};

struct ws_walk {
	const struct ws_stack *stack;
	unsigned first, last;
	enum ws_walk_what what;
	/*
	 * Whiteouts of a folder come before the rest of it. 1: of this folder nothing
	 * more; -1: the walk ends.
	 */
	int (*visit)(void *arg, const struct ws_walk_item *item, struct ws_err *err);
	void *arg;
};

/* base-missing: a layer went away. */
int ws_walk(const struct ws_walk *w, struct ws_err *err);

#endif
