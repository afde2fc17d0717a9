/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/text.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

int ws_open_beneath(int dir, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = flags & (O_CREAT | __O_TMPFILE) ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	/* EAGAIN: something was renamed while ".." was followed */
	do
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return (int)fd;
}

int ws_open_dir(int dir, const char *path)
{
	return ws_open_beneath(dir, path, O_RDONLY | O_DIRECTORY, 0);
}

int ws_read_file(int dir, const char *path, size_t max, struct ws_buf *buf)
{
	WS_AUTO_CLOSE int fd =
		ws_open_beneath(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	if (st.st_size > 0 && (uint64_t)st.st_size > max) {
		errno = EFBIG;
		return -1;
	}
	ws_buf_reserve(buf, (size_t)st.st_size + 1);
	return ws_read_fd(fd, max, buf);
}

int ws_read_fd(int fd, size_t max, struct ws_buf *buf)
{
	size_t left = max;

	for (;;) {
		size_t want = left < 65536 ? left + 1 : 65536;
		ssize_t n;

		if (buf->cap - buf->len < 2 || buf->cap - buf->len - 1 < want)
			ws_buf_reserve(buf, want < 4096 ? want : 4096);
		if (want > buf->cap - buf->len - 1)
			want = buf->cap - buf->len - 1;
		n = read(fd, buf->data + buf->len, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			buf->data[buf->len] = '\0';
			return (int)n;
		}
		if ((size_t)n > left) {
			buf->data[buf->len] = '\0';
			errno = EFBIG;
			return -1;
		}
		left -= (size_t)n;
		buf->len += (size_t)n;
	}
}

int ws_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* DIR may be an O_PATH descriptor, which fsync(2) refuses. */
static int sync_dir(int dir)
{
	WS_AUTO_CLOSE int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : fsync(fd);
}

static int write_new(int dir, const char *tmp, const struct ws_buf *buf,
		     struct ws_unsynced *before)
{
	WS_AUTO_CLOSE int fd =
		openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);

	if (fd < 0 || ws_write_all(fd, buf->data, buf->len) < 0)
		return -1;
	if (!before)
		return 0;
	ws_unsynced_take(before, &fd);
	return ws_unsynced_settle(before);
}

int ws_write_after(int dir, const char *name, const struct ws_buf *buf,
		   struct ws_unsynced *before, struct ws_err *err)
{
	char tmp[sizeof(WS_TMP_PREFIX) + 32] = WS_TMP_PREFIX;
	int rc;

	ws_text_random(tmp + strlen(WS_TMP_PREFIX), 16);
	rc = write_new(dir, tmp, buf, before);
	if (rc == 0)
		rc = renameat(dir, tmp, dir, name);
	if (rc < 0) {
		ws_fail_errno(err, "write '%s'", name);
		unlinkat(dir, tmp, 0);
		return -1;
	}
	if (before && sync_dir(dir) < 0)
		return ws_fail_errno(err, "sync the folder of '%s'", name);
	return 0;
}

int ws_write_atomic(int dir, const char *name, const struct ws_buf *buf, bool sync,
		    struct ws_err *err)
{
	WS_AUTO(ws_unsynced) struct ws_unsynced only = WS_UNSYNCED_INIT;

	return ws_write_after(dir, name, buf, sync ? &only : NULL, err);
}

