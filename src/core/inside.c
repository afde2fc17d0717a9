/* SPDX-License-Identifier: Apache-2.0 */
#include "core/inside.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/exec.h"
#include "core/exec_plan.h"
#include "core/gate.h"
#include "core/go_in.h"
#include "core/profile.h"
#include "core/relay.h"
#include "core/sandbox.h"
#include "core/user.h"

#define IDLE_MS 30000
#define BLOCK 65536
#define COMPLAINT_MAX 65536

struct talk {
	const struct ws_root *root;
	struct ws_inside *in;
	struct ws_session fresh; /* if it changed after the caller had read it */
	struct ws_enter_plan plan;
	struct ws_sandbox sandbox;
	struct ws_entered entered;
	struct ws_user user;
	char *buf; /* a chunk's length, then its bytes */
	size_t off, len;
	bool source_over, exited;
	size_t out_left,
		errs_left; /* since it has exited: what was in the pipes by then */
};

static void talk_release(struct talk *t)
{
	ws_freep(&t->buf);
	ws_entered_release(&t->entered);
	ws_sandbox_release(&t->sandbox);
	ws_enter_plan_release(&t->plan);
	ws_user_release(&t->user);
	ws_session_release(&t->fresh);
}

void ws_inside_release(struct ws_inside *in)
{
	ws_strv_release(&in->argv);
	ws_buf_release(&in->complaint);
}

/* ---- in ---- */

static int make_plan(const struct ws_session *s, struct talk *t, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv none = WS_STRV_INIT;
	struct ws_exec_opts opts = WS_EXEC_OPTS_INIT;
	const struct ws_exec_source source = {
		.session = s,
		.spec = &s->spec,
		.row = ws_profile_find(WS_PROFILE_DEFAULT),
		.user = &t->user,
	};

	if (ws_gate_session(s, err) < 0 || ws_user_self(&t->user, err) < 0)
		return -1;
	opts.id = s->id;
	opts.cwd = "/";
	opts.argv = t->in->argv;
	opts.env = none;
	opts.kill_after_ms = 0;
	if (ws_exec_plan(&source, &opts, &t->plan, err) < 0)
		return -1;
	/* an empty tmpfs of its own would only hide that there is nothing kept */
	t->plan.flags &= ~(uint32_t)(WS_PLAN_PRIVATE_HOME | WS_PLAN_PRIVATE_TMP);
	return 0;
}

static int reread(struct ws_way_in *way, struct ws_err *err)
{
	struct talk *t = way->arg;
	WS_AUTO(ws_session) struct ws_session now = WS_SESSION_INIT;

	if (ws_session_open(t->root, way->session->id, &now, err) < 0)
		return -1;
	ws_enter_plan_release(&t->plan);
	t->plan = WS_ENTER_PLAN_INIT;
	ws_user_release(&t->user);
	t->user = (struct ws_user){ 0 };
	ws_session_release(&t->fresh);
	t->fresh = now;
	now = WS_SESSION_INIT;
	way->session = &t->fresh;
	return make_plan(way->session, t, err);
}

static int enter(struct talk *t, const struct ws_session *s, struct ws_err *err)
{
	struct ws_way_in way = {
		.session = s,
		.plan = &t->plan,
		.want_in = t->in->in >= 0,
		.reread = reread,
		.arg = t,
	};

	if (make_plan(s, t, err) < 0)
		return -1;
	if (t->in->sandbox)
		return ws_enter(t->in->sandbox, &t->plan, way.want_in, &t->entered,
				&t->in->status, err);
	return ws_go_in(t->root, &way, &t->sandbox, &t->entered, &t->in->status, err);
}

/* ---- to and fro ---- */

static int read_source(struct talk *t, struct ws_err *err)
{
	size_t head = t->in->chunks ? sizeof(uint32_t) : 0;
	ssize_t n = read(t->in->in, t->buf + head, BLOCK);
	uint32_t size = n > 0 ? (uint32_t)n : 0;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN
			       ? 0
			       : ws_fail_errno(err, "read what is to be written");
	t->source_over = n == 0;
	memcpy(t->buf, &size, head);
	t->off = 0;
	t->len = head + size;
	return 0;
}

static void write_in(struct talk *t)
{
	ssize_t n = write(t->entered.in, t->buf + t->off, t->len - t->off);

	if (n >= 0)
		t->off += (size_t)n;
	else if (errno != EAGAIN && errno != EINTR)
		ws_closep(&t->entered.in); /* it has ended, and says why */
}

/*
 * One block: somebody else inside may hold the pipe, and write for ever. *FD is closed at
 * its end, or when *LEFT, which counts once the program has exited, is used up.
 */
