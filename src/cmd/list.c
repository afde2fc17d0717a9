/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "cmd/common.h"
#include "core/root.h"
#include "core/session.h"
#include "core/view.h"

struct list {
	struct ws_table table;
	struct ws_buf out;
	struct ws_jsonw w;
	bool json, quiet;
};

static void list_release(struct list *l)
{
	ws_table_release(&l->table);
	ws_buf_release(&l->out);
}

static void add_row(struct list *l, const struct ws_view *v)
{
	const struct ws_session *s = v->session;
	char created[WS_TIME_LEN];

	ws_clock_rfc3339(s->created, created);
	ws_table_cell(&l->table, s->name ? s->name : s->id);
	ws_table_cell(&l->table, v->status);
	if (v->sandbox.pidfd >= 0)
		ws_table_cellf(&l->table, "%d", (int)v->sandbox.init.pid);
	else
		ws_table_cell(&l->table, NULL);
	ws_table_cellf(&l->table, "%.19sZ", created);
	ws_table_age(&l->table, ws_session_last_use(s));
	ws_table_cell(&l->table, s->owner);
	ws_table_cell(&l->table, s->name ? s->id : s->parent);
}

/* A damaged session is told of, and the others are listed. */
static void add_session(struct list *l, const struct ws_root *root, const char *id)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_view) struct ws_view view = { .sandbox = WS_SANDBOX_INIT };
	struct ws_err err = WS_ERR_INIT;

	if (ws_session_open_any(root, id, &s, &err) < 0 ||
	    ws_view_make(&s, &view, &err) < 0) {
		if (err.kind != WS_SESSION_MISSING) /* deleted meanwhile */
			ws_warn("%s", err.msg);
		return;
	}
	if (!l->json)
		add_row(l, &view);
	else if (ws_view_print(&view, false, &l->w, &err) < 0)
		ws_warn("%s", err.msg);
}

static int print_ids(const struct ws_strv *ids, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;

	for (size_t i = 0; i < ids->n; i++)
		ws_buf_addf(&out, "%s\n", ids->v[i]);
	return ws_out_write(&out, err);
}

static int print_list(const struct ws_root *root, bool json, const struct ws_strv *ids,
		      struct ws_err *err)
{
	__attribute__((cleanup(list_release))) struct list l = { .json = json };

	ws_jsonw_init(&l.w, &l.out, true);
	ws_jsonw_array(&l.w, NULL);
	ws_table_head(&l.table, "ID", "STATUS", "PID", "CREATED", "LAST USE", "OWNER",
		      "PARENT", NULL);
	for (size_t i = 0; i < ids->n; i++)
		add_session(&l, root, ids->v[i]);
	if (!json)
		return ws_table_print(&l.table, WS_TABLE_AUTO, err);
	ws_jsonw_end(&l.w, ']');
	ws_jsonw_done(&l.w);
	return ws_out_write(&l.out, err);
}

static int list_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		    char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv ids = WS_STRV_INIT;
	const char *format = "table";
	bool json = false, quiet = false;
	const struct ws_opt opts[] = {
		{ 'f', "format", WS_OPT_STR, &format, "FORMAT",
		  "table (default) or json" },
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "the same as --format json" },
		{ 'q', "quiet", WS_OPT_FLAG, &quiet, NULL, "ids only" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 0, 0, err) < 0)
		return -1;
	if (ws_cmd_format(format, &json, err) < 0)
		return -1;
	if (ws_root_open(global->root, true, &root, err) < 0 ||
	    ws_session_list(&root, true, &ids, err) < 0)
		return -1;
	if (quiet)
		return print_ids(&ids, err);
	return print_list(&root, json, &ids, err);
}

const struct ws_cmd ws_cmd_list = {
	.name = "list",
	.args = "[OPTIONS]",
	.help = "list the sessions",
	.npos = -1,
	.run = list_run,
	.status_of = WS_STATUS_PLAIN,
};
