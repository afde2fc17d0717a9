/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"
#include "base/text.h"

#define HELPER PKGLIBEXECDIR "/wsiso-archive"
#define COMPLAINT_MAX 4096
#define LAST_WORDS_MS 2000

void ws_archive_release(struct ws_archive *a)
{
	int status;

	ws_closep(&a->line);
	ws_closep(&a->complaint);
	if (a->pid > 0) {
		kill(a->pid, SIGKILL);
		ws_wait(a->pid, &status);
	}
	a->pid = 0;
}

static int start(const char *const words[], const struct ws_fdmap fds[2], int complaint,
		 pid_t *ret_pid, struct ws_err *err)
{
	char *argv[] = { (char[]){ HELPER }, (char *)(uintptr_t)words[0],
			 (char *)(uintptr_t)words[1], NULL };
	char *env[] = { (char[]){ "PATH=/usr/bin:/bin" }, NULL };
	const struct ws_fdmap map[] = { fds[0], fds[1], { complaint, 2 } };
	const struct ws_spawn s = { .argv = argv, .env = env, .fds = map, .nfds = 3 };

	if (faccessat(AT_FDCWD, HELPER, X_OK, 0) < 0) {
		ws_fail_errno(err, "run '%s'", HELPER);
		err->kind = WS_HELPER_MISSING;
		return ws_hint(err,
			       "it is installed together with wsiso: install that again");
	}
	return ws_spawn(&s, ret_pid, err);
}

int ws_archive_write(const char *compression, int out, struct ws_archive *ret,
		     struct ws_err *err)
{
	WS_AUTO_CLOSE int from = -1;

	*ret = WS_ARCHIVE_INIT;
	ret->verb = "write";
	ret->complaint = ws_memfd("complaint", "", 0);
	if (ret->complaint < 0 || ws_pipe(&from, &ret->line) < 0)
		return ws_fail_errno(err, "make a pipe");
	return start((const char *const[]){ "write", compression },
		     (const struct ws_fdmap[]){ { from, 0 }, { out, 1 } }, ret->complaint,
		     &ret->pid, err);
}

int ws_archive_read(int in, struct ws_archive *ret, struct ws_err *err)
{
	WS_AUTO_CLOSE int to = -1;

	*ret = WS_ARCHIVE_INIT;
	ret->verb = "read";
	ret->complaint = ws_memfd("complaint", "", 0);
	if (ret->complaint < 0 || ws_pipe(&ret->line, &to) < 0)
		return ws_fail_errno(err, "make a pipe");
	return start((const char *const[]){ "read", NULL },
		     (const struct ws_fdmap[]){ { in, 0 }, { to, 1 } }, ret->complaint,
		     &ret->pid, err);
}

/* "KIND MESSAGE\n" */
static int fail_as_told(const struct ws_archive *a, int status, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf shown = WS_BUF_INIT;
	enum ws_kind kind = WS_IO;
	const char *message;
	char *blank;

	if (lseek(a->complaint, 0, SEEK_SET) == 0)
		ws_read_fd(a->complaint, COMPLAINT_MAX, &text);
	message = ws_buf_str(&text);
	blank = text.len ? strchr(text.data, ' ') : NULL;
	if (blank) {
		*blank = '\0';
		if (ws_kind_parse(text.data, &kind) == 0)
			message = blank + 1;
		else
			*blank = ' ';
	}
	if (!*message)
		return ws_fail(err, WS_IO, "%s the archive: wsiso-archive ended with %d",
			       a->verb, status);
	ws_text_escape(&shown, message, strcspn(message, "\n"));
	return ws_fail(err, kind, "%.400s", ws_buf_str(&shown));
}

/* One that tells nonsense may have been taken over, and wait for ever. */
static bool ends_soon(pid_t pid)
{
	WS_AUTO_CLOSE int fd = ws_pidfd_open(pid);

	return fd >= 0 && ws_pidfd_gone(fd, LAST_WORDS_MS);
}

/* The line is broken, or what came over it no stream: mostly it has a reason to give. */
static int fail_line(struct ws_archive *a, struct ws_err *err)
{
	int error = errno, status = 0;

	ws_closep(&a->line);
	if ((error != EPIPE && error != EPROTO && error != ECONNRESET) ||
	    !ends_soon(a->pid))
		kill(a->pid, SIGKILL);
	if (ws_wait(a->pid, &status) == 0)
		a->pid = 0;
	if (status != 0)
		return fail_as_told(a, status, err);
	errno = error;
	return ws_fail_errno(err, "%s the archive", a->verb);
}

int ws_archive_send(struct ws_archive *a, const struct ws_entry *e, struct ws_err *err)
{
	return ws_entry_send(a->line, e) < 0 ? fail_line(a, err) : 0;
}

int ws_archive_send_block(struct ws_archive *a, uint64_t at, const void *data, size_t len,
			  struct ws_err *err)
{
	return ws_entry_send_block(a->line, at, data, len) < 0 ? fail_line(a, err) : 0;
}

int ws_archive_take(struct ws_archive *a, struct ws_entry *e, struct ws_err *err)
{
	return ws_entry_take(a->line, e) < 0 ? fail_line(a, err) : 0;
}

int ws_archive_take_block(struct ws_archive *a, uint64_t *ret_at, void *block,
			  size_t *ret_len, struct ws_err *err)
{
	return ws_entry_take_block(a->line, ret_at, block, ret_len) < 0
		       ? fail_line(a, err)
		       : 0;
}

int ws_archive_end(struct ws_archive *a, struct ws_err *err)
{
	const struct ws_entry end = { .type = WS_ENTRY_END };
	int status;

	if (!strcmp(a->verb, "write") && ws_archive_send(a, &end, err) < 0)
		return -1;
	ws_closep(&a->line);
	if (ws_wait(a->pid, &status) < 0)
		return ws_fail_errno(err, "wait for wsiso-archive");
	a->pid = 0;
	return status == 0 ? 0 : fail_as_told(a, status, err);
}
