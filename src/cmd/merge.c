/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "cmd/common.h"
#include "core/diff.h"
#include "core/file_merge.h"
#include "core/merge.h"
#include "core/resolver.h"

#define STATUS_CONFLICTS 4
#define TOP "/workspace/"

struct call {
	struct ws_root root;
	struct ws_merge merge;
	struct ws_merge_given *given;
	size_t ngiven;
	bool json;
};

static void call_release(struct call *c)
{
	for (size_t i = 0; i < c->ngiven; i++) {
		ws_freep(&c->given[i].path);
		ws_buf_release(&c->given[i].bytes);
	}
	ws_freep(&c->given);
	ws_merge_release(&c->merge);
	ws_root_release(&c->root);
}

/* ---- answers ---- */

/* @ours, @theirs, @delete; all else is the name of a file. */
static enum ws_merge_answer answer_of(const char *text)
{
	enum ws_merge_answer a =
		*text == '@' ? ws_merge_answer_of(text + 1) : WS_ANSWER_FILE;

	return a == WS_ANSWER_NONE ? WS_ANSWER_FILE : a;
}

static int read_answer(const char *file, struct ws_buf *ret, struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = -1;

	if (strcmp(file, "-") != 0)
		fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if ((fd < 0 && strcmp(file, "-") != 0) ||
	    ws_read_fd(fd < 0 ? STDIN_FILENO : fd, WS_FILE_MERGE_MAX, ret) < 0)
		return ws_fail_errno(err, "read '%s'", file);
	return 0;
}

/* At the last "=": the file's name is the caller's choice, the path is not. */
static int add_answer(struct call *c, const char *arg, struct ws_err *err)
{
	const char *equals = strrchr(arg, '=');
	const char *path = ws_text_starts(arg, TOP) ? arg + strlen(TOP) : arg;
	struct ws_merge_given *g;

	if (!equals || equals <= path || !equals[1]) {
		ws_fail(err, WS_USAGE, "'%s' is not PATH=FILE", arg);
		return ws_hint(err, "instead of a FILE also @ours, @theirs or @delete");
	}
	c->given = ws_grow(c->given, c->ngiven + 1, sizeof(*c->given));
	g = &c->given[c->ngiven++];
	*g = (struct ws_merge_given){ .path = ws_strndup(path, (size_t)(equals - path)),
				      .answer = answer_of(equals + 1) };
	return g->answer == WS_ANSWER_FILE ? read_answer(equals + 1, &g->bytes, err) : 0;
}

/* ---- what it says ---- */

/* The letter of diff for what became of a path of ours. */
static char letter(const struct ws_merge_path *p)
{
	mode_t now = p->action == WS_MERGE_TAKE ? p->theirs.mode : S_IFREG;

	if (p->covered || p->action == WS_MERGE_DELETE)
		return 'D';
	if (!p->ours.mode)
		return 'A';
	if (p->action == WS_MERGE_MODE || (now & S_IFMT) == (p->ours.mode & S_IFMT))
		return 'M';
	return 'T';
}

/* What went with a folder is told of, too. */
static bool is_told(const struct ws_merge_path *p)
{
	return ws_merge_acts(p) || (p->covered && p->ours.mode && !S_ISDIR(p->ours.mode));
}

static bool is_conflict(const struct ws_merge_path *p)
{
	return p->action == WS_MERGE_CONFLICT;
}

static void conflicts_json(struct ws_jsonw *w, const struct ws_merge *m)
{
	ws_jsonw_array(w, "conflicts");
	for (size_t i = 0; i < m->trees.n; i++) {
		if (!is_conflict(&m->trees.v[i]))
			continue;
		ws_jsonw_object(w, NULL);
		ws_merge_conflict_json(w, &m->room, &m->trees.v[i]);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, ']');
}

static void changes_json(struct ws_jsonw *w, const struct ws_merge *m)
{
	ws_jsonw_array(w, "changes");
	for (size_t i = 0; m->result == WS_MERGE_MERGED && i < m->trees.n; i++) {
		const struct ws_merge_path *p = &m->trees.v[i];
		const char status[] = { letter(p), '\0' };

		if (!is_told(p))
			continue;
		ws_jsonw_object(w, NULL);
		ws_jsonw_str(w, "status", status);
		ws_path_json(w, "path", p->path);
		ws_jsonw_bool(w, "joined", p->action == WS_MERGE_JOIN);
		ws_jsonw_bool(w, "resolved", p->clash != WS_CLASH_NONE);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, ']');
}

static void commits_json(struct ws_jsonw *w, const struct ws_merge *m)
{
	ws_jsonw_array(w, "commits");
	for (size_t i = 0; i < m->commits.n; i++) {
		const struct ws_brought *r = &m->commits.v[i];

		ws_jsonw_object(w, NULL);
		ws_jsonw_str(w, "repo", r->repo);
		ws_jsonw_str(w, "how", r->how);
		ws_jsonw_str(w, "branch", r->branch);
		ws_jsonw_str(w, "from", r->from);
		ws_jsonw_str(w, "to", r->to);
		ws_jsonw_u64(w, "commits", r->commits);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, ']');
}

static void left_json(struct ws_jsonw *w, const struct ws_merge *m)
{
	ws_jsonw_array(w, "omitted");
	for (size_t i = 0; i < m->trees.nleft; i++) {
		ws_jsonw_object(w, NULL);
		ws_path_json(w, "path", m->trees.left[i].path);
		ws_jsonw_str(w, "why", m->trees.left[i].why);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, ']');
}

static const char *result_word(const struct ws_merge *m)
{
	static const char *const words[] = { [WS_MERGE_NOOP] = "noop",
					     [WS_MERGE_MERGED] = "merged",
					     [WS_MERGE_CONFLICTS] = "conflicts" };

	return words[m->result];
}

