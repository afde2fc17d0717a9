/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_LOG_H
#define WS_BASE_LOG_H

#include <stdbool.h>

#include "base/err.h"

/*
 * The log: lines on stderr ("wsiso: warning: ...") or, with a file, there; as text
 * or as JSON objects with time, level, msg and, for an error, kind and hint, each
 * with a "type". Control bytes are escaped. One log per process, set up by main.
 */
enum ws_level { WS_LEVEL_ERROR, WS_LEVEL_WARNING, WS_LEVEL_INFO, WS_LEVEL_DEBUG };

struct ws_log_opts {
	const char *program; /* "wsiso" */
	const char *file;    /* NULL: stderr */
	const char *format;  /* "text" (default) or "json" */
	const char *level;   /* "error" "warning" (default) "info" "debug" */
};

int ws_log_setup(const struct ws_log_opts *opts, struct ws_err *err);
void ws_log(enum ws_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
#define ws_warn(...) ws_log(WS_LEVEL_WARNING, __VA_ARGS__)
#define ws_info(...) ws_log(WS_LEVEL_INFO, __VA_ARGS__)
#define ws_debug(...) ws_log(WS_LEVEL_DEBUG, __VA_ARGS__)
/*
 * The last word of a failed command: "wsiso: exec: message" and "hint: ..." on
 * stderr always (as JSON there if the format is json), and in the file if there is one.
 */
void ws_log_final(const char *command, const struct ws_err *err);

#endif
