/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_VIEW_H
#define WS_CORE_VIEW_H

#include "base/err.h"
#include "base/jsonw.h"
#include "core/sandbox.h"
#include "core/session.h"

/*
 * A session as it is at this moment, for state and list. Needs no bwrap, changes nothing.
 */
struct ws_view {
	const struct ws_session *session; /* the caller's */
	const char *status; /* "created" "running" "stopped" "blocked": a constant */
	struct ws_sandbox sandbox; /* pidfd -1: none is live */
};

void ws_view_release(struct ws_view *v);
int ws_view_make(const struct ws_session *s, struct ws_view *ret, struct ws_err *err);
/*
 * The object of `wsiso state`. SIZES walks the session's folders for the bytes they hold.
 */
int ws_view_print(const struct ws_view *v, bool sizes, struct ws_jsonw *w,
		  struct ws_err *err);

#endif
