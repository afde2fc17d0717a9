/* SPDX-License-Identifier: Apache-2.0 */
/* Starting programs: what a child gets is named, everything else stays here. */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"

#define ERRTEXT_MAX 65536

/*
 * The child's descriptors are copied out of the way first, above all targets, so
 * that no dup2 there overwrites what a later one needs.
 */
struct plan {
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int *high; /* n copies, and /dev/null last */
	size_t n;
	int end; /* above every target */
};

static void plan_release(struct plan *p)
{
	posix_spawn_file_actions_destroy(&p->actions);
	posix_spawnattr_destroy(&p->attr);
	for (size_t i = 0; p->high && i <= p->n; i++)
		ws_closep(&p->high[i]);
	ws_freep(&p->high);
}

static int copy_fds(const struct ws_spawn *s, struct plan *p)
{
	WS_AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	p->high = ws_grow(NULL, s->nfds + 1, sizeof(*p->high));
	p->n = s->nfds;
	p->end = 3;
	for (size_t i = 0; i <= s->nfds; i++)
		p->high[i] = -1;
	for (size_t i = 0; i < s->nfds; i++)
		if (s->fds[i].to >= p->end)
			p->end = s->fds[i].to + 1;
	for (size_t i = 0; i <= s->nfds; i++) {
		int from = i < s->nfds ? s->fds[i].from : null;

		p->high[i] = fcntl(from, F_DUPFD_CLOEXEC, p->end);
		if (p->high[i] < 0)
			return -1;
	}
	return 0;
}

/* posix_spawn functions return errno. Closing what is not open is no error there. */
static int add_actions(const struct ws_spawn *s, struct plan *p)
{
	int rc = 0;

	for (int fd = 0; fd < p->end && rc == 0; fd++) {
		int from = fd < 3 ? p->high[p->n] : -1;

		for (size_t i = 0; i < s->nfds; i++)
			if (s->fds[i].to == fd)
				from = p->high[i];
		rc = from < 0 ? posix_spawn_file_actions_addclose(&p->actions, fd)
			      : posix_spawn_file_actions_adddup2(&p->actions, from, fd);
	}
	return rc ? rc : posix_spawn_file_actions_addclosefrom_np(&p->actions, p->end);
}

/* Every signal at its default and none blocked, whatever we were started with. */
static int set_attr(const struct ws_spawn *s, struct plan *p)
{
	short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
	sigset_t all, none;
	int rc;

	sigfillset(&all);
	sigemptyset(&none);
	if (s->new_session)
		flags |= POSIX_SPAWN_SETSID;
	rc = posix_spawnattr_setsigdefault(&p->attr, &all);
	rc = rc ? rc : posix_spawnattr_setsigmask(&p->attr, &none);
	return rc ? rc : posix_spawnattr_setflags(&p->attr, flags);
}

int ws_spawn(const struct ws_spawn *s, pid_t *ret_pid, struct ws_err *err)
{
	char *no_env[] = { NULL };
	__attribute__((cleanup(plan_release))) struct plan p = { 0 };
	int rc;

	posix_spawn_file_actions_init(&p.actions);
	posix_spawnattr_init(&p.attr);
	if (s->argv[0][0] != '/')
		return ws_fail(err, WS_INTERNAL, "run '%s': not an absolute path",
			       s->argv[0]);
	if (copy_fds(s, &p) < 0)
		return ws_fail_errno(err, "run '%s': copy descriptors", s->argv[0]);
	rc = add_actions(s, &p);
	rc = rc ? rc : set_attr(s, &p);
	if (rc == 0)
		rc = posix_spawn(ret_pid, s->argv[0], &p.actions, &p.attr, s->argv,
				 s->env ? s->env : no_env);
	if (rc == 0)
		return 0;
	errno = rc;
	return ws_fail_errno(err, "run '%s'", s->argv[0]);
}

int ws_wait(pid_t pid, int *ret_status)
{
	siginfo_t info = { 0 };

	while (waitid(P_PID, (id_t)pid, &info, WEXITED) < 0)
		if (errno != EINTR)
			return -1;
	*ret_status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	return 0;
}

/* A child that is being run: not reaped yet, so that its pid is surely its own. */
struct child {
	const struct ws_spawn *spawn;
	pid_t pid;
	int pidfd;
	uint64_t deadline; /* of the monotonic clock, 0: none */
};

static void child_kill(struct child *c)
{
	int status;

	if (c->spawn->new_session)
		kill(-c->pid, SIGKILL);
	kill(c->pid, SIGKILL);
	ws_wait(c->pid, &status);
}

static int child_start(struct child *c, const struct ws_spawn *s, struct ws_err *err)
{
	*c = (struct child){ .spawn = s, .pidfd = -1 };
	if (s->timeout_ms)
		c->deadline = ws_clock_mono_ms() + s->timeout_ms;
	if (ws_spawn(s, &c->pid, err) < 0)
		return -1;
	c->pidfd = ws_pidfd_open(c->pid);
	if (c->pidfd >= 0)
		return 0;
	ws_fail_errno(err, "watch '%s'", s->argv[0]);
	child_kill(c);
	return -1;
}

