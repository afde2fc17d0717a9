/* SPDX-License-Identifier: Apache-2.0 */
#include "core/enter.h"

#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "core/join.h"

#define START_TIMEOUT_MS 30000	/* without a word from inside */
#define STARTED_TIMEOUT_MS 2000 /* from GO to its exec */
#define STATUS_FAILED 125
#define STATUS_NOT_RUN 126
#define STATUS_NOT_FOUND 127
#define STATUS_LOST 137

void ws_enter_plan_release(struct ws_enter_plan *p)
{
	ws_strv_release(&p->argv);
	ws_strv_release(&p->env);
	ws_freep(&p->cwd);
	ws_freep(&p->home);
	ws_freep(&p->rlimits);
	for (size_t i = 0; i < WS_PLAN_FILTERS_MAX; i++)
		ws_buf_release(&p->filters[i]);
}

static void add_string(struct ws_buf *b, const char *s)
{
	ws_buf_add(b, s, strlen(s) + 1);
}

static void add_strings(struct ws_buf *b, const struct ws_strv *sv)
{
	for (size_t i = 0; i < sv->n; i++)
		add_string(b, sv->v[i]);
}

static int check_plan(const struct ws_enter_plan *p, struct ws_err *err)
{
	if (!p->argv.n)
		return ws_fail(err, WS_USAGE, "no command is given");
	if (!p->cwd || p->cwd[0] != '/')
		return ws_fail(err, WS_USAGE, "'%s' is no absolute path",
			       p->cwd ? p->cwd : "");
	if (!p->home || p->home[0] != '/' || p->nrlimits > WS_PLAN_RLIMITS_MAX)
		return ws_fail(err, WS_INTERNAL, "the plan of the command is wrong");
	for (size_t i = 0; i < WS_PLAN_FILTERS_MAX; i++)
		if (p->filters[i].len % sizeof(struct sock_filter) ||
		    p->filters[i].len / sizeof(struct sock_filter) > BPF_MAXINSNS)
			return ws_fail(err, WS_SECCOMP_UNAVAILABLE,
				       "the seccomp filter is damaged");
	return 0;
}

int ws_enter_plan_encode(const struct ws_enter_plan *p, const char *label,
			 bool with_stdin, struct ws_buf *ret, struct ws_err *err)
{
	struct ws_plan_head head = {
		.protocol = WS_PROTOCOL,
		.flags = p->flags | (with_stdin ? WS_PLAN_STDIN : 0) |
			 (p->held ? WS_PLAN_HOLD : 0),
		.argc = (uint32_t)p->argv.n,
		.envc = (uint32_t)p->env.n,
		.nrlimits = (uint32_t)p->nrlimits,
		.kill_after_ms = p->kill_after_ms,
		.umask = p->umask,
		.tmpfs_size = p->tmpfs_size,
		.rows = p->size.ws_row,
		.cols = p->size.ws_col,
	};

	if (check_plan(p, err) < 0)
		return -1;
	for (size_t i = 0; i < WS_PLAN_FILTERS_MAX; i++)
		head.filter_len[i] = (uint32_t)p->filters[i].len;
	ws_buf_clear(ret);
	ws_buf_add(ret, &head, sizeof(head));
	ws_buf_add(ret, p->rlimits, p->nrlimits * sizeof(*p->rlimits));
	add_string(ret, p->cwd);
	add_string(ret, p->home);
	add_string(ret, label ? label : "");
	add_strings(ret, &p->argv);
	add_strings(ret, &p->env);
	for (size_t i = 0; i < WS_PLAN_FILTERS_MAX; i++)
		ws_buf_add(ret, p->filters[i].data, p->filters[i].len);
	if (ret->len > WS_FRAME_MAX)
		return ws_fail(err, WS_USAGE,
			       "arguments and environment are longer than %u bytes",
			       WS_FRAME_MAX);
	return 0;
}

void ws_entered_release(struct ws_entered *e)
{
	ws_closep(&e->control);
	ws_closep(&e->in);
	ws_closep(&e->out);
	ws_closep(&e->errs);
	ws_closep(&e->tty);
}

int ws_entered_signal(const struct ws_entered *e, int sig)
{
	const struct ws_signal signal = { .sig = sig };

	return ws_frame_send(e->control, WS_FRAME_SIGNAL, &signal, sizeof(signal),
			     &e->tty, e->tty >= 0 ? 1 : 0);
}

int ws_entered_end(const struct ws_entered *e)
{
	return ws_frame_send(e->control, WS_FRAME_END, NULL, 0, NULL, 0);
}

/* ---- the way in, as the outside sees it ---- */

struct entry {
	struct ws_sandbox *sb;
	const struct ws_enter_plan *plan;
	struct ws_buf order; /* the encoded plan */
	int fds[4];	     /* the command's ends, in the order of the frame */
	size_t nfds;
	int go; /* the other end of what it waits on, if it is to wait */
	struct ws_entered e;
	bool may_run; /* from here on the command may have run */
	int status;
};

