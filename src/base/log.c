/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/jsonw.h"
#include "base/text.h"

static const char *const level_names[] = { "error", "warning", "info", "debug" };

static struct {
	const char *program;
	int file; /* -1: none */
	bool json;
	enum ws_level level;
} state = { .program = "wsiso", .file = -1, .level = WS_LEVEL_WARNING };

int ws_log_setup(const struct ws_log_opts *opts, struct ws_err *err)
{
	const char *format = opts->format ? opts->format : "text";
	const char *level = opts->level ? opts->level : "warning";
	size_t i = 0;

	if (opts->program)
		state.program = opts->program;
	state.json = strcmp(format, "json") == 0;
	if (!state.json && strcmp(format, "text") != 0)
		return ws_fail(err, WS_USAGE, "log format '%s' is neither text nor json",
			       format);
	while (i < WS_ARRAY_SIZE(level_names) && strcmp(level, level_names[i]) != 0)
		i++;
	if (i == WS_ARRAY_SIZE(level_names)) {
		ws_fail(err, WS_USAGE, "log level '%s' is not known", level);
		return ws_hint(err, "one of: error, warning, info, debug");
	}
	state.level = (enum ws_level)i;
	if (!opts->file)
		return 0;
	ws_closep(&state.file);
	state.file = open(opts->file,
			  O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0600);
	if (state.file < 0)
		return ws_fail_errno(err, "open log '%s'", opts->file);
	return 0;
}

/* A log that cannot be written must not stop the work. One write: lines stay whole. */
static void put(int fd, struct ws_buf *line)
{
	if (ws_write_all(fd, line->data, line->len) < 0)
		return;
}

static void add_json(struct ws_buf *line, enum ws_level level, const char *command,
		     const char *msg, const struct ws_err *err)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, line, false);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "type", "log");
	ws_jsonw_time(&w, "time", ws_clock_wall_ns());
	ws_jsonw_str(&w, "level", level_names[level]);
	if (command)
		ws_jsonw_str(&w, "command", command);
	ws_jsonw_str(&w, "msg", msg);
	if (level == WS_LEVEL_ERROR) {
		ws_jsonw_str(&w, "kind", ws_kind_name(err ? err->kind : WS_INTERNAL));
		ws_jsonw_str(&w, "hint", err ? err->hint : "");
	}
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}

/* "[TIME ]wsiso: [warning: |exec: ]message", and the hint on a line of its own. */
static void add_text(struct ws_buf *line, bool with_time, const char *word,
		     const char *msg, const struct ws_err *err)
{
	char now[WS_TIME_LEN] = "";

	if (with_time) {
		ws_clock_rfc3339(ws_clock_wall_ns(), now);
		ws_buf_addf(line, "%s ", now);
	}
	ws_buf_addf(line, "%s: ", state.program);
	if (word)
		ws_buf_addf(line, "%s: ", word);
	ws_text_escape(line, msg, strlen(msg));
	ws_buf_addch(line, '\n');
	if (err && err->hint[0]) {
		if (with_time)
			ws_buf_addf(line, "%s %s: ", now, state.program);
		ws_buf_addstr(line, "hint: ");
		ws_text_escape(line, err->hint, strlen(err->hint));
		ws_buf_addch(line, '\n');
	}
}

void ws_log(enum ws_level level, const char *fmt, ...)
{
	WS_AUTO(ws_buf) struct ws_buf msg = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf line = WS_BUF_INIT;
	int saved = errno;
	va_list ap;

	if (level > state.level)
		return;
	va_start(ap, fmt);
	ws_buf_vaddf(&msg, fmt, ap);
	va_end(ap);
	if (state.json)
		add_json(&line, level, NULL, ws_buf_str(&msg), NULL);
	else
		add_text(&line, state.file >= 0, level_names[level], ws_buf_str(&msg),
			 NULL);
	put(state.file >= 0 ? state.file : STDERR_FILENO, &line);
	errno = saved;
}

void ws_log_final(const char *command, const struct ws_err *err)
{
	const int fds[] = { STDERR_FILENO, state.file };

	for (size_t i = 0; i < WS_ARRAY_SIZE(fds); i++) {
		WS_AUTO(ws_buf) struct ws_buf line = WS_BUF_INIT;

		if (fds[i] < 0)
			continue;
		if (state.json)
			add_json(&line, WS_LEVEL_ERROR, command, err->msg, err);
		else
			add_text(&line, i > 0, command, err->msg, err);
		put(fds[i], &line);
	}
}
