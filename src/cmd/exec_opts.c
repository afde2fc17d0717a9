/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/exec_opts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "cmd/common.h"

#define FILE_MAX (1u << 20)

void ws_exec_flags_release(struct ws_exec_flags *f)
{
	ws_strv_release(&f->env);
	ws_strv_release(&f->env_files);
	ws_freep(&f->cwd);
}

void ws_exec_opts_release(struct ws_exec_opts *o)
{
	ws_strv_release(&o->env);
	ws_strv_release(&o->argv);
}

void ws_exec_rows(struct ws_exec_flags *f, struct ws_exec_opts *o, struct ws_opt *rows)
{
	const struct ws_opt all[] = {
		{ 'i', "interactive", WS_OPT_FLAG, &o->interactive, NULL,
		  "pass standard input on; else it is /dev/null" },
		{ 't', "tty", WS_OPT_FLAG, &o->tty, NULL,
		  "give the command a terminal of its own" },
		{ 'd', "detach", WS_OPT_FLAG, &o->detach, NULL,
		  "run in the background, log the output, print the exec id" },
		{ 0, "cwd", WS_OPT_STR, &o->cwd, "DIR", "where to start" },
		{ 'e', "env", WS_OPT_LIST, &f->env, "NAME[=VALUE]",
		  "a variable; without =VALUE from wsiso's own environment. With it, all users of "
		  "the host can see it: use --env-file or --process - for secrets" },
		{ 0, "env-file", WS_OPT_LIST, &f->env_files, "FILE",
		  "variables, one a line" },
		{ 'p', "process", WS_OPT_STR, &f->process, "FILE",
		  "args, env, cwd and terminal as JSON ('-': standard input)" },
		{ 0, "profile", WS_OPT_STR, &o->profile, "NAME",
		  "what it is confined for: tool (default), agent, a spec's own; run: worker, mcp" },
		{ 0, "timeout", WS_OPT_SECONDS, &o->timeout_ms, "S",
		  "end it after so long, status 124" },
		{ 0, "kill-after", WS_OPT_SECONDS, &o->kill_after_ms, "S",
		  "time between TERM and KILL when it is ended (default 5)" },
		{ 0, "with-parent", WS_OPT_FLAG, &o->with_parent, NULL,
		  "end it when the calling process dies" },
		{ 0, "exec-id", WS_OPT_STR, &o->exec_id, "ID",
		  "a name for it, instead of a made-up one" },
		{ 0, "pid-file", WS_OPT_STR, &o->pid_file, "FILE",
		  "write the command's host PID there" },
		{ 0, "status-fd", WS_OPT_FD, &o->status_fd, "N",
		  "write JSON lines about start and end there" },
		{ 0, "status-file", WS_OPT_STR, &o->status_file, "FILE",
		  "the same, to a file" },
		{ 0, "dry-run", WS_OPT_FLAG, &o->dry_run, NULL,
		  "print what would be done" },
		{ 0, "json", WS_OPT_FLAG, &o->json, NULL,
		  "JSON from --detach and --dry-run" },
		{ 0 },
	};

	_Static_assert(WS_ARRAY_SIZE(all) <= WS_EXEC_ROWS, "room for all rows");
	memcpy(rows, all, sizeof(all));
}

/* ---- environment ---- */

/*
 * NAME=VALUE, or NAME: from our own environment, if it is there. WHERE is for messages.
 */
static int add_variable(const char *text, const char *where, struct ws_strv *env,
			struct ws_err *err)
{
	const char *value;

	if (*text == '\0' || *text == '=')
		return ws_fail(err, WS_USAGE, "%s: a variable without a name", where);
	if (strchr(text, '=')) {
		ws_strv_push(env, text);
		return 0;
	}
	value = getenv(text);
	if (value)
		ws_strv_addf(env, "%s=%s", text, value);
	return 0;
}

/* The text of a file that the caller names; '-' is standard input. */
static int read_input(const char *path, struct ws_buf *text, struct ws_err *err)
{
	bool standard = strcmp(path, "-") == 0;
	WS_AUTO_CLOSE int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					: open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && ws_read_fd(fd, FILE_MAX, text) == 0) {
		if (strlen(ws_buf_str(text)) == text->len)
			return 0;
		return ws_fail(err, WS_USAGE, "'%s' holds a NUL byte", path);
	}
	ws_fail_errno(err, "read '%s'", path);
	err->kind = WS_USAGE;
	return -1;
}

