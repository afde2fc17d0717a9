/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CMD_EXEC_OPTS_H
#define WS_CMD_EXEC_OPTS_H

#include "base/opt.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "core/exec.h"

/*
 * The options that exec and run have in common. Those that are looked at here are in
 * struct ws_exec_flags; the others go to struct ws_exec_opts as they are.
 */
struct ws_exec_flags {
	const char *process;
	struct ws_strv env, env_files;
	char *cwd; /* of --process */
};

void ws_exec_flags_release(struct ws_exec_flags *f);
void ws_exec_opts_release(struct ws_exec_opts *o);

/* How many rows there are at most, the zero row at their end included. */
#define WS_EXEC_ROWS 24

/* Writes them to ROWS, with F and O as their targets. */
void ws_exec_rows(struct ws_exec_flags *f, struct ws_exec_opts *o, struct ws_opt *rows);
/*
 * Environment and command from files, options and ARGS from FIRST on. F must live as long
 * as O does.
 */
int ws_exec_opts_gather(struct ws_exec_flags *f, const struct ws_strv *args, size_t first,
			struct ws_exec_opts *o, struct ws_err *err);
/*
 * The exit status, and what is printed in the end: a command's own status, and an error
 * to tell; main has no words for both.
 */
int ws_exec_finish(const struct ws_cmd *cmd, const struct ws_exec_opts *o, int rc,
		   const struct ws_exec_result *r, struct ws_err *err);

#endif
