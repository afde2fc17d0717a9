/* SPDX-License-Identifier: Apache-2.0 */
#include "init/init.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_FAILED 125
#define KILL_MIN_MS 1
#define KILL_MAX_MS 100
#define HUNT_MS 200   /* killed for so long, and still they breed */
#define REAP_MAX 1000 /* before looking at anything else */

struct shepherd {
	int control;   /* -1: the supervisor has gone */
	int started;   /* -1: the command has started, or failed to */
	int children;  /* a signalfd: some child has changed */
	pid_t command; /* 0: it has ended */
	bool ending;
	uint32_t kill_after_ms;
	uint64_t kill_at;
	uint64_t kill_pause_ms;
	bool reaped; /* something, since the last kill */
};

static void tell(const struct shepherd *s, uint32_t type, const void *data, uint32_t len)
{
	if (s->control >= 0)
		ws_wire_send(s->control, type, data, len, -1);
}

static void drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void end_tree(struct shepherd *s)
{
	if (s->ending)
		return;
	s->ending = true;
	s->kill_at = ws_now_ms() + s->kill_after_ms;
	s->kill_pause_ms = KILL_MIN_MS;
	if (s->kill_after_ms)
		ws_tree_term();
}

/* The command has exec'ed (EOF), or says why not. A failure is nobody's exit. */
static void see_start(struct shepherd *s)
{
	struct ws_failed failed;

	if (read(s->started, &failed, sizeof(failed)) == sizeof(failed)) {
		tell(s, WS_FRAME_FAILED, &failed, sizeof(failed));
		s->command = 0;
		drop(&s->control);
	} else {
		tell(s, WS_FRAME_STARTED, NULL, 0);
	}
	drop(&s->started);
}

/* At most MAX. False: no child is left. */
static bool reap(struct shepherd *s, int max)
{
	struct ws_exited exited;
	pid_t pid = 0;

	for (int i = 0; i < max; i++) {
		pid = waitpid(-1, &exited.status, WNOHANG);
		if (pid <= 0)
			break;
		s->reaped = true;
		if (pid != s->command)
			continue;
		if (s->started >= 0) /* both news are there, in this order */
			see_start(s);
		tell(s, WS_FRAME_EXITED, &exited, sizeof(exited));
		s->command = 0;
	}
	return pid >= 0;
}

/* While it has not been reaped, the command's PID is its group's and nobody else's. */
static void pass_signal(const struct shepherd *s, int sig, int tty)
{
	pid_t front = 0;

	if (sig < 1 || sig >= NSIG)
		return;
	if (tty >= 0 && ioctl(tty, TIOCGPGRP, &front) == 0 && front > 1 &&
	    front != s->command)
		kill(-front, sig);
	if (s->command > 0)
		kill(-s->command, sig);
}

static int obey(struct shepherd *s)
{
	struct ws_frame frame;
	struct ws_signal signal;
	size_t nfds = 0;
	int rc = -1, tty = -1;

	if (ws_wire_recv(s->control, &frame, &tty, 1, &nfds) < 0)
		return -1;
	if (frame.type == WS_FRAME_END && frame.len == 0) {
		end_tree(s);
		rc = 0;
	} else if (frame.type == WS_FRAME_SIGNAL && frame.len == sizeof(signal)) {
		rc = ws_wire_read(s->control, &signal, sizeof(signal));
		if (rc == 0)
			pass_signal(s, signal.sig, nfds ? tty : -1);
	}
	if (nfds)
		close(tty);
	return rc;
}

static int timeout(const struct shepherd *s)
{
	uint64_t now = ws_now_ms();
	uint64_t ms = now < s->kill_at ? s->kill_at - now : s->kill_pause_ms;

	if (!s->ending)
		return -1;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

/*
 * Many processes that do nothing but fork outrun us. Then everything here, others'
 * commands too, stands still for as long as it takes to clear the dead away and
 * to kill the living.
 */
static void hunt(struct shepherd *s)
{
	kill(-1, SIGSTOP);
	reap(s, INT_MAX);
	ws_tree_kill();
	kill(-1, SIGCONT);
}

static void kill_if_due(struct shepherd *s)
{
	uint64_t now = ws_now_ms();
	bool breeding = s->reaped;

	if (!s->ending || now < s->kill_at)
		return;
	s->reaped = false;
	if (breeding && now >= s->kill_at + HUNT_MS)
		hunt(s);
	else
		ws_tree_kill();
	if (s->kill_pause_ms < KILL_MAX_MS)
		s->kill_pause_ms *= 2;
}

/* The supervisor's death ends a command, but not what a command has left behind. */
static void wait_for_news(struct shepherd *s)
{
	struct pollfd fds[] = {
		{ .fd = s->control, .events = POLLIN },
		{ .fd = s->started, .events = POLLIN },
		{ .fd = s->children, .events = POLLIN },
	};
	struct signalfd_siginfo info;

	if (poll(fds, 3, timeout(s)) < 0)
		return;
	if (fds[2].revents && read(s->children, &info, sizeof(info)) < 0)
		_exit(EXIT_FAILED);
	if (fds[1].revents)
		see_start(s);
	if (fds[0].revents && s->control >= 0 && obey(s) < 0) {
		drop(&s->control);
		if (s->command > 0)
			end_tree(s);
	}
}

void ws_shepherd_run(int control, int started, pid_t command, uint32_t kill_after_ms)
{
	struct shepherd s = { .control = control,
			      .started = started,
			      .command = command,
			      .kill_after_ms = kill_after_ms };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	s.children = signalfd(-1, &child, SFD_CLOEXEC);
	if (s.children < 0)
		_exit(EXIT_FAILED);
	while (reap(&s, REAP_MAX)) {
		wait_for_news(&s);
		kill_if_due(&s);
	}
}
