/* SPDX-License-Identifier: Apache-2.0 */
#include "core/git_talk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"
#include "core/vcs_git.h"

void ws_git_talk_release(struct ws_git_talk *t)
{
	int status;

	ws_closep(&t->to);
	ws_closep(&t->from);
	if (t->pid > 0 && ws_wait(t->pid, &status) == 0)
		t->pid = 0;
}

static int start(struct ws_git_talk *t, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv argv = WS_STRV_INIT;
	char *env[] = { (char[]){ "PATH=/usr/bin:/bin" }, (char[]){ "LC_ALL=C.UTF-8" },
			NULL };
	WS_AUTO_CLOSE int in = -1;
	WS_AUTO_CLOSE int out = -1;
	const struct ws_fdmap *fds;
	const char *helper;
	struct ws_spawn s = { .env = env, .nfds = 3 };

	if (t->pid > 0)
		return 0;
	helper = ws_git_helper(err);
	if (!helper)
		return -1;
	if (ws_pipe(&in, &t->to) < 0 || ws_pipe(&t->from, &out) < 0)
		return ws_fail_errno(err, "make pipes");
	fds = (const struct ws_fdmap[]){ { in, 0 }, { out, 1 }, { 2, 2 } };
	s.fds = fds;
	ws_strv_add(&argv, helper, t->word, NULL);
	s.argv = ws_strv_argv(&argv);
	return ws_spawn(&s, &t->pid, err);
}

int ws_git_talk_fail(struct ws_err *err)
{
	return ws_fail(err, WS_INTERNAL, "wsiso-git ended before it had answered");
}

int ws_git_talk_ask(struct ws_git_talk *t, const char *head, const struct ws_buf *parts,
		    size_t nparts, struct ws_err *err)
{
	if (start(t, err) < 0)
		return -1;
	if (ws_write_all(t->to, head, strlen(head)) < 0)
		return ws_git_talk_fail(err);
	for (size_t i = 0; i < nparts; i++)
		if (ws_write_all(t->to, ws_buf_str(&parts[i]), parts[i].len) < 0)
			return ws_git_talk_fail(err);
	return 0;
}

int ws_git_talk_head(struct ws_git_talk *t, char line[WS_GIT_TALK_LINE],
		     struct ws_err *err)
{
	for (size_t i = 0; i < WS_GIT_TALK_LINE; i++) {
		ssize_t n = read(t->from, line + i, 1);

		if (n < 0 && errno == EINTR) {
			i--;
			continue;
		}
		if (n != 1)
			break;
		if (line[i] == '\n') {
			line[i] = '\0';
			return 0;
		}
	}
	return ws_git_talk_fail(err);
}

int ws_git_talk_body(struct ws_git_talk *t, size_t len, struct ws_buf *ret,
		     struct ws_err *err)
{
	ws_buf_reserve(ret, len + 1);
	while (len > 0) {
		ssize_t n = read(t->from, ret->data + ret->len, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return ws_git_talk_fail(err);
		ret->len += (size_t)n;
		len -= (size_t)n;
	}
	ret->data[ret->len] = '\0';
	return 0;
}
