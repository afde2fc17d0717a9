/* SPDX-License-Identifier: Apache-2.0 */
#include "core/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "core/relay.h"
#include "core/tty.h"

#define STATUS_NOT_RUN 126
#define GIVE_UP_MS 2000 /* beyond kill_after, for a tree that will not end */

enum slot {
	CONTROL,
	SIGNALS,
	PARENT,
	IN,
	OUT = IN + 2,
	ERRS = OUT + 2,
	SLOTS = ERRS + 2
};

struct supervisor {
	const struct ws_supervise *sv;
	struct ws_outcome *ret;
	struct ws_relay in, out, errs;
	int signals, parent;
	unsigned terms;
	bool exited;	/* the command has ended */
	bool ending;	/* so shall its tree; the control socket's end says when */
	bool over;	/* the outcome is known */
	bool abandoned; /* the rest of the output is not waited for */
	bool input_ended;
	uint64_t timeout_at, give_up_at; /* monotonic ms, UINT64_MAX: never */
	uint64_t unserved_at;		 /* when it shall have ended for want of input */
};

int ws_supervise_signals(bool tty, sigset_t *ret_old)
{
	static const int passed[] = { SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2 };
	struct sigaction hup;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < WS_ARRAY_SIZE(passed); i++)
		sigaddset(&set, passed[i]);
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	if (tty) {
		sigaddset(&set, SIGWINCH);
		sigaddset(&set, SIGCONT);
	}
	if (sigprocmask(SIG_BLOCK, &set, ret_old) < 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static uint64_t after(uint64_t start, uint64_t ms)
{
	return ms > UINT64_MAX - start ? UINT64_MAX : start + ms;
}

static uint64_t later(uint64_t ms)
{
	return after(ws_clock_mono_ms(), ms);
}

/* ---- the shepherd ---- */

static void end_tree(struct supervisor *s)
{
	if (s->ending || s->over)
		return;
	s->ending = true;
	s->give_up_at = later(s->sv->kill_after_ms + GIVE_UP_MS);
	/* if it is gone, so is the control socket's other end: that will be seen */
	if (ws_entered_end(s->sv->entered) < 0)
		return;
}

static void lose(struct supervisor *s)
{
	ws_sandbox_kill(s->sv->sandbox);
	ws_pidfd_gone(s->sv->sandbox->pidfd, GIVE_UP_MS);
	s->ret->lost = true;
	s->ret->status = s->ret->timed_out ? 124 : 128 + SIGKILL;
	s->ret->signal = SIGKILL;
	s->over = true;
}

static void note_status(struct supervisor *s, int status)
{
	s->exited = true;
	s->ret->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	s->ret->status = s->ret->signal ? 128 + s->ret->signal : WEXITSTATUS(status);
	if (s->ret->timed_out)
		s->ret->status = 124;
	if (!s->ending)
		s->over = true;
}

static void read_control(struct supervisor *s)
{
	WS_AUTO(ws_buf) struct ws_buf data = WS_BUF_INIT;
	uint32_t type;
	struct ws_exited exited;

	if (ws_frame_recv(s->sv->entered->control, &type, &data, NULL, NULL) < 0) {
		ws_closep(&s->sv->entered->control);
		if (s->exited)
			s->over = true;
		else
			lose(s);
		return;
	}
	if (type == WS_FRAME_FAILED) /* so late that it counts as started */
		note_status(s, W_EXITCODE(STATUS_NOT_RUN, 0));
	if (type != WS_FRAME_EXITED || data.len != sizeof(exited))
		return;
	memcpy(&exited, data.data, sizeof(exited));
	note_status(s, exited.status);
}

/* ---- signals ---- */

/* The terminal is ours again, or has another size. */
static void follow_terminal(struct supervisor *s, int sig)
{
	struct winsize size = ws_tty_size();

	if (sig == SIGCONT)
		ws_tty_resume();
	if (s->sv->entered->tty >= 0)
		ioctl(s->sv->entered->tty, TIOCSWINSZ, &size);
}

static void pass_signal(struct supervisor *s, int sig)
{
	if (sig == SIGWINCH || sig == SIGCONT)
		follow_terminal(s, sig);
	else if (sig == SIGTERM && s->terms++ > 0)
		end_tree(s);
	else if (ws_entered_signal(s->sv->entered, sig) < 0)
		return; /* its end of the socket is closed, which will be seen */
}

static void read_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int sig = (int)info.ssi_signo;

		if (!s->over)
			pass_signal(s, sig);
		else if (sig == SIGTERM || sig == SIGINT || sig == SIGHUP)
			s->abandoned = true;
	}
}

