/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_UNPACK_H
#define WS_CORE_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/room.h"
#include "core/archive.h"

/*
 * One tree of an archive that nobody vouches for, as files. It must be as pack.c writes
 * one: each folder before what is in it, names sorted, none twice. So every entry is a
 * new name in a folder that was made here a moment ago and is held open: no path is
 * resolved, no link can be on the way, nothing is ever written over. Whatever is not as
 * it must be ends it.
 */
struct ws_unpack {
	struct ws_archive *archive;
	const char *prefix; /* of the topmost folder */
	int to;		    /* where that folder is made ... */
	const char *name;   /* ... by this name */
	bool marks;	    /* it is a layer: there may be whiteouts */
	bool (*wanted)(const char *path, bool folder); /* or NULL: any name */
	struct ws_room *room;
	mode_t *ret_mode; /* the topmost folder keeps 0700, and this is to be; or NULL */
};

/*
 * E: the topmost folder's entry; when it returns, the first that is not of this tree.
 * state-corrupt: that is no such tree; disk-full: it is more than there is room for.
 */
int ws_unpack_tree(const struct ws_unpack *u, struct ws_entry *e, struct ws_err *err);
/* The bytes of the file E, at most MAX. */
int ws_unpack_text(struct ws_archive *a, const struct ws_entry *e, size_t max,
		   struct ws_buf *ret, struct ws_err *err);
/* state-corrupt, with E's path in it. */
int ws_unpack_fail(const struct ws_entry *e, const char *what, struct ws_err *err);

#endif
