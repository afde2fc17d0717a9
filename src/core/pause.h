/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_PAUSE_H
#define WS_CORE_PAUSE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "core/sandbox.h"

/*
 * All commands of a live sandbox, stopped for a moment. A process of our own does it and
 * lets them go on, so that they do so if we are killed over it. Whoever was stopped
 * before stays so.
 */
struct ws_pause {
	pid_t keeper;
	int line; /* closed: they go on */
	bool all; /* every one of them stands still */
};

#define WS_PAUSE_INIT ((struct ws_pause){ .line = -1 })

int ws_pause_begin(const struct ws_sandbox *sb, struct ws_pause *ret, struct ws_err *err);
/* Does every one still stand still? Nobody has come in between then. */
bool ws_pause_holds(const struct ws_sandbox *sb);
/* They go on, and have been told so when this returns. */
void ws_pause_release(struct ws_pause *p);

#endif
