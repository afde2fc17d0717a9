/* SPDX-License-Identifier: Apache-2.0 */
#include "core/status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/jsonw.h"
#include "base/log.h"

static int open_pid_file(const char *path, struct ws_status *st, struct ws_err *err)
{
	const char *slash = strrchr(path, '/');
	WS_AUTO_FREE char *folder =
		slash ? ws_strndup(path, slash == path ? 1 : (size_t)(slash - path))
		      : ws_strdup(".");

	st->pid_name = slash ? slash + 1 : path;
	if (!*st->pid_name)
		return ws_fail(err, WS_USAGE, "'%s' is no file name", path);
	st->pid_dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (st->pid_dir < 0 || faccessat(st->pid_dir, ".", W_OK, 0) < 0) {
		ws_fail_errno(err, "open the folder of '%s'", path);
		err->kind = WS_USAGE;
		return -1;
	}
	return 0;
}

int ws_status_open(int fd, const char *file, const char *pid_file, struct ws_status *ret,
		   struct ws_err *err)
{
	*ret = WS_STATUS_INIT;
	if (fd >= 0 && fd <= STDERR_FILENO)
		return ws_fail(err, WS_USAGE,
			       "status descriptor %d is the command's own output", fd);
	if (fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
		ws_fail_errno(err, "use status descriptor %d", fd);
		err->kind = WS_USAGE;
		return -1;
	}
	ret->fd = fd;
	if (file) {
		ret->file = open(file,
				 O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOCTTY |
					 O_CLOEXEC,
				 0600);
		if (ret->file < 0) {
			ws_fail_errno(err, "open status file '%s'", file);
			err->kind = WS_USAGE;
			return -1;
		}
	}
	return pid_file ? open_pid_file(pid_file, ret, err) : 0;
}

void ws_status_release(struct ws_status *st)
{
	ws_closep(&st->file);
	ws_closep(&st->pid_dir);
}

void ws_status_pid(const struct ws_status *st, pid_t pid)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_err err = WS_ERR_INIT;

	if (!st->pid_name)
		return;
	ws_buf_addf(&text, "%d\n", (int)pid);
	if (ws_write_atomic(st->pid_dir, st->pid_name, &text, false, &err) < 0)
		ws_warn("%s", err.msg);
}

bool ws_status_wanted(const struct ws_status *st)
{
	return st->fd >= 0 || st->file >= 0;
}

static void begin(struct ws_jsonw *w, struct ws_buf *line, const char *type,
		  const char *exec_id)
{
	char now[WS_TIME_LEN];

	ws_clock_rfc3339(ws_clock_wall_ns(), now);
	ws_jsonw_init(w, line, false);
	ws_jsonw_object(w, NULL);
	ws_jsonw_str(w, "type", type);
	ws_jsonw_str(w, "time", now);
	if (exec_id)
		ws_jsonw_str(w, "exec_id", exec_id);
}

static void put(const struct ws_status *st, struct ws_jsonw *w)
{
	const struct ws_buf *line = w->out;

	ws_jsonw_end(w, '}');
	ws_jsonw_done(w);
	if (st->fd >= 0 && ws_write_all(st->fd, line->data, line->len) < 0 &&
	    errno != EPIPE)
		ws_warn("write to the status descriptor: %s", strerror(errno));
	if (st->file >= 0 && ws_write_all(st->file, line->data, line->len) < 0 &&
	    errno != EPIPE)
		ws_warn("write to the status file: %s", strerror(errno));
}

void ws_status_started(const struct ws_status *st, const char *exec_id, pid_t pid,
		       const struct ws_session *s, const struct ws_sandbox *sb,
		       const struct ws_receipt *receipt)
{
	WS_AUTO(ws_buf) struct ws_buf line = WS_BUF_INIT;
	struct ws_jsonw w;

	if (!ws_status_wanted(st))
		return;
	begin(&w, &line, "started", exec_id);
	ws_jsonw_int(&w, "pid", pid);
	ws_receipt_print_facts(&w, s, sb, receipt);
	ws_receipt_print(&w, receipt);
	put(st, &w);
}

void ws_status_exited(const struct ws_status *st, const char *exec_id,
		      const struct ws_outcome *outcome, const char *cause)
{
	WS_AUTO(ws_buf) struct ws_buf line = WS_BUF_INIT;
	struct ws_jsonw w;

	if (!ws_status_wanted(st))
		return;
	begin(&w, &line, "exited", exec_id);
	ws_jsonw_int(&w, "status", outcome->status);
	if (outcome->signal)
		ws_jsonw_int(&w, "signal", outcome->signal);
	if (cause && *cause)
		ws_jsonw_str(&w, "cause", cause);
	if (outcome->output_error)
		ws_jsonw_str(&w, "output", "lost");
	put(st, &w);
}

void ws_status_failed(const struct ws_status *st, const char *exec_id, int status,
		      const struct ws_err *err)
{
	const struct ws_outcome lost = { .status = status, .signal = status - 128 };
	WS_AUTO(ws_buf) struct ws_buf line = WS_BUF_INIT;
	struct ws_jsonw w;

	if (!ws_status_wanted(st))
		return;
	if (status > 128) {
		ws_status_exited(st, exec_id, &lost, ws_kind_name(err->kind));
		return;
	}
	begin(&w, &line, "failed", exec_id);
	ws_jsonw_int(&w, "status", status);
	ws_jsonw_str(&w, "kind", ws_kind_name(err->kind));
	ws_jsonw_str(&w, "message", err->msg);
	if (err->hint[0])
		ws_jsonw_str(&w, "hint", err->hint);
	put(st, &w);
}
