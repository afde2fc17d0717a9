/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/text.h"
#include "core/inside.h"
#include "core/merge_commits.h"

/*
 * By git itself, which knows what is ignored and what attributes make of a file, where
 * it may run anybody's filters: inside. What it says is for the report alone; what it has
 * done is read afterwards.
 */
static const char script[] =
	"cd \"$1\" >/dev/null || exit\n"
	"exec >/dev/null\n"
	"export GIT_AUTHOR_NAME=Codumentor GIT_AUTHOR_EMAIL=codumentor@local\n"
	"export GIT_COMMITTER_NAME=Codumentor GIT_COMMITTER_EMAIL=codumentor@local\n"
	"export GIT_EDITOR=: GIT_TERMINAL_PROMPT=0\n"
	"g() { git -c core.hooksPath=/dev/null -c core.fsmonitor=false "
	"-c commit.gpgSign=false -c gc.auto=0 -c maintenance.auto=false \"$@\"; }\n"
	/* who is killed below leaves a lock of git's: none is taken for nothing */
	"left=$(g --no-optional-locks status --porcelain) || exit\n"
	"[ -n \"$left\" ] || exit 0\n"
	"g add -A || exit\n"
	"g diff --cached --quiet || g commit -q --no-verify --no-gpg-sign -m \"$2\"\n";

static int commit(const struct ws_root *root, const struct ws_session *s,
		  const char *repo, struct ws_err *err)
{
	WS_AUTO(ws_inside) struct ws_inside in = WS_INSIDE_INIT;
	WS_AUTO(ws_buf) struct ws_buf shown = WS_BUF_INIT;
	const char *said;

	ws_strv_add(&in.argv, "/bin/sh", "-c", script, "sh", NULL);
	ws_strv_addf(&in.argv, "/workspace/%s", repo);
	ws_strv_addf(&in.argv, "What session '%s' left uncommitted", s->id);
	if (ws_inside_run(root, s, &in, err) < 0)
		return -1;
	if (in.status == 0)
		return 0;
	said = ws_buf_str(&in.complaint);
	ws_text_escape(&shown, said, strcspn(said, "\n"));
	ws_fail(err, WS_REPO_UNUSABLE,
		"commit what the child left uncommitted in '%s': %.300s (status %d)",
		repo, ws_buf_str(&shown), in.status);
	return ws_hint(err, "commit in the child, or set \"integration\": "
			    "{\"auto_commit\": false}");
}

int ws_auto_commit(const struct ws_root *root, const char *id, struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;

	if (ws_session_open(root, id, &s, err) < 0)
		return -1;
	for (size_t i = 0; s.spec.integration.auto_commit && i < s.nrepos; i++)
		if (!strcmp(s.repos[i].vcs, "git") && s.repos[i].pool &&
		    commit(root, &s, s.repos[i].name, err) < 0)
			return -1;
	return 0;
}
