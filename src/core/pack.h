/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_PACK_H
#define WS_CORE_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/room.h"
#include "base/strv.h"
#include "core/archive.h"
#include "core/walk.h"

/* What an archive could not carry, or not as it was. */
struct ws_left {
	char *path;	 /* as the archive would name it */
	const char *why; /* completes "PATH is left out: it is ..." or "PATH: ..." */
	bool lost;	 /* somebody's work is not in the archive */
};

#define WS_LEFT_MAX 1000

struct ws_export_report {
	struct ws_left *v;
	size_t n;	     /* WS_LEFT_MAX at most: a session could make any number */
	uint64_t left, lost; /* of all */
	uint64_t files, folders, links, fifos, deleted;
	uint64_t bytes; /* of files, holes included */
	bool running;	/* commands were: what they wrote meanwhile may be torn */
};

#define WS_EXPORT_REPORT_INIT ((struct ws_export_report){ 0 })

void ws_export_report_release(struct ws_export_report *r);
void ws_export_leave(struct ws_export_report *r, const char *path, const char *why,
		     bool lost);

/*
 * Trees into an archive. They may be an agent's: all reading is the walk's and the
 * stack's (stack.h); of a file that is written to meanwhile as many bytes are taken as it
 * had.
 */
struct ws_pack {
	struct ws_archive *archive;
	struct ws_export_report *report;
	const char *prefix; /* the name of the topmost folder */
	bool layer;	    /* whiteouts as OCI has them; else as overlayfs */
	bool portable;	    /* for any unpacker: whole seconds, no set-id, short paths */
	uint64_t dense;	    /* so many bytes of holes may yet be written as zeros */
	struct ws_room *room;	/* where the archive is written */
	const char *only;	/* of the topmost folder's names only this one; or NULL */
	struct ws_strv skipped; /* paths that are not wanted */
	bool (*wanted)(const char *path, bool folder); /* or NULL: all */
};

int ws_pack_tree(struct ws_pack *p, const struct ws_stack *stack, unsigned first,
		 unsigned last, enum ws_walk_what what, struct ws_err *err);
/* A file of ours. */
int ws_pack_text(struct ws_archive *a, const char *path, const void *data, size_t len,
		 struct ws_err *err);

#endif
