/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a merge does to the files of a live session, through its own mounts. Done twice it
 * is the same. Every folder on the way is opened by itself, and no link is followed.
 */
#include "init/init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PATH_LEN_MAX (1u << 20) /* a tree may be deeper than PATH_MAX */
#define DEPTH_MAX 65536
#define DENTS 8192
#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static char path[PATH_LEN_MAX + 1];

static int check(int rc)
{
	if (rc < 0)
		ws_file_fail(WS_FILE_ERRNO);
	return rc;
}

/* ---- chunks ---- */

static void take(void *data, size_t len)
{
	static uint32_t left;
	char *at = data;

	while (len > 0) {
		size_t n;

		if (left == 0)
			ws_file_fill(&left, sizeof(left));
		if (left == 0)
			ws_file_fail(WS_FILE_CUT_OFF);
		n = left < len ? left : len;
		ws_file_fill(at, n);
		at += n;
		len -= n;
		left -= (uint32_t)n;
	}
}

/* ---- folders ---- */

/* One that its mode closes is opened by giving it another, which a MODE puts right. */
static int enter(int dir, const char *name)
{
	int fd = openat(dir, name, FOLDER);
	struct stat st;

	if (fd < 0 && errno == EACCES) {
		check(fchmodat(dir, name, 0700, 0));
		fd = openat(dir, name, FOLDER);
	}
	check(fd);
	check(fstat(fd, &st));
	if ((st.st_mode & 0700) != 0700)
		check(fchmod(fd, (st.st_mode & 07777) | 0700));
	return fd;
}

/* Where the last one was done, open: the next is often there, below, or just above. */
static struct {
	char folder[PATH_LEN_MAX + 1];
	size_t len;
	int fd; /* 0: nowhere yet */
} here;

/* What of PATH, a folder's, it is already in; the rest is to be walked. */
static char *start(int top, size_t len)
{
	size_t common = here.len;

	if (here.fd && here.len > len && memcmp(here.folder, path, len) == 0 &&
	    here.folder[len] == '/' &&
	    !memchr(here.folder + len + 1, '/', here.len - len - 1)) {
		int above = check(openat(here.fd, "..", FOLDER));

		close(here.fd);
		here.fd = above;
		return path + len;
	}
	if (here.fd && (common == len || (common < len && path[common] == '/')) &&
	    memcmp(here.folder, path, common) == 0)
		return path + common;
	if (here.fd)
		close(here.fd);
	here.fd = check(fcntl(top, F_DUPFD_CLOEXEC, 3));
	return path;
}

/* The folder in which PATH stands, which stays ours; its last part is *RET_NAME. */
static int go_to(int top, char **ret_name)
{
	char *last = strrchr(path, '/'), *end;
	size_t len = last ? (size_t)(last - path) : 0;

	*ret_name = last ? last + 1 : path;
	if (last)
		*last = '\0';
	for (char *name = start(top, len); last && *name; name = end) {
		char kept;
		int next;

		name += *name == '/';
		end = strchrnul(name, '/');
		kept = *end;
		*end = '\0';
		next = enter(here.fd, name);
		*end = kept;
		close(here.fd);
		here.fd = next;
	}
	memcpy(here.folder, path, len);
	here.len = len;
	if (!**ret_name || !strcmp(*ret_name, ".") || !strcmp(*ret_name, ".."))
		ws_file_fail(WS_FILE_OUTSIDE);
	return here.fd;
}

/* ---- what goes ---- */

/* Removes what it can; true with the name of a folder that has something in it. */
static bool is_kept(int fd, char below[NAME_MAX + 1])
{
	char dents[DENTS];
	ssize_t n;

	check((int)lseek(fd, 0, SEEK_SET));
	while ((n = getdents64(fd, dents, sizeof(dents))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(dents + at);

			at += d->d_reclen;
			if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
			    unlinkat(fd, d->d_name, 0) == 0 ||
			    unlinkat(fd, d->d_name, AT_REMOVEDIR) == 0)
				continue;
			if (errno != ENOTEMPTY)
				ws_file_fail(WS_FILE_ERRNO);
			snprintf(below, NAME_MAX + 1, "%s", d->d_name);
			return true;
		}
	check((int)n);
	return false;
}

static ino_t inode_of(int fd)
{
	struct stat st;

	check(fstat(fd, &st));
	return st.st_ino;
}

/* To the folder above FD; it is INODE still, since all commands are stopped. */
static int leave(int fd, ino_t inode)
{
	int above = check(openat(fd, "..", FOLDER));

	errno = EBUSY;
	if (inode_of(above) != inode)
		ws_file_fail(WS_FILE_ERRNO);
	close(fd);
	return above;
}

