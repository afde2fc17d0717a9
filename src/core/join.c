/* SPDX-License-Identifier: Apache-2.0 */
#include "core/join.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/text.h"
#include "core/cgroup.h"
#include "core/keyring.h"
#include "init/protocol.h"

#define JOIN_TIMEOUT_MS 30000
#define SPARE_FD 10 /* above those that stage 2 is to have */
#define STAT_MAX 4096
#define ARG_START 48 /* fields of /proc/PID/stat: argv and environment, from and to */
#define ENV_END 51

/* How the joining process says what became of it. */
enum join_step {
	JOINED,
	CGROUP,
	KEYRING,
	PREPARE,
	FIND,
	SETNS,
	CAPABILITIES,
	FORK,
	EXEC
};

static const char *const step_names[] = {
	[KEYRING] = "take the sandbox's session keyring",
	[PREPARE] = "prepare for the sandbox",
	[FIND] = "find the sandbox's init",
	[SETNS] = "join the sandbox's namespaces",
	[CAPABILITIES] = "keep capabilities",
	[FORK] = "fork into the sandbox",
	[EXEC] = "run '" WS_INIT_PATH "'",
};

struct report {
	enum join_step step;
	int error;
	pid_t pid; /* with JOINED: stage 2 */
};

/* ---- the joining process: only exec or _exit ---- */

struct joiner {
	int control, report, pidfd, use;
	int exe;    /* what the sandbox's init runs */
	int cgroup; /* the cgroup.procs of the session's own, or -1 */
};

/* While its owner is root, because we are not dumpable, it cannot be opened. */
static int open_oom_score(void)
{
	static const char path[] = "/proc/self/oom_score_adj";
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 && errno == EACCES && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0)
		fd = open(path, O_RDWR | O_CLOEXEC);
	return fd;
}

static int raise_oom_score(void)
{
	WS_AUTO_CLOSE int fd = open_oom_score();
	char text[16] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return -1;
	if (strtol(text, NULL, 10) >= WS_JOIN_OOM_SCORE_ADJ)
		return 0;
	snprintf(text, sizeof(text), "%d", WS_JOIN_OOM_SCORE_ADJ);
	return write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

/* They can be read inside through /proc until the exec. This is the child's copy. */
static int wipe_argv(void)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	uint64_t at[ENV_END - ARG_START + 1];
	char *word, *rest = NULL;
	int field = 3;

	if (fd < 0 || ws_read_fd(fd, STAT_MAX, &text) < 0)
		return -1;
	word = strrchr(ws_buf_str(&text), ')');
	word = word ? strtok_r(word + 1, " ", &rest) : NULL;
	for (; word && field <= ENV_END; field++, word = strtok_r(NULL, " \n", &rest))
		if (field >= ARG_START &&
		    ws_text_u64(word, UINT64_MAX, &at[field - ARG_START]) < 0)
			return -1;
	if (field <= ENV_END || !at[0]) {
		errno = EIO;
		return -1;
	}
	for (int i = 0; i < 4; i += 2)
		for (volatile char *p = (char *)(uintptr_t)at[i];
		     (uintptr_t)p < at[i + 1]; p++)
			*p = '\0';
	return 0;
}

/* Stage 2 inherits 0-2 and its socket; the rest closes by its exec, the lease too. */
static int arrange_fds(struct joiner *j)
{
	int *const keep[] = { &j->control, &j->report, &j->pidfd, &j->use };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < WS_ARRAY_SIZE(keep); i++)
		if (*keep[i] >= 0 &&
		    (*keep[i] = fcntl(*keep[i], F_DUPFD_CLOEXEC, SPARE_FD)) < 0)
			return -1;
	if (null >= 0)
		null = fcntl(null, F_DUPFD_CLOEXEC, SPARE_FD);
	ws_fds_cloexec();
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return -1;
	return dup2(j->control, WS_ENTER_FD_CONTROL) < 0 ? -1 : 0;
}

static int prepare(struct joiner *j)
{
	if (raise_oom_score() < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    wipe_argv() < 0)
		return -1;
	return arrange_fds(j);
}

/*
 * The very file that PID 1 runs, on the sandbox's read-only mount: nothing that is done
 * to paths inside changes what we exec. Its PID was still its own after the open.
 */
static int find_init(const struct ws_sandbox *sb, struct joiner *j)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)sb->init.pid);
	j->exe = open(path, O_PATH | O_CLOEXEC);
	if (j->exe < 0)
		return -1;
	if (!ws_pidfd_gone(j->pidfd, 0))
		return 0;
	errno = ESRCH;
	return -1;
}

/*
 * Stage 2 needs them to take the bounding set away and to mount. They also keep everybody
 * inside, who has none, from tracing it while its exec has made it dumpable.
 */
static int keep_capabilities(void)
{
	static const unsigned long caps[] = { CAP_SETPCAP, CAP_SYS_ADMIN };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, sets) < 0)
		return -1;
	for (size_t i = 0; i < WS_ARRAY_SIZE(caps); i++)
		sets[CAP_TO_INDEX(caps[i])].inheritable |= CAP_TO_MASK(caps[i]);
	if (syscall(SYS_capset, &head, sets) < 0)
		return -1;
	for (size_t i = 0; i < WS_ARRAY_SIZE(caps); i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, caps[i], 0, 0) < 0)
			return -1;
	return 0;
}

