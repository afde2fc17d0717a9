/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_IDLE_H
#define WS_CORE_IDLE_H

#include "core/root.h"
#include "core/session.h"

/*
 * How many idle sandboxes a root keeps (max_idle): live/ID is an empty file for each
 * sandbox that was started, newest use last. A hint, no more: whether one lives says its
 * record.
 */
/*
 * Notes a start, then ends the longest-idle ones beyond MAX. Never waits for a session's
 * mutex.
 */
void ws_idle_note(const struct ws_root *root, const struct ws_session *s, uint64_t max);

#endif
