/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_KEYLOCK_H
#define WS_CORE_KEYLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/root.h"

/*
 * The lock of what is kept once for a key: FOLDER/KEY.lock (flock). It is held
 * exclusively by who makes or removes the thing, and shared by who is on his way to use
 * it. A remover takes the file away, so whoever has it looks whether it is still the one
 * of that name. Its time stamp is the last use.
 */
struct ws_keylock {
	const char *folder; /* below the root */
	const char *what;   /* "the snapshot" */
};

/* Waits up to TIMEOUT_MS (0: not at all); session-busy. The descriptor, or -1. */
int ws_keylock_take(const struct ws_root *root, const struct ws_keylock *sort,
		    const char *key, bool exclusive, uint64_t timeout_ms,
		    struct ws_err *err);
/* Records use; ns since 1970 of the last one, 0: there is no such lock. */
void ws_keylock_touch(const struct ws_root *root, const struct ws_keylock *sort,
		      const char *key);
/*
 * Ends a shared hold, and records that it was one until now: a gc that read the sessions
 * before what the hold was for was among them sees by this that somebody came.
 */
void ws_keylock_let_go(int *hold);
uint64_t ws_keylock_last_use(const struct ws_root *root, const struct ws_keylock *sort,
			     const char *key);

#endif
