/* SPDX-License-Identifier: Apache-2.0 */
#include "init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NUMBER_SIZE 24
#define TMPFS_BYTES_PER_INODE 4096
#define TMPFS_INODES_MIN 1024

int ws_confine_stdio(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (fd != i && dup2(fd, i) < 0)
			return -1;
	if (fd > 2)
		close(fd);
	return 0;
}

static const char *format_number(char out[NUMBER_SIZE], uint64_t n, unsigned base)
{
	char *at = out + NUMBER_SIZE - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + n % base);
		n /= base;
	} while (n);
	return at;
}

static int set_number(int fs, const char *key, uint64_t n, unsigned base)
{
	char text[NUMBER_SIZE];

	return fsconfig(fs, FSCONFIG_SET_STRING, key, format_number(text, n, base), 0);
}

static int make_tmpfs(mode_t mode, uint64_t size)
{
	uint64_t inodes = size / TMPFS_BYTES_PER_INODE;
	int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	int mnt = -1;

	if (fs < 0)
		return -1;
	if (inodes < TMPFS_INODES_MIN)
		inodes = TMPFS_INODES_MIN;
	if (fsconfig(fs, FSCONFIG_SET_STRING, "source", "tmpfs", 0) == 0 &&
	    set_number(fs, "size", size, 10) == 0 &&
	    set_number(fs, "nr_inodes", inodes, 10) == 0 &&
	    set_number(fs, "mode", mode, 8) == 0 &&
	    set_number(fs, "uid", geteuid(), 10) == 0 &&
	    set_number(fs, "gid", getegid(), 10) == 0 &&
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mnt = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	close(fs);
	return mnt;
}

/* By descriptors: PATH is where others can write, and a link there is not followed. */
static int mount_private(const char *path, mode_t mode, uint64_t size)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	int target, mnt, rc = -1;

	if (size == 0) { /* to tmpfs that would be: no limit */
		errno = EINVAL;
		return -1;
	}
	target = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (target < 0)
		return -1;
	mnt = make_tmpfs(mode, size);
	if (mnt >= 0) {
		rc = move_mount(mnt, "", target, "",
				MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
		close(mnt);
	}
	close(target);
	return rc;
}

static int mount_all(const struct ws_command *c)
{
	const struct ws_plan_head *h = &c->head;

	if (!(h->flags & (WS_PLAN_PRIVATE_HOME | WS_PLAN_PRIVATE_TMP)))
		return 0;
	if (unshare(CLONE_NEWNS) < 0)
		return -1;
	if (h->flags & WS_PLAN_PRIVATE_HOME &&
	    mount_private(c->home, 0700, h->tmpfs_size) < 0)
		return -1;
	if (h->flags & WS_PLAN_PRIVATE_TMP &&
	    mount_private("/tmp", 01777, h->tmpfs_size) < 0)
		return -1;
	return 0;
}

/* linux/landlock.h, which the build host may be too old for: ABI 6, Linux 6.12. */
struct landlock_scopes {
	uint64_t handled_fs, handled_net;
	uint64_t scoped;
};
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)

/* Nothing outside this domain is reached: no shepherd, no init, nobody on the host. */
static int scope(void)
{
	const struct landlock_scopes scopes = {
		.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL,
	};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &scopes, sizeof(scopes), 0);
	int rc;

	if (fd < 0)
		return -1;
	rc = (int)syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
	return rc;
}

/* All five sets. The bounding set first: it takes a capability to shrink it. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	unsigned long cap = 0;

	while (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0)
		if (prctl(PR_CAPBSET_DROP, cap++, 0, 0, 0) < 0)
			return -1;
	if (cap == 0 || errno != EINVAL)
		return -1;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_capset, &head, none);
}

int ws_confine_shepherd(const struct ws_command *c, enum ws_step *ret_step)
{
	umask(c->head.umask);
	*ret_step = WS_STEP_MOUNT;
	if (mount_all(c) < 0)
		return -1;
	*ret_step = WS_STEP_CONFINE;
	if (drop_capabilities() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/*
 * RLIMIT_CORE 1 means: no dump, not even into the host's handler. The payload can undo
 * it, so a hard limit of 0, which cannot be raised to 1, is no reason to refuse.
 */
static int set_rlimits(const struct ws_command *c)
{
	const struct rlimit core = { 1, 1 };

	for (uint32_t i = 0; i < c->head.nrlimits; i++) {
		const struct ws_rlimit *r = &c->rlimits[i];
		const struct rlimit limit = { r->soft, r->hard };

		if (setrlimit((int)r->resource, &limit) < 0)
			return -1;
	}
	return setrlimit(RLIMIT_CORE, &core) < 0 && errno != EPERM ? -1 : 0;
}

static int reset_signals(void)
{
	const struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		if (sigaction(sig, &action, NULL) < 0 && errno != EINVAL)
			return -1;
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

int ws_confine_command(const struct ws_command *c, pid_t shepherd, enum ws_step *ret_step)
{
	*ret_step = WS_STEP_RLIMIT;
	if (set_rlimits(c) < 0)
		return -1;
	*ret_step = WS_STEP_CONFINE;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -1;
	if (getppid() != shepherd) { /* it died before that */
		errno = ESRCH;
		return -1;
	}
	if (reset_signals() < 0)
		return -1;
	*ret_step = WS_STEP_SCOPE;
	if (c->head.flags & WS_PLAN_SCOPED && scope() < 0)
		return -1;
	*ret_step = WS_STEP_LABEL;
	return ws_label_set(c->label);
}

int ws_confine_filters(const struct ws_command *c)
{
	for (size_t i = 0; i < WS_PLAN_FILTERS_MAX; i++) {
		struct sock_fprog prog = {
			.len = (unsigned short)(c->head.filter_len[i] /
						sizeof(struct sock_filter)),
			.filter = c->filters[i],
		};

		if (prog.len &&
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) < 0)
			return -1;
	}
	return 0;
}