static void entry_release(struct entry *y)
{
	for (size_t i = 0; i < y->nfds; i++)
		ws_closep(&y->fds[i]);
	ws_closep(&y->go);
	ws_buf_release(&y->order);
	ws_entered_release(&y->e);
}

static int make_pipes(struct entry *y, bool want_in)
{
	bool tty = y->plan->flags & WS_PLAN_TTY;

	if (want_in) {
		if (ws_pipe(&y->fds[0], &y->e.in) < 0)
			return -1;
		y->nfds = 1;
	}
	for (int i = 0; i < 2 && !tty; i++) {
		if (ws_pipe(i ? &y->e.errs : &y->e.out, &y->fds[y->nfds]) < 0)
			return -1;
		y->nfds++;
	}
	if (y->plan->held) {
		if (ws_pipe(&y->fds[y->nfds], &y->go) < 0)
			return -1;
		y->nfds++;
	}
	return 0;
}

static int lost(struct entry *y, const char *what, struct ws_err *err)
{
	int error = errno == EAGAIN ? ETIMEDOUT : errno;

	errno = error;
	ws_fail_errno(err, "%s", what);
	err->kind = WS_SANDBOX_LOST;
	err->sys = error == ECONNRESET || error == EPIPE ? ESRCH : error;
	if (!y->may_run)
		return -1;
	err->sys = 0; /* this is no case for another try */
	y->status = STATUS_LOST;
	ws_sandbox_kill(y->sb);
	return -1;
}

/* What a step's failure means to our caller. */
static const struct {
	enum ws_kind kind;
	const char *what;
} steps[] = {
	[WS_STEP_PROTOCOL] = { WS_STATE_VERSION, "talk with the sandbox's init" },
	[WS_STEP_MOUNT] = { WS_HOST_UNSUPPORTED, "mount a private HOME or /tmp" },
	[WS_STEP_CONFINE] = { WS_HOST_UNSUPPORTED, "confine the command" },
	[WS_STEP_LABEL] = { WS_HOST_UNSUPPORTED, "give the command the sandbox's label" },
	[WS_STEP_FILTER] = { WS_SECCOMP_UNAVAILABLE, "load the seccomp filter" },
	[WS_STEP_RLIMIT] = { WS_LIMITS_UNAVAILABLE, "set the command's limits" },
	[WS_STEP_TTY] = { WS_HOST_UNSUPPORTED, "open a terminal in the sandbox" },
	[WS_STEP_CWD] = { WS_USAGE, "start in folder" },
	[WS_STEP_FORK] = { WS_IO, "fork in the sandbox" },
	[WS_STEP_EXEC] = { WS_EXEC_MISSING, "run" },
	[WS_STEP_SCOPE] = { WS_HOST_UNSUPPORTED, "scope the command by Landlock" },
};

static int failed(struct entry *y, const struct ws_buf *data, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf name = WS_BUF_INIT;
	struct ws_failed f;

	memcpy(&f, data->data, sizeof(f));
	if (f.step < WS_STEP_PROTOCOL || f.step > WS_STEP_SCOPE) {
		errno = EPROTO;
		return lost(y, "talk with the sandbox's init", err);
	}
	errno = f.error;
	if (f.step == WS_STEP_EXEC || f.step == WS_STEP_CWD) {
		const char *s =
			f.step == WS_STEP_EXEC ? y->plan->argv.v[0] : y->plan->cwd;

		ws_text_escape(&name, s, strlen(s));
		ws_fail_errno(err, "%s '%s'", steps[f.step].what, ws_buf_str(&name));
	} else {
		ws_fail_errno(err, "%s", steps[f.step].what);
	}
	err->kind = steps[f.step].kind;
	if (f.step == WS_STEP_FORK &&
	    f.error == ENOMEM) { /* a dying PID namespace's word */
		err->kind = WS_SANDBOX_LOST;
		err->sys = ESRCH;
	}
	if (f.step == WS_STEP_LABEL)
		ws_hint(err, "AppArmor or SELinux confines wsiso's caller, and lets it "
			     "choose no label: call wsiso from an unconfined process");
	if (f.step == WS_STEP_EXEC)
		y->status = f.error == ENOENT || f.error == ENOTDIR ? STATUS_NOT_FOUND
								    : STATUS_NOT_RUN;
	return -1;
}

/* The command's process is confined, and has sent CHILD. */
static int let_go(struct entry *y, struct ws_err *err)
{
	y->may_run = !y->plan->held;
	if (!y->may_run) {
		y->plan->held(y->plan->held_arg, y->e.command);
		if (ws_write_all(y->go, "", 1) < 0)
			return lost(y, "let the command go", err);
	}
	y->may_run = true;
	y->e.begun_ms = ws_clock_mono_ms();
	if (ws_frame_timeout(y->e.control, STARTED_TIMEOUT_MS) < 0)
		return lost(y, "let the command go", err);
	return 0;
}

