/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "cmd/common.h"
#include "core/root.h"
#include "core/sandbox.h"
#include "core/session.h"

#define DEFAULT_GRACE_MS 10000

static int stop_one(const struct ws_root *root, const char *id, uint64_t grace_ms,
		    struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO_CLOSE int lock = -1;

	if (ws_session_open_record(root, id, &s, err) < 0 ||
	    ws_session_lock(root, &s, &lock, err) < 0)
		return -1;
	return ws_sandbox_end(&s, grace_ms, err);
}

/* All of them, and then the first error. */
static int stop_each(const struct ws_root *root, const struct ws_strv *ids,
		     uint64_t grace_ms, struct ws_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < ids->n; i++) {
		struct ws_err one = WS_ERR_INIT;

		if (stop_one(root, ids->v[i], grace_ms, &one) == 0)
			continue;
		if (rc == 0)
			*err = one;
		else
			ws_warn("%s", one.msg);
		rc = -1;
	}
	return rc;
}

static int stop_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		    char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	uint64_t grace_ms = DEFAULT_GRACE_MS;
	bool all = false;
	const struct ws_opt opts[] = {
		{ 'a', "all", WS_OPT_FLAG, &all, NULL, "every session" },
		{ 't', "time", WS_OPT_SECONDS, &grace_ms, "S",
		  "seconds between TERM and KILL (default 10)" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (all && args.n)
		return ws_fail(err, WS_USAGE, "--all and session ids exclude each other");
	if (!all && ws_cmd_count(cmd, &args, 1, SIZE_MAX, err) < 0)
		return -1;
	if (ws_root_open(global->root, true, &root, err) < 0 ||
	    (all && ws_session_list(&root, false, &args, err) < 0))
		return -1;
	return stop_each(&root, &args, grace_ms, err);
}

const struct ws_cmd ws_cmd_stop = {
	.name = "stop",
	.args = "ID...|--all [OPTIONS]",
	.help = "end the sandbox of a session and keep the session",
	.npos = -1,
	.run = stop_run,
	.status_of = WS_STATUS_PLAIN,
};
