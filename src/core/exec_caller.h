/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_EXEC_CALLER_H
#define WS_CORE_EXEC_CALLER_H

#include "core/exec.h"
#include "core/profile.h"
#include "core/session.h"

/* What a command has of wsiso's caller: relayed stdio, and its death. */
struct ws_exec_caller {
	int in, out, errs; /* ours, for the relays; -1: none */
	int log;	   /* with detach: OUT and ERRS write to it */
	uint64_t room;	   /* what the log still takes */
	int parent;	   /* pidfd of the caller, if the command is tied to it */
};

#define WS_EXEC_CALLER_INIT       \
	((struct ws_exec_caller){ \
		.in = -1, .out = -1, .errs = -1, .log = -1, .parent = -1 })

void ws_exec_caller_release(struct ws_exec_caller *c);
/* Usage errors of OPTS by themselves, and the tie to the caller if there is to be one. */
int ws_exec_caller_check(const struct ws_exec_opts *opts,
			 const struct ws_profile *profile, struct ws_exec_caller *ret,
			 struct ws_err *err);
/* EXEC_ID names the log of a command in the background. */
int ws_exec_caller_open(const struct ws_exec_opts *opts, const struct ws_profile *profile,
			const struct ws_session *s, const char *exec_id,
			struct ws_exec_caller *ret, struct ws_err *err);

#endif
