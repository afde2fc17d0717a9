/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/jsonw.h"
#include "cmd/common.h"
#include "cmd/progress.h"
#include "core/snapshots.h"

struct call {
	const struct ws_root *root;
	const struct ws_strv *args; /* behind the verb */
	struct ws_snapshots_opts what;
	const char *format, *progress;
	bool json, quiet;
};

/* ---- output ---- */

static void print_one(struct ws_jsonw *w, const struct ws_snapshot_info *info, bool full)
{
	const struct ws_snapshot *s = &info->snapshot;

	ws_jsonw_object(w, NULL);
	ws_jsonw_str(w, "key", s->key);
	ws_jsonw_str(w, "repo", s->name);
	ws_jsonw_str(w, "path", s->repo);
	ws_jsonw_str(w, "vcs", s->vcs);
	ws_jsonw_str(w, "revision", s->revision);
	ws_jsonw_strv(w, "layers", &s->layers);
	ws_jsonw_time(w, "created", s->created);
	if (!full)
		ws_jsonw_str(w, "setup", info->setup);
	if (full) {
		ws_jsonw_time(w, "last_use", info->last_use);
		ws_jsonw_u64(w, "own_bytes", info->own);
		ws_jsonw_u64(w, "shared_bytes", info->shared);
		ws_jsonw_u64(w, "linked", info->drift.linked);
		ws_jsonw_u64(w, "drifted", info->drift.changed);
		ws_jsonw_strv(w, "users", &info->users);
	}
	ws_jsonw_end(w, '}');
}

static int print_json(const struct ws_snapshots *all, bool full, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &out, true);
	ws_jsonw_array(&w, NULL);
	for (size_t i = 0; i < all->n; i++)
		print_one(&w, &all->v[i], full);
	ws_jsonw_end(&w, ']');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static int print_keys(const struct ws_snapshots *all, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;

	for (size_t i = 0; i < all->n; i++)
		ws_buf_addf(&out, "%s\n", all->v[i].snapshot.key);
	return ws_out_write(&out, err);
}

static void add_row(struct ws_table *t, const struct ws_snapshot_info *info)
{
	const struct ws_snapshot *s = &info->snapshot;

	ws_table_cell(t, s->key);
	ws_table_cell(t, s->name);
	ws_table_cell(t, s->vcs);
	ws_table_cellf(t, "%.12s", s->revision ? s->revision : "-");
	ws_table_size(t, info->own);
	ws_table_size(t, info->shared);
	ws_table_age(t, s->created);
	ws_table_age(t, info->last_use);
	ws_table_cellf(t, "%zu", info->users.n);
	if (info->drift.changed)
		ws_table_cellf(t, "%llu", (unsigned long long)info->drift.changed);
	else
		ws_table_cell(t, NULL);
}

static int print_table(const struct ws_snapshots *all, struct ws_err *err)
{
	WS_AUTO(ws_table) struct ws_table t = WS_TABLE_INIT;

	ws_table_head(&t, "KEY", "REPO", "VCS", "REVISION", "OWN", "SHARED", "AGE",
		      "LAST USE", "USERS", "DRIFTED", NULL);
	for (size_t i = 0; i < all->n; i++)
		add_row(&t, &all->v[i]);
	return ws_table_print(&t, WS_TABLE_AUTO, err);
}

/* ---- verbs ---- */

static int run_create(const void *arg, struct ws_err *err)
{
	const struct call *c = arg;
	WS_AUTO(ws_snapshots) struct ws_snapshots made = { 0 };
	struct ws_snapshots_opts what = c->what;
	struct ws_progress progress;

	if (!what.spec)
		return ws_fail(err, WS_USAGE, "create needs --spec");
	if (ws_progress_open(c->progress, &progress, err) < 0)
		return -1;
	what.progress = &progress;
	if (ws_snapshots_create(c->root, &what, &made, err) < 0)
		return -1;
	return c->json ? print_json(&made, false, err) : print_keys(&made, err);
}

static int run_list(const void *arg, struct ws_err *err)
{
	const struct call *c = arg;
	WS_AUTO(ws_snapshots) struct ws_snapshots all = { 0 };

	if (ws_snapshots_list(c->root, &all, err) < 0)
		return -1;
	if (c->quiet)
		return print_keys(&all, err);
	return c->json ? print_json(&all, true, err) : print_table(&all, err);
}

static int run_remove(const void *arg, struct ws_err *err)
{
	const struct call *c = arg;

	if (!c->args->n)
		return ws_fail(err, WS_USAGE, "remove needs the key of a snapshot");
	for (size_t i = 0; i < c->args->n; i++)
		if (ws_snapshots_remove(c->root, c->args->v[i], err) < 0)
			return -1;
	return 0;
}

static const struct ws_verb verbs[] = {
	{ "create", run_create },
	{ "list", run_list },
	{ "remove", run_remove },
};

/* An option of another verb is a mistake, not to be passed over. */
static int check_options(const struct ws_verb *v, const struct call *c,
			 struct ws_err *err)
{
	if ((c->what.spec || c->what.repo || c->what.setup || c->progress) &&
	    v->run != run_create)
		return ws_fail(err, WS_USAGE,
			       "--spec, --repo, --setup and --progress belong to "
			       "snapshot create");
	if ((c->quiet || c->format) && v->run != run_list)
		return ws_fail(err, WS_USAGE,
			       "--format and --quiet belong to snapshot list");
	if (c->json && v->run == run_remove)
		return ws_fail(err, WS_USAGE, "remove prints nothing: no --json");
	return 0;
}

static int snapshot_run(const struct ws_cmd *cmd, const struct ws_global *global,
			int argc, char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv rest = WS_STRV_INIT;
	struct call c = { .root = &root, .args = &rest };
	const struct ws_opt opts[] = {
		{ 0, "spec", WS_OPT_STR, &c.what.spec, "FILE",
		  "create: the spec of the sessions to come; - is stdin" },
		{ 0, "repo", WS_OPT_STR, &c.what.repo, "NAME",
		  "create: of this repo of the spec alone" },
		{ 0, "setup", WS_OPT_FLAG, &c.what.setup, NULL,
		  "create: run the setup scripts, too" },
		WS_PROGRESS_ROW(&c.progress),
		{ 'f', "format", WS_OPT_STR, &c.format, "table|json",
		  "list: the form of the output" },
		{ 0, "json", WS_OPT_FLAG, &c.json, NULL, "create, list: print JSON" },
		{ 'q', "quiet", WS_OPT_FLAG, &c.quiet, NULL, "list: keys only" },
		{ 0 },
	};
	const struct ws_verb *v;
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, SIZE_MAX, err) < 0)
		return -1;
	v = ws_cmd_verb(args.v[0], verbs, WS_ARRAY_SIZE(verbs), err);
	if (!v ||
	    ws_cmd_count(cmd, &args, 1, v->run == run_remove ? SIZE_MAX : 1, err) < 0 ||
	    check_options(v, &c, err) < 0 ||
	    (c.format && ws_cmd_format(c.format, &c.json, err) < 0))
		return -1;
	for (size_t i = 1; i < args.n; i++)
		ws_strv_push(&rest, args.v[i]);
	return ws_root_open(global->root, true, &root, err) < 0 ? -1 : v->run(&c, err);
}

const struct ws_cmd ws_cmd_snapshot = {
	.name = "snapshot",
	.args = "create|list|remove [KEY...] [OPTIONS]",
	.help = "make, list and remove base snapshots",
	.npos = -1,
	.run = snapshot_run,
	.status_of = WS_STATUS_PLAIN,
};
