/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/text.h"
#include "core/cgroup.h"
#include "core/sandbox_record.h"

#define DEATH_TIMEOUT_MS 10000
#define LEASE_TIMEOUT_MS 1000 /* bwrap and init have it until the kernel is done */

int ws_sandbox_peek(const struct ws_session *s, struct ws_sandbox *ret,
		    struct ws_err *err)
{
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	int rc = ws_sandbox_record_load(s, &sb, err);

	*ret = WS_SANDBOX_INIT;
	if (rc <= 0)
		return rc;
	sb.pidfd = ws_proc_open(&sb.init);
	if (sb.pidfd < 0)
		return errno == ESRCH
			       ? 0
			       : ws_fail_errno(err, "find the sandbox of '%s'", s->id);
	if (ws_pidfd_gone(sb.pidfd, 0))
		return 0;
	*ret = sb;
	sb = WS_SANDBOX_INIT;
	return 1;
}

void ws_sandbox_kill(const struct ws_sandbox *sb)
{
	if (sb->pidfd < 0)
		return;
	ws_pidfd_signal(sb->pidfd, SIGKILL);
	ws_cgroup_kill(sb->cgroup); /* also who is on his way in */
	ws_pidfd_gone(sb->pidfd, DEATH_TIMEOUT_MS);
}

/* TERM to init from outside is TERM to everybody; then they have GRACE_MS. */
static void ask_to_end(const struct ws_sandbox *sb, uint64_t grace_ms)
{
	uint64_t deadline = ws_clock_mono_ms() + grace_ms;

	if (ws_sandbox_idle(sb) || grace_ms == 0)
		return;
	ws_pidfd_signal(sb->pidfd, SIGTERM);
	while (ws_clock_mono_ms() < deadline && !ws_sandbox_idle(sb))
		if (ws_pidfd_gone(sb->pidfd, 10))
			return;
}

/* The cgroup of a sandbox that is gone. A record of an earlier boot names nothing. */
void ws_sandbox_clear_up(const struct ws_session *s)
{
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	struct ws_err err = WS_ERR_INIT;

	if (ws_sandbox_record_load(s, &sb, &err) > 0 && sb.cgroup)
		ws_cgroup_remove(sb.cgroup);
}

/* ---- the lease ---- */

/*
 * A bwrap killed between its clone and its set-up leaves a child that waits for ever and
 * holds the lease. It is told by both: the lease's file among its descriptors, and its
 * program. Anything else that holds the lease is on its way in or out, and is waited for.
 */
static bool holds(int proc, const char *pid, const struct stat *use)
{
	WS_AUTO_FREE char *path = ws_format("%s/fd", pid);
	int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	struct stat st;
	bool found = false;

	if (!d)
		return false;
	while (!found && (e = readdir(d)))
		found = fstatat(dirfd(d), e->d_name, &st, 0) == 0 &&
			st.st_ino == use->st_ino && st.st_dev == use->st_dev;
	closedir(d);
	return found;
}

static bool is_bwrap(int proc, const char *pid)
{
	WS_AUTO_FREE char *path = ws_format("%s/exe", pid);
	char exe[512];
	ssize_t n = readlinkat(proc, path, exe, sizeof(exe) - 1);

	if (n < 0)
		return false;
	exe[n] = '\0';
	return ws_text_ends(exe, "/bwrap") || ws_text_ends(exe, "/bwrap (deleted)");
}

void ws_sandbox_kill_strays(const struct ws_session *s)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	struct stat use;

	if (!d)
		return;
	if (fstatat(s->dir, WS_SANDBOX_LEASE, &use, AT_SYMLINK_NOFOLLOW) == 0)
		while ((e = readdir(d))) {
			uint64_t pid;

			if (ws_text_u64(e->d_name, INT32_MAX, &pid) < 0 ||
			    !is_bwrap(dirfd(d), e->d_name) ||
			    !holds(dirfd(d), e->d_name, &use))
				continue;
			ws_warn("session '%s': ending process %d, left over by a bwrap that was killed",
				s->id, (int)pid);
			kill((pid_t)pid, SIGKILL);
		}
	closedir(d);
}

