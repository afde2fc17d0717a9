/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "cmd/common.h"
#include "core/gc.h"

static int print_json(const struct ws_gc_report *r, bool dry_run, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &out, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_bool(&w, "dry_run", dry_run);
	ws_jsonw_bool(&w, "ran", r->ran);
	ws_jsonw_bool(&w, "complete", r->complete);
	ws_jsonw_array(&w, "items");
	for (size_t i = 0; i < r->n; i++) {
		ws_jsonw_object(&w, NULL);
		ws_jsonw_str(&w, "kind", r->v[i].kind);
		ws_jsonw_str(&w, "id", r->v[i].id);
		ws_jsonw_str(&w, "action", ws_gc_action_name(r->v[i].action));
		ws_jsonw_u64(&w, "bytes", r->v[i].bytes);
		ws_jsonw_str(&w, "reason", r->v[i].reason);
		ws_jsonw_end(&w, '}');
	}
	ws_jsonw_end(&w, ']');
	ws_jsonw_u64(&w, "bytes", r->bytes);
	ws_jsonw_u64(&w, "free", r->free);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static int print_table(const struct ws_gc_report *r, bool dry_run, struct ws_err *err)
{
	WS_AUTO(ws_table) struct ws_table table = WS_TABLE_INIT;

	if (!r->n) /* cron mails what is printed */
		return 0;
	ws_table_head(&table, "KIND", "ID", dry_run ? "WOULD BE" : "IS", "BYTES",
		      "REASON", NULL);
	for (size_t i = 0; i < r->n; i++) {
		ws_table_cell(&table, r->v[i].kind);
		ws_table_cell(&table, r->v[i].id);
		ws_table_cell(&table, ws_gc_action_name(r->v[i].action));
		ws_table_cellf(&table, "%llu", (unsigned long long)r->v[i].bytes);
		ws_table_cell(&table, r->v[i].reason);
	}
	return ws_table_print(&table, WS_TABLE_AUTO, err);
}

/* One line that is written over and over. */
static void show_progress(const char *kind, const char *id)
{
	fprintf(stderr, "\r\033[K%s %.60s", kind, id);
}

static int gc_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		  char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_gc_report) struct ws_gc_report report = WS_GC_REPORT_INIT;
	struct ws_gc_opts what = { 0 };
	bool json = false;
	const struct ws_opt opts[] = {
		{ 0, "dry-run", WS_OPT_FLAG, &what.dry_run, NULL,
		  "remove nothing, say what would be" },
		{ 0, "if-due", WS_OPT_FLAG, &what.if_due, NULL,
		  "nothing sooner than cleanup_interval after the last run" },
		{ 0, "max-seconds", WS_OPT_U64, &what.max_seconds, "S",
		  "begin nothing new after S seconds" },
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "print JSON" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 0, 0, err) < 0 ||
	    ws_root_open(global->root, true, &root, err) < 0)
		return -1;
	if (isatty(STDERR_FILENO) && !json)
		what.on_item = show_progress;
	rc = ws_gc(&root, &what, &report, err);
	if (what.on_item && report.n)
		fputs("\r\033[K", stderr);
	if (rc < 0)
		return -1;
	return json ? print_json(&report, what.dry_run, err)
		    : print_table(&report, what.dry_run, err);
}

const struct ws_cmd ws_cmd_gc = {
	.name = "gc",
	.args = "[OPTIONS]",
	.help = "remove what has no use any more",
	.npos = -1,
	.run = gc_run,
	.status_of = WS_STATUS_PLAIN,
};
