/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_MERGE_READ_H
#define WS_CORE_MERGE_READ_H

#include "base/err.h"
#include "core/merge_plan.h"
#include "core/stack.h"

/*
 * The three trees of a merge, and every path that counts in it: what theirs changed
 * against base, and the folders above. The work follows that change.
 */
enum ws_merge_tree { WS_TREE_BASE, WS_TREE_OURS, WS_TREE_THEIRS, WS_TREES };

struct ws_merge_left {
	char *path;
	const char *why; /* "git", "special" */
};

struct ws_merge_trees {
	struct ws_stack stack[WS_TREES];
	struct ws_merge_path *v; /* sorted by path */
	size_t n;
	struct ws_merge_left *left; /* what of theirs is not carried */
	size_t nleft;
};

#define WS_MERGE_TREES_INIT       \
	((struct ws_merge_trees){ \
		.stack = { WS_STACK_INIT, WS_STACK_INIT, WS_STACK_INIT } })

void ws_merge_trees_release(struct ws_merge_trees *t);
/*
 * The stacks are open; OWN of base and of theirs says how many layers, from the top, the
 * other does not have. HIDDEN as in ws_changes_read. Fills the paths.
 */
int ws_merge_read(struct ws_merge_trees *t, const struct ws_strv *hidden,
		  struct ws_err *err);
const struct ws_merge_side *ws_merge_side(const struct ws_merge_path *p,
					  enum ws_merge_tree tree);
/*
 * The bytes of one side of a file or a link; none if it is not there, or a folder. At
 * most MAX (EFBIG). -1 and errno.
 */
int ws_merge_load(const struct ws_merge_trees *t, const struct ws_merge_path *p,
		  enum ws_merge_tree tree, size_t max, struct ws_buf *ret);

#endif
