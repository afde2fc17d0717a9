/* SPDX-License-Identifier: Apache-2.0 */
#include "core/vcs_git.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/proc.h"
#include "base/text.h"

#define HELPER PKGLIBEXECDIR "/wsiso-git"
#define ANSWER_MAX (256u << 20)
#define RESOLVE_TIMEOUT_MS 120000
#define KEPT_MAX 4

static const struct ws_json_field source_fields[] = {
	WS_FIELD(ws_git_source, path, STRING, true),
	WS_FIELD(ws_git_source, common, STRING, true),
	WS_FIELD(ws_git_source, revision, STRING, true),
	WS_FIELD(ws_git_source, branch, STRING, false),
	WS_FIELD(ws_git_source, new_branch, BOOL, true),
	WS_FIELD(ws_git_source, has, BOOL, true),
	WS_FIELD(ws_git_source, stores, STRV, true),
	WS_FIELD(ws_git_source, stamp, STRING, false),
	WS_FIELD(ws_git_source, checkout, STRING, true),
	WS_FIELD(ws_git_source, config, STRING, true),
	WS_FIELD(ws_git_source, ident, STRING, true),
	WS_FIELD(ws_git_source, exclude, STRING, false),
	WS_FIELD(ws_git_source, attributes, STRING, false),
	WS_FIELD(ws_git_source, shallow, STRING, false),
	WS_FIELD(ws_git_source, warnings, STRV, false),
	{ 0 },
};

void ws_git_source_release(struct ws_git_source *g)
{
	ws_json_release(source_fields, g);
	ws_freep(&g->refs);
}

/* ---- the helper ---- */

/* Where the user's own git config is, and nothing else of our environment. */
static void helper_env(struct ws_strv *env)
{
	static const char *const passed[] = { "HOME", "XDG_CONFIG_HOME" };

	ws_strv_add(env, "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL);
	for (size_t i = 0; i < WS_ARRAY_SIZE(passed); i++)
		if (getenv(passed[i]))
			ws_env_set(env, passed[i], getenv(passed[i]));
}

static int fail_dead(int status, const struct ws_buf *complaint, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	ws_text_escape(&text, ws_buf_str(complaint),
		       complaint->len < 200 ? complaint->len : 200);
	if (status > 128)
		return ws_fail(err, WS_SNAPSHOT_FAILED, "wsiso-git died of signal %d %s",
			       status - 128, ws_buf_str(&text));
	return ws_fail(err, WS_INTERNAL, "wsiso-git ended with status %d %s", status,
		       ws_buf_str(&text));
}

/* {"kind","message","hint"} */
static int fail_as_told(const struct ws_buf *answer, int status,
			const struct ws_buf *complaint, struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;
	enum ws_kind kind;

	if (!answer->len ||
	    ws_json_parse("wsiso-git", answer->data, answer->len, &doc, err) < 0 ||
	    ws_kind_parse(ws_json_str(doc, "kind", ""), &kind) < 0)
		return fail_dead(status, complaint, err);
	ws_fail(err, kind, "%s", ws_json_str(doc, "message", "no reason given"));
	return ws_hint(err, "%s", ws_json_str(doc, "hint", ""));
}

const char *ws_git_helper(struct ws_err *err)
{
	if (faccessat(AT_FDCWD, HELPER, X_OK, 0) == 0)
		return HELPER;
	ws_fail_errno(err, "run '%s'", HELPER);
	err->kind = WS_HELPER_MISSING;
	ws_hint(err, "it is installed together with wsiso: install that again");
	return NULL;
}

int ws_git_ask(struct ws_strv *argv, const int *fds, size_t nfds, uint64_t timeout_ms,
	       struct ws_buf *ret, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv env = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv full = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf complaint = WS_BUF_INIT;
	struct ws_fdmap map[KEPT_MAX];
	struct ws_spawn s = { .fds = map, .timeout_ms = timeout_ms };
	const char *helper = ws_git_helper(err);
	int status;

	if (!helper)
		return -1;
	helper_env(&env);
	ws_strv_push(&full, helper);
	ws_strv_extend(&full, argv);
	for (; s.nfds < nfds && s.nfds < KEPT_MAX; s.nfds++)
		map[s.nfds] =
			(struct ws_fdmap){ .from = fds[s.nfds], .to = 3 + (int)s.nfds };
	s.argv = ws_strv_argv(&full);
	s.env = ws_strv_argv(&env);
	if (ws_run_capture(&s, ANSWER_MAX, ret, &complaint, &status, err) < 0)
		return -1;
	return status == 0 ? 0 : fail_as_told(ret, status, &complaint, err);
}

/* ---- resolve ---- */

/* A line of JSON, then the refs. */
static int parse_source(struct ws_buf *answer, struct ws_git_source *g,
			struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;
	const char *end = answer->len ? memchr(answer->data, '\n', answer->len) : NULL;

	if (!end)
		return ws_fail(err, WS_INTERNAL, "wsiso-git said nothing");
	if (ws_json_parse("wsiso-git", answer->data, (size_t)(end - answer->data), &doc,
			  err) < 0 ||
	    ws_json_decode(doc, source_fields, g, err) < 0) {
		err->kind = WS_INTERNAL;
		return -1;
	}
	g->refs = ws_strdup(end + 1);
	return 0;
}

static bool is_top(const char *dir)
{
	return ws_vcs_has(dir, ".git") ||
	       (ws_vcs_has(dir, "HEAD") && ws_vcs_has(dir, "objects") &&
		ws_vcs_has(dir, "refs"));
}

/* A folder in a repository counts, too: the helper refuses it by name. */
static int is_git(const char *path)
{
	return ws_vcs_above(path, is_top);
}

static int ask(const struct ws_vcs_call *call, const struct ws_spec_repo *repo,
	       struct ws_git_source *ret, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv argv = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf answer = WS_BUF_INIT;

	ws_strv_add(&argv, "resolve", "--path", repo->path, NULL);
	/* "--x=..." takes a value that begins with a dash, too */
	if (repo->revision)
		ws_strv_addf(&argv, "--revision=%s", repo->revision);
	if (repo->branch)
		ws_strv_addf(&argv, "--branch=%s", repo->branch);
	ws_strv_addf(&argv, "--has=%s", call->spec->project_setup.script);
	if (ws_git_ask(&argv, NULL, 0, RESOLVE_TIMEOUT_MS, &answer, err) < 0)
		return -1;
	return parse_source(&answer, ret, err);
}

int ws_git_resolve(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err)
{
	struct ws_git_source *g = ws_alloc(sizeof(*g));

	r->source = g;
	if (ask(call, r->spec, g, err) < 0)
		return -1;
	if (ws_vcs_check_place(call->root, g->path, err) < 0)
		return -1;
	r->path = ws_strdup(g->path);
	r->revision = ws_strdup(g->revision);
	r->branch = ws_strdup(g->branch);
	r->has_setup = g->has;
	ws_strv_extend(&r->warnings, &g->warnings);
	return 0;
}

static void release(void *source)
{
	ws_git_source_release(source);
	free(source);
}

const struct ws_vcs_kind ws_vcs_git = {
	.word = "git",
	.vcs = WS_VCS_GIT,
	.is = is_git,
	.resolve = ws_git_resolve,
	.snapshot = ws_git_snapshot,
	.own = ws_git_private,
	.release = release,
};
