/* SPDX-License-Identifier: Apache-2.0 */
#include "core/create.h"

#include <string.h>

#include "base/jsonw.h"
#include "cmd/common.h"
#include "cmd/progress.h"
#include "core/view.h"

static int print_state(const struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_view) struct ws_view view = { .sandbox = WS_SANDBOX_INIT };
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	if (ws_view_make(s, &view, err) < 0)
		return -1;
	ws_jsonw_init(&w, &out, true);
	if (ws_view_print(&view, false, &w, err) < 0)
		return -1;
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static int create_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		      char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	struct ws_create_opts o = { 0 };
	struct ws_progress progress;
	const char *form = NULL;
	bool json = false;
	const struct ws_opt opts[] = {
		{ 0, "spec", WS_OPT_STR, &o.spec, "FILE",
		  "the spec; - reads it from stdin" },
		{ 'b', "bundle", WS_OPT_STR, &o.bundle, "DIR",
		  "the folder whose config.json is the spec" },
		{ 0, "parent", WS_OPT_STR, &o.parent, "ID",
		  "fork that session: a child with its state of this moment" },
		{ 0, "from", WS_OPT_STR, &o.from, "ARCHIVE",
		  "take what export --format session wrote; - reads it from stdin" },
		{ 0, "retry", WS_OPT_FLAG, &o.retry, NULL,
		  "go on with a session that is blocked; no failed setup counts" },
		WS_PROGRESS_ROW(&form),
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "print the new session as JSON" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, 1, err) < 0)
		return -1;
	if (o.spec && o.bundle)
		return ws_fail(err, WS_USAGE, "--spec and --bundle exclude each other");
	if (o.from && (o.parent || o.retry))
		return ws_fail(err, WS_USAGE, "--from excludes --parent and --retry");
	if (o.from && o.spec && !strcmp(o.from, "-") && !strcmp(o.spec, "-"))
		return ws_fail(err, WS_USAGE, "--from and --spec both want stdin");
	o.id = args.v[0];
	o.progress = &progress;
	if (ws_progress_open(form, &progress, err) < 0 ||
	    ws_session_check_id(o.id, err) < 0 ||
	    (o.parent && ws_session_check_id(o.parent, err) < 0) ||
	    ws_root_open(global->root, true, &root, err) < 0 ||
	    ws_create(&root, &o, &s, err) < 0)
		return -1;
	return json ? print_state(&s, err) : 0;
}

const struct ws_cmd ws_cmd_create = {
	.name = "create",
	.args = "ID [OPTIONS]",
	.help = "make a session",
	.npos = -1,
	.run = create_run,
	.status_of = WS_STATUS_PLAIN,
};
