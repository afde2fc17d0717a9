/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_GC_H
#define WS_CORE_GC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/root.h"

/* What of a root has no use any more, and its removal: mark and sweep. */
struct ws_gc_opts {
	bool dry_run; /* only tell */
	bool if_due;  /* nothing sooner than cleanup_interval after the last run */
	uint64_t max_seconds; /* 0: as long as it takes */
	/* is told of each item at once, or NULL */
	void (*on_item)(const char *kind, const char *id);
};

enum ws_gc_action {
	WS_GC_REMOVED, /* with dry_run: would be */
	WS_GC_NOTED,   /* seen idle once, or less than an hour ago: it stays for now */
	WS_GC_LEFT,    /* could not be judged, or not be removed; REASON says why */
};

struct ws_gc_item {
	/* "session", "tombstone", "snapshot", "setup", "layer", "home", "pool", "leftover" */
	const char *kind;
	char *id;
	enum ws_gc_action action;
	char *reason;
	uint64_t bytes; /* of disk that it had */
};

struct ws_gc_report {
	struct ws_gc_item *v;
	size_t n;
	uint64_t bytes; /* of all that was, or would be, removed */
	uint64_t free;	/* on the root's filesystem, in the end */
	bool ran;	/* false: it was not due */
	bool complete;	/* false: its time was over */
};

#define WS_GC_REPORT_INIT ((struct ws_gc_report){ 0 })

void ws_gc_report_release(struct ws_gc_report *r);
const char *ws_gc_action_name(enum ws_gc_action action);
/*
 * session-busy if another gc is at work (with if_due that is no error). What cannot be
 * removed is an item and no error.
 */
int ws_gc(const struct ws_root *root, const struct ws_gc_opts *opts,
	  struct ws_gc_report *ret, struct ws_err *err);

#endif
