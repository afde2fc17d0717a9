/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_EXEC_H
#define WS_CORE_EXEC_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "core/root.h"
#include "core/run.h"

/* One command in a session, as the command line asked for it. */
struct ws_exec_opts {
	const char *id;
	const struct ws_run_opts
		*run;	     /* NULL: in session ID; else in a sandbox of its own
					*/
	const char *profile; /* or NULL: tool */
	const char *exec_id; /* or NULL: made up */
	const char *cwd;     /* or NULL: the only repo, else /workspace; of a run: HOME */
	struct ws_strv env;  /* NAME=VALUE in order, -e NAME already looked up */
	struct ws_strv argv;
	bool interactive, tty, detach, with_parent, dry_run, json;
	uint64_t timeout_ms; /* 0: none */
	uint64_t kill_after_ms;
	int status_fd; /* -1: none */
	const char *status_file, *pid_file;
};

#define WS_EXEC_OPTS_INIT \
	((struct ws_exec_opts){ .status_fd = -1, .kill_after_ms = 5000 })

struct ws_exec_result {
	int status; /* exit status of wsiso, also when -1 was returned */
	char *exec_id;
	pid_t pid;	    /* of the command, as the host knows it; 0: it never was */
	struct ws_buf plan; /* with dry_run: the text to print */
	struct ws_err late; /* with late.msg: to be told although the command ran */
};

#define WS_EXEC_RESULT_INIT \
	((struct ws_exec_result){ .status = 125, .late = WS_ERR_INIT })

void ws_exec_result_release(struct ws_exec_result *r);

/*
 * Runs it. 0: it ran (with dry_run: the plan is there; with detach: it runs on, in the
 * hands of a process of its own). -1: it did not, or (137) was lost as it began.
 */
int ws_exec(const struct ws_root *root, const struct ws_exec_opts *opts,
	    struct ws_exec_result *ret, struct ws_err *err);
/*
 * For who fails before ws_exec is called: writes the line of a failure
 * to OPTS' status descriptor or file, if there is one.
 */
void ws_exec_refuse(const struct ws_exec_opts *opts, const struct ws_err *err);

#endif
