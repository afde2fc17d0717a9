/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/jsonw.h"
#include "cmd/common.h"
#include "cmd/follow.h"
#include "core/execlog.h"
#include "core/setups.h"

struct call {
	const struct ws_root *root;
	const struct ws_strv *args; /* behind the verb */
	const char *format;
	bool json, quiet, follow;
};

/* ---- list ---- */

static uint64_t took_ms(const struct ws_setup *s)
{
	return s->finished > s->created ? (s->finished - s->created) / 1000000u : 0;
}

static void print_one(struct ws_jsonw *w, const struct ws_setup_info *info)
{
	const struct ws_setup *s = &info->setup;
	bool done = !strcmp(info->state, "done");

	ws_jsonw_object(w, NULL);
	ws_jsonw_str(w, "key", s->key);
	ws_jsonw_str(w, "repo", s->name);
	ws_jsonw_str(w, "path", s->repo);
	ws_jsonw_str(w, "revision", s->revision);
	ws_jsonw_str(w, "script", s->script);
	ws_jsonw_str(w, "state", info->state);
	ws_jsonw_str(w, "cause", s->cause);
	ws_jsonw_str(w, "layer", done ? s->layer : NULL);
	ws_jsonw_u64(w, "bytes", s->bytes);
	ws_jsonw_u64(w, "ms", took_ms(s));
	ws_jsonw_time(w, "created", s->created);
	ws_jsonw_time(w, "last_use", info->last_use);
	ws_jsonw_strv(w, "users", &info->users);
	ws_jsonw_end(w, '}');
}

static int print_json(const struct ws_setups *all, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &out, true);
	ws_jsonw_array(&w, NULL);
	for (size_t i = 0; i < all->n; i++)
		print_one(&w, &all->v[i]);
	ws_jsonw_end(&w, ']');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static int print_keys(const struct ws_setups *all, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;

	for (size_t i = 0; i < all->n; i++)
		ws_buf_addf(&out, "%s\n", all->v[i].setup.key);
	return ws_out_write(&out, err);
}

static void add_row(struct ws_table *t, const struct ws_setup_info *info)
{
	const struct ws_setup *s = &info->setup;

	ws_table_cell(t, s->key);
	ws_table_cell(t, s->name);
	ws_table_cellf(t, "%.12s", s->revision ? s->revision : "-");
	ws_table_cell(t, info->state);
	ws_table_size(t, s->bytes);
	ws_table_cellf(t, "%.1f s", (double)took_ms(s) / 1e3);
	ws_table_age(t, s->created);
	ws_table_age(t, info->last_use);
	ws_table_cellf(t, "%zu", info->users.n);
}

static int print_table(const struct ws_setups *all, struct ws_err *err)
{
	WS_AUTO(ws_table) struct ws_table t = WS_TABLE_INIT;

	ws_table_head(&t, "KEY", "REPO", "REVISION", "STATE", "SIZE", "TIME", "AGE",
		      "LAST USE", "USERS", NULL);
	for (size_t i = 0; i < all->n; i++)
		add_row(&t, &all->v[i]);
	return ws_table_print(&t, WS_TABLE_AUTO, err);
}

static int run_list(const void *arg, struct ws_err *err)
{
	const struct call *c = arg;
	WS_AUTO(ws_setups) struct ws_setups all = { 0 };

	if (ws_setups_list(c->root, &all, err) < 0)
		return -1;
	if (c->quiet)
		return print_keys(&all, err);
	return c->json ? print_json(&all, err) : print_table(&all, err);
}

/* ---- remove and log ---- */

static int run_remove(const void *arg, struct ws_err *err)
{
	const struct call *c = arg;

	if (!c->args->n)
		return ws_fail(err, WS_USAGE, "remove needs the key of a setup");
	for (size_t i = 0; i < c->args->n; i++)
		if (ws_setups_remove(c->root, c->args->v[i], err) < 0)
			return -1;
	return 0;
}

/* Is it written to? Ask before reading: then nothing is missed. */
static int run_log(const void *arg, struct ws_err *err)
{
	const struct call *c = arg;
	WS_AUTO(ws_follow) struct ws_follow r = WS_FOLLOW_INIT;
	bool live;

	if (c->args->n != 1)
		return ws_fail(err, WS_USAGE, "log needs the key of one setup");
	if (ws_setup_check_key(c->args->v[0], err) < 0)
		return -1;
	r.log = ws_setup_log_open(c->root, c->args->v[0]);
	if (r.log < 0 && errno == ENOENT)
		return ws_fail(err, WS_BASE_MISSING, "there is no setup '%s'",
			       c->args->v[0]);
	if (r.log < 0)
		return ws_fail_errno(err, "open the log of setup '%s'", c->args->v[0]);
	do {
		live = ws_execlog_is_live(r.log);
		if (ws_follow_copy(&r, !live || !c->follow, err) < 0)
			return -1;
	} while (c->follow && live && ws_follow_pause());
	return 0;
}

/* ---- the command ---- */

static const struct ws_verb verbs[] = {
	{ "list", run_list },
	{ "remove", run_remove },
	{ "log", run_log },
};

/* An option of another verb is a mistake, not to be passed over. */
static int check_options(const struct ws_verb *v, const struct call *c,
			 struct ws_err *err)
{
	if ((c->quiet || c->format || c->json) && v->run != run_list)
		return ws_fail(err, WS_USAGE,
			       "--format, --json and --quiet belong to setup list");
	if (c->follow && v->run != run_log)
		return ws_fail(err, WS_USAGE, "--follow belongs to setup log");
	if (c->args->n && v->run == run_list)
		return ws_fail(err, WS_USAGE, "list takes no argument");
	return 0;
}

static int setup_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		     char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv rest = WS_STRV_INIT;
	struct call c = { .root = &root, .args = &rest };
	const struct ws_opt opts[] = {
		{ 'f', "follow", WS_OPT_FLAG, &c.follow, NULL,
		  "log: go on until the script has ended" },
		{ 0, "format", WS_OPT_STR, &c.format, "table|json",
		  "list: the form of the output" },
		{ 0, "json", WS_OPT_FLAG, &c.json, NULL, "list: print JSON" },
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
	for (size_t i = 1; i < args.n; i++)
		ws_strv_push(&rest, args.v[i]);
	if (!v || check_options(v, &c, err) < 0 ||
	    (c.format && ws_cmd_format(c.format, &c.json, err) < 0))
		return -1;
	return ws_root_open(global->root, true, &root, err) < 0 ? -1 : v->run(&c, err);
}

const struct ws_cmd ws_cmd_setup = {
	.name = "setup",
	.args = "list|remove|log [KEY...] [OPTIONS]",
	.help = "list and remove what setup scripts have made",
	.npos = -1,
	.run = setup_run,
	.status_of = WS_STATUS_PLAIN,
};