/* ---- the loop ---- */

static int poll_timeout(const struct supervisor *s)
{
	uint64_t at = s->timeout_at < s->give_up_at ? s->timeout_at : s->give_up_at;
	uint64_t now;

	if (s->unserved_at < at)
		at = s->unserved_at;
	if (at == UINT64_MAX)
		return -1;
	now = ws_clock_mono_ms();
	if (at <= now)
		return 0;
	return at - now < INT_MAX ? (int)(at - now) : INT_MAX;
}

static void check_clock(struct supervisor *s)
{
	uint64_t now = ws_clock_mono_ms();

	if (s->over) {
		s->abandoned =
			s->abandoned || now >= s->timeout_at || now >= s->give_up_at;
	} else if (now >= s->give_up_at) {
		lose(s);
	} else if (now >= s->timeout_at) {
		s->timeout_at = UINT64_MAX;
		s->ret->timed_out = !s->exited && !s->ending;
		end_tree(s);
	} else if (now >= s->unserved_at) {
		s->unserved_at = UINT64_MAX;
		end_tree(s);
	}
}

/* It has read, or will, that there is no more: a server takes that for good-bye. */
static void watch_input(struct supervisor *s)
{
	if (s->sv->serves && !s->input_ended && s->in.from < 0 && s->in.to < 0) {
		s->input_ended = true;
		s->unserved_at = later(s->sv->kill_after_ms);
	}
}

static int turn(struct supervisor *s, struct ws_err *err)
{
	struct pollfd fds[SLOTS];

	fds[CONTROL] = (struct pollfd){ .fd = s->over ? -1 : s->sv->entered->control,
					.events = POLLIN };
	fds[SIGNALS] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
	fds[PARENT] = (struct pollfd){ .fd = s->parent, .events = POLLIN };
	ws_relay_poll(&s->in, &fds[IN]);
	ws_relay_poll(&s->out, &fds[OUT]);
	ws_relay_poll(&s->errs, &fds[ERRS]);
	if (poll(fds, SLOTS, poll_timeout(s)) < 0)
		return errno == EINTR ? 0 : ws_fail_errno(err, "wait for the command");
	if (fds[SIGNALS].revents)
		read_signals(s);
	if (fds[PARENT].revents) {
		s->parent = -1;
		s->abandoned = s->over;
		end_tree(s);
	}
	ws_relay_step(&s->in, &fds[IN]);
	ws_relay_step(&s->out, &fds[OUT]);
	ws_relay_step(&s->errs, &fds[ERRS]);
	if (fds[CONTROL].revents)
		read_control(s);
	watch_input(s);
	check_clock(s);
	return 0;
}

/* ---- its beginning and end ---- */

static void supervisor_release(struct supervisor *s)
{
	ws_relay_release(&s->in);
	ws_relay_release(&s->out);
	ws_relay_release(&s->errs);
	if (s->sv->keyboard >= 0)
		ws_tty_restore();
}

/* What a pty carries goes both ways through its one master. */
static int connect_tty(struct supervisor *s, struct ws_err *err)
{
	int master = s->sv->entered->tty;
	int out = fcntl(ws_relay_own(master), F_DUPFD_CLOEXEC, 3);
	int in = s->sv->in < 0 ? -1 : fcntl(master, F_DUPFD_CLOEXEC, 3);

	ws_relay_init(&s->in, s->sv->in, in);
	ws_relay_init(&s->out, out, s->sv->out);
	ws_relay_init(&s->errs, -1, s->sv->errs);
	s->in.to_tty = true;
	if (out < 0 || (s->sv->in >= 0 && in < 0))
		return ws_fail_errno(err, "connect the command's terminal");
	if (s->sv->keyboard >= 0)
		ws_tty_raw(s->sv->keyboard); /* one that has hung up ends the relays */
	return 0;
}

