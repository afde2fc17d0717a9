/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/check_store.h"

#include "base/jsonw.h"
#include "cmd/common.h"
#include "core/store.h"

static int print_json(const struct ws_root *root, const struct ws_store_report *r,
		      struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &out, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_bool(&w, "sound", r->sound);
	ws_jsonw_str(&w, "root", root->path);
	ws_jsonw_array(&w, "items");
	for (size_t i = 0; i < r->n; i++) {
		ws_jsonw_object(&w, NULL);
		ws_jsonw_str(&w, "id", r->v[i].id);
		ws_jsonw_str(&w, "subject", r->v[i].subject);
		ws_jsonw_str(&w, "status", ws_store_status_name(r->v[i].status));
		ws_jsonw_str(&w, "detail", r->v[i].detail);
		ws_jsonw_str(&w, "remedy", r->v[i].remedy);
		ws_jsonw_end(&w, '}');
	}
	ws_jsonw_end(&w, ']');
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static int print_table(const struct ws_store_report *r, struct ws_err *err)
{
	WS_AUTO(ws_table) struct ws_table table = WS_TABLE_INIT;

	ws_table_head(&table, "CHECK", "STATUS", "SUBJECT", "DETAIL", NULL);
	for (size_t i = 0; i < r->n; i++) {
		ws_table_cell(&table, r->v[i].id);
		ws_table_cell(&table, ws_store_status_name(r->v[i].status));
		ws_table_cell(&table, r->v[i].subject);
		if (r->v[i].remedy)
			ws_table_cellf(&table, "%s (%s)", r->v[i].detail, r->v[i].remedy);
		else
			ws_table_cell(&table, r->v[i].detail);
	}
	return ws_table_print(&table, WS_TABLE_ALIGNED, err);
}

int ws_check_store(const struct ws_root *root, bool repair, bool json, struct ws_err *err)
{
	WS_AUTO(ws_store_report) struct ws_store_report report = WS_STORE_REPORT_INIT;
	int rc = ws_store_check(root, repair, &report, err);

	if (rc == 0)
		rc = json ? print_json(root, &report, err) : print_table(&report, err);
	return rc < 0 ? -1 : !report.sound;
}
