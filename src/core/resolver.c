/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -> {"version": 1, "child", "parent", "path", "kind", "base", "ours", "theirs", "markers"}
 * <- {"take": "ours" | "theirs" | "delete" | "markers"}, {"content": TEXT} or
 *    {"give_up": WHY}
 *
 * A side is null or {"type", "mode", "size", "file"}. No answer names a file: what a
 * program says that has read a hostile text may not bring a file of the host inside.
 */
#include "core/resolver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/text.h"
#include "core/file_merge.h"

#define WHY_MAX 256
#define ANSWER_MAX WS_JSON_MAX_SIZE

/* ---- the question ---- */

static void write_question(const struct ws_merge *m, const struct ws_merge_path *p,
			   struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, out, false);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_int(&w, "version", 1);
	ws_jsonw_str(&w, "child", m->child);
	ws_jsonw_str(&w, "parent", m->parent);
	ws_merge_conflict_json(&w, &m->room, p);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}

/* ---- the answer ---- */

static int give_up(enum ws_merge_answer *ret, char *why, const char *text)
{
	WS_AUTO(ws_buf) struct ws_buf shown = WS_BUF_INIT;

	ws_text_escape(&shown, text, strnlen(text, WHY_MAX / 2));
	snprintf(why, WHY_MAX, "%s", ws_buf_str(&shown));
	*ret = WS_ANSWER_NONE;
	return 0;
}

/* Nobody has resolved what still has both sides between markers. */
static bool has_markers(const struct ws_buf *b)
{
	const char *text = ws_buf_str(b);

	return (ws_text_starts(text, "<<<<<<< ") || strstr(text, "\n<<<<<<< ")) &&
	       strstr(text, "\n>>>>>>> ");
}

static int take_bytes(const struct ws_merge_path *p, struct ws_buf *bytes,
		      enum ws_merge_answer *ret, char *why)
{
	if (has_markers(bytes))
		return give_up(ret, why, "there are conflict markers in its answer");
	if (!ws_merge_may_answer(p, WS_ANSWER_FILE))
		return give_up(ret, why, "a folder is taken from one side or the other");
	*ret = WS_ANSWER_FILE;
	return 0;
}

static int take_side(const struct ws_merge *m, const struct ws_merge_path *p,
		     const char *side, enum ws_merge_answer *ret, struct ws_buf *bytes,
		     char *why)
{
	WS_AUTO_FREE char *file = ws_format("%s.merged", p->key);

	*ret = ws_merge_answer_of(side);
	if (*ret != WS_ANSWER_NONE && *ret != WS_ANSWER_FILE)
		return ws_merge_may_answer(p, *ret)
			       ? 0
			       : give_up(ret, why, "a folder cannot be deleted so");
	if (strcmp(side, "markers") != 0)
		return give_up(ret, why, "its answer takes what there is not");
	if (ws_read_file(m->room.fd, file, WS_FILE_MERGE_MAX, bytes) < 0)
		return give_up(ret, why, "there is no file with markers");
	return take_bytes(p, bytes, ret, why);
}

static int read_answer(const struct ws_merge *m, const struct ws_merge_path *p,
		       const struct ws_buf *text, enum ws_merge_answer *ret,
		       struct ws_buf *bytes, char *why)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;
	struct ws_err err = WS_ERR_INIT;
	const char *take, *content, *gave;

	if (ws_json_parse("answer", ws_buf_str(text), text->len, &doc, &err) < 0)
		return give_up(ret, why, err.msg);
	if (doc->type != WS_JSON_OBJECT || !doc->child || doc->child->next)
		return give_up(ret, why, "its answer is no object with one member");
	take = ws_json_str(doc, "take", NULL);
	content = ws_json_str(doc, "content", NULL);
	gave = ws_json_str(doc, "give_up", NULL);
	if (take)
		return take_side(m, p, take, ret, bytes, why);
	if (content) {
		ws_buf_addstr(bytes, content);
		return take_bytes(p, bytes, ret, why);
	}
	return give_up(ret, why, gave ? gave : "its answer has neither take nor content");
}

/* ---- asking ---- */

/* What a program needs to find others, and its user's own settings; no more. */
static void make_env(struct ws_strv *env)
{
	static const char *const kept[] = { "HOME", "USER", "LOGNAME", "TMPDIR" };

	ws_env_set(env, "PATH", "/usr/local/bin:/usr/bin:/bin");
	ws_env_set(env, "LC_ALL", "C.UTF-8");
	for (size_t i = 0; i < WS_ARRAY_SIZE(kept); i++)
		if (getenv(kept[i]))
			ws_env_set(env, kept[i], getenv(kept[i]));
}

static int run(const struct ws_merge *m, int question, struct ws_buf *answer,
	       struct ws_buf *complaint, int *ret_status, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv argv = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv env = WS_STRV_INIT;
	const struct ws_fdmap fds[] = { { question, 0 } };
	struct ws_spawn s = {
		.fds = fds, .nfds = 1, .new_session = true, .timeout_ms = m->resolver_ms
	};

	ws_strv_extend(&argv, &m->resolver);
	make_env(&env);
	s.argv = ws_strv_argv(&argv);
	s.env = ws_strv_argv(&env);
	return ws_run_capture(&s, ANSWER_MAX, answer, complaint, ret_status, err);
}

static int ask(const struct ws_merge *m, const struct ws_merge_path *p,
	       enum ws_merge_answer *ret, struct ws_buf *bytes, char *why,
	       struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf question = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf answer = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf complaint = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = -1;
	struct ws_err failed = WS_ERR_INIT;
	int status = 0;

	*ret = WS_ANSWER_NONE;
	write_question(m, p, &question);
	fd = ws_memfd("conflict", question.data, question.len);
	if (fd < 0)
		return ws_fail_errno(err, "ask the resolver");
	if (run(m, fd, &answer, &complaint, &status, &failed) < 0)
		return give_up(ret, why, failed.msg);
	if (status != 0) {
		WS_AUTO_FREE char *text = ws_format("it ended with status %d: %.*s",
						    status, 80, ws_buf_str(&complaint));

		return give_up(ret, why, text);
	}
	return read_answer(m, p, &answer, ret, bytes, why);
}

/* 1: it has answered. */
static int ask_one(const struct ws_merge *m, const struct ws_merge_path *p,
		   struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf bytes = WS_BUF_INIT;
	enum ws_merge_answer answer;
	char why[WHY_MAX];

	if (ask(m, p, &answer, &bytes, why, err) < 0)
		return -1;
	if (answer == WS_ANSWER_NONE) {
		WS_AUTO(ws_buf) struct ws_buf path = WS_BUF_INIT;

		ws_text_escape(&path, p->path, strlen(p->path));
		ws_warn("the resolver gave up on '%s': %s", path.data, why);
		return 0;
	}
	return ws_merge_room_answer(&m->room, p, answer, &bytes, err) < 0 ? -1 : 1;
}

int ws_resolver_ask(const struct ws_merge *m, struct ws_strv *asked, struct ws_err *err)
{
	int answers = 0;

	for (size_t i = 0; m->resolver.n && i < m->trees.n; i++) {
		const struct ws_merge_path *p = &m->trees.v[i];
		int rc;

		if (p->action != WS_MERGE_CONFLICT || ws_strv_has(asked, p->key))
			continue;
		ws_strv_push(asked, p->key);
		rc = ask_one(m, p, err);
		if (rc < 0)
			return -1;
		answers += rc;
	}
	return answers;
}
