/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The status of "wsiso could not": neither stdio nor the log, which need memory. */
static void __attribute__((noreturn)) out_of_memory(void)
{
	static const char line[] = "wsiso: out of memory\n";

	if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		_exit(125);
	_exit(125);
}

void *ws_alloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *ws_grow(void *old, size_t nmemb, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(nmemb, size, &bytes))
		out_of_memory();
	p = realloc(old, bytes ? bytes : 1);
	if (!p)
		out_of_memory();
	return p;
}

char *ws_strdup(const char *s)
{
	return s ? ws_strndup(s, strlen(s)) : NULL;
}

char *ws_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = ws_grow(NULL, len + 1, 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *ws_format(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = ws_vformat(fmt, ap);
	va_end(ap);
	return s;
}

char *ws_vformat(const char *fmt, va_list ap)
{
	char *s;

	if (vasprintf(&s, fmt, ap) < 0)
		out_of_memory();
	return s;
}

void ws_freep(void *pointer_to_pointer)
{
	void **p = pointer_to_pointer;
	int saved = errno;

	free(*p);
	*p = NULL;
	errno = saved;
}