/* For poll(2): -1 without a deadline, 0 when it is past. */
static int child_left(const struct child *c)
{
	uint64_t now = ws_clock_mono_ms();

	if (!c->deadline)
		return -1;
	if (now >= c->deadline)
		return 0;
	return c->deadline - now < INT_MAX ? (int)(c->deadline - now) : INT_MAX;
}

static int child_timed_out(struct child *c, struct ws_err *err)
{
	child_kill(c);
	return ws_fail(err, WS_TIMEOUT, "'%s' did not end within %.3g s",
		       c->spawn->argv[0], (double)c->spawn->timeout_ms / 1000);
}

static int child_end(struct child *c, int *ret_status, struct ws_err *err)
{
	if (ws_wait(c->pid, ret_status) < 0)
		return ws_fail_errno(err, "wait for '%s'", c->spawn->argv[0]);
	return 0;
}

int ws_run(const struct ws_spawn *s, int *ret_status, struct ws_err *err)
{
	struct child c;
	int rc;

	if (child_start(&c, s, err) < 0)
		return -1;
	while (!ws_pidfd_gone(c.pidfd, child_left(&c)) && child_left(&c) != 0)
		continue;
	rc = ws_pidfd_gone(c.pidfd, 0) ? child_end(&c, ret_status, err)
				       : child_timed_out(&c, err);
	ws_closep(&c.pidfd);
	return rc;
}

/* One stream of a child: where it goes, and how much of it may. */
struct stream {
	int fd; /* -1: at its end */
	struct ws_buf *buf;
	size_t left;
	bool drop_rest; /* else more than LEFT is an error */
};

/* Takes what is there. Returns -1 and errno, EFBIG for too much. */
static int stream_drain(struct stream *st)
{
	char chunk[16384];

	while (st->fd >= 0) {
		ssize_t n = read(st->fd, chunk, sizeof(chunk));
		size_t take;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return -1;
		if (n == 0) {
			ws_closep(&st->fd);
			return 0;
		}
		take = (size_t)n < st->left ? (size_t)n : st->left;
		ws_buf_add(st->buf, chunk, take);
		st->left -= take;
		if (take < (size_t)n && !st->drop_rest) {
			errno = EFBIG;
			return -1;
		}
	}
	return 0;
}

/*
 * Until the child has ended. What it wrote is in the pipes then: a descendant that
 * keeps them open is not waited for. Returns 1 at the deadline.
 */
static int pump(struct child *c, struct stream streams[2])
{
	bool gone = false;

	while (!gone) {
		struct pollfd p[3] = {
			{ .fd = c->pidfd, .events = POLLIN },
			{ .fd = streams[0].fd, .events = POLLIN },
			{ .fd = streams[1].fd, .events = POLLIN },
		};
		int rc = poll(p, 3, child_left(c));

		if (rc < 0 && errno != EINTR)
			return -1;
		gone = rc > 0 && p[0].revents;
		if (stream_drain(&streams[0]) < 0 || stream_drain(&streams[1]) < 0)
			return -1;
		if (!gone && child_left(c) == 0)
			return 1;
	}
	return 0;
}

static int stream_open(struct stream *st, int *ret_write, struct ws_err *err)
{
	if (ws_pipe(&st->fd, ret_write) < 0 || fcntl(st->fd, F_SETFL, O_NONBLOCK) < 0)
		return ws_fail_errno(err, "make a pipe");
	return 0;
}

static int capture(const struct ws_spawn *s, int ends[2], struct stream streams[2],
		   int *ret_status, struct ws_err *err)
{
	struct child c;
	int rc;

	if (child_start(&c, s, err) < 0)
		return -1;
	ws_closep(&ends[0]);
	ws_closep(&ends[1]);
	rc = pump(&c, streams);
	if (rc > 0) {
		rc = child_timed_out(&c, err);
	} else if (rc < 0) {
		ws_fail_errno(err, "read the output of '%s'", s->argv[0]);
		child_kill(&c);
	} else {
		rc = child_end(&c, ret_status, err);
	}
	ws_closep(&c.pidfd);
	return rc;
}

int ws_run_capture(const struct ws_spawn *s, size_t max, struct ws_buf *out,
		   struct ws_buf *errtext, int *ret_status, struct ws_err *err)
{
	struct stream streams[2] = {
		{ .fd = -1, .buf = out, .left = max },
		{ .fd = -1, .buf = errtext, .left = ERRTEXT_MAX, .drop_rest = true },
	};
	WS_AUTO_FREE struct ws_fdmap *fds = ws_grow(NULL, s->nfds + 2, sizeof(*fds));
	struct ws_spawn own = *s;
	int ends[2] = { -1, -1 };
	int rc = 0;

	if (s->nfds)
		memcpy(fds, s->fds, s->nfds * sizeof(*fds));
	for (int i = 0; i < 2 && rc == 0; i++) {
		if (!streams[i].buf)
			continue;
		rc = stream_open(&streams[i], &ends[i], err);
		fds[own.nfds++] = (struct ws_fdmap){ .from = ends[i], .to = i + 1 };
	}
	own.fds = fds;
	if (rc == 0)
		rc = capture(&own, ends, streams, ret_status, err);
	for (int i = 0; i < 2; i++) {
		ws_closep(&ends[i]);
		ws_closep(&streams[i].fd);
	}
	return rc;
}
