/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common.h"
#include "core/create.h"

static int delete_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		      char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	bool force = false;
	const struct ws_opt opts[] = {
		{ 'f', "force", WS_OPT_FLAG, &force, NULL,
		  "also with live commands, or if it is damaged" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, 1, err) < 0 ||
	    ws_session_check_id(args.v[0], err) < 0 ||
	    ws_root_open(global->root, true, &root, err) < 0)
		return -1;
	return ws_delete(&root, args.v[0], force, err);
}

const struct ws_cmd ws_cmd_delete = {
	.name = "delete",
	.args = "ID [-f]",
	.help = "end a session and remove all of it",
	.npos = -1,
	.run = delete_run,
	.status_of = WS_STATUS_PLAIN,
};