int ws_mkdir(int dir, const char *name, mode_t mode)
{
	struct stat st;

	if (mkdirat(dir, name, mode) == 0)
		return 0;
	if (errno != EEXIST || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		return 0;
	errno = ENOTDIR;
	return -1;
}

/* One component: *at becomes a descriptor of it. */
static int step_into(int *at, const char *name, mode_t mode)
{
	int next;

	if (ws_mkdir(*at, name, mode) < 0)
		return -1;
	next = openat(*at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return -1;
	close(*at);
	*at = next;
	return 0;
}

int ws_mkdirs(int dir, const char *path, mode_t mode)
{
	WS_AUTO_FREE char *copy = ws_strdup(path);
	WS_AUTO_CLOSE int at = -1;
	char *save = NULL;

	if (path[0] == '/') {
		errno = EXDEV;
		return -1;
	}
	at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -1;
	for (char *c = strtok_r(copy, "/", &save); c; c = strtok_r(NULL, "/", &save)) {
		if (strcmp(c, ".") == 0)
			continue;
		if (strcmp(c, "..") == 0) {
			errno = EXDEV;
			return -1;
		}
		if (step_into(&at, c, mode) < 0)
			return -1;
	}
	return 0;
}

int ws_dir_list(int dir, const char *name, struct ws_strv *ret, struct ws_err *err)
{
	int fd = ws_open_dir(dir, name);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		ws_closep(&fd);
		return errno == ENOENT ? 0 : ws_fail_errno(err, "read '%s'", name);
	}
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			ws_strv_push(ret, e->d_name);
	closedir(d);
	return 0;
}

bool ws_dir_is_empty(int dir, const char *name, int depth)
{
	int fd = ws_open_dir(dir, name);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool empty = true;

	if (!d) {
		ws_closep(&fd);
		return errno == ENOENT;
	}
	while (empty && (e = readdir(d)))
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
			(depth > 0 && ws_dir_is_empty(dirfd(d), e->d_name, depth - 1));
	closedir(d);
	return empty;
}

int ws_fs_free(int fd, uint64_t *ret)
{
	struct statvfs st;

	if (fstatvfs(fd, &st) < 0)
		return -1;
	*ret = (uint64_t)st.f_bavail * st.f_frsize;
	return 0;
}

/* Numbers from linux/magic.h, and of filesystems that keep theirs to themselves. */
static const struct {
	uint32_t magic;
	const char *name;
} fs_types[] = {
	{ 0xef53, "ext4" },	   { 0x58465342, "xfs" },      { 0x9123683e, "btrfs" },
	{ 0x01021994, "tmpfs" },   { 0x794c7630, "overlay" },  { 0x6969, "nfs" },
	{ 0xf2f52010, "f2fs" },	   { 0x2fc12fc1, "zfs" },      { 0xca451a4e, "bcachefs" },
	{ 0x65735546, "fuse" },	   { 0x73717368, "squashfs" }, { 0x4d44, "vfat" },
	{ 0x2011bab0, "exfat" },   { 0x01021997, "9p" },       { 0x6a656a63, "virtiofs" },
	{ 0xff534d42, "cifs" },	   { 0xfe534d42, "smb2" },     { 0x00c36400, "ceph" },
	{ 0x858458f6, "ramfs" },   { 0x9660, "iso9660" },      { 0xe0f5e1e2, "erofs" },
	{ 0xf15f, "ecryptfs" },	   { 0x9fa0, "proc" },	       { 0x62656572, "sysfs" },
	{ 0x63677270, "cgroup2" }, { 0x5346544e, "ntfs" },     { 0x3153464a, "jfs" },
};

const char *ws_fs_type(int fd, char buf[32])
{
	struct statfs st;

	if (fstatfs(fd, &st) < 0) {
		snprintf(buf, 32, "unknown");
		return buf;
	}
	for (size_t i = 0; i < WS_ARRAY_SIZE(fs_types); i++)
		if (fs_types[i].magic == (uint32_t)st.f_type)
			return fs_types[i].name;
	snprintf(buf, 32, "0x%08x", (uint32_t)st.f_type);
	return buf;
}

int ws_memfd(const char *name, const void *data, size_t len)
{
	/* hosts with vm.memfd_noexec=2 allow no other; kernels before 6.3 do not know it
	 */
	WS_AUTO_CLOSE int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0 || ws_write_all(fd, data, len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return ws_steal_fd(&fd);
}

char *ws_realpath(const char *path)
{
	return realpath(path, NULL);
}

int ws_pipe(int *ret_read, int *ret_write)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*ret_read = ends[0];
	*ret_write = ends[1];
	return 0;
}
