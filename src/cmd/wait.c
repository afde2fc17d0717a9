/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>

#include "base/jsonw.h"
#include "base/proc.h"
#include "cmd/common.h"
#include "core/execrec.h"
#include "core/root.h"
#include "core/session.h"

#define LOOK_MS 20 /* from the end of the command to the end of its record's life */

/* While the command runs nothing is asked; its end wakes us, and its record follows. */
static void wait_a_little(const struct ws_execrec *r)
{
	WS_AUTO_CLOSE int process = ws_proc_open(&r->process);
	struct pollfd p = { .fd = process, .events = POLLIN };

	poll(&p, 1, process >= 0 ? -1 : LOOK_MS);
}

static int wait_for_end(const struct ws_session *s, const char *exec_id,
			struct ws_execrec *r, struct ws_err *err)
{
	for (;;) {
		if (ws_execrec_load(s, exec_id, r, err) < 0)
			return -1;
		if (ws_execrec_ended(r))
			return 0;
		wait_a_little(r);
		ws_execrec_release(r);
		*r = WS_EXECREC_INIT;
	}
}

static int print(const struct ws_execrec *r, bool json, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	if (!json) {
		ws_buf_addf(&out, "%d\n", (int)r->status);
		return ws_out_write(&out, err);
	}
	ws_jsonw_init(&w, &out, ws_out_terminal());
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "exec_id", r->id);
	ws_jsonw_str(&w, "state", r->state);
	ws_jsonw_u64(&w, "status", r->status);
	ws_jsonw_str(&w, "cause", r->cause[0] ? r->cause : NULL);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static int wait_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		    char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_execrec) struct ws_execrec r = WS_EXECREC_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	bool json = false;
	const struct ws_opt opts[] = {
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "print JSON" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 2, 2, err) < 0 ||
	    ws_root_open(global->root, true, &root, err) < 0 ||
	    ws_session_open_record(&root, args.v[0], &s, err) < 0 ||
	    wait_for_end(&s, args.v[1], &r, err) < 0)
		return -1;
	return print(&r, json, err) < 0 ? -1 : 0;
}

const struct ws_cmd ws_cmd_wait = {
	.name = "wait",
	.args = "ID EXEC [OPTIONS]",
	.help = "wait until a command has ended and print its exit status",
	.npos = -1,
	.run = wait_run,
	.status_of = WS_STATUS_PLAIN,
};
