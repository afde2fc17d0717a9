/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_CHANGES_H
#define WS_CORE_CHANGES_H

#include "base/err.h"
#include "core/diff.h"
#include "core/stack.h"

/*
 * Reads what a session changed, its upper and its frozen ones, against its base. The
 * work follows the change: a folder that the session has not touched is not looked at.
 * Works on a live session, too, whose writers may race with it: what vanishes meanwhile
 * is no change.
 *
 * HIDDEN: paths (app/.git) that are not shown; any other .git is named in diff->omitted.
 */
/* Renames are not looked for: they are a matter of ws_changes_find_renames(). */
int ws_changes_read(const struct ws_stack *stack, const struct ws_strv *hidden,
		    struct ws_diff *ret, struct ws_err *err);

void ws_changes_find_renames(const struct ws_stack *stack, struct ws_diff *diff);
/* Have both the same bytes? Sides of one type, and no folders. */
bool ws_changes_same(const struct ws_stack *stack, const char *path,
		     const struct ws_change_side *a, const struct ws_change_side *b);

/* The same of PATH as it is in two stacks: A in X, B in Y. */
bool ws_changes_same_entry(const struct ws_stack *x, const struct ws_stack_entry *a,
			   const struct ws_stack *y, const struct ws_stack_entry *b,
			   const char *path);

/*
 * The bytes of one side of a change: of a file its content, of a link its target. At most
 * MAX (EFBIG). -1 and errno.
 */
int ws_changes_load(const struct ws_stack *stack, const char *path,
		    const struct ws_change_side *side, size_t max, struct ws_buf *ret);

#endif
