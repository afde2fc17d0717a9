/* SPDX-License-Identifier: Apache-2.0 */
#include "core/execlog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/lock.h"
#include "core/background.h"
#include "core/relay.h"

#define FIRST 3 /* log, out, errs stand here in the process that follows */
#define ABOVE 16
#define LOCK_TIMEOUT_MS 2000

int ws_execlog_open(const struct ws_session *s, const char *exec_id, int *ret_fd,
		    uint64_t *ret_room, struct ws_err *err)
{
	WS_AUTO_FREE char *name = ws_format("execs/%s.log", exec_id);
	WS_AUTO_CLOSE int fd =
		ws_open_beneath(s->dir, name,
				O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_NONBLOCK,
				0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ws_fail_errno(err, "open the log of exec '%s'", exec_id);
	/* a reader who asks ws_execlog_is_live has it for a moment */
	if (ws_lock_wait(fd, true, LOCK_TIMEOUT_MS, name, err) < 0)
		return -1;
	*ret_room = 0;
	if (st.st_size < (off_t)WS_EXECLOG_MAX)
		*ret_room = WS_EXECLOG_MAX - (uint64_t)st.st_size;
	*ret_fd = ws_steal_fd(&fd);
	return 0;
}

int ws_execlog_read(const struct ws_session *s, const char *exec_id)
{
	WS_AUTO_FREE char *name = ws_format("execs/%s.log", exec_id);

	return ws_open_beneath(s->dir, name, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
}

bool ws_execlog_is_live(int fd)
{
	if (ws_lock_try(fd, false) < 0)
		return errno == EWOULDBLOCK;
	ws_lock_drop(fd);
	return false;
}

/* A copy above everything that has to be closed; -1 stays -1. */
static int lift(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, ABOVE);
}

/* One end goes away with the last writer; what was read is in the file by then. */
static void copy_all(int log, uint64_t room, int out, int errs)
{
	struct ws_relay r[2] = { WS_RELAY_INIT, WS_RELAY_INIT };
	struct pollfd fds[4];

	ws_relay_init(&r[0], out, log);
	ws_relay_init(&r[1], errs, errs < 0 ? -1 : lift(log));
	r[0].room = r[1].room = &room;
	while (!ws_relay_settled(&r[0]) || !ws_relay_settled(&r[1])) {
		ws_relay_poll(&r[0], &fds[0]);
		ws_relay_poll(&r[1], &fds[2]);
		if (poll(fds, 4, -1) < 0 && errno != EINTR)
			break;
		ws_relay_step(&r[0], &fds[0]);
		ws_relay_step(&r[1], &fds[2]);
	}
	ws_relay_release(&r[0]);
	ws_relay_release(&r[1]);
}

static int place(int fd, int to)
{
	return fd < 0 ? -1 : dup3(fd, to, O_CLOEXEC);
}

/* In the new process: no descriptor but the three. */
static _Noreturn void child(int log, uint64_t room, int out, int errs)
{
	sigset_t none;

	ws_background_enter();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	log = lift(log);
	out = lift(out);
	errs = lift(errs);
	syscall(SYS_close_range, FIRST, ABOVE - 1, 0);
	log = place(log, FIRST);
	out = place(out, FIRST + 1);
	errs = place(errs, FIRST + 2);
	syscall(SYS_close_range, FIRST + 3, ~0U, 0);
	copy_all(log, room, out, errs);
	_exit(0);
}

int ws_execlog_follow(int log, uint64_t room, int out, int errs)
{
	pid_t pid = fork();

	if (pid == 0)
		child(log, room, out, errs);
	return pid < 0 ? -1 : 0;
}
