/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_EXEC_PLAN_H
#define WS_CORE_EXEC_PLAN_H

#include "base/err.h"
#include "core/enter.h"
#include "core/exec.h"
#include "core/profile.h"
#include "core/session.h"
#include "core/user.h"

/* What a command is made from; all of it stays the caller's. */
struct ws_exec_source {
	const struct ws_session *session;
	const struct ws_spec *spec; /* what the profile makes of the session's */
	const struct ws_profile *row;
	const struct ws_user *user;
};

/* What OPTS and the spec make of a command. Usage errors. */
int ws_exec_plan(const struct ws_exec_source *src, const struct ws_exec_opts *opts,
		 struct ws_enter_plan *ret, struct ws_err *err);
/*
 * The time the command has, in ms: the shorter one of OPTS' and the spec's; 0: no limit.
 */
uint64_t ws_exec_timeout(const struct ws_spec *spec, const struct ws_exec_opts *opts);

/*
 * What would be done, for people (JSON: for programs): the bwrap command that starts the
 * session's sandbox, and what enter adds. Of variables that are not wsiso's own, the
 * names only.
 */
int ws_exec_dry_run(const struct ws_root *root, const struct ws_session *s,
		    const struct ws_enter_plan *plan, bool json, struct ws_buf *out,
		    struct ws_err *err);

/*
 * Where a command works: pure. HOME is where a run does. NULL with ERR if CWD (may be
 * NULL) is refused.
 */
char *ws_exec_cwd(const struct ws_session *s, const char *home, const char *cwd,
		  struct ws_err *err);

#endif
