/* SPDX-License-Identifier: Apache-2.0 */
#include "core/network.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fs.h"
#include "core/sandbox.h"

#define ANSWER_MAX 64

/* Only who has the terminal for input and messages can be asked. */
static bool can_answer(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO) &&
	       tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* A line from the terminal, byte by byte: what follows it is the command's. */
static bool ask(const char *id)
{
	WS_AUTO_FREE char *question =
		ws_format("wsiso: give session '%s' the host's network? [y/N] ", id);
	char answer[ANSWER_MAX];
	size_t n = 0;
	char c;

	ws_write_all(STDERR_FILENO, question, strlen(question));
	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		if (n + 1 < sizeof(answer))
			answer[n++] = c;
	answer[n] = '\0';
	return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

/* Another call may have had an answer meanwhile: the first one counts. */
static int keep(const struct ws_root *root, const char *id, const char *answer,
		char **ret, struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session before = WS_SESSION_INIT;
	WS_AUTO(ws_session) struct ws_session now = WS_SESSION_INIT;
	WS_AUTO_CLOSE int lock = -1;

	if (ws_session_open_record(root, id, &before, err) < 0 ||
	    ws_session_lock(root, &before, &lock, err) < 0 ||
	    ws_session_open_record(root, id, &now, err) < 0)
		return -1;
	if (!now.network) {
		now.network = ws_strdup(answer);
		if (ws_session_save(&now, err) < 0)
			return -1;
		ws_journal(root, "network", id, answer);
	}
	*ret = ws_steal_ptr(&now.network);
	return 0;
}

int ws_network_ask(const struct ws_root *root, struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_sandbox) struct ws_sandbox live = WS_SANDBOX_INIT;
	int rc;

	if (s->spec.mode != WS_MODE_HOST_READONLY || s->network ||
	    s->spec.host_readonly.network != WS_NETWORK_ASK || !can_answer())
		return 0;
	rc = ws_sandbox_peek(s, &live, err);
	if (rc != 0) /* it has none: that was settled when it started */
		return rc < 0 ? -1 : 0;
	if (keep(root, s->id, ask(s->id) ? "share" : "isolate", &s->network, err) < 0)
		return -1;
	s->spec.sandbox.unshare_net = strcmp(s->network, "share") != 0;
	return 0;
}
