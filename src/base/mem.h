/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_MEM_H
#define WS_BASE_MEM_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

/*
 * Memory and ownership. Nothing here returns NULL: out of memory ends the
 * process with status 125 and one line on stderr.
 *
 * A local that owns something is declared with one of WS_AUTO_* and initialised
 * on the same line; ownership leaves it by ws_steal_*.
 */
void *ws_alloc(size_t size) __attribute__((returns_nonnull)); /* zeroed */
void *ws_grow(void *old, size_t nmemb, size_t size)
	__attribute__((returns_nonnull)); /* realloc, overflow-checked */
char *ws_strdup(const char *s);		  /* NULL stays NULL */
char *ws_strndup(const char *s, size_t n);
char *ws_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *ws_vformat(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

void ws_freep(void *pointer_to_pointer); /* for WS_AUTO_FREE */

/* Closes; a failed close never changes errno. */
static inline void ws_closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

static inline int ws_steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void *ws_steal_ptr_(void *pp)
{
	void **p = pp;
	void *taken = *p;

	*p = NULL;
	return taken;
}

#define ws_steal_ptr(pp) ((__typeof__(*(pp)))ws_steal_ptr_(pp))

#define WS_AUTO_FREE __attribute__((cleanup(ws_freep)))
#define WS_AUTO_CLOSE __attribute__((cleanup(ws_closep)))
/* WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT; calls ws_buf_release(&b) */
#define WS_AUTO(type) __attribute__((cleanup(type##_release)))

#define WS_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