static _Noreturn void tell(const struct joiner *j, enum join_step step, int error,
			   pid_t pid)
{
	const struct report r = { step, error, pid };

	_exit(write(j->report, &r, sizeof(r)) == sizeof(r) ? 0 : 1);
}

/* The whole way in. The fork is ours by CLONE_PARENT, so that it is the caller's child.
 */
static _Noreturn void join(const struct ws_sandbox *sb, struct joiner *j)
{
	static const char *const argv[] = { "wsiso-init", "enter", NULL };
	static const char *const env[] = { NULL };
	long pid;

	if (j->cgroup >= 0 && write(j->cgroup, "0", 1) != 1)
		tell(j, CGROUP, errno, 0);
	if (ws_keyring_join(sb->keyring) < 0)
		tell(j, KEYRING, errno, 0);
	if (prepare(j) < 0)
		tell(j, PREPARE, errno, 0);
	if (find_init(sb, j) < 0)
		tell(j, FIND, errno, 0);
	if (setns(j->pidfd, (int)sb->nsflags) < 0)
		tell(j, SETNS, errno, 0);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || keep_capabilities() < 0)
		tell(j, CAPABILITIES, errno, 0);
	pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
	if (pid < 0)
		tell(j, FORK, errno, 0);
	if (pid > 0)
		tell(j, JOINED, 0, (pid_t)pid);
	syscall(SYS_execveat, j->exe, "", argv, env, AT_EMPTY_PATH);
	tell(j, EXEC, errno, 0);
}

/* ---- the caller ---- */

/* No signal may end or stop what is half-way in; stage 2 inherits the mask. */
static pid_t fork_joiner(const struct ws_sandbox *sb, struct joiner *j)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		join(sb, j);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

static int wait_readable(int fd, uint64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do {
		uint64_t now = ws_clock_mono_ms();

		n = poll(&p, 1, now < deadline ? (int)(deadline - now) : 0);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		errno = ETIMEDOUT;
	return n > 0 ? 0 : -1;
}

/* Up to the EOF: JOINED and, if stage 2 could not be run, a second one. */
static int read_reports(int fd, struct report *ret)
{
	uint64_t deadline = ws_clock_mono_ms() + JOIN_TIMEOUT_MS;

	while (wait_readable(fd, deadline) == 0) {
		struct report r;
		ssize_t n = read(fd, &r, sizeof(r));

		if (n == 0)
			return 0;
		if (n != sizeof(r))
			continue;
		ret->step = r.step;
		ret->error = r.error;
		if (r.step == JOINED)
			ret->pid = r.pid;
	}
	return -1;
}

/* What the kernel says of a sandbox whose init has begun to die; seen on Linux 6.18. */
static bool means_ending(const struct report *r)
{
	if (r->step != FIND && r->step != SETNS && r->step != FORK)
		return false;
	return r->error == ESRCH || r->error == EPERM || r->error == ENOMEM ||
	       r->error == ENOENT || r->error == EACCES;
}

static int fail(const struct report *r, struct ws_err *err)
{
	errno = r->error;
	if (r->step == CGROUP)
		return ws_cgroup_closed(err);
	ws_fail_errno(err, "%s", step_names[r->step]);
	if (means_ending(r)) {
		err->kind = WS_SANDBOX_LOST;
		err->sys = ESRCH;
	} else if (r->step != FORK) {
		err->kind = WS_HOST_UNSUPPORTED;
	}
	return r->step == KEYRING && r->error == EDQUOT ? ws_keyring_hint(err) : -1;
}

int ws_join(const struct ws_sandbox *sb, int control, pid_t *ret_pid, struct ws_err *err)
{
	WS_AUTO_CLOSE int in = -1;
	WS_AUTO_CLOSE int out = -1;
	struct report report = { .step = PREPARE, .error = ECHILD };
	WS_AUTO_CLOSE int cgroup = -1;
	struct joiner j = { .control = control, .pidfd = sb->pidfd, .use = sb->use };
	pid_t joiner;
	int rc;

	if (ws_pipe(&in, &out) < 0)
		return ws_fail_errno(err, "make a pipe");
	if (sb->cgroup && ws_cgroup_open(sb->cgroup, &cgroup, err) < 0)
		return -1;
	j.report = out;
	j.cgroup = cgroup;
	joiner = fork_joiner(sb, &j);
	if (joiner < 0)
		return ws_fail_errno(err, "fork");
	ws_closep(&out);
	rc = read_reports(in, &report);
	if (rc < 0) {
		ws_fail_errno(err, "wait for the sandbox to let a command in");
		err->kind = WS_SANDBOX_LOST;
	} else if (report.step != JOINED) {
		rc = fail(&report, err);
	}
	ws_join_reap(joiner);
	if (rc < 0 && report.pid > 0)
		ws_join_reap(report.pid);
	else
		*ret_pid = report.pid;
	return rc;
}

void ws_join_reap(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	ws_wait(pid, &status);
}
