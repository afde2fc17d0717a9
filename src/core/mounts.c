/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mounts.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"
#include "base/text.h"

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

/* In a child of its own: it joins INIT's mount namespace for good. */
static int cut_inside(pid_t init, const struct ws_plan *plan)
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

/* Octal escapes of mountinfo (proc(5)): \040 is a blank. */
static char *unescape(const char *s, size_t len)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\\' && i + 3 < len && strspn(s + i + 1, "01234567") >= 3) {
			ws_buf_addch(&out,
				     (char)((s[i + 1] - '0') << 6 |
					    (s[i + 2] - '0') << 3 | (s[i + 3] - '0')));
			i += 3;
		} else {
			ws_buf_addch(&out, s[i]);
		}
	}
	return ws_buf_steal(&out);
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime ..." to mount point and options. */
static int parse_line(const char *line, char **ret_target, char **ret_options)
{
	const char *field[7];

	field[0] = line;
	for (int i = 1; i < 7; i++) {
		const char *blank = strchr(field[i - 1], ' ');

		if (!blank)
			return -1;
		field[i] = blank + 1;
	}
	*ret_target = unescape(field[4], (size_t)(field[5] - field[4] - 1));
	*ret_options = ws_strndup(field[5], (size_t)(field[6] - field[5] - 1));
	return 0;
}

static int read_mountinfo(const char *path, struct ws_buf *text, struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || ws_read_fd(fd, MOUNTINFO_MAX, text) < 0)
		return ws_fail_errno(err, "read '%s'", path);
	return 0;
}

static int verify_line(const char *line, const struct ws_strv *writable,
		       struct ws_err *err)
{
	WS_AUTO_FREE char *target = NULL;
	WS_AUTO_FREE char *options = NULL;

	if (parse_line(line, &target, &options) < 0)
		return ws_fail(err, WS_INTERNAL,
			       "the sandbox's mountinfo cannot be read");
	if (ws_text_starts(options, "ro,") || !strcmp(options, "ro") ||
	    ws_strv_has(writable, target))
		return 0;
	return ws_fail(err, WS_HOST_UNSUPPORTED, "'%s' would be writable in the sandbox",
		       target);
}

int ws_mounts_verify(pid_t init, const struct ws_strv *writable, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	char path[64];
	char *rest = NULL;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)init);
	if (read_mountinfo(path, &text, err) < 0)
		return -1;
	if (!text.len)
		return ws_fail(err, WS_INTERNAL, "the sandbox has no mounts");
	for (char *l = strtok_r(text.data, "\n", &rest); l;
	     l = strtok_r(NULL, "\n", &rest))
		if (verify_line(l, writable, err) < 0)
			return -1;
	return 0;
}

int ws_mounts_below(const char *path, char **ret, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_FREE char *prefix = ws_format("%s/", strcmp(path, "/") ? path : "");
	char *rest = NULL;

	if (read_mountinfo("/proc/self/mountinfo", &text, err) < 0)
		return -1;
	if (!text.len)
		return 0;
	for (char *l = strtok_r(text.data, "\n", &rest); l;
	     l = strtok_r(NULL, "\n", &rest)) {
		WS_AUTO_FREE char *target = NULL;
		WS_AUTO_FREE char *options = NULL;

		if (parse_line(l, &target, &options) == 0 &&
		    ws_text_starts(target, prefix) && target[strlen(prefix)]) {
			*ret = ws_steal_ptr(&target);
			return 1;
		}
	}
	return 0;
}
