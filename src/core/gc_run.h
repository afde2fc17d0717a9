/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_GC_RUN_H
#define WS_CORE_GC_RUN_H

#include <time.h>

#include "core/gc.h"
#include "core/gc_fate.h"
#include "core/refs.h"

/* One run of gc, shared by its parts: gc.c, gc_sessions.c, gc_store.c, gc_setups.c. */
struct ws_gc_run {
	const struct ws_root *root;
	const struct ws_gc_opts *opts;
	struct ws_gc_report *report;
	struct ws_spec spec; /* of wsiso.json; see ws_gc_heed */
	bool root_says_ttl, root_says_free, root_says_budget, root_says_failed;
	struct ws_gc_moment now; /* when it began */
	struct timespec began;	 /* the same as the filesystem's clock has it */
	uint64_t deadline_ms;	 /* of the monotonic clock */
	/* marks: what living sessions have */
	struct ws_refs layers, homes, snapshots, pools;
	bool unsure; /* a session could not be read: what is shared may be its */
};

bool ws_gc_time_over(struct ws_gc_run *run);
/* Was NS before this run began? A later change may be that of one who counts on it. */
bool ws_gc_is_older(const struct ws_gc_run *run, uint64_t ns);
/* Is less free than min_free_gb, right now? */
bool ws_gc_is_short_of_space(const struct ws_gc_run *run);
/* Adds an item; REASON as printf has it. */
void ws_gc_item_add(struct ws_gc_run *run, const char *kind, const char *id,
		    enum ws_gc_action action, uint64_t bytes, const char *reason, ...)
	__attribute__((format(printf, 6, 7)));

/*
 * Where wsiso.json is silent about what is shared, the most careful of the living
 * sessions' specs counts.
 */
void ws_gc_heed(struct ws_gc_run *run, const struct ws_spec *session);

/* Expires sessions, ends tombstones, and marks what the others have. */
int ws_gc_sessions(struct ws_gc_run *run, struct ws_err *err);
/* Marks what sessions have by now, besides; false: one of them cannot be read. */
bool ws_gc_mark_again(struct ws_gc_run *run);
/* Removes snapshots, layers and pools that nobody has. */
int ws_gc_store(struct ws_gc_run *run, struct ws_err *err);

#endif