/* One folder is open at a time: it may be deeper than there are descriptors. */
static void remove_all(int dir, const char *name)
{
	static ino_t above[DEPTH_MAX];
	char below[NAME_MAX + 1];
	size_t depth = 0;
	bool kept;
	int at;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT || errno == ENOTDIR)
		return;
	if (errno != EISDIR && errno != EPERM)
		ws_file_fail(WS_FILE_ERRNO);
	at = enter(dir, name);
	while ((kept = is_kept(at, below)) || depth > 0) {
		int next;

		errno = ENAMETOOLONG;
		if (kept && depth == DEPTH_MAX)
			ws_file_fail(WS_FILE_ERRNO);
		if (!kept) {
			at = leave(at, above[--depth]);
			continue;
		}
		above[depth++] = inode_of(at);
		next = enter(at, below);
		close(at);
		at = next;
	}
	close(at);
	check(unlinkat(dir, name, AT_REMOVEDIR));
}

static bool is_folder(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* ---- what comes ---- */

static void put_folder(int dir, const char *name)
{
	if (is_folder(dir, name)) {
		close(enter(dir, name));
		return;
	}
	remove_all(dir, name);
	check(mkdirat(dir, name, 0700));
}

/* In its place at once: nobody runs, and who does it again begins anew. */
static void put_file(int dir, const char *name, const struct ws_file_lay *lay)
{
	static char block[65536];
	uint64_t left = lay->size;
	int fd;

	remove_all(dir, name);
	fd = check(openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
	while (left > 0) {
		size_t n = left < sizeof(block) ? (size_t)left : sizeof(block);

		take(block, n);
		errno = ENOSPC; /* of a write that was cut short */
		if (write(fd, block, n) != (ssize_t)n)
			ws_file_fail(WS_FILE_ERRNO);
		left -= n;
	}
	close(fd);
}

static void put_link(int dir, const char *name, const struct ws_file_lay *lay)
{
	char target[PATH_MAX];

	errno = ENAMETOOLONG;
	if (lay->size >= sizeof(target))
		ws_file_fail(WS_FILE_ERRNO);
	take(target, (size_t)lay->size);
	target[lay->size] = '\0';
	remove_all(dir, name);
	check(symlinkat(target, dir, name));
}

static void put_xattr(int dir, const char *name, const struct ws_file_lay *lay)
{
	static char bytes[XATTR_NAME_MAX + 1 + XATTR_SIZE_MAX + 1];
	size_t len;
	int fd;

	errno = E2BIG;
	if (lay->size >= sizeof(bytes))
		ws_file_fail(WS_FILE_ERRNO);
	take(bytes, (size_t)lay->size);
	bytes[lay->size] = '\0';
	len = strlen(bytes) + 1;
	errno = EINVAL;
	if (len > lay->size)
		ws_file_fail(WS_FILE_ERRNO);
	fd = check(openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	check(fsetxattr(fd, bytes, bytes + len, (size_t)lay->size - len, 0));
	close(fd);
}

static void put_mode(int dir, const char *name, mode_t mode)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
		ws_file_fail(WS_FILE_ERRNO);
	check(fchmodat(dir, name, mode & 07777, 0));
}

static void lay_one(int top, const struct ws_file_lay *lay)
{
	char *name;
	int dir;

	errno = ENAMETOOLONG;
	if (lay->path_len > PATH_LEN_MAX)
		ws_file_fail(WS_FILE_ERRNO);
	take(path, lay->path_len);
	path[lay->path_len] = '\0';
	dir = go_to(top, &name);
	switch (lay->kind) {
	case WS_LAY_GONE:
		remove_all(dir, name);
		break;
	case WS_LAY_FOLDER:
		put_folder(dir, name);
		break;
	case WS_LAY_FILE:
		put_file(dir, name, lay);
		break;
	case WS_LAY_LINK:
		put_link(dir, name, lay);
		break;
	case WS_LAY_XATTR:
		put_xattr(dir, name, lay);
		break;
	case WS_LAY_MODE:
		put_mode(dir, name, lay->mode);
		break;
	default:
		errno = EINVAL;
		ws_file_fail(WS_FILE_ERRNO);
	}
}

void ws_lay_run(int top)
{
	struct ws_file_lay lay;

	for (take(&lay, sizeof(lay)); lay.kind != WS_LAY_END; take(&lay, sizeof(lay)))
		lay_one(top, &lay);
	_exit(0);
}
