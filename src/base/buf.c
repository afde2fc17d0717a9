/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ws_buf_release(struct ws_buf *b)
{
	ws_freep(&b->data);
	b->len = 0;
	b->cap = 0;
}

void ws_buf_clear(struct ws_buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

/* Room for EXTRA more bytes and the NUL. */
void ws_buf_reserve(struct ws_buf *b, size_t extra)
{
	size_t need, cap;

	if (__builtin_add_overflow(b->len, extra, &need) ||
	    __builtin_add_overflow(need, 1, &need))
		ws_grow(NULL, SIZE_MAX, 2); /* ends the process */
	if (need <= b->cap)
		return;
	cap = b->cap < SIZE_MAX / 2 ? b->cap * 2 : SIZE_MAX;
	if (cap < need)
		cap = need;
	if (cap < 64)
		cap = 64;
	b->data = ws_grow(b->data, cap, 1);
	b->cap = cap;
	b->data[b->len] = '\0';
}

void ws_buf_add(struct ws_buf *b, const void *data, size_t len)
{
	ws_buf_reserve(b, len);
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void ws_buf_addstr(struct ws_buf *b, const char *s)
{
	ws_buf_add(b, s, strlen(s));
}

void ws_buf_addch(struct ws_buf *b, char c)
{
	ws_buf_add(b, &c, 1);
}

void ws_buf_addf(struct ws_buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ws_buf_vaddf(b, fmt, ap);
	va_end(ap);
}

void ws_buf_vaddf(struct ws_buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int len;

	ws_buf_reserve(b, 64);
	va_copy(again, ap);
	len = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
	if (len >= 0 && (size_t)len >= b->cap - b->len) {
		ws_buf_reserve(b, (size_t)len);
		len = vsnprintf(b->data + b->len, b->cap - b->len, fmt, again);
	}
	va_end(again);
	if (len > 0)
		b->len += (size_t)len;
	b->data[b->len] = '\0';
}

const char *ws_buf_str(const struct ws_buf *b)
{
	return b->data ? b->data : "";
}

char *ws_buf_steal(struct ws_buf *b)
{
	char *s;

	ws_buf_reserve(b, 0);
	s = b->data;
	*b = WS_BUF_INIT;
	return s;
}
