/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_MERGE_H
#define WS_CORE_MERGE_H

#include "base/err.h"
#include "core/fork.h"
#include "core/merge_commits.h"
#include "core/merge_read.h"
#include "core/merge_room.h"
#include "core/root.h"

/*
 * The work of an isolated child comes back into its parent. Base is what the child began
 * with, or had when it was merged last; theirs is what it has now, ours what the parent
 * has. What is to be done becomes a layer, which one rename, that of the parent's record,
 * puts on top of all that the parent had: whenever we are killed, it is merged or
 * unchanged. With a conflict that nobody has answered nothing is done.
 *
 * Both stand still meanwhile, as for a fork; no command of theirs runs by then.
 */
struct ws_merge_given {
	char *path; /* relative to /workspace */
	enum ws_merge_answer answer;
	struct ws_buf bytes; /* with WS_ANSWER_FILE */
};

struct ws_merge_opts {
	const char *child;
	bool commits; /* those of the child come, too (merge_commits.h) */
	bool proceed; /* only if one is waiting */
	const struct ws_merge_given *given;
	size_t ngiven;
	uint64_t resolver_ms; /* for each question */
};

enum ws_merge_result { WS_MERGE_NOOP, WS_MERGE_MERGED, WS_MERGE_CONFLICTS };

struct ws_merge {
	const struct ws_root *root;
	char *child, *parent; /* ids; PARENT may be NULL if it was refused */
	enum ws_merge_result result;
	bool torn; /* not all of the child's commands could be stopped for the copy */
	struct ws_merge_trees trees;
	struct ws_merge_commits commits;
	struct ws_merge_room room;
	struct ws_strv resolver; /* integration.resolver, if it is to be asked */
	uint64_t resolver_ms;
};

#define WS_MERGE_INIT                                         \
	((struct ws_merge){ .trees = WS_MERGE_TREES_INIT,     \
			    .commits = WS_MERGE_COMMITS_INIT, \
			    .room = WS_MERGE_ROOM_INIT })

void ws_merge_release(struct ws_merge *m);
/*
 * RESULT and, until the release, the paths of TREES tell what was done. Refusals: usage
 * (no isolated child; nothing waits, or no such conflict), session-missing,
 * session-blocked, session-busy, disabled, and those of exec. Nothing has changed then.
 */
int ws_merge(const struct ws_root *root, const struct ws_merge_opts *opts,
	     struct ws_merge *ret, struct ws_err *err);
/* The answers and copies of a merge that waits go. *RET_WAS: there was one. */
int ws_merge_abort(const struct ws_root *root, const char *child, bool *ret_was,
		   struct ws_err *err);

#endif
