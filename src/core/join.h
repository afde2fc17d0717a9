/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_JOIN_H
#define WS_CORE_JOIN_H

#include <sys/types.h>

#include "base/err.h"
#include "core/sandbox.h"

/* At least this much, for whatever runs inside. */
#define WS_JOIN_OOM_SCORE_ADJ 500

/*
 * Starts stage 2 ("init enter") in SB's namespaces, with CONTROL as its socket. It is a
 * child of the caller's, non-dumpable until its exec, and knows nothing of
 * the caller's argv, environment and other descriptors.
 * *ret_pid has to go through ws_join_reap.
 * sandbox-lost with ESRCH in err->sys: SB is ending.
 */
int ws_join(const struct ws_sandbox *sb, int control, pid_t *ret_pid, struct ws_err *err);
/* Its work is done once the shepherd has said HELLO, or never will. */
void ws_join_reap(pid_t pid);

#endif
