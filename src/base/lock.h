/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_LOCK_H
#define WS_BASE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * flock(2) locks. They belong to an open file description: a descriptor that was
 * inherited is the same lock, a second open is another. A failed non-blocking
 * conversion of a held lock loses it.
 */
/* Opens (creates, 0600) DIR/NAME for locking; CLOEXEC. -1 and errno. */
int ws_lock_open(int dir, const char *name);
int ws_lock_try(int fd, bool exclusive); /* 0, or -1 with EWOULDBLOCK */
void ws_lock_drop(int fd);		 /* LOCK_UN */
/*
 * Waits for the lock at most TIMEOUT_MS, then fails with KIND session-busy and
 * WHAT in the message.
 */
int ws_lock_wait(int fd, bool exclusive, uint64_t timeout_ms, const char *what,
		 struct ws_err *err);

#endif
