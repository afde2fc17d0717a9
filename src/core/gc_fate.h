/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_GC_FATE_H
#define WS_CORE_GC_FATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What becomes of a session that nobody uses: pure. Edits cannot be made again, and a
 * clock can be wrong: so a session goes only when two sightings, an hour of this
 * machine's uptime apart, have both found it idle for longer than its TTL, and when
 * between them the wall clock has advanced as the boot clock has.
 */

/* A moment by both clocks; of a sighting, wall_ns 0: there was none. */
struct ws_gc_moment {
	uint64_t wall_ns; /* since 1970 */
	uint64_t boot_ms; /* since this machine was started, suspend included */
};

enum ws_gc_fate {
	WS_GC_KEEP,   /* in use, or used recently enough */
	WS_GC_SIGHT,  /* idle for too long, seen so for the first time: note the moment */
	WS_GC_WAIT,   /* noted before, less than an hour ago */
	WS_GC_EXPIRE, /* seen twice */
	WS_GC_DOUBT,  /* its last use lies in the future: a clock is or was wrong */
};

enum ws_gc_fate ws_gc_session_fate(struct ws_gc_moment now, uint64_t used_ns,
				   uint64_t ttl_s, struct ws_gc_moment sighted);
/*
 * For what can be made again one look is enough. A time in the future is no age.
 */
bool ws_gc_is_old(struct ws_gc_moment now, uint64_t last_ns, uint64_t ttl_s);
/* Is it time for gc --if-due? Never if INTERVAL_S is 0; at once if the last run lies in
 * the future. */
bool ws_gc_is_due(struct ws_gc_moment now, uint64_t last_ns, uint64_t interval_s);

#endif
