/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "base/text.h"
#include "cmd/common.h"
#include "core/execrec.h"
#include "core/procs.h"
#include "core/root.h"
#include "core/session.h"

static int kill_session(const struct ws_session *s, const char *exec_id, int sig,
			struct ws_err *err)
{
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	WS_AUTO(ws_execrec) struct ws_execrec r = WS_EXECREC_INIT;
	size_t n = 0;
	int live;

	if (exec_id && ws_execrec_load(s, exec_id, &r, err) < 0)
		return -1;
	live = ws_sandbox_peek(s, &sb, err);
	if (live < 0 || (live && ws_procs_signal(&sb, exec_id ? &r.shepherd : NULL, sig,
						 &n, err) < 0))
		return -1;
	if (n > 0)
		return 0;
	if (exec_id)
		return ws_fail(err, WS_EXEC_MISSING, "nothing of exec '%s' is running",
			       exec_id);
	return ws_fail(err, WS_EXEC_MISSING, "nothing is running in session '%s'", s->id);
}

static int kill_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		    char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	const char *exec_id = NULL;
	bool all = false;
	int sig = SIGTERM;
	const struct ws_opt opts[] = {
		{ 0, "exec", WS_OPT_STR, &exec_id, "EXEC",
		  "only what this exec has started" },
		{ 'a', "all", WS_OPT_FLAG, &all, NULL, "every process (it always is)" },
		{ 's', "signal", WS_OPT_SIGNAL, &sig, "SIGNAL",
		  "the same as the argument" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, 2, err) < 0)
		return -1;
	if (args.n == 2 && ws_text_signal(args.v[1], &sig) < 0)
		return ws_fail(err, WS_USAGE, "'%s' is no signal", args.v[1]);
	if (all && exec_id)
		return ws_fail(err, WS_USAGE, "--all and --exec exclude each other");
	if (ws_root_open(global->root, true, &root, err) < 0 ||
	    ws_session_open_record(&root, args.v[0], &s, err) < 0)
		return -1;
	return kill_session(&s, exec_id, sig, err);
}

const struct ws_cmd ws_cmd_kill = {
	.name = "kill",
	.args = "ID [SIGNAL] [--exec EXEC]",
	.help = "send a signal to what runs in a session",
	.npos = -1,
	.run = kill_run,
	.status_of = WS_STATUS_PLAIN,
};