static int add_env_file(const char *path, struct ws_strv *env, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	char *at, *line;
	unsigned n = 0;

	if (read_input(path, &text, err) < 0)
		return -1;
	at = text.data;
	while ((line = strsep(&at, "\n"))) {
		WS_AUTO_FREE char *where = ws_format("%s:%u", path, ++n);

		line += strspn(line, " \t");
		if (*line && *line != '#' && add_variable(line, where, env, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- --process ---- */

static int check_members(const struct ws_json *doc, const char *path, struct ws_err *err)
{
	static const struct {
		const char *key;
		enum ws_json_type type;
	} known[] = {
		{ "args", WS_JSON_ARRAY },    { "env", WS_JSON_ARRAY },
		{ "env", WS_JSON_OBJECT },    { "cwd", WS_JSON_STRING },
		{ "terminal", WS_JSON_BOOL },
	};

	if (doc->type != WS_JSON_OBJECT)
		return ws_fail(err, WS_USAGE, "'%s' is no JSON object", path);
	for (const struct ws_json *m = doc->child; m; m = m->next) {
		size_t i = 0;

		while (i < WS_ARRAY_SIZE(known) &&
		       (strcmp(known[i].key, m->key) != 0 || known[i].type != m->type))
			i++;
		if (i < WS_ARRAY_SIZE(known))
			continue;
		ws_fail(err, WS_USAGE,
			"%s:%u:%u: '%s' is not known, or no %s can be its value", path,
			m->line, m->col, m->key, ws_json_type_name(m->type));
		return ws_hint(
			err,
			"args and env: arrays of strings (env may be an object), cwd: a "
			"string, terminal: a bool");
	}
	return 0;
}

static int add_process_env(const struct ws_json *env, const char *path,
			   struct ws_strv *ret, struct ws_err *err)
{
	if (!env)
		return 0;
	for (const struct ws_json *v = env->child; v; v = v->next) {
		if (v->type != WS_JSON_STRING)
			return ws_fail(err, WS_USAGE,
				       "%s:%u:%u: a variable must be a string", path,
				       v->line, v->col);
		if (env->type == WS_JSON_ARRAY &&
		    add_variable(v->str, path, ret, err) < 0)
			return -1;
		if (env->type == WS_JSON_OBJECT) {
			if (!*v->key || strchr(v->key, '='))
				return ws_fail(err, WS_USAGE,
					       "%s:%u:%u: no name of a variable", path,
					       v->line, v->col);
			ws_strv_addf(ret, "%s=%s", v->key, v->str);
		}
	}
	return 0;
}

static int add_args(const struct ws_json *args, const char *path, struct ws_strv *argv,
		    struct ws_err *err)
{
	for (const struct ws_json *a = args ? args->child : NULL; a; a = a->next) {
		if (a->type != WS_JSON_STRING)
			return ws_fail(err, WS_USAGE,
				       "%s:%u:%u: an argument must be a string", path,
				       a->line, a->col);
		ws_strv_push(argv, a->str);
	}
	if (argv->n == 0)
		return ws_fail(err, WS_USAGE, "'%s' names no command in args", path);
	return 0;
}

/* What the command line says goes over what stands here. */
static int read_process(const char *path, struct ws_exec_flags *f, struct ws_exec_opts *o,
			struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (o->argv.n)
		return ws_fail(err, WS_USAGE,
			       "--process and a command exclude each other");
	if (o->interactive && strcmp(path, "-") == 0)
		return ws_fail(err, WS_USAGE,
			       "--process - and --interactive exclude each other");
	if (read_input(path, &text, err) < 0)
		return -1;
	if (ws_json_parse(path, text.data, text.len, &doc, err) < 0) {
		err->kind = WS_USAGE;
		return -1;
	}
	if (check_members(doc, path, err) < 0 ||
	    add_args(ws_json_get(doc, "args"), path, &o->argv, err) < 0 ||
	    add_process_env(ws_json_get(doc, "env"), path, &o->env, err) < 0)
		return -1;
	o->tty = o->tty || ws_json_bool(doc, "terminal", false);
	f->cwd = ws_strdup(ws_json_str(doc, "cwd", NULL));
	if (!o->cwd)
		o->cwd = f->cwd;
	return 0;
}

/* ---- all of it ---- */

int ws_exec_opts_gather(struct ws_exec_flags *f, const struct ws_strv *args, size_t first,
			struct ws_exec_opts *o, struct ws_err *err)
{
	for (size_t i = first; i < args->n; i++)
		ws_strv_push(&o->argv, args->v[i]);
	if (f->process && read_process(f->process, f, o, err) < 0)
		return -1;
	for (size_t i = 0; i < f->env_files.n; i++)
		if (add_env_file(f->env_files.v[i], &o->env, err) < 0)
			return -1;
	for (size_t i = 0; i < f->env.n; i++)
		if (add_variable(f->env.v[i], "--env", &o->env, err) < 0)
			return -1;
	return 0;
}

static int print_detached(const struct ws_exec_result *r, bool json, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	if (!json) {
		ws_buf_addf(&out, "%s\n", r->exec_id);
		return ws_out_write(&out, err);
	}
	ws_jsonw_init(&w, &out, ws_out_terminal());
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "exec_id", r->exec_id);
	ws_jsonw_int(&w, "pid", r->pid);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

/* A command's own status, and an error to tell: main has no words for both. */
int ws_exec_finish(const struct ws_cmd *cmd, const struct ws_exec_opts *o, int rc,
		   const struct ws_exec_result *r, struct ws_err *err)
{
	if (rc < 0 && r->status == 125)
		return -1;
	if (rc < 0)
		ws_log_final(cmd->name, err);
	else if (r->late.msg[0])
		ws_log_final(cmd->name, &r->late);
	else if (o->dry_run)
		return ws_out_write(&r->plan, err) < 0 ? -1 : 0;
	else if (o->detach)
		return print_detached(r, o->json, err) < 0 ? -1 : 0;
	return r->status;
}