static int connect_pipes(struct supervisor *s, struct ws_err *err)
{
	struct ws_entered *e = s->sv->entered;

	if ((e->in >= 0 && ws_relay_own(e->in) < 0) || ws_relay_own(e->out) < 0 ||
	    ws_relay_own(e->errs) < 0)
		return ws_fail_errno(err, "connect the command's pipes");
	ws_relay_init(&s->in, s->sv->in, ws_steal_fd(&e->in));
	ws_relay_init(&s->out, ws_steal_fd(&e->out), s->sv->out);
	ws_relay_init(&s->errs, ws_steal_fd(&e->errs), s->sv->errs);
	s->in.bulk = false; /* it gets copies, never pages of the caller's */
	s->out.room = s->errs.room = s->sv->room;
	return 0;
}

/* Nothing that others do shall stop us: a limit of our caller's, a stopped shepherd. */
static int brace(const struct ws_supervise *sv, struct ws_err *err)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGXFSZ, &ignore, NULL);
	if (ws_frame_timeout(sv->entered->control, GIVE_UP_MS) < 0)
		return ws_fail_errno(err, "supervise the command");
	return 0;
}

/* What was written until now must get out, whoever else may go on writing. */
static int drain(struct supervisor *s, struct ws_err *err)
{
	ws_closep(&s->in.from);
	ws_closep(&s->in.to);
	s->in.off = s->in.len = 0;
	s->give_up_at = s->unserved_at = UINT64_MAX;
	s->input_ended = true;
	if (s->ret->timed_out || s->ret->lost || s->terms > 0)
		s->give_up_at = later(GIVE_UP_MS);
	ws_relay_stop(&s->out);
	ws_relay_stop(&s->errs);
	while (!s->abandoned &&
	       !(ws_relay_settled(&s->out) && ws_relay_settled(&s->errs)))
		if (turn(s, err) < 0)
			return -1;
	s->ret->output_error =
		s->out.write_error ? s->out.write_error : s->errs.write_error;
	if (!ws_relay_settled(&s->out) || !ws_relay_settled(&s->errs))
		s->ret->output_error = ETIMEDOUT;
	if (s->sv->entered->tty < 0 && ws_relay_has_writer(&s->out))
		s->sv->entered->out = ws_steal_fd(&s->out.from);
	if (ws_relay_has_writer(&s->errs))
		s->sv->entered->errs = ws_steal_fd(&s->errs.from);
	return 0;
}

int ws_supervise(const struct ws_supervise *sv, struct ws_outcome *ret,
		 struct ws_err *err)
{
	__attribute__((cleanup(supervisor_release))) struct supervisor s = {
		.sv = sv,
		.ret = ret,
		.signals = sv->signals,
		.parent = sv->parent,
		.give_up_at = UINT64_MAX,
		.timeout_at = UINT64_MAX,
		.unserved_at = UINT64_MAX,
		.in = WS_RELAY_INIT,
		.out = WS_RELAY_INIT,
		.errs = WS_RELAY_INIT,
	};

	*ret = (struct ws_outcome){ 0 };
	if (brace(sv, err) < 0 ||
	    (sv->entered->tty >= 0 ? connect_tty(&s, err) : connect_pipes(&s, err)) < 0)
		return -1;
	if (sv->timeout_ms > 0)
		s.timeout_at = after(sv->entered->begun_ms, sv->timeout_ms);
	while (!s.over)
		if (turn(&s, err) < 0)
			return -1;
	if (sv->on_end)
		sv->on_end(sv->arg, ret);
	return drain(&s, err);
}
