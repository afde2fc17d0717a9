/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_MERGE_LIVE_H
#define WS_CORE_MERGE_LIVE_H

#include "base/err.h"
#include "core/fork.h"

/*
 * A session with live commands cannot get another layer, so what a merge does to it goes
 * through its own mounts, file by file, while they are stopped. First its record names
 * the layer (INCOMING): from then on it is to be merged, and whoever comes next finishes
 * it if we are killed over it.
 */

/* May LAYER be laid over a live session without filling the disk? */
int ws_merge_check_space(const struct ws_root *root, const char *layer,
			 struct ws_err *err);
/*
 * Does what the layer says that the record of F, which is held, names as incoming:
 * through the mounts of its sandbox, or, where it has none, by putting it on the stack.
 * Then the record names it as arrived. Success if there is none.
 */
int ws_merge_finish(struct ws_fork *f, struct ws_err *err);
/* The same, for who holds nothing. */
int ws_merge_resume(const struct ws_root *root, const char *id, struct ws_err *err);

#endif
