/* SPDX-License-Identifier: Apache-2.0 */
#include "init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define EXIT_FAILED 125
#define CONTROL WS_ENTER_FD_CONTROL

/* The plan as it came. Secrets are in it: the shepherd forgets it after the fork. */
struct order {
	void *bytes;
	size_t size;
	struct ws_command command;
	int fds[4];
	size_t nfds;
};

static _Noreturn void fail(enum ws_step step)
{
	const struct ws_failed failed = { .step = step, .error = errno };

	ws_wire_send(CONTROL, WS_FRAME_FAILED, &failed, sizeof(failed), -1);
	_exit(EXIT_FAILED);
}

/* Apart from the caller's terminal, and with no descriptor but the control socket. */
static int harden(void)
{
	sigset_t all;

	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || setsid() < 0 || chdir("/") < 0)
		return -1;
	if (fcntl(CONTROL, F_SETFD, FD_CLOEXEC) < 0 ||
	    close_range(CONTROL + 1, ~0U, 0) < 0)
		return -1;
	return ws_confine_stdio();
}

static size_t stdio_wanted(uint32_t flags)
{
	if (flags & WS_PLAN_TTY)
		return 0;
	return flags & WS_PLAN_STDIN ? 3 : 2;
}

static size_t fds_wanted(uint32_t flags)
{
	return stdio_wanted(flags) + (flags & WS_PLAN_HOLD ? 1 : 0);
}

static int receive(struct order *o)
{
	struct ws_frame frame;

	if (ws_wire_recv(CONTROL, &frame, o->fds, 4, &o->nfds) < 0)
		return -1;
	if (frame.type != WS_FRAME_PLAN || frame.len > WS_FRAME_MAX || frame.len == 0) {
		errno = EPROTO;
		return -1;
	}
	o->size = frame.len;
	o->bytes = mmap(NULL, o->size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (o->bytes == MAP_FAILED || ws_wire_read(CONTROL, o->bytes, o->size) < 0 ||
	    ws_command_decode(o->bytes, o->size, &o->command) < 0)
		return -1;
	if (o->nfds != fds_wanted(o->command.head.flags)) {
		errno = EPROTO;
		return -1;
	}
	return 0;
}

static void forget(struct order *o)
{
	for (size_t i = 0; i < o->nfds; i++)
		close(o->fds[i]);
	ws_command_release(&o->command);
	munmap(o->bytes, o->size);
}

/* The pty is the sandbox's own; its master is not kept here, so that it hangs up. */
static int open_tty(const struct ws_plan_head *h)
{
	const struct winsize size = { .ws_row = h->rows, .ws_col = h->cols };
	const int unlocked = 0;
	int tty, master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return -1;
	tty = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (tty < 0 || ioctl(tty, TIOCSCTTY, 0) < 0)
		return -1;
	if (size.ws_row && size.ws_col && ioctl(master, TIOCSWINSZ, &size) < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(tty, i) < 0)
			return -1;
	return ws_wire_send(CONTROL, WS_FRAME_TTY, NULL, 0, master);
}

/* stdin, if none came, stays the shepherd's /dev/null. */
static int set_stdio(const struct order *o)
{
	size_t n = stdio_wanted(o->command.head.flags);
	int to = n == 3 ? 0 : 1;

	if (o->command.head.flags & WS_PLAN_TTY)
		return open_tty(&o->command.head);
	for (size_t i = 0; i < n; i++)
		if (dup2(o->fds[i], to++) < 0)
			return -1;
	return 0;
}

/* Meanwhile it is looked at from outside. */
static int wait_if_held(const struct order *o)
{
	ssize_t n;
	char go;

	if (!(o->command.head.flags & WS_PLAN_HOLD))
		return 0;
	while ((n = read(o->fds[o->nfds - 1], &go, 1)) < 0 && errno == EINTR)
		;
	if (n == 1)
		return 0;
	errno = ECANCELED;
	return -1;
}

/* Every step up to the exec; returns the one that failed. */
static enum ws_step become_command(const struct order *o, pid_t shepherd)
{
	const struct ws_command *c = &o->command;
	/* the shepherd's is not the caller's session either */
	bool leads = c->head.flags & (WS_PLAN_TTY | WS_PLAN_NEW_SESSION);
	enum ws_step step;

	if ((leads ? setsid() : setpgid(0, 0)) < 0 || set_stdio(o) < 0)
		return WS_STEP_TTY;
	if (ws_confine_command(c, shepherd, &step) < 0)
		return step;
	if (chdir(c->cwd) < 0)
		return WS_STEP_CWD;
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return WS_STEP_CONFINE;
	if (ws_confine_filters(c) < 0)
		return WS_STEP_FILTER;
	if (ws_wire_send(CONTROL, WS_FRAME_CHILD, NULL, 0, -1) < 0 || wait_if_held(o) < 0)
		return WS_STEP_PROTOCOL;
	environ = c->envp; /* execvpe looks for PATH there */
	execvpe(c->argv[0], c->argv, c->envp);
	return WS_STEP_EXEC;
}

static _Noreturn void run_command(const struct order *o, pid_t shepherd, int report)
{
	struct ws_failed failed = { .step = become_command(o, shepherd) };

	failed.error = errno;
	_exit(write(report, &failed, sizeof(failed)) == sizeof(failed) ? EXIT_FAILED : 1);
}

static _Noreturn void shepherd(void)
{
	const struct ws_hello hello = { .protocol = WS_PROTOCOL };
	struct order order = { 0 };
	enum ws_step step;
	uint32_t kill_after_ms;
	pid_t self = getpid();
	pid_t pid;
	int report[2];

	if (harden() < 0)
		fail(WS_STEP_CONFINE);
	if (ws_wire_send(CONTROL, WS_FRAME_HELLO, &hello, sizeof(hello), -1) < 0)
		_exit(EXIT_FAILED);
	if (receive(&order) < 0)
		fail(WS_STEP_PROTOCOL);
	if (ws_confine_shepherd(&order.command, &step) < 0)
		fail(step);
	if (pipe2(report, O_CLOEXEC) < 0)
		fail(WS_STEP_FORK);
	pid = fork();
	if (pid < 0)
		fail(WS_STEP_FORK);
	if (pid == 0)
		run_command(&order, self, report[1]);
	close(report[1]);
	kill_after_ms = order.command.head.kill_after_ms;
	forget(&order);
	ws_forget_startup();
	ws_shepherd_run(CONTROL, report[0], pid, kill_after_ms);
	_exit(0);
}

/*
 * The first process is the supervisor's child, for whom it would be reaped by the host.
 * Its own child's parent becomes PID 1 of the sandbox as soon as it is gone.
 */
void ws_enter_run(void)
{
	pid_t pid;

	prctl(PR_SET_NAME, "wsiso-shepherd", 0, 0, 0);
	pid = fork();
	if (pid < 0)
		fail(WS_STEP_FORK);
	if (pid == 0)
		shepherd();
	_exit(0);
}
