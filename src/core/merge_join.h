/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_MERGE_JOIN_H
#define WS_CORE_MERGE_JOIN_H

#include "core/merge_read.h"

/*
 * Merges the bytes of all files that the plan says to join. Each has its bytes then, or
 * is a conflict, unless that was answered. OURS and THEIRS stand behind the markers.
 */
int ws_merge_join(struct ws_merge_trees *t, const char *ours, const char *theirs,
		  struct ws_err *err);

#endif
