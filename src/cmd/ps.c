/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "cmd/common.h"
#include "core/execrec.h"
#include "core/procs.h"
#include "core/root.h"
#include "core/session.h"

/* Which exec a shepherd belongs to. */
struct owner {
	pid_t shepherd;
	char *exec_id;
};

struct owners {
	struct owner *v;
	size_t n;
};

static void owners_release(struct owners *o)
{
	for (size_t i = 0; i < o->n; i++)
		ws_freep(&o->v[i].exec_id);
	ws_freep(&o->v);
}

/* A record that cannot be read leaves its processes without a name. */
static int find_owners(const struct ws_session *s, struct owners *o, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv ids = WS_STRV_INIT;

	if (ws_execrec_list(s, &ids, err) < 0)
		return -1;
	o->v = ws_alloc((ids.n + 1) * sizeof(*o->v));
	for (size_t i = 0; i < ids.n; i++) {
		WS_AUTO(ws_execrec) struct ws_execrec r = WS_EXECREC_INIT;
		struct ws_err ignored = WS_ERR_INIT;

		if (ws_execrec_load(s, ids.v[i], &r, &ignored) < 0 ||
		    !ws_execrec_alive(&r))
			continue;
		o->v[o->n].shepherd = r.shepherd.pid;
		o->v[o->n++].exec_id = ws_steal_ptr(&r.id);
	}
	return 0;
}

static const char *owner_of(const struct owners *o, const struct ws_process *p)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].shepherd == p->shepherd)
			return o->v[i].exec_id;
	return NULL;
}

static const char *state_name(char state)
{
	static const struct {
		char letter;
		const char *name;
	} names[] = {
		{ 'R', "running" }, { 'S', "sleeping" }, { 'D', "blocked" },
		{ 'T', "stopped" }, { 't', "traced" },	 { 'Z', "zombie" },
		{ 'I', "idle" },
	};

	for (size_t i = 0; i < WS_ARRAY_SIZE(names); i++)
		if (names[i].letter == state)
			return names[i].name;
	return "dead";
}

static int print_json(const struct ws_procs *procs, const struct owners *owners,
		      struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &out, true);
	ws_jsonw_array(&w, NULL);
	for (size_t i = 0; i < procs->n; i++) {
		const struct ws_process *p = &procs->v[i];
		WS_AUTO_FREE char *command = ws_process_command(p);

		if (p->ours)
			continue;
		ws_jsonw_object(&w, NULL);
		ws_jsonw_int(&w, "pid", p->pid);
		ws_jsonw_int(&w, "ppid", p->parent);
		ws_jsonw_str(&w, "exec", owner_of(owners, p));
		ws_jsonw_str(&w, "state", state_name(p->state));
		ws_jsonw_time(&w, "started", ws_process_began(p));
		ws_jsonw_str(&w, "command", command);
		ws_jsonw_end(&w, '}');
	}
	ws_jsonw_end(&w, ']');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static int print_table(const struct ws_procs *procs, const struct owners *owners,
		       struct ws_err *err)
{
	WS_AUTO(ws_table) struct ws_table table = WS_TABLE_INIT;

	ws_table_head(&table, "PID", "EXEC", "STATE", "STARTED", "COMMAND", NULL);
	for (size_t i = 0; i < procs->n; i++) {
		const struct ws_process *p = &procs->v[i];
		WS_AUTO_FREE char *command = ws_process_command(p);
		char started[WS_TIME_LEN];

		if (p->ours)
			continue;
		ws_clock_rfc3339(ws_process_began(p), started);
		ws_table_cellf(&table, "%d", (int)p->pid);
		ws_table_cell(&table, owner_of(owners, p));
		ws_table_cell(&table, state_name(p->state));
		ws_table_cellf(&table, "%.19sZ", started);
		ws_table_cell(&table, command);
	}
	return ws_table_print(&table, WS_TABLE_AUTO, err);
}

static int print_pids(const struct ws_procs *procs, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;

	for (size_t i = 0; i < procs->n; i++)
		if (!procs->v[i].ours)
			ws_buf_addf(&out, "%d\n", (int)procs->v[i].pid);
	return ws_out_write(&out, err);
}

static int show(const struct ws_session *s, bool json, bool quiet, struct ws_err *err)
{
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	WS_AUTO(ws_procs) struct ws_procs procs = WS_PROCS_INIT;
	__attribute__((cleanup(owners_release))) struct owners owners = { 0 };
	int live = ws_sandbox_peek(s, &sb, err);

	if (live < 0 || (live && ws_procs_list(&sb, &procs, err) < 0))
		return -1;
	if (quiet)
		return print_pids(&procs, err);
	if (find_owners(s, &owners, err) < 0)
		return -1;
	return json ? print_json(&procs, &owners, err)
		    : print_table(&procs, &owners, err);
}

static int ps_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		  char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	const char *format = "table";
	bool json = false, quiet = false;
	const struct ws_opt opts[] = {
		{ 'f', "format", WS_OPT_STR, &format, "FORMAT",
		  "table (default) or json" },
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "the same as --format json" },
		{ 'q', "quiet", WS_OPT_FLAG, &quiet, NULL, "PIDs only" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, 1, err) < 0)
		return -1;
	if (ws_cmd_format(format, &json, err) < 0)
		return -1;
	if (ws_root_open(global->root, true, &root, err) < 0 ||
	    ws_session_open_record(&root, args.v[0], &s, err) < 0)
		return -1;
	return show(&s, json, quiet, err);
}

const struct ws_cmd ws_cmd_ps = {
	.name = "ps",
	.args = "ID [OPTIONS]",
	.help = "list the processes of a session",
	.npos = -1,
	.run = ps_run,
	.status_of = WS_STATUS_PLAIN,
};
