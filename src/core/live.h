/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_LIVE_H
#define WS_CORE_LIVE_H

#include "base/err.h"
#include "core/vcs.h"

/*
 * snapshots.enabled false: the host's folder itself is the lower, whatever keeps its
 * history. Fills path, has_setup and warnings. Refused (repo-unusable): what has no
 * folder to show, a revision or branch that is named, a folder that cannot be a lower.
 */
int ws_live_resolve(const struct ws_vcs_call *call, struct ws_repo *r,
		    struct ws_err *err);

#endif
