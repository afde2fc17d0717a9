/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_MERGE_PLAN_H
#define WS_CORE_MERGE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/*
 * A three-way merge of trees as values: what each path was, is here, and is there, and so
 * what is to be done. Pure. Files that both sides changed are left to a merge of their
 * bytes (JOIN); whoever finds a conflict there says so by ws_merge_clash().
 */

/* One state of a path. */
struct ws_merge_side {
	mode_t mode;   /* type and permissions; 0: it is not there */
	unsigned same; /* of the three sides those that are equal have one number */
	uint64_t size; /* the rest is the caller's: where it lies */
	unsigned layer;
};

enum ws_merge_action {
	WS_MERGE_KEEP,	 /* ours stays */
	WS_MERGE_TAKE,	 /* theirs, with the permissions MODE */
	WS_MERGE_DELETE, /* it goes, with all that is below */
	WS_MERGE_MODE,	 /* ours gets the permissions MODE */
	WS_MERGE_JOIN,	 /* the bytes of both, and the permissions MODE */
	WS_MERGE_ANSWER, /* what the caller was given for it */
	WS_MERGE_CONFLICT,
};

enum ws_merge_clash {
	WS_CLASH_NONE,
	WS_CLASH_CONTENT,
	WS_CLASH_BINARY,
	WS_CLASH_ADDED,	  /* by both, differently */
	WS_CLASH_DELETED, /* by one, changed by the other */
	WS_CLASH_LINK,
	WS_CLASH_MODE,
	WS_CLASH_TYPE,
	WS_CLASH_FOLDER, /* a folder here, something else there */
	WS_CLASH_COUNT
};

/* How a conflict was answered. */
enum ws_merge_answer {
	WS_ANSWER_NONE,
	WS_ANSWER_OURS,
	WS_ANSWER_THEIRS,
	WS_ANSWER_DELETE,
	WS_ANSWER_FILE, /* these bytes */
};

struct ws_merge_path {
	char *path; /* relative to /workspace */
	struct ws_merge_side base, ours, theirs;
	enum ws_merge_answer answer; /* counts only if there is a conflict */

	enum ws_merge_action action;
	enum ws_merge_clash clash;
	mode_t mode;
	bool covered; /* something above it says what becomes of it */

	struct ws_buf bytes; /* the caller's: what JOIN or ANSWER is */
	char *key;	     /* and the conflict's name, or NULL */

	enum ws_merge_answer forced; /* for the planner alone, as the next two */
	bool holds;		     /* something below will be there */
	bool needs;		     /* something below has to be put there */
};

/*
 * PATHS are sorted by their bytes, each once; of every one all folders above are among
 * them, too, and where one side is a folder and the other none, all that is in it.
 */
void ws_merge_plan(struct ws_merge_path *paths, size_t n);
/* A conflict, unless it was answered. */
void ws_merge_clash(struct ws_merge_path *p, enum ws_merge_clash clash);
/* May the answer be given for it? Folders are taken from one side as they are. */
bool ws_merge_may_answer(const struct ws_merge_path *p, enum ws_merge_answer answer);
/* The one of that name, or NULL. */
struct ws_merge_path *ws_merge_find(const struct ws_merge_path *paths, size_t n,
				    const char *path);
/* Does it change anything of ours? */
bool ws_merge_acts(const struct ws_merge_path *p);
/* Is it a folder on one side, and none on the other? */
bool ws_merge_is_half_folder(const struct ws_merge_path *p);
/* "ours" "theirs" "delete" "file"; NONE: no such word. */
enum ws_merge_answer ws_merge_answer_of(const char *word);
const char *ws_merge_answer_name(enum ws_merge_answer answer);
/* "content" "binary" ... */
const char *ws_merge_clash_name(enum ws_merge_clash clash);

#endif
