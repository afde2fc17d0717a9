/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run.h"
#include <string.h>

#include "cmd/common.h"
#include "cmd/exec_opts.h"
#include "core/exec.h"
#include "core/root.h"

static int parse(const struct ws_cmd *cmd, int argc, char **argv, struct ws_run_opts *r,
		 struct ws_exec_flags *f, struct ws_exec_opts *o, struct ws_strv *args,
		 struct ws_err *err)
{
	const struct ws_opt own[] = {
		{ 0, "id", WS_OPT_STR, &r->id, "NAME",
		  "keep its HOME under this name, and show it in list, ps and kill" },
		{ 0, "spec", WS_OPT_STR, &r->spec, "FILE",
		  "a spec ('-': standard input); else wsiso.json's defaults" },
		{ 0, "ro", WS_OPT_LIST, &r->ro, "SRC[:DST]",
		  "show a file or folder of the host, read-only" },
		{ 0, "rw", WS_OPT_LIST, &r->rw, "SRC[:DST]",
		  "let it write to a folder of the host" },
		{ 0, "network", WS_OPT_STR, &r->network, "MODE",
		  "isolate, or share where spec and profile do" },
	};
	struct ws_opt opts[WS_ARRAY_SIZE(own) + WS_EXEC_ROWS];

	memcpy(opts, own, sizeof(own));
	ws_exec_rows(f, o, opts + WS_ARRAY_SIZE(own));
	return ws_cmd_options(cmd, argc, argv, opts, args, err);
}

static int run_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		   char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_exec_result) struct ws_exec_result result = WS_EXEC_RESULT_INIT;
	WS_AUTO(ws_run_opts) struct ws_run_opts r = { 0 };
	WS_AUTO(ws_exec_flags) struct ws_exec_flags f = { 0 };
	WS_AUTO(ws_exec_opts) struct ws_exec_opts o = WS_EXEC_OPTS_INIT;
	int rc = parse(cmd, argc, argv, &r, &f, &o, &args, err);

	if (rc > 0)
		return 0;
	o.run = &r;
	if (rc < 0 || ws_exec_opts_gather(&f, &args, 0, &o, err) < 0 ||
	    ws_root_open(global->root, true, &root, err) < 0) {
		ws_exec_refuse(&o, err);
		return -1;
	}
	rc = ws_exec(&root, &o, &result, err);
	return ws_exec_finish(cmd, &o, rc, &result, err);
}

const struct ws_cmd ws_cmd_run = {
	.name = "run",
	.args = "[OPTIONS] [--] COMMAND...",
	.help = "run a command in a sandbox of its own, without a session",
	.npos = 0,
	.run = run_run,
	.status_of = WS_STATUS_EXEC,
};
