/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_NETWORK_H
#define WS_CORE_NETWORK_H

#include "base/err.h"
#include "core/root.h"
#include "core/session.h"

/*
 * host_readonly.network "ask": once per session, on the terminal, before its sandbox
 * starts. The answer is S', the record's and the journal's from then on. Where nobody can
 * answer nothing is asked and nothing kept: it is isolated, and a later call may ask.
 */
int ws_network_ask(const struct ws_root *root, struct ws_session *s, struct ws_err *err);

#endif
