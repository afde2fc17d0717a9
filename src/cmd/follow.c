/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/follow.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/common.h"

#define CHUNK 65536
#define LOOK_MS 50

/*
 * For a terminal: control bytes come out as text, lines and tabs stay. A character that
 * is cut off at the end stays in TEXT for the next time, unless it is the LAST.
 */
static void escape(struct ws_buf *text, bool last, struct ws_buf *out)
{
	size_t i = 0;

	while (i < text->len) {
		const char *s = text->data + i;
		size_t left = text->len - i;
		size_t n = ws_text_utf8_char(s, left);

		if (n == 0 && left < 4 && !last && ((unsigned char)*s & 0xc0) == 0xc0)
			break;
		n = n ? n : 1;
		if (*s == '\n' || *s == '\t')
			ws_buf_addch(out, *s);
		else if (!(*s == '\r' && left > 1 && s[1] == '\n'))
			ws_text_escape(out, s, n);
		i += n;
	}
	text->len -= i;
	memmove(text->data, text->data + i, text->len);
}

void ws_follow_release(struct ws_follow *r)
{
	ws_closep(&r->log);
	ws_buf_release(&r->rest);
}

int ws_follow_copy(struct ws_follow *r, bool last, struct ws_err *err)
{
	bool terminal = ws_out_terminal();

	for (;;) {
		WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
		struct ws_buf *to = terminal ? &r->rest : &out;
		ssize_t n;

		ws_buf_reserve(to, CHUNK);
		n = read(r->log, to->data + to->len, CHUNK);
		if (n < 0)
			return ws_fail_errno(err, "read the log");
		to->len += (size_t)n;
		if (terminal)
			escape(&r->rest, last && n == 0, &out);
		if (ws_out_write(&out, err) < 0)
			return -1;
		if (n == 0)
			return 0;
	}
}

bool ws_follow_pause(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	return poll(&p, 1, LOOK_MS) <= 0 || !(p.revents & (POLLERR | POLLHUP | POLLNVAL));
}
