/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SANDBOX_START_H
#define WS_CORE_SANDBOX_START_H

#include "base/err.h"
#include "core/sandbox.h"

/*
 * Starts the session's sandbox. The caller holds the mutex, and USE exclusively: the
 * lease passes to init by inheritance of that very open file description. On success USE
 * is held shared by init, RET is filled, ret->use holds it shared by a description of its
 * own, and init has got its GO.
 */
int ws_sandbox_start(const struct ws_root *root, const struct ws_session *s, int use,
		     struct ws_sandbox *ret, struct ws_err *err);

/*
 * The very command as a person can run it, every descriptor as a redirection. JSON: the
 * plan.
 */
int ws_sandbox_dry_run(const struct ws_root *root, const struct ws_session *s, bool json,
		       struct ws_buf *out, struct ws_err *err);

#endif
