/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/cgroup.h"
#include "core/sandbox_record.h"

#define DEATH_TIMEOUT_MS 10000

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
		return 0;
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