static int print_json(const struct ws_merge *m, const char *result,
		      const struct ws_err *why, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &out, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "result", result);
	ws_jsonw_str(&w, "child", m->child);
	ws_jsonw_str(&w, "parent", m->parent);
	if (why) {
		ws_jsonw_object(&w, "reason");
		ws_jsonw_str(&w, "kind", ws_kind_name(why->kind));
		ws_jsonw_str(&w, "message", why->msg);
		ws_jsonw_str(&w, "hint", *why->hint ? why->hint : NULL);
		ws_jsonw_end(&w, '}');
	} else {
		ws_jsonw_bool(&w, "consistent", !m->torn);
		changes_json(&w, m);
		conflicts_json(&w, m);
		commits_json(&w, m);
		left_json(&w, m);
	}
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static void print_paths(const struct ws_merge *m, struct ws_buf *out)
{
	for (size_t i = 0; i < m->trees.n; i++) {
		const struct ws_merge_path *p = &m->trees.v[i];

		if (m->result == WS_MERGE_CONFLICTS ? !is_conflict(p) : !is_told(p))
			continue;
		if (is_conflict(p))
			ws_buf_addf(out, "%s\t", ws_merge_clash_name(p->clash));
		else
			ws_buf_addf(out, "%c\t", letter(p));
		ws_path_quote(out, p->path);
		ws_buf_addch(out, '\n');
	}
	for (size_t i = 0; m->result == WS_MERGE_MERGED && i < m->commits.n; i++) {
		const struct ws_brought *r = &m->commits.v[i];

		if (r->commits)
			ws_buf_addf(out, "%s\t%s\t%zu commit%s\n", r->how, r->repo,
				    r->commits, r->commits == 1 ? "" : "s");
	}
	for (size_t i = 0; i < m->trees.nleft; i++) {
		ws_buf_addstr(out, "omitted\t");
		ws_path_quote(out, m->trees.left[i].path);
		ws_buf_addf(out, "\t%s\n", m->trees.left[i].why);
	}
}

static int print(const struct call *c, struct ws_err *err)
{
	const struct ws_merge *m = &c->merge;
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	int rc;

	if (c->json) {
		rc = print_json(m, result_word(m), NULL, err);
	} else {
		print_paths(m, &out);
		ws_buf_addf(&out, "%s: '%s' into '%s'\n", result_word(m), m->child,
			    m->parent);
		rc = ws_out_write(&out, err);
	}
	if (rc < 0)
		return -1;
	return m->result == WS_MERGE_CONFLICTS ? STATUS_CONFLICTS : 0;
}

static int refuse(const struct call *c, const struct ws_err *err)
{
	struct ws_err ignored = WS_ERR_INIT; /* what was refused is said anyway */

	if (c->json && ws_kind_class(err->kind) != WS_CLASS_FAILED)
		print_json(&c->merge, "refused", err, &ignored);
	return -1;
}

/* ---- the command ---- */

static int merge_abort(const struct call *c, const char *id, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	bool was = false;

	if (ws_merge_abort(&c->root, id, &was, err) < 0)
		return -1;
	if (!was)
		return ws_fail(err, WS_USAGE, "no merge of '%s' waits for answers", id);
	if (c->json)
		ws_buf_addstr(&out, "{\"result\": \"aborted\"}\n");
	return out.len ? ws_out_write(&out, err) : 0;
}

static int merge_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		     char **argv, struct ws_err *err)
{
	__attribute__((cleanup(call_release))) struct call c = { .root = WS_ROOT_INIT,
								 .merge = WS_MERGE_INIT };
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv answers = WS_STRV_INIT;
	struct ws_merge_opts how = { .resolver_ms = WS_RESOLVER_TIMEOUT_MS };
	bool abort = false;
	const struct ws_opt opts[] = {
		{ 0, "commits", WS_OPT_FLAG, &how.commits, NULL,
		  "bring the child's git commits along, not its files alone" },
		{ 0, "json", WS_OPT_FLAG, &c.json, NULL, "print the report as JSON" },
		{ 0, "resolve", WS_OPT_LIST, &answers, "PATH=FILE",
		  "answer a conflict: the file, '-', @ours, @theirs or @delete" },
		{ 0, "continue", WS_OPT_FLAG, &how.proceed, NULL,
		  "go on with a merge that waits for answers" },
		{ 0, "resolver-timeout", WS_OPT_SECONDS, &how.resolver_ms, "SECONDS",
		  "for each question to integration.resolver (default 300)" },
		{ 0, "abort", WS_OPT_FLAG, &abort, NULL,
		  "forget the answers of a merge that waits" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, 1, err) < 0)
		return -1;
	if (abort && (how.proceed || answers.n))
		return ws_fail(err, WS_USAGE,
			       "--abort excludes --continue and --resolve");
	for (size_t i = 0; i < answers.n; i++)
		if (add_answer(&c, answers.v[i], err) < 0)
			return -1;
	if (ws_root_open(global->root, true, &c.root, err) < 0)
		return -1;
	if (abort)
		return merge_abort(&c, args.v[0], err);
	how.child = args.v[0];
	how.given = c.given;
	how.ngiven = c.ngiven;
	return ws_merge(&c.root, &how, &c.merge, err) < 0 ? refuse(&c, err)
							  : print(&c, err);
}

const struct ws_cmd ws_cmd_merge = {
	.name = "merge",
	.args = "CHILD [OPTIONS]",
	.help = "bring the work of an isolated child into its parent",
	.npos = -1,
	.run = merge_run,
	.status_of = WS_STATUS_PLAIN,
};
