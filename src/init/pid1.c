/* SPDX-License-Identifier: Apache-2.0 */
#include "init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_FAILED 125
#define RETRY_MIN_MS 50 /* somebody is on his way in or out */
#define RETRY_MAX_MS 1000
#define POLL_MIN_MS 1000 /* zombies whose parent is outside give no SIGCHLD */
#define POLL_MAX_MS 10000
#define LINGER_MAX_MS (100ULL * 365 * 86400 * 1000)

struct keeper {
	uint64_t linger_ms;
	uint64_t idle_since;
	bool busy;
	bool hurry; /* told not to linger, if nobody comes */
	uint64_t poll_ms, retry_ms;
	int owner; /* a socket: at its EOF the sandbox ends; -1: it is nobody's */
	uint64_t grace_ms;
	uint64_t end_at; /* 0: not yet */
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Is there any other process, zombies included? */
static bool anyone(void)
{
	return kill(-1, 0) == 0 || errno != ESRCH;
}

static void prepare(void)
{
	sigset_t all;

	prctl(PR_SET_NAME, "wsiso-init", 0, 0, 0);
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || chdir("/") < 0 ||
	    ws_confine_stdio() < 0 || close_range(WS_BOOT_FD_USE + 1, ~0U, 0) < 0)
		_exit(EXIT_FAILED);
}

/* Who started this sandbox may die until the last moment: no GO, no sandbox. */
static void wait_for_go(struct keeper *k)
{
	const struct ws_hello hello = { .protocol = WS_PROTOCOL };
	const int control = WS_BOOT_FD_CONTROL;
	struct ws_frame frame;
	struct ws_go go;
	size_t nfds;

	if (ws_wire_send(control, WS_FRAME_READY, &hello, sizeof(hello), -1) < 0 ||
	    ws_wire_recv(control, &frame, NULL, 0, &nfds) < 0 ||
	    frame.type != WS_FRAME_GO || frame.len != sizeof(go) ||
	    ws_wire_read(control, &go, sizeof(go)) < 0)
		_exit(EXIT_FAILED);
	k->linger_ms = min_u64(go.linger_ms, LINGER_MAX_MS);
	k->grace_ms = min_u64(go.grace_ms, LINGER_MAX_MS);
	k->owner = go.bound ? control : -1;
	if (!go.bound)
		close(control);
	else if (fcntl(control, F_SETOWN, getpid()) < 0 ||
		 fcntl(control, F_SETFL, O_ASYNC) < 0) /* SIGIO at its EOF */
		_exit(EXIT_FAILED);
}

/* Everybody is asked to go, and then nothing is left to linger for. */
static void ask_all(struct keeper *k)
{
	kill(-1, SIGTERM);
	kill(-1, SIGCONT);
	k->linger_ms = 0;
}

/* Whoever this sandbox was for has gone, or been killed. */
static void check_owner(struct keeper *k, uint64_t now)
{
	struct pollfd p = { .fd = k->owner };

	if (k->end_at && now >= k->end_at)
		_exit(0);
	if (k->owner < 0 || poll(&p, 1, 0) <= 0)
		return;
	close(k->owner);
	k->owner = -1;
	k->end_at = now + k->grace_ms;
	ask_all(k);
}

static bool reap(void)
{
	bool reaped = false;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		reaped = true;
	return reaped;
}

/*
 * The mutex, then the lease: whoever holds the lease is on his way in. A failed upgrade
 * has lost our own hold, so it is taken again before the mutex goes. At the end the
 * lease is dropped explicitly, since exit may close the mutex first.
 */
static void try_to_end(void)
{
	if (flock(WS_BOOT_FD_LOCK, LOCK_EX | LOCK_NB) < 0)
		return;
	if (flock(WS_BOOT_FD_USE, LOCK_EX | LOCK_NB) == 0 && !anyone()) {
		flock(WS_BOOT_FD_USE, LOCK_UN);
		_exit(0);
	}
	while (flock(WS_BOOT_FD_USE, LOCK_SH) < 0 && errno == EINTR)
		continue;
	flock(WS_BOOT_FD_LOCK, LOCK_UN);
}

/* Looks around, ends if it is time to; returns after how long to look again. */
static uint64_t look(struct keeper *k)
{
	uint64_t now = ws_now_ms();

	check_owner(k, now);
	if (reap() || k->busy)
		k->idle_since = now;
	k->busy = anyone();
	if (k->busy) {
		k->retry_ms = RETRY_MIN_MS;
		k->hurry = false;
		return k->end_at > now ? min_u64(k->end_at - now, k->poll_ms)
				       : k->poll_ms;
	}
	if (!k->hurry && now - k->idle_since < k->linger_ms)
		return k->linger_ms - (now - k->idle_since);
	try_to_end();
	now = k->retry_ms;
	k->retry_ms = min_u64(now * 2, RETRY_MAX_MS);
	return now;
}

/*
 * Signals from inside mean nothing, SIGCHLD aside. From outside the PID namespace TERM
 * is for everybody, and then nothing is left to linger for; USR1 ends the linger of an
 * idle one. SI_USER with no sender: nobody inside can make that up.
 */
static void wait_for_signal(struct keeper *k, uint64_t ms)
{
	const struct timespec timeout = { .tv_sec = (time_t)(ms / 1000),
					  .tv_nsec = (long)(ms % 1000) * 1000000 };
	siginfo_t info;
	sigset_t all;
	int sig;

	sigfillset(&all);
	sig = sigtimedwait(&all, &info, &timeout);
	k->poll_ms = sig > 0 ? POLL_MIN_MS : min_u64(k->poll_ms * 2, POLL_MAX_MS);
	if (sig < 0 || info.si_code != SI_USER || info.si_pid != 0)
		return;
	if (sig == SIGUSR1)
		k->hurry = true;
	if (sig == SIGTERM)
		ask_all(k);
}

void ws_pid1_run(void)
{
	struct keeper k = { .poll_ms = POLL_MIN_MS, .retry_ms = RETRY_MIN_MS };

	if (getpid() != 1)
		_exit(EXIT_FAILED);
	prepare();
	wait_for_go(&k);
	k.idle_since = ws_now_ms();
	ws_forget_startup();
	for (;;)
		wait_for_signal(&k, look(&k));
}
