/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_DIFF_H
#define WS_CORE_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/jsonw.h"
#include "base/strv.h"

/*
 * What a tree became, as a value: a list of changes, sorted by path. Paths are relative
 * to /workspace and hold any bytes but NUL.
 */

/* One state of a path. mode 0: it is not there. */
struct ws_change_side {
	mode_t mode;
	uint64_t size;	/* of a file or a link */
	unsigned layer; /* where it lies (stack.h) */
	char blob[41];	/* or git's id of it, if it is in a commit; else "" */
};

enum ws_change_kind {
	WS_CHANGE_ADDED = 'A',
	WS_CHANGE_DELETED = 'D',
	WS_CHANGE_MODIFIED = 'M', /* content, mode, or both */
	WS_CHANGE_RENAMED = 'R',  /* the same content under another path */
	WS_CHANGE_TYPE = 'T',	  /* a file became a link, or a device, or ... */
};

struct ws_change {
	enum ws_change_kind kind;
	char *path;
	char *from; /* of a rename, else NULL */
	struct ws_change_side old, new;
	bool content; /* the bytes differ, not the mode alone */
	char *digest; /* of a file's content, where a rename was looked for */
};

struct ws_diff {
	struct ws_change *v;
	size_t n, cap;
	struct ws_strv omitted; /* git folders that changed and are not shown */
};

#define WS_DIFF_INIT ((struct ws_diff){ 0 })

void ws_diff_release(struct ws_diff *diff);
/* A new change, to be filled by the caller; good until the next one. PATH is copied. */
struct ws_change *ws_diff_add(struct ws_diff *diff, enum ws_change_kind kind,
			      const char *path);
/* Moves C, of another list, behind the last. */
void ws_diff_take(struct ws_diff *diff, struct ws_change *c);
/*
 * Keeps what is at or below one of PATHS, and moves the others to REST. A rename across
 * the border becomes what each side sees of it.
 */
void ws_diff_select(struct ws_diff *diff, const struct ws_strv *paths,
		    struct ws_diff *rest);
void ws_diff_sort(struct ws_diff *diff);
/*
 * Files that went and files that came and may be the same: calls DIGEST (which sets
 * change->digest, or leaves it NULL) for those whose size occurs on both sides, and makes
 * one rename of each pair of equal content. Sorted before and after.
 */
void ws_diff_find_renames(struct ws_diff *diff,
			  void (*digest)(void *arg, struct ws_change *change), void *arg);

/* "file" "link" "folder" "fifo" "socket" "device" */
const char *ws_change_type(mode_t mode);
/* Can a patch say it? Files and links, and folders only through what is in them. */
bool ws_change_is_patch(const struct ws_change *c);

struct ws_diff_counts {
	size_t added, deleted, modified, renamed, retyped;
};

/*
 * Two lists of changes that begin with the same tree: what became of it here (COMMITTED),
 * and what it is by now (WORK). RET: the changes from the one to the other. SAME says if
 * two sides that could be the same are. Neither list may have renames.
 */
void ws_diff_between(const struct ws_diff *committed, const struct ws_diff *work,
		     bool (*same)(void *arg, const char *path,
				  const struct ws_change_side *a,
				  const struct ws_change_side *b),
		     void *arg, struct ws_diff *ret);

void ws_diff_count(const struct ws_diff *diff, struct ws_diff_counts *ret);

/* PATH in git's way: in double quotes, with escapes, if it holds anything special. */
void ws_path_quote(struct ws_buf *out, const char *path);
/*
 * PATH as one who works in folder BASE ("" or "app") names it: relative if it is in
 * there, absolute (/workspace/...) if not. The caller frees.
 */
char *ws_path_shown(const char *base, const char *path);
/* Is PATH one of PATHS or below one? Of none: yes. */
bool ws_path_selected(const struct ws_strv *paths, const char *path);
/* Members KEY and, where it is no UTF-8, KEY_base64, which alone is exact then. */
void ws_path_json(struct ws_jsonw *w, const char *key, const char *path);
/* The members of one change. */
void ws_change_json(struct ws_jsonw *w, const struct ws_change *c);

#endif
