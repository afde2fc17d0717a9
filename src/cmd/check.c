/* SPDX-License-Identifier: Apache-2.0 */
#include <pwd.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "cmd/check_store.h"
#include "cmd/common.h"
#include "core/check.h"
#include "core/root.h"

static int print_json(const struct ws_root *root, const struct ws_check_item *items,
		      bool usable, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	const struct passwd *pw = getpwuid(geteuid());
	struct ws_jsonw w;

	ws_jsonw_init(&w, &out, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_bool(&w, "usable", usable);
	ws_jsonw_str(&w, "user", pw ? pw->pw_name : NULL);
	ws_jsonw_u64(&w, "uid", geteuid());
	ws_jsonw_str(&w, "root", root->path);
	ws_jsonw_array(&w, "items");
	for (size_t i = 0; i < ws_check_count(); i++) {
		ws_jsonw_object(&w, NULL);
		ws_jsonw_str(&w, "id", items[i].id);
		ws_jsonw_str(&w, "status", ws_check_status_name(items[i].status));
		ws_jsonw_str(&w, "detail", items[i].detail);
		ws_jsonw_str(&w, "remedy", items[i].remedy[0] ? items[i].remedy : NULL);
		ws_jsonw_end(&w, '}');
	}
	ws_jsonw_end(&w, ']');
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static int print_table(const struct ws_check_item *items, struct ws_err *err)
{
	WS_AUTO(ws_table) struct ws_table table = WS_TABLE_INIT;

	ws_table_head(&table, "CHECK", "STATUS", "DETAIL", NULL);
	for (size_t i = 0; i < ws_check_count(); i++) {
		ws_table_cell(&table, items[i].id);
		ws_table_cell(&table, ws_check_status_name(items[i].status));
		if (items[i].remedy[0])
			ws_table_cellf(&table, "%s (%s)", items[i].detail,
				       items[i].remedy);
		else
			ws_table_cell(&table, items[i].detail);
	}
	return ws_table_print(&table, WS_TABLE_ALIGNED, err);
}

static int check_host(const struct ws_root *root, bool json, struct ws_err *err)
{
	WS_AUTO_FREE struct ws_check_item *items =
		ws_alloc(ws_check_count() * sizeof(*items));
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	bool usable;
	int rc;

	if (ws_root_spec(root, NULL, NULL, false, &spec, err) < 0)
		return -1;
	usable = ws_check_run(root, &spec, items);
	rc = json ? print_json(root, items, usable, err) : print_table(items, err);
	return rc < 0 ? -1 : !usable;
}

static int check_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		     char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	bool json = false, store = false, repair = false;
	const struct ws_opt opts[] = {
		{ 0, "store", WS_OPT_FLAG, &store, NULL, "look at what is kept instead" },
		{ 0, "repair", WS_OPT_FLAG, &repair, NULL,
		  "with --store: mend what is safe to mend" },
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "print JSON" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 0, 0, err) < 0)
		return -1;
	if (repair && !store)
		return ws_fail(err, WS_USAGE, "--repair is for --store");
	/* a store that is not there is none to look at */
	if (ws_root_open(global->root, !store, &root, err) < 0)
		return -1;
	return store ? ws_check_store(&root, repair, json, err)
		     : check_host(&root, json, err);
}

const struct ws_cmd ws_cmd_check = {
	.name = "check",
	.args = "[OPTIONS]",
	.help = "prove that this host can run sandboxes, or that the store is sound",
	.npos = -1,
	.run = check_run,
	.status_of = WS_STATUS_PLAIN,
};
