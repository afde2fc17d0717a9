/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cmd/common.h"
#include "core/root.h"
#include "core/sandbox.h"
#include "core/session.h"
#include "core/spec_tighten.h"

#define GRACE_MS 10000

struct update_opts {
	const char *network;
	const char *hold;
	bool release;
};

static void set(char **field, const char *value)
{
	ws_freep(field);
	*field = ws_strdup(value);
}

/* Read again under the mutex: what another update saved meanwhile stays. */
static int open_locked(const struct ws_root *root, const char *id, struct ws_session *ret,
		       int *ret_lock, struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session before = WS_SESSION_INIT;

	if (ws_session_open_record(root, id, &before, err) < 0 ||
	    ws_session_lock(root, &before, ret_lock, err) < 0)
		return -1;
	return ws_session_open_record(root, id, ret, err);
}

/* A network is a property of the sandbox: the live one ends first. */
static int apply(const struct ws_root *root, const char *id, const struct update_opts *o,
		 struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session session = WS_SESSION_INIT;
	struct ws_session *s = &session;
	WS_AUTO_CLOSE int lock = -1;

	if (open_locked(root, id, s, &lock, err) < 0)
		return -1;
	if (o->network && ws_session_is_run(s)) {
		ws_fail(err, WS_USAGE, "'%s' is no session but a run's", id);
		return ws_hint(err, "its network is what the next wsiso run says");
	}
	if (o->network) {
		set(&s->network, o->network);
		/* what takes a network away needs no good spec */
		if (strcmp(o->network, "share") == 0 &&
		    (ws_session_read_spec(root, s, err) < 0 ||
		     ws_spec_floor_check(&s->spec, err) < 0))
			return -1;
		if (ws_sandbox_end(s, GRACE_MS, err) < 0)
			return -1;
	}
	if (o->hold)
		set(&s->hold, o->hold);
	if (o->release)
		set(&s->hold, NULL);
	if (ws_session_save(s, err) < 0)
		return -1;
	if (o->network)
		ws_journal(root, "network", s->id, o->network);
	if (o->hold || o->release)
		ws_journal(root, o->hold ? "hold" : "release", s->id, o->hold);
	return 0;
}

static int check_opts(const struct update_opts *o, struct ws_err *err)
{
	if (!o->network && !o->hold && !o->release)
		return ws_fail(err, WS_USAGE,
			       "nothing to update: --network, --hold or --release");
	if (o->hold && o->release)
		return ws_fail(err, WS_USAGE, "--hold and --release exclude each other");
	if (o->hold && !*o->hold)
		return ws_fail(err, WS_USAGE, "--hold needs a reason");
	if (o->network && strcmp(o->network, "share") != 0 &&
	    strcmp(o->network, "isolate") != 0)
		return ws_fail(err, WS_USAGE, "'%s' is no network: share or isolate",
			       o->network);
	return 0;
}

static int update_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		      char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	struct update_opts o = { 0 };
	const struct ws_opt opts[] = {
		{ 0, "network", WS_OPT_STR, &o.network, "share|isolate",
		  "give or take the network; ends the sandbox" },
		{ 0, "hold", WS_OPT_STR, &o.hold, "REASON", "keep it from gc" },
		{ 0, "release", WS_OPT_FLAG, &o.release, NULL, "take --hold back" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, 1, err) < 0 || check_opts(&o, err) < 0 ||
	    ws_root_open(global->root, true, &root, err) < 0)
		return -1;
	return apply(&root, args.v[0], &o, err);
}

const struct ws_cmd ws_cmd_update = {
	.name = "update",
	.args = "ID [OPTIONS]",
	.help = "change a session's network, or hold it from gc",
	.npos = -1,
	.run = update_run,
	.status_of = WS_STATUS_PLAIN,
};
