/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SNAPSHOT_MAKE_H
#define WS_CORE_SNAPSHOT_MAKE_H

#include "base/err.h"
#include "core/root.h"
#include "core/snapshot.h"

#define WS_SCRATCH_NAME_MAX 64

/* A layer that is being built: the folder tmp/NAME, open (and so held) as FD. */
struct ws_scratch {
	char name[WS_SCRATCH_NAME_MAX];
	int fd;
};

/* A sort of layer: what its name begins with, and what its meta.json calls it. */
struct ws_layer_sort {
	const char *prefix, *kind;
};

extern const struct ws_layer_sort WS_LAYER_BASE, WS_LAYER_DELTA, WS_LAYER_INDEX;

/* How the new layers of a snapshot come about. */
#define WS_MAKER_LAYERS 2
struct ws_snapshot_maker {
	const struct ws_layer_sort
		*sorts[WS_MAKER_LAYERS]; /* bottom to top; NULL: none */
	/*
	 * Under the lock, before anything is made: may put layers of other snapshots,
	 * which it holds, below (s->layers) and change sorts. NULL: nothing to plan.
	 */
	int (*plan)(struct ws_snapshot_maker *m, struct ws_snapshot *s,
		    struct ws_err *err);
	/*
	 * Fills LAYERS, one for each sort. LOCK is for helpers to hold, who may outlive
	 * us; -1: there is none.
	 */
	int (*fill)(struct ws_snapshot_maker *m, const struct ws_scratch *layers,
		    int lock, struct ws_err *err);
	void *data; /* theirs */
};

/*
 * S is described (key, repo, name, vcs, revision, pool) and gets its layers: those of the
 * snapshot of that key, made if there is none. Single flight. *ret_hold is its lock,
 * shared: nobody removes it while that is open.
 */
int ws_snapshot_obtain(const struct ws_root *root, struct ws_snapshot_maker *m,
		       struct ws_snapshot *s, int *ret_hold, struct ws_err *err);
/* Always made, for session ID alone: private layers, no manifest, no key any more. */
int ws_snapshot_make_own(const struct ws_root *root, const char *id,
			 struct ws_snapshot_maker *m, struct ws_snapshot *s,
			 struct ws_err *err);
/* Removes what a failure left in tmp/NAME; errors do not matter: it is swept. */
void ws_scratch_discard(const struct ws_root *root, const char *name);

#endif
