/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_USERS_H
#define WS_CORE_USERS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strv.h"
#include "core/root.h"
#include "core/session.h"

/*
 * Who stands on what sessions share: EACH is called for each session that has a record,
 * of which the spec is not read. One that cannot be read may stand on anything: who wants
 * to be SURE gets the error, others a warning.
 */
int ws_users_visit(const struct ws_root *root, bool sure,
		   void (*each)(void *arg, const struct ws_session *s), void *arg,
		   struct ws_err *err);
/* session-busy: WHAT is used by USERS, of which there is one. */
int ws_users_refuse(const char *what, const char *key, const struct ws_strv *users,
		    struct ws_err *err);

#endif
