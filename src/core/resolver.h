/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_RESOLVER_H
#define WS_CORE_RESOLVER_H

#include "base/err.h"
#include "core/merge.h"

#define WS_RESOLVER_TIMEOUT_MS 300000

/*
 * Asks the caller's own program about each conflict that M->room has laid out, but for
 * those whose keys are in ASKED, which gets them: one JSON object on its stdin, one on
 * its stdout. It has an environment of ours, and a session of its own, which is killed
 * at the time limit. What it answers is kept in the room; what is no answer is as good as
 * none, and warned of. Nothing is to be held meanwhile. Returns how many answers there
 * are.
 */
int ws_resolver_ask(const struct ws_merge *m, struct ws_strv *asked, struct ws_err *err);

#endif