static size_t read_pipe(const struct talk *t, int *fd, char block[BLOCK], size_t *left)
{
	ssize_t n = read(*fd, block, t->exited && *left < BLOCK ? *left : BLOCK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (t->exited && n > 0)
		*left -= (size_t)n;
	if (n <= 0 || (t->exited && !*left))
		ws_closep(fd);
	return n > 0 ? (size_t)n : 0;
}

/* -1: TAKE does not want more. */
static int read_out(struct talk *t, struct ws_err *err)
{
	static char block[BLOCK];
	size_t n = read_pipe(t, &t->entered.out, block, &t->out_left);

	return n && t->in->take ? t->in->take(t->in->arg, block, n, err) : 0;
}

static void read_errs(struct talk *t)
{
	static char block[BLOCK];
	size_t n = read_pipe(t, &t->entered.errs, block, &t->errs_left);

	if (t->in->complaint.len < COMPLAINT_MAX)
		ws_buf_add(&t->in->complaint, block,
			   n < COMPLAINT_MAX - t->in->complaint.len
				   ? n
				   : COMPLAINT_MAX - t->in->complaint.len);
}

static size_t in_pipe(int fd)
{
	int n = 0;

	return fd >= 0 && ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}

static int read_control(struct talk *t, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf data = WS_BUF_INIT;
	struct ws_exited exited;
	uint32_t type;

	if (ws_frame_recv(t->entered.control, &type, &data, NULL, NULL) < 0)
		return ws_fail(err, WS_SANDBOX_LOST, "the sandbox went away meanwhile");
	if (type != WS_FRAME_EXITED || data.len != sizeof(exited))
		return 0;
	memcpy(&exited, data.data, sizeof(exited));
	t->exited = true;
	t->out_left = in_pipe(t->entered.out);
	t->errs_left = in_pipe(t->entered.errs);
	t->in->status = WIFEXITED(exited.status) ? WEXITSTATUS(exited.status)
						 : 128 + WTERMSIG(exited.status);
	return 0;
}

enum { CONTROL, OUT, ERRS, IN, SOURCE, SLOTS };

static void fill_slots(const struct talk *t, struct pollfd fds[SLOTS])
{
	bool full = t->off < t->len;

	fds[CONTROL] = (struct pollfd){ .fd = t->exited ? -1 : t->entered.control,
					.events = POLLIN };
	fds[OUT] = (struct pollfd){ .fd = t->entered.out, .events = POLLIN };
	fds[ERRS] = (struct pollfd){ .fd = t->entered.errs, .events = POLLIN };
	fds[IN] = (struct pollfd){ .fd = full ? t->entered.in : -1, .events = POLLOUT };
	fds[SOURCE] = (struct pollfd){ .fd = full || t->source_over || t->entered.in < 0
						     ? -1
						     : t->in->in,
				       .events = POLLIN };
}

static int turn(struct talk *t, struct ws_err *err)
{
	struct pollfd fds[SLOTS];
	int n, wait = IDLE_MS;

	fill_slots(t, fds);
	if (t->exited) /* somebody else may hold its pipes open: nobody waits for him */
		wait = 0;
	else if (fds[SOURCE].fd >= 0)
		wait = -1;
	n = poll(fds, SLOTS, wait);
	if (n < 0)
		return errno == EINTR ? 1 : ws_fail_errno(err, "wait for the sandbox");
	if (n == 0)
		return t->exited ? 0
				 : ws_fail(err, WS_TIMEOUT,
					   "the sandbox does not answer: its "
					   "processes may have been stopped");
	if (fds[SOURCE].revents && read_source(t, err) < 0)
		return -1;
	if (fds[IN].revents)
		write_in(t);
	if (fds[ERRS].revents)
		read_errs(t);
	if (fds[OUT].revents && read_out(t, err) < 0)
		return -1;
	if (fds[CONTROL].revents && read_control(t, err) < 0)
		return -1;
	if (t->source_over && t->off == t->len)
		ws_closep(&t->entered.in);
	return t->exited && t->entered.out < 0 && t->entered.errs < 0 ? 0 : 1;
}

int ws_inside_run(const struct ws_root *root, const struct ws_session *s,
		  struct ws_inside *in, struct ws_err *err)
{
	__attribute__((cleanup(talk_release))) struct talk t = {
		.root = root,
		.in = in,
		.fresh = WS_SESSION_INIT,
		.plan = WS_ENTER_PLAN_INIT,
		.sandbox = WS_SANDBOX_INIT,
		.entered = WS_ENTERED_INIT,
	};
	int rc = 1;

	ws_session_touch(s);
	if (enter(&t, s, err) < 0)
		return -1;
	t.buf = ws_grow(NULL, BLOCK + sizeof(uint32_t), 1);
	if (ws_relay_own(t.entered.out) < 0 || ws_relay_own(t.entered.errs) < 0 ||
	    (t.entered.in >= 0 && ws_relay_own(t.entered.in) < 0))
		return ws_fail_errno(err, "talk with the sandbox");
	while (rc > 0)
		rc = turn(&t, err);
	return rc;
}
