/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_MERGE_LAYER_H
#define WS_CORE_MERGE_LAYER_H

#include "base/err.h"
#include "core/merge_read.h"

/*
 * What a merge does to ours, as a layer: what it writes and, as whiteouts, what it
 * removes. TO is the layer's folder, which stands at /workspace. Theirs are layers that
 * do not change any more, so their files get another name here; what of theirs is a live
 * repo's is copied. Nothing of ours is touched.
 */
int ws_merge_layer_make(const struct ws_merge_trees *t, int to, struct ws_err *err);

#endif
