/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsonw.h"
#include "cmd/common.h"
#include "core/root.h"
#include "core/session.h"
#include "core/view.h"

static int state_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		     char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_view) struct ws_view view = { .sandbox = WS_SANDBOX_INIT };
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	bool json = true; /* it is JSON anyway */
	const struct ws_opt opts[] = {
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "print JSON (it always is)" },
		{ 0 },
	};
	struct ws_jsonw w;
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, 1, err) < 0 ||
	    ws_root_open(global->root, true, &root, err) < 0 ||
	    ws_session_open_any(&root, args.v[0], &s, err) < 0 ||
	    ws_view_make(&s, &view, err) < 0)
		return -1;
	ws_jsonw_init(&w, &out, true);
	if (ws_view_print(&view, true, &w, err) < 0)
		return -1;
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

const struct ws_cmd ws_cmd_state = {
	.name = "state",
	.args = "ID",
	.help = "print a session as JSON",
	.npos = -1,
	.run = state_run,
	.status_of = WS_STATUS_PLAIN,
};
