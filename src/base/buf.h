/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_BUF_H
#define WS_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

#include "base/mem.h"

/* A growing run of bytes. data is NUL-terminated whenever len > 0 or it was touched. */
struct ws_buf {
	char *data;
	size_t len;
	size_t cap;
};

#define WS_BUF_INIT ((struct ws_buf){ 0 })

void ws_buf_release(struct ws_buf *b);
void ws_buf_clear(struct ws_buf *b); /* length 0, memory kept */
void ws_buf_reserve(struct ws_buf *b, size_t extra);
void ws_buf_add(struct ws_buf *b, const void *data, size_t len);
void ws_buf_addstr(struct ws_buf *b, const char *s);
void ws_buf_addch(struct ws_buf *b, char c);
void ws_buf_addf(struct ws_buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void ws_buf_vaddf(struct ws_buf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
const char *ws_buf_str(const struct ws_buf *b); /* "" when empty; stays the buffer's */
char *ws_buf_steal(struct ws_buf *b);		/* caller frees; never NULL */

#endif
