/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pause.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "core/procs.h"

#define STOP_TIMEOUT_MS 2000
#define ANSWER_TIMEOUT_MS 10000

static bool is_still(const struct ws_process *p)
{
	return strchr("TtZX", p->state) != NULL;
}

/* Those of LIST that run; 0: everybody stands still. -1. */
static ssize_t count_running(const struct ws_procs *list)
{
	ssize_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += !list->v[i].ours && !is_still(&list->v[i]);
	return n;
}

bool ws_pause_holds(const struct ws_sandbox *sb)
{
	WS_AUTO(ws_procs) struct ws_procs now = WS_PROCS_INIT;
	struct ws_err ignored = WS_ERR_INIT;

	return ws_procs_list(sb, &now, &ignored) == 0 && count_running(&now) == 0;
}

/* ---- the keeper: a process that holds nothing but the line ---- */

static void signal_one(const struct ws_process *p, int sig)
{
	const struct ws_proc_id id = { .pid = p->pid, .start = p->start };
	WS_AUTO_CLOSE int fd = ws_pidfd_open(id.pid);
	uint64_t start;

	if (fd >= 0 && ws_proc_start_time(id.pid, &start) == 0 && start == id.start)
		ws_pidfd_signal(fd, sig);
}

static bool knows(const struct ws_procs *all, const struct ws_process *p)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].pid == p->pid && all->v[i].start == p->start)
			return true;
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct ws_process *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Parents first: a child that is stopped before its parent could be seen so by it. */
static void stop_those_that_run(struct ws_procs *now, struct ws_procs *stopped)
{
	if (now->n)
		qsort(now->v, now->n, sizeof(*now->v), by_start);
	for (size_t i = 0; i < now->n; i++) {
		if (now->v[i].ours || is_still(&now->v[i]))
			continue;
		signal_one(&now->v[i], SIGSTOP);
		if (knows(stopped, &now->v[i]))
			continue;
		stopped->v = ws_grow(stopped->v, stopped->n + 1, sizeof(*stopped->v));
		stopped->v[stopped->n++] = now->v[i];
	}
}

/* Until nobody runs any more, one look after the last stop included. */
static bool stop_all(const struct ws_sandbox *sb, struct ws_procs *stopped)
{
	uint64_t until = ws_clock_mono_ms() + STOP_TIMEOUT_MS;

	do {
		WS_AUTO(ws_procs) struct ws_procs now = WS_PROCS_INIT;
		struct ws_err ignored = WS_ERR_INIT;

		if (ws_procs_list(sb, &now, &ignored) < 0)
			return false;
		if (count_running(&now) == 0)
			return true;
		stop_those_that_run(&now, stopped);
		ws_clock_sleep_ms(1);
	} while (ws_clock_mono_ms() < until);
	return false;
}

/* Children first, so that no shell sees one of its own stopped. */
static void let_go(const struct ws_procs *stopped)
{
	for (size_t i = stopped->n; i > 0; i--)
		signal_one(&stopped->v[i - 1], SIGCONT);
}

static void keep(const struct ws_sandbox *sb, int line)
{
	WS_AUTO(ws_procs) struct ws_procs stopped = WS_PROCS_INIT;
	char all;

	all = stop_all(sb, &stopped);
	if (stopped.n)
		qsort(stopped.v, stopped.n, sizeof(*stopped.v), by_start);
	if (send(line, &all, 1, MSG_NOSIGNAL) == 1)
		while (read(line, &all, 1) < 0 && errno == EINTR)
			continue;
	let_go(&stopped);
}

/* A group of its own and no signal: what ends us must not end it before its time. */
static void become_keeper(const struct ws_sandbox *sb, int line)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	if (dup2(line, 3) != 3)
		_exit(1);
	close_range(4, ~0U, 0); /* locks among them */
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	keep(sb, 3);
	_exit(0);
}

/* ---- here ---- */

static int hear(const struct ws_pause *p, bool *ret_all)
{
	struct pollfd fds = { .fd = p->line, .events = POLLIN };
	char all = 0;
	int n;

	do
		n = poll(&fds, 1, ANSWER_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	if (n <= 0 || read(p->line, &all, 1) != 1)
		return -1;
	*ret_all = all;
	return 0;
}

int ws_pause_begin(const struct ws_sandbox *sb, struct ws_pause *ret, struct ws_err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return ws_fail_errno(err, "make a socket");
	ret->keeper = fork();
	if (ret->keeper == 0)
		become_keeper(sb, ends[1]);
	ws_closep(&ends[1]);
	ret->line = ends[0];
	if (ret->keeper < 0) {
		ws_fail_errno(err, "make a process");
		ws_closep(&ret->line);
		return -1;
	}
	if (hear(ret, &ret->all) == 0)
		return 0;
	ws_pause_release(ret);
	return ws_fail(err, WS_IO, "the commands could not be stopped for a copy");
}

void ws_pause_release(struct ws_pause *p)
{
	int status;

	if (p->line < 0)
		return;
	ws_closep(&p->line);
	ws_wait(p->keeper, &status);
}