/* One frame of those that may come before the command runs: 1 it runs, 0 go on, or -1. */
static int hear(struct entry *y, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf data = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = -1;
	uint32_t type;
	pid_t pid;

	if (ws_frame_recv(y->e.control, &type, &data, &fd, &pid) < 0) {
		/* it runs, and has stopped its shepherd: that must not stop its clock */
		if (y->may_run && errno == EAGAIN)
			return 1;
		return lost(y, "wait for the command to start", err);
	}
	if (type == WS_FRAME_FAILED)
		return failed(y, &data, err);
	if (type == WS_FRAME_TTY && y->plan->flags & WS_PLAN_TTY && y->e.tty < 0) {
		y->e.tty = ws_steal_fd(&fd);
		return 0;
	}
	if (type == WS_FRAME_CHILD && !y->e.command && pid > 0 &&
	    (y->e.tty >= 0 || !(y->plan->flags & WS_PLAN_TTY))) {
		y->e.command = pid;
		return let_go(y, err);
	}
	if (type == WS_FRAME_STARTED && y->e.command)
		return 1;
	errno = type == WS_FRAME_STARTED ? ECONNRESET
					 : EPROTO; /* killed before its exec */
	return lost(y, "talk with the sandbox's init", err);
}

static int greet(struct entry *y, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf data = WS_BUF_INIT;
	struct ws_hello hello;
	uint32_t type;

	if (ws_frame_recv(y->e.control, &type, &data, NULL, &y->e.shepherd) < 0)
		return lost(y, "enter the sandbox", err);
	if (type == WS_FRAME_FAILED)
		return failed(y, &data, err);
	if (type != WS_FRAME_HELLO || y->e.shepherd <= 0) {
		errno = EPROTO;
		return lost(y, "talk with the sandbox's init", err);
	}
	memcpy(&hello, data.data, sizeof(hello));
	if (hello.protocol == WS_PROTOCOL)
		return 0;
	ws_fail(err, WS_STATE_VERSION,
		"the sandbox's init speaks protocol %u, this is wsiso %s, which speaks %d",
		(unsigned)hello.protocol, PACKAGE_VERSION, WS_PROTOCOL);
	return ws_hint(err,
		       "the two are of one build: install wsiso anew; or wsiso stop, "
		       "if it was replaced while the sandbox lived");
}

/* From the join to the HELLO of the shepherd: then stage 2 has done its work. */
static int go_in(struct entry *y, struct ws_err *err)
{
	WS_AUTO_CLOSE int inside = -1;
	pid_t stage2;
	int rc;

	if (ws_frame_pair(&y->e.control, &inside) < 0 ||
	    ws_frame_timeout(y->e.control, START_TIMEOUT_MS) < 0)
		return ws_fail_errno(err, "make a socket");
	if (ws_join(y->sb, inside, &stage2, err) < 0)
		return -1;
	ws_closep(&inside);
	rc = greet(y, err);
	ws_join_reap(stage2);
	ws_closep(&y->sb->use);
	return rc;
}

/* If nobody takes the plan, the reason may have been sent before. */
static int start(struct entry *y, struct ws_err *err)
{
	int rc = ws_frame_send(y->e.control, WS_FRAME_PLAN, y->order.data,
			       (uint32_t)y->order.len, y->fds, y->nfds);

	if (rc < 0 && errno != EPIPE && errno != ECONNRESET)
		return lost(y, "send the command into the sandbox", err);
	do {
		rc = hear(y, err);
	} while (rc == 0);
	if (rc < 0)
		return -1;
	if (ws_frame_timeout(y->e.control, 0) < 0)
		return ws_fail_errno(err, "start the command");
	return 0;
}

int ws_enter(struct ws_sandbox *sb, const struct ws_enter_plan *plan, bool want_in,
	     struct ws_entered *ret, int *ret_status, struct ws_err *err)
{
	__attribute__((
		cleanup(entry_release))) struct entry y = { .sb = sb,
							    .plan = plan,
							    .go = -1,
							    .e = WS_ENTERED_INIT,
							    .status = STATUS_FAILED };
	bool with_stdin = want_in && !(plan->flags & WS_PLAN_TTY);

	*ret_status = STATUS_FAILED;
	if (ws_enter_plan_encode(plan, sb->label, with_stdin, &y.order, err) < 0)
		return -1;
	if (make_pipes(&y, with_stdin) < 0)
		return ws_fail_errno(err, "make pipes for the command");
	if (go_in(&y, err) < 0 || start(&y, err) < 0) {
		*ret_status = y.status;
		return -1;
	}
	*ret = y.e;
	y.e = WS_ENTERED_INIT;
	return 0;
}
