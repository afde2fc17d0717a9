/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_PROC_H
#define WS_BASE_PROC_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

#define WS_BOOT_ID_LEN 37

int ws_pidfd_open(pid_t pid); /* -1 and errno */
int ws_pidfd_signal(int pidfd, int sig);
/* Is the process of PIDFD gone (its namespace too, if it was an init)? Waits TIMEOUT_MS.
 */
bool ws_pidfd_gone(int pidfd, int timeout_ms);
/* Field 22 of /proc/PID/stat: start in clock ticks since boot. */
int ws_proc_start_time(pid_t pid, uint64_t *ret);
/* /proc/sys/kernel/random/boot_id; a constant of this boot. "" if unreadable. */
const char *ws_boot_id(void);

/*
 * A process as a record keeps it: good only in one boot, and only while the start
 * time agrees. ws_proc_open: pidfd first, then the comparison, so that a reused PID is
 * never taken for the old one. Returns a pidfd, or -1 with errno ESRCH.
 */
struct ws_proc_id {
	pid_t pid;
	uint64_t start;
	char boot[WS_BOOT_ID_LEN];
};

int ws_proc_identify(pid_t pid, struct ws_proc_id *ret);
int ws_proc_open(const struct ws_proc_id *id);

/* Every descriptor from 3 on becomes CLOEXEC. */
void ws_fds_cloexec(void);

/*
 * Run a program and wait. FDS maps: child descriptor number TO is a copy of FROM;
 * 0-2 not named are /dev/null; nothing else is inherited. ENV is the whole
 * environment. At TIMEOUT_MS (0: none) the program is killed and the error's kind is
 * timeout. *ret_status: the exit status, or 128 + the signal.
 */
struct ws_fdmap {
	int from, to;
};

struct ws_spawn {
	char *const *argv; /* argv[0] is an absolute path */
	char *const *env;
	const struct ws_fdmap *fds;
	size_t nfds;
	bool new_session; /* setsid */
	uint64_t timeout_ms;
};

int ws_spawn(const struct ws_spawn *s, pid_t *ret_pid, struct ws_err *err);
int ws_wait(pid_t pid, int *ret_status); /* EINTR handled; -1 and errno */
int ws_run(const struct ws_spawn *s, int *ret_status, struct ws_err *err);
/*
 * As ws_run, with stdout appended to OUT (at most MAX bytes: io error beyond) and
 * stderr to ERRTEXT (its first 64 KiB, the rest read and dropped); either may be NULL.
 */
int ws_run_capture(const struct ws_spawn *s, size_t max, struct ws_buf *out,
		   struct ws_buf *errtext, int *ret_status, struct ws_err *err);

#endif
