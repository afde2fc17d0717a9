/* SPDX-License-Identifier: Apache-2.0 */
#include "core/exec.h"
#include "cmd/common.h"
#include "cmd/exec_opts.h"
#include "core/root.h"

static int parse(const struct ws_cmd *cmd, int argc, char **argv, struct ws_exec_flags *f,
		 struct ws_exec_opts *o, struct ws_strv *args, struct ws_err *err)
{
	struct ws_opt opts[WS_EXEC_ROWS];

	ws_exec_rows(f, o, opts);
	return ws_cmd_options(cmd, argc, argv, opts, args, err);
}

static int exec_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		    char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_exec_result) struct ws_exec_result result = WS_EXEC_RESULT_INIT;
	WS_AUTO(ws_exec_flags) struct ws_exec_flags f = { 0 };
	WS_AUTO(ws_exec_opts) struct ws_exec_opts o = WS_EXEC_OPTS_INIT;
	int rc = parse(cmd, argc, argv, &f, &o, &args, err);

	if (rc > 0)
		return 0;
	if (args.n > 0)
		o.id = args.v[0];
	if (rc < 0 || ws_cmd_count(cmd, &args, 1, SIZE_MAX, err) < 0 ||
	    ws_exec_opts_gather(&f, &args, 1, &o, err) < 0 ||
	    ws_root_open(global->root, true, &root, err) < 0) {
		ws_exec_refuse(&o, err);
		return -1;
	}
	rc = ws_exec(&root, &o, &result, err);
	return ws_exec_finish(cmd, &o, rc, &result, err);
}

const struct ws_cmd ws_cmd_exec = {
	.name = "exec",
	.args = "ID [OPTIONS] [--] COMMAND...",
	.help = "run a command in a session",
	.npos = 1,
	.run = exec_run,
	.status_of = WS_STATUS_EXEC,
};
