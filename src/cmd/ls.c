/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "cmd/common.h"
#include "cmd/file_ref.h"
#include "core/diff.h"

static void print_json(const struct ws_file_list *list, struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, out, true);
	ws_jsonw_object(&w, NULL);
	ws_file_info_json(&w, &list->self);
	if (S_ISDIR(list->self.mode)) {
		ws_jsonw_array(&w, "entries");
		for (size_t i = 0; i < list->n; i++) {
			ws_jsonw_object(&w, NULL);
			ws_file_info_json(&w, &list->v[i]);
			ws_jsonw_end(&w, '}');
		}
		ws_jsonw_end(&w, ']');
	}
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}

/* The letters of "ls -l". */
static void print_mode(char out[11], mode_t mode)
{
	static const char types[] = "?pc?d?b?-?l?s???";

	snprintf(out, 11, "%c%c%c%c%c%c%c%c%c%c", types[(mode & S_IFMT) >> 12],
		 mode & 0400 ? 'r' : '-', mode & 0200 ? 'w' : '-',
		 mode & 0100 ? 'x' : '-', mode & 040 ? 'r' : '-', mode & 020 ? 'w' : '-',
		 mode & 010 ? 'x' : '-', mode & 04 ? 'r' : '-', mode & 02 ? 'w' : '-',
		 mode & 01 ? 'x' : '-');
}

static void add_row(struct ws_table *t, const char *path, const struct ws_file_info *i)
{
	WS_AUTO(ws_buf) struct ws_buf name = WS_BUF_INIT;
	char mode[11], time[WS_TIME_LEN];

	print_mode(mode, i->mode);
	ws_clock_rfc3339(i->mtime_ns, time);
	ws_path_quote(&name, path);
	if (i->target) {
		ws_buf_addstr(&name, " -> ");
		ws_path_quote(&name, i->target);
	}
	ws_table_cell(t, mode);
	ws_table_cellf(t, "%llu", (unsigned long long)i->size);
	ws_table_cellf(t, "%.19sZ", time);
	ws_table_cell(t, ws_buf_str(&name));
}

static int print_table(const char *path, const struct ws_file_list *list,
		       struct ws_err *err)
{
	WS_AUTO(ws_table) struct ws_table table = WS_TABLE_INIT;

	ws_table_head(&table, "MODE", "SIZE", "CHANGED", "NAME", NULL);
	if (!S_ISDIR(list->self.mode))
		add_row(&table, path, &list->self);
	for (size_t i = 0; i < list->n; i++)
		add_row(&table, list->v[i].name, &list->v[i]);
	return ws_table_print(&table, WS_TABLE_AUTO, err);
}

static int ls_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		  char **argv, struct ws_err *err)
{
	WS_AUTO(ws_place) struct ws_place p = WS_PLACE_INIT;
	WS_AUTO(ws_file_list) struct ws_file_list list = { 0 };
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	bool rescue = false, json = false;
	const char *path;
	const struct ws_opt opts[] = {
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "print JSON" },
		{ 0, "rescue", WS_OPT_FLAG, &rescue, NULL,
		  "read from outside, without a sandbox; follows no link" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, 1, err) < 0 ||
	    ws_place_open(global, args.v[0], rescue, &p, err) < 0)
		return -1;
	path = *p.ref.path ? p.ref.path : ".";
	if (ws_files_list(&p.root, &p.session, path, rescue, &list, err) < 0)
		return -1;
	if (!json)
		return print_table(path, &list, err);
	print_json(&list, &out);
	return ws_out_write(&out, err);
}

const struct ws_cmd ws_cmd_ls = {
	.name = "ls",
	.args = "ID:[PATH] [OPTIONS]",
	.help = "list a folder of a session",
	.npos = -1,
	.run = ls_run,
	.status_of = WS_STATUS_PLAIN,
};
