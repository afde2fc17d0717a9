/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_GC_VICTIMS_H
#define WS_CORE_GC_VICTIMS_H

#include "core/gc_run.h"

/*
 * What is kept for a key and is to go. A session that was saved after gc had read the
 * sessions may stand on it: its create is known by a touch of the key's lock, unless it
 * was killed before that. So several are locked, which keeps all others away, the
 * sessions are read once more, and only then what nobody has goes.
 */
struct ws_gc_sort {
	/* its lock, exclusively; -1: somebody came since gc began */
	int (*hold)(const void *store, const void *thing);
	bool (*is_used)(const void *store, const void *thing);
	/* under the lock; NULL: it is, once it was added */
	bool (*is_needed)(const void *store, const void *thing);
	void (*remove)(void *store, void *thing, const char *why);
};

#define WS_GC_TOGETHER 64
struct ws_gc_victims {
	struct ws_gc_run *run;
	struct {
		const struct ws_gc_sort *sort;
		void *store, *thing;
		const char *why;
		int lock;
	} v[WS_GC_TOGETHER];
	size_t n;
};

/* Removes them, or those before it, at once or when the next is added. */
void ws_gc_victims_add(struct ws_gc_victims *all, const struct ws_gc_sort *sort,
		       void *store, void *thing, const char *why);
/* Removes those that wait. */
void ws_gc_victims_end(struct ws_gc_victims *all);

#endif
