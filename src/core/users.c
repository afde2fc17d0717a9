/* SPDX-License-Identifier: Apache-2.0 */
#include "core/users.h"

#include "base/buf.h"
#include "base/log.h"

#define SHOWN 5

int ws_users_visit(const struct ws_root *root, bool sure,
		   void (*each)(void *arg, const struct ws_session *s), void *arg,
		   struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv ids = WS_STRV_INIT;

	if (ws_session_list(root, false, &ids, err) < 0)
		return -1;
	for (size_t i = 0; i < ids.n; i++) {
		WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;

		if (ws_session_open_record(root, ids.v[i], &s, err) == 0) {
			each(arg, &s);
			continue;
		}
		if (err->kind == WS_SESSION_MISSING)
			continue; /* deleted meanwhile */
		if (sure)
			return ws_fail_within(err, "who uses it");
		ws_warn("%s", err->msg);
	}
	return 0;
}

int ws_users_refuse(const char *what, const char *key, const struct ws_strv *users,
		    struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf names = WS_BUF_INIT;

	for (size_t i = 0; i < users->n && i < SHOWN; i++)
		ws_buf_addf(&names, "%s%s", i ? ", " : "", users->v[i]);
	if (users->n > SHOWN)
		ws_buf_addf(&names, " and %zu more", users->n - SHOWN);
	ws_fail(err, WS_SESSION_BUSY, "%s '%s' is used by %s", what, key,
		ws_buf_str(&names));
	return ws_hint(err, "wsiso delete ID removes a session");
}
