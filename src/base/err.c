/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[WS_KIND_COUNT] = {
#define X(name, word) [WS_##name] = word,
	WS_KINDS(X)
#undef X
};

/* By way of a local, so that the arguments may be parts of ERR itself. */
static void __attribute__((format(printf, 2, 0)))
set_msg(struct ws_err *err, const char *fmt, va_list ap)
{
	char msg[sizeof(err->msg)];

	vsnprintf(msg, sizeof(msg), fmt, ap);
	memcpy(err->msg, msg, sizeof(msg));
}

int ws_fail(struct ws_err *err, enum ws_kind kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_msg(err, fmt, ap);
	va_end(ap);
	err->kind = kind;
	err->sys = 0;
	err->hint[0] = '\0';
	return -1;
}

int ws_fail_errno(struct ws_err *err, const char *fmt, ...)
{
	int saved = errno;
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	set_msg(err, fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", strerror(saved));
	err->kind = saved == ENOSPC || saved == EDQUOT ? WS_DISK_FULL : WS_IO;
	err->sys = saved;
	err->hint[0] = '\0';
	errno = saved;
	return -1;
}

int ws_hint(struct ws_err *err, const char *fmt, ...)
{
	char hint[sizeof(err->hint)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(hint, sizeof(hint), fmt, ap);
	va_end(ap);
	memcpy(err->hint, hint, sizeof(hint));
	return -1;
}

int ws_fail_within(struct ws_err *err, const char *fmt, ...)
{
	char old[sizeof(err->msg)];
	size_t len;
	va_list ap;

	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	set_msg(err, fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", old);
	return -1;
}

const char *ws_kind_name(enum ws_kind kind)
{
	return (unsigned)kind < WS_KIND_COUNT ? kind_names[kind]
					      : kind_names[WS_INTERNAL];
}

int ws_kind_parse(const char *word, enum ws_kind *ret)
{
	for (unsigned i = 0; i < WS_KIND_COUNT; i++) {
		if (strcmp(word, kind_names[i]) == 0) {
			*ret = (enum ws_kind)i;
			return 0;
		}
	}
	return -1;
}

enum ws_kind_class ws_kind_class(enum ws_kind kind)
{
	switch (kind) {
	case WS_USAGE:
	case WS_SPEC_INVALID:
		return WS_CLASS_USAGE;
	case WS_DISABLED:
	case WS_POLICY_CHANGED:
	case WS_ROOT_UNSAFE:
	case WS_SESSION_MISSING:
	case WS_SESSION_EXPIRED:
	case WS_SESSION_EXISTS:
	case WS_SESSION_BLOCKED:
	case WS_SESSION_BUSY:
	case WS_BASE_MISSING:
	case WS_EXEC_MISSING:
	case WS_STATE_VERSION:
	case WS_STALE:
	case WS_CONFLICT:
		return WS_CLASS_REFUSED;
	default:
		return WS_CLASS_FAILED;
	}
}
