/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SHARED_H
#define WS_CORE_SHARED_H

#include <stdbool.h>

#include "base/err.h"
#include "core/refs.h"
#include "core/root.h"
#include "core/session.h"

/*
 * What one session made and others may have since a fork: layers that bear its name, and
 * a HOME. They go with the last session whose record names them.
 *
 * Who puts such a name into a second record holds the lock shared until that is saved,
 * and the mutex of the session that it has it from; who removes things looks and removes
 * under the lock, exclusively. A mutex is taken before the lock, never after.
 */
int ws_shared_lock(const struct ws_root *root, bool exclusive, struct ws_err *err);

struct ws_shared {
	struct ws_refs layers, homes;
	struct ws_strv names; /* second names of ID, if one was asked about */
	bool unsure;	      /* a record cannot be read: it may name anything */
};

#define WS_SHARED_INIT ((struct ws_shared){ 0 })

void ws_shared_release(struct ws_shared *sh);
/* What all sessions but ID (NULL: all) have. */
int ws_shared_look(const struct ws_root *root, const struct ws_session *but,
		   struct ws_shared *ret, struct ws_err *err);

/*
 * Removes the layers and the HOME of S that no other session has, and all that bears its
 * name. Its record may be one that could not be read: then only what bears its name.
 * What is another's, or may be, stays.
 */
int ws_shared_discard(const struct ws_root *root, const struct ws_session *s,
		      struct ws_err *err);

#endif
