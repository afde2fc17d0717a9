/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mounts.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/text.h"
#include "core/mount_table.h"

#define MOUNTINFO_MAX (16u << 20)
#define TMPFS_BYTES_PER_INODE 4096 /* as for the tmpfs of a command: init/confine.c */
#define TMPFS_INODES_MIN 1024

/*
 * bwrap sets a size, which counts no inodes: by default they may take as many as half of
 * the memory has pages.
 */
static int bound_inodes(const struct ws_mount *m)
{
	uint64_t inodes = m->size / TMPFS_BYTES_PER_INODE;
	char text[24];
	int fs = fspick(AT_FDCWD, m->target, FSPICK_CLOEXEC | FSPICK_SYMLINK_NOFOLLOW);
	int rc;

	if (fs < 0)
		return -1;
	snprintf(text, sizeof(text), "%ju",
		 (uintmax_t)(inodes > TMPFS_INODES_MIN ? inodes : TMPFS_INODES_MIN));
	rc = fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", text, 0) < 0
		     ? -1
		     : fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
	close(fs);
	return rc;
}

/* In a child of its own: it joins INIT's mount namespace for good. Returns an errno. */
static int go_inside(pid_t init)
{
	char path[64];
	int mnt, owner;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)init);
	mnt = open(path, O_RDONLY | O_CLOEXEC);
	if (mnt < 0)
		return errno;
	owner = ioctl(mnt, NS_GET_USERNS);
	if (owner < 0 || setns(owner, CLONE_NEWUSER) < 0 || setns(mnt, CLONE_NEWNS) < 0)
		return errno;
	return 0;
}

static int cut_inside(pid_t init, const struct ws_plan *plan)
{
	int error = go_inside(init);

	if (error)
		return error;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return errno;
	for (size_t i = 0; i < plan->nmounts; i++)
		if (plan->mounts[i].kind == WS_MOUNT_TMPFS &&
		    bound_inodes(&plan->mounts[i]) < 0)
			return errno;
	return 0;
}

int ws_mounts_cut(pid_t init, const struct ws_plan *plan, struct ws_err *err)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(cut_inside(init, plan));
	if (pid < 0 || ws_wait(pid, &status) < 0)
		return ws_fail_errno(err, "cut the sandbox's mounts off the host's");
	if (status == 0)
		return 0;
	errno = status;
	ws_fail_errno(err, "cut the sandbox's mounts off the host's");
	err->kind = WS_HOST_UNSUPPORTED;
	return -1;
}

/* Does TARGET inside lead to the mount ID? It may be covered, or behind a closed door. */
static int look_inside(pid_t init, const char *target, uint64_t id)
{
	struct statx st = { 0 };

	if (go_inside(init) != 0)
		return 1;
	if (statx(AT_FDCWD, target,
		  AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		  STATX_MNT_ID, &st) < 0)
		return errno != EACCES && errno != ENOENT && errno != ENOTDIR;
	return !(st.stx_mask & STATX_MNT_ID) || st.stx_mnt_id == id;
}

/*
 * bwrap passes over a mount that its user cannot get to (another user's FUSE), and what
 * lies below a folder it has covered is listed still. Nobody inside gets there either.
 */
static bool is_within_reach(pid_t init, const struct ws_mount_entry *m)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(look_inside(init, m->target, m->id));
	return pid < 0 || ws_wait(pid, &status) < 0 || status != 0;
}

static bool is_read_only(const struct ws_mount_entry *m)
{
	return ws_text_starts(m->options, "ro,") || !strcmp(m->options, "ro");
}

int ws_mounts_verify(pid_t init, const struct ws_strv *writable, struct ws_err *err)
{
	WS_AUTO(ws_mount_table) struct ws_mount_table t = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)init);
	if (ws_mount_table_read(path, &t, err) < 0)
		return -1;
	if (!t.n)
		return ws_fail(err, WS_INTERNAL, "the sandbox has no mounts");
	for (size_t i = 0; i < t.n; i++)
		if (!is_read_only(&t.v[i]) && !ws_strv_has(writable, t.v[i].target) &&
		    is_within_reach(init, &t.v[i]))
			return ws_fail(err, WS_HOST_UNSUPPORTED,
				       "'%s' would be writable in the sandbox",
				       t.v[i].target);
	return 0;
}

int ws_mounts_below(const char *path, char **ret, struct ws_err *err)
{
	WS_AUTO(ws_mount_table) struct ws_mount_table t = { 0 };

	if (ws_mount_table_read("/proc/self/mountinfo", &t, err) < 0)
		return -1;
	for (size_t i = 0; i < t.n; i++) {
		const char *rest = ws_path_below(t.v[i].target, path);

		if (!rest || !*rest)
			continue;
		*ret = ws_strdup(t.v[i].target);
		return 1;
	}
	return 0;
}
