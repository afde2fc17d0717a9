/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_MERGE_LAYER_H
#define WS_CORE_MERGE_LAYER_H

#include <sys/types.h>

#include "base/err.h"
#include "core/merge_read.h"

/* Files that no tree has: git's own. */
struct ws_merge_extra {
	char *path; /* below /workspace */
	char *from; /* below DIR */
	mode_t mode;
};

struct ws_merge_extras {
	int dir;
	struct ws_merge_extra *v;
	size_t n;
};

/*
 * What a merge does to ours, as a layer: what it writes and, as whiteouts, what it
 * removes. TO is the layer's folder, which stands at /workspace. Theirs are layers that
 * do not change any more, so their files get another name here; what of theirs is a live
 * repo's is copied. Nothing of ours is touched.
 */
int ws_merge_layer_make(const struct ws_merge_trees *t,
			const struct ws_merge_extras *extras, int to, struct ws_err *err);

#endif
