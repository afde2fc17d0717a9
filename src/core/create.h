/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_CREATE_H
#define WS_CORE_CREATE_H

#include "base/err.h"
#include "core/progress.h"
#include "core/root.h"
#include "core/session.h"

struct ws_create_opts {
	const char *id;
	const char *spec;   /* file, "-" for stdin, NULL: the bundle's */
	const char *bundle; /* folder, NULL: sessions/ID */
	const char *parent; /* session to fork; NULL: none */
	const char *from;   /* archive of one, "-" for stdin; NULL: none */
	bool retry;
	const struct ws_progress *progress; /* or NULL */
};

/*
 * Makes a session. Refused before any layer was made: nothing is left. Failed
 * later: it is blocked with the cause. A child's spec is what it adds to its parent's.
 */
int ws_create(const struct ws_root *root, const struct ws_create_opts *opts,
	      struct ws_session *ret, struct ws_err *err);
/*
 * Ends its sandbox and removes all of it. FORCE: also with live commands, or if it is
 * damaged.
 */
int ws_delete(const struct ws_root *root, const char *id, bool force, struct ws_err *err);

#endif
