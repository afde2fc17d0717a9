/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cmd/common.h"
#include "cmd/file_ref.h"

static int cat_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		   char **argv, struct ws_err *err)
{
	WS_AUTO(ws_place) struct ws_place p = WS_PLACE_INIT;
	WS_AUTO(ws_file_info) struct ws_file_info info = { 0 };
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	bool rescue = false;
	const struct ws_opt opts[] = {
		{ 0, "rescue", WS_OPT_FLAG, &rescue, NULL,
		  "read from outside, without a sandbox; follows no link" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, 1, err) < 0 ||
	    ws_place_open(global, args.v[0], rescue, &p, err) < 0)
		return -1;
	if (ws_files_read(&p.root, &p.session, p.ref.path, rescue, STDOUT_FILENO, &info,
			  err) < 0)
		return ws_out_failed(err);
	return 0;
}

const struct ws_cmd ws_cmd_cat = {
	.name = "cat",
	.args = "ID:PATH [OPTIONS]",
	.help = "print a file of a session",
	.npos = -1,
	.run = cat_run,
	.status_of = WS_STATUS_PLAIN,
};
