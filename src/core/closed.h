/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_CLOSED_H
#define WS_CORE_CLOSED_H

#include <stdbool.h>

#include "base/err.h"
#include "core/plan.h"

/*
 * bwrap makes no mount point below a folder that its caller may enter but not list, such
 * as a /home of mode 711. So over each such folder on the way to a mount of COVERS or
 * LATE, or to LAUNCH, comes an empty one, in which there is nothing but that way: what
 * else is in it could not be listed, and cannot be reached by its name any more.
 *
 * OVER: the launch folder is laid over the host, and LATE over it. spec-invalid if LAUNCH
 * itself cannot be listed, and something in it is to be hidden.
 */
int ws_closed_cover(const char *launch, bool over, struct ws_plan *covers,
		    struct ws_plan *late, struct ws_err *err);

#endif