/*
 * Who holds the lease lives, whatever the record says: that may be lost, or another
 * host's, whose processes cannot be seen from here.
 */
int ws_sandbox_check_lease(const struct ws_session *s, struct ws_err *err)
{
	uint64_t deadline = ws_clock_mono_ms() + LEASE_TIMEOUT_MS;
	WS_AUTO_CLOSE int use =
		openat(s->dir, WS_SANDBOX_LEASE, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	bool strays_killed = false;

	if (use < 0)
		return errno == ENOENT
			       ? 0
			       : ws_fail_errno(err, "open the lease of session '%s'",
					       s->id);
	while (ws_lock_try(use, true) < 0) {
		if (ws_clock_mono_ms() < deadline) {
			ws_clock_sleep_ms(2);
		} else if (!strays_killed) {
			ws_sandbox_kill_strays(s);
			strays_killed = true;
			deadline += LEASE_TIMEOUT_MS;
		} else {
			ws_fail(err, WS_SESSION_BUSY,
				"session '%s' is held by a sandbox that no record here "
				"names",
				s->id);
			return ws_hint(
				err,
				"another host may have it: wsiso stop %s there ends it",
				s->id);
		}
	}
	return 0;
}

/* ---- the end ---- */

int ws_sandbox_end(const struct ws_session *s, uint64_t grace_ms, struct ws_err *err)
{
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	int live = ws_sandbox_peek(s, &sb, err);

	if (live < 0)
		return -1;
	if (live > 0) {
		ask_to_end(&sb, grace_ms);
		ws_sandbox_kill(&sb);
	}
	if (live == 0 || ws_pidfd_gone(sb.pidfd, 0)) {
		ws_sandbox_clear_up(s);
		return ws_sandbox_check_lease(s, err);
	}
	return ws_fail(err, WS_TIMEOUT,
		       "the sandbox of session '%s' does not die (process %d)", s->id,
		       (int)sb.init.pid);
}

/* The inode of a PID namespace as /proc/PID/ns/pid names it: "pid:[4026531836]". */
static int pid_namespace(int proc, const char *pid, char *out, size_t size)
{
	WS_AUTO_FREE char *path = ws_format("%s/ns/pid", pid);
	ssize_t n = readlinkat(proc, path, out, size - 1);

	if (n < 0)
		return -1;
	out[n] = '\0';
	return 0;
}

int ws_sandbox_pids(const struct ws_sandbox *sb, pid_t **ret, size_t *ret_n,
		    struct ws_err *err)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	char ours[64], other[64], init[16];

	*ret = NULL;
	*ret_n = 0;
	snprintf(init, sizeof(init), "%d", (int)sb->init.pid);
	if (!d)
		return ws_fail_errno(err, "read /proc");
	if (pid_namespace(dirfd(d), init, ours, sizeof(ours)) < 0) {
		closedir(d);
		return 0; /* it is gone */
	}
	while ((e = readdir(d))) {
		uint64_t pid;

		if (ws_text_u64(e->d_name, INT32_MAX, &pid) < 0 ||
		    pid_namespace(dirfd(d), e->d_name, other, sizeof(other)) < 0 ||
		    strcmp(ours, other) != 0)
			continue;
		*ret = ws_grow(*ret, *ret_n + 1, sizeof(**ret));
		(*ret)[(*ret_n)++] = (pid_t)pid;
	}
	closedir(d);
	return 0;
}

bool ws_sandbox_idle(const struct ws_sandbox *sb)
{
	struct ws_err err = WS_ERR_INIT;
	WS_AUTO_FREE pid_t *pids = NULL;
	size_t n;

	return ws_sandbox_pids(sb, &pids, &n, &err) == 0 && n <= 1;
}
