/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_HOST_H
#define WS_CORE_HOST_H

#include "base/err.h"
#include "core/plan.h"
#include "core/session.h"

/* Gathers what a plan has to know about this host, and about a session. */
int ws_host_look(struct ws_host *ret, struct ws_err *err);
void ws_host_source(const struct ws_root *root, const struct ws_session *s,
		    struct ws_plan_source *ret);
void ws_plan_source_release(struct ws_plan_source *src);

#endif
