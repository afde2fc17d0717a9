/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CMD_DIFF_PRINT_H
#define WS_CMD_DIFF_PRINT_H

#include "base/err.h"
#include "core/commits.h"
#include "core/diff.h"
#include "core/session.h"
#include "core/stack.h"

enum ws_diff_format { WS_DIFF_NAMES, WS_DIFF_STAT, WS_DIFF_PATCH, WS_DIFF_JSON };

/* What diff prints, and how; all of it is the caller's. */
struct ws_diff_output {
	const struct ws_session *session;
	const struct ws_stack *stack;
	const struct ws_diff *changes;
	const struct ws_diff *rest; /* outside of BASE: a patch leaves it out; or NULL */
	const struct ws_commits *commits; /* of each repo of the session */
	const char *base; /* text shows paths relative to it: "" or "app" */
	enum ws_diff_format format;
	bool pager;
};

/*
 * To stdout, the patch piece by piece. On a terminal in colours, with what comes from
 * inside escaped. Returns 0; -1 also if a patch could not carry all of it.
 */
int ws_diff_print(const struct ws_diff_output *o, struct ws_err *err);

#endif
