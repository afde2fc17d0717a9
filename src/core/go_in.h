/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_GO_IN_H
#define WS_CORE_GO_IN_H

#include <stdbool.h>

#include "base/err.h"
#include "core/enter.h"
#include "core/root.h"
#include "core/sandbox.h"
#include "core/session.h"

/* Who goes into a session's sandbox: what it was read as, and how to read it again. */
struct ws_way_in {
	const struct ws_session *session;
	const struct ws_enter_plan *plan;
	bool want_in;
	/* Session and plan anew, since the session's files say something else by now. */
	int (*reread)(struct ws_way_in *way, struct ws_err *err);
	/* Before each try, with the sandbox held; and after one that came to nothing. */
	int (*ready)(void *arg, struct ws_err *err);
	void (*missed)(void *arg);
	void *arg;
};

/*
 * Acquires the session's sandbox (started if need be) and enters it: again, for up to ten
 * seconds from the first miss, if the session changed before we came, or the sandbox was
 * about to end. READY and MISSED may be NULL. SB is the caller's, whatever comes of it.
 * *ret_status as ws_enter's, untouched if no sandbox was acquired.
 */
int ws_go_in(const struct ws_root *root, struct ws_way_in *way, struct ws_sandbox *sb,
	     struct ws_entered *ret, int *ret_status, struct ws_err *err);

#endif
