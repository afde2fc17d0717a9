/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_MERGE_COMMITS_H
#define WS_CORE_MERGE_COMMITS_H

#include "base/err.h"
#include "core/commits.h"
#include "core/merge_layer.h"
#include "core/merge_read.h"
#include "core/session.h"

/*
 * A merge with --commits: of each git repo the child's commits come along. wsiso-git
 * reads both sides' objects as data and says what the parent's branch is to be: what the
 * child's is, or, where both have gone on, a merge commit. All of that is a few files
 * below .git, which become part of the merge's layer: so they come with it or not at all.
 */
struct ws_brought {
	char *repo;
	char *how;    /* noop, fast-forward, merge */
	char *branch; /* of the parent; NULL: its HEAD is detached */
	char *from, *to;
	size_t commits;
};

struct ws_merge_commits {
	struct ws_commits_room parent, child;
	struct ws_brought *v;
	size_t n;
	struct ws_merge_extras extras;
};

#define WS_MERGE_COMMITS_INIT                                       \
	((struct ws_merge_commits){ .parent = WS_COMMITS_ROOM_INIT, \
				    .child = WS_COMMITS_ROOM_INIT,  \
				    .extras = { .dir = -1 } })

void ws_merge_commits_release(struct ws_merge_commits *c);
/*
 * CHILD's repos, of the trees of a merge that stand still. Refusals: session-busy, git is
 * at work in the parent; conflict, it is in the middle of something there, what the
 * commits change is staged, or the commits of both sides collide; repo-unusable.
 */
int ws_merge_commits_read(const struct ws_root *root, const struct ws_session *child,
			  struct ws_merge_trees *t, struct ws_merge_commits *ret,
			  struct ws_err *err);
/* Is there one that the parent has not? */
bool ws_merge_commits_any(const struct ws_merge_commits *c);

/*
 * integration.auto_commit: what the child has left uncommitted becomes a commit of its
 * own, made by git inside its sandbox, without hooks, signature or anybody's identity.
 */
int ws_auto_commit(const struct ws_root *root, const char *id, struct ws_err *err);

#endif
