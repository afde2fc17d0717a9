/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_COMMITS_H
#define WS_CORE_COMMITS_H

#include <stdint.h>

#include "base/err.h"
#include "core/diff.h"
#include "core/root.h"
#include "core/session.h"
#include "core/stack.h"

/*
 * What the commands of a session committed, read from outside. HEAD and refs are parsed
 * as data; of the objects the plain files are linked into a folder of ours, which
 * wsiso-git reads together with the pool. No git runs.
 */
struct ws_commit {
	char *id, *parents; /* parents: ids, blanks between */
	char *author, *email, *subject;
	int64_t time; /* seconds since 1970 */
};

struct ws_commits {
	char *head;   /* commit id; NULL: the branch has none yet */
	char *branch; /* or NULL: detached */
	struct ws_commit *v;
	size_t n;	     /* those that the base has not, the newest first */
	struct ws_diff diff; /* from the base's tree to HEAD's; paths below /workspace */
};

/* What reading lays out for several repos, in tmp/: links to objects, and blobs. */
struct ws_commits_room {
	const struct ws_root *root;
	char name[64];
	int fd;
};

#define WS_COMMITS_INIT ((struct ws_commits){ 0 })
#define WS_COMMITS_ROOM_INIT ((struct ws_commits_room){ .fd = -1 })

void ws_commits_release(struct ws_commits *c);
/* Made if it is not there; STACK->blobs is in it. */
int ws_commits_room_open(const struct ws_root *root, struct ws_stack *stack,
			 struct ws_commits_room *room, struct ws_err *err);
/* Removes it. */
void ws_commits_room_release(struct ws_commits_room *room);
/* The repo's objects, as links in "objects-NAME" of the room. Once. */
int ws_commits_lay_out(const struct ws_commits_room *room, const struct ws_stack *stack,
		       const char *repo, struct ws_err *err);
/* HEAD alone. repo-unusable: it is not what git would have written. */
int ws_commits_head(const struct ws_stack *stack, const struct ws_session_repo *repo,
		    struct ws_commits *ret, struct ws_err *err);
/* All of it, HEAD being known. */
int ws_commits_read(const struct ws_commits_room *room, const struct ws_stack *stack,
		    const struct ws_session_repo *repo, struct ws_commits *ret,
		    struct ws_err *err);

#endif
