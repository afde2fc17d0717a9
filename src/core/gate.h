/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_GATE_H
#define WS_CORE_GATE_H

#include "base/err.h"
#include "core/session.h"

/*
 * What create, exec and run ask before anything else: enabled, allow_root, built.
 * Refusals: disabled, host-unsupported, spec-invalid.
 */
int ws_gate(const struct ws_spec *spec, struct ws_err *err);
/* May something run in session S? Besides these, usage (a run's) and session-blocked. */
int ws_gate_session(const struct ws_session *s, struct ws_err *err);

#endif
