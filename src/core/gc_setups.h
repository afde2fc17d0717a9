/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_GC_SETUPS_H
#define WS_CORE_GC_SETUPS_H

#include "core/gc_victims.h"
#include "core/setup.h"

/* What setup scripts have made, for one run of gc. */
struct ws_gc_setup {
	struct ws_setup s;
	uint64_t last; /* ns since 1970 of its last use */
	bool gone;
};

struct ws_gc_setups {
	struct ws_gc_run *run;
	struct ws_gc_setup *v; /* oldest first */
	size_t n;
	struct ws_refs layers; /* that a record names */
	bool unsure;	       /* a record could not be read: any layer may be its */
};

void ws_gc_setups_release(struct ws_gc_setups *all);
/* After the names of the layers were read: a record names its layer before that is
 * there. */
int ws_gc_setups_read(struct ws_gc_run *run, struct ws_gc_setups *ret,
		      struct ws_err *err);
/*
 * Removes those whose maker died, failures that need be remembered no longer, and, the
 * least recently used first, what a repo has beyond its budget. Nothing that a session
 * stands on.
 */
void ws_gc_setups_clean(struct ws_gc_setups *all);
/*
 * While the disk is too full: adds those from the FROM-th on that no session has, and
 * that were last used before BEFORE. Returns where to go on.
 */
size_t ws_gc_setups_spare(struct ws_gc_setups *all, size_t from, uint64_t before,
			  struct ws_gc_victims *victims);

#endif
