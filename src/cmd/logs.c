/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "cmd/common.h"
#include "cmd/follow.h"
#include "core/execlog.h"
#include "core/execrec.h"
#include "core/hits.h"
#include "core/root.h"
#include "core/session.h"

/* Will more be written? Ask before reading: then nothing is missed. */
static int is_live(const struct ws_session *s, const char *exec_id,
		   const struct ws_follow *r, struct ws_err *err)
{
	WS_AUTO(ws_execrec) struct ws_execrec rec = WS_EXECREC_INIT;

	if (ws_execrec_load(s, exec_id, &rec, err) < 0)
		return -1;
	return !ws_execrec_ended(&rec) || ws_execrec_alive(&rec) ||
	       (r->log >= 0 && ws_execlog_is_live(r->log));
}

static int print_log(const struct ws_session *s, const char *exec_id, bool follow,
		     struct ws_err *err)
{
	WS_AUTO(ws_follow) struct ws_follow r = WS_FOLLOW_INIT;
	int live;

	do {
		live = is_live(s, exec_id, &r, err);
		if (live < 0)
			return -1;
		if (r.log < 0) {
			r.log = ws_execlog_read(s, exec_id);
			if (r.log < 0 && errno != ENOENT)
				return ws_fail_errno(err, "open the log of exec '%s'",
						     exec_id);
		}
		if (r.log >= 0 && ws_follow_copy(&r, !live || !follow, err) < 0)
			return -1;
	} while (follow && live && ws_follow_pause());
	return 0;
}

/* ---- what the system call filter has met ---- */

static int print_hits_json(const struct ws_hits *hits, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &out, true);
	ws_jsonw_array(&w, NULL);
	for (size_t i = 0; i < hits->n; i++) {
		const struct ws_hit *h = &hits->v[i];
		char number[16];

		ws_jsonw_object(&w, NULL);
		ws_jsonw_time(&w, "time", h->time);
		ws_jsonw_int(&w, "pid", h->pid);
		ws_jsonw_str(&w, "exec", h->exec[0] ? h->exec : NULL);
		ws_jsonw_str(&w, "call", ws_hit_call(h, number));
		ws_jsonw_str(&w, "abi", ws_hit_abi(h));
		ws_jsonw_str(&w, "action", ws_hit_action(h));
		ws_jsonw_str(&w, "command", h->comm);
		ws_jsonw_end(&w, '}');
	}
	ws_jsonw_end(&w, ']');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static int print_hits_table(const struct ws_hits *hits, struct ws_err *err)
{
	WS_AUTO(ws_table) struct ws_table table = WS_TABLE_INIT;

	ws_table_head(&table, "TIME", "PID", "EXEC", "CALL", "ABI", "ACTION", "COMMAND",
		      NULL);
	for (size_t i = 0; i < hits->n; i++) {
		const struct ws_hit *h = &hits->v[i];
		char time[WS_TIME_LEN], number[16];

		ws_clock_rfc3339(h->time, time);
		ws_table_cellf(&table, "%.23sZ", time);
		ws_table_cellf(&table, "%d", (int)h->pid);
		ws_table_cell(&table, h->exec);
		ws_table_cell(&table, ws_hit_call(h, number));
		ws_table_cell(&table, ws_hit_abi(h));
		ws_table_cell(&table, ws_hit_action(h));
		ws_table_cell(&table, h->comm);
	}
	return ws_table_print(&table, WS_TABLE_AUTO, err);
}

static int print_hits(const struct ws_root *root, const struct ws_session *s,
		      const char *from, bool json, struct ws_err *err)
{
	WS_AUTO(ws_hits) struct ws_hits hits = WS_HITS_INIT;

	if (ws_hits_read(root, s, from, &hits, err) < 0)
		return -1;
	return json ? print_hits_json(&hits, err) : print_hits_table(&hits, err);
}

static int logs_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		    char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	bool follow = false, seccomp = false, json = false;
	const char *from = NULL;
	const struct ws_opt opts[] = {
		{ 'f', "follow", WS_OPT_FLAG, &follow, NULL,
		  "go on until nothing of the exec is left" },
		{ 0, "seccomp", WS_OPT_FLAG, &seccomp, NULL,
		  "what the system call filter has met, from the kernel's log" },
		{ 0, "from", WS_OPT_STR, &from, "FILE",
		  "with --seccomp: another log, - for stdin" },
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "with --seccomp: print JSON" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (seccomp ? follow : from || json)
		return ws_fail(err, WS_USAGE,
			       "--seccomp excludes --follow; --from and --json need it");
	if (ws_cmd_count(cmd, &args, seccomp ? 1 : 2, seccomp ? 1 : 2, err) < 0 ||
	    ws_root_open(global->root, true, &root, err) < 0 ||
	    ws_session_open_record(&root, args.v[0], &s, err) < 0)
		return -1;
	if (seccomp)
		return print_hits(&root, &s, from, json, err);
	return print_log(&s, args.v[1], follow, err);
}

const struct ws_cmd ws_cmd_logs = {
	.name = "logs",
	.args = "ID EXEC [-f] | ID --seccomp",
	.help = "print the output of a command in the background",
	.npos = -1,
	.run = logs_run,
	.status_of = WS_STATUS_PLAIN,
};
