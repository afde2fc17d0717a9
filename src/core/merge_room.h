/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_MERGE_ROOM_H
#define WS_CORE_MERGE_ROOM_H

#include "base/err.h"
#include "base/jsonw.h"
#include "core/merge_read.h"
#include "core/session.h"

/*
 * The conflicts of a merge that waits for answers: a folder of the child's session. Each
 * has a key, made of its path and of all that its three sides are, so that an answer is
 * good for that very conflict and no other. KEY.base, KEY.ours, KEY.theirs hold the bytes
 * of the sides, KEY.merged those with markers; KEY.answer and KEY.bytes what it was
 * answered with.
 */
struct ws_merge_room {
	int fd;	    /* -1: there is none */
	char *path; /* absolute */
};

#define WS_MERGE_ROOM_INIT ((struct ws_merge_room){ .fd = -1 })

void ws_merge_room_release(struct ws_merge_room *r);
/* With MAKE it is made. Otherwise FD stays -1 where there is none, which is no error. */
int ws_merge_room_open(const struct ws_session *child, bool make,
		       struct ws_merge_room *ret, struct ws_err *err);
int ws_merge_room_remove(const struct ws_root *root, const struct ws_session *child,
			 struct ws_err *err);

/* Gives each path what it was answered with, if it could be a conflict. */
int ws_merge_room_recall(const struct ws_merge_room *r, struct ws_merge_trees *t,
			 struct ws_err *err);
/* Fills P->key. */
int ws_merge_room_key(const struct ws_merge_trees *t, struct ws_merge_path *p,
		      struct ws_err *err);
/* Lays out the sides of every conflict; files of others go, but for answers. */
int ws_merge_room_lay_out(const struct ws_merge_room *r, struct ws_merge_trees *t,
			  struct ws_err *err);
/* BYTES with WS_ANSWER_FILE alone. */
int ws_merge_room_answer(const struct ws_merge_room *r, const struct ws_merge_path *p,
			 enum ws_merge_answer answer, const struct ws_buf *bytes,
			 struct ws_err *err);
/* Where the bytes of a conflict lie, "base", "ours", "theirs", "merged"; or NULL. */
char *ws_merge_room_file(const struct ws_merge_room *r, const struct ws_merge_path *p,
			 const char *which);
/* A conflict's members, of an object that is open: path, kind, the sides, markers. */
void ws_merge_conflict_json(struct ws_jsonw *w, const struct ws_merge_room *r,
			    const struct ws_merge_path *p);

#endif
