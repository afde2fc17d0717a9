/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_RENDER_H
#define WS_CORE_RENDER_H

#include "base/strv.h"
#include "core/plan.h"

/*
 * A plan in bwrap's words: pure. What bwrap reads from descriptors has the number
 * FIRST_FD + n, n being its place in DATA, where the bytes are added (of a bind: the
 * source's name; ws_plan_fd_mount tells which it is); after these come the plan's
 * filters.
 */
void ws_render_bwrap(const struct ws_plan *plan, int first_fd, struct ws_strv *args,
		     struct ws_strv *data);

#endif
