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
#include <unistd.h>

#define PATH_LEN_MAX (1u << 20) /* a tree may be deeper than PATH_MAX */
#define DENTS 8192
#define STAGED ".wsiso-merge" /* one name: who does it again finds what was left */
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

/* The folder in which PATH stands; its last part is *RET_NAME. */
static int go_to(int top, char **ret_name)
{
	int at = check(fcntl(top, F_DUPFD_CLOEXEC, 3));
	char *name = path, *slash;

	for (; (slash = strchr(name, '/')); name = slash + 1) {
		int next;

		*slash = '\0';
		next = enter(at, name);
		close(at);
		at = next;
	}
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		ws_file_fail(WS_FILE_OUTSIDE);
	*ret_name = name;
	return at;
}

/* ---- what goes ---- */

static void remove_all(int dir, const char *name);

/* Once: what is in the folder by now. */
static void empty(int fd)
{
	char dents[DENTS];
	ssize_t n;

	while ((n = getdents64(fd, dents, sizeof(dents))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(dents + at);

			at += d->d_reclen;
			if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
				remove_all(fd, d->d_name);
		}
	check((int)n);
}

/* A level is 8 KiB of stack and a descriptor; deeper than those reach it fails. */
static void remove_all(int dir, const char *name)
{
	int fd;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT || errno == ENOTDIR)
		return;
	if (errno != EISDIR && errno != EPERM)
		ws_file_fail(WS_FILE_ERRNO);
	fd = enter(dir, name);
	empty(fd);
	close(fd);
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		ws_file_fail(WS_FILE_ERRNO);
}

static bool is_folder(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* ---- what comes ---- */

static void put_folder(int dir, const char *name)
{
	if (is_folder(dir, name))
		return;
	remove_all(dir, name);
	check(mkdirat(dir, name, 0700));
}

static void put_file(int dir, const char *name, const struct ws_file_lay *lay)
{
	static char block[65536];
	uint64_t left = lay->size;
	int fd;

	remove_all(dir, STAGED);
	fd = check(openat(dir, STAGED, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));

	while (left > 0) {
		size_t n = left < sizeof(block) ? (size_t)left : sizeof(block);

		take(block, n);
		errno = ENOSPC; /* of a write that was cut short */
		if (write(fd, block, n) != (ssize_t)n)
			ws_file_fail(WS_FILE_ERRNO);
		left -= n;
	}
	check(fchmod(fd, lay->mode & 07777));
	if (is_folder(dir, name))
		remove_all(dir, name);
	check(renameat(dir, STAGED, dir, name));
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
	case WS_LAY_MODE:
		put_mode(dir, name, lay->mode);
		break;
	default:
		errno = EINVAL;
		ws_file_fail(WS_FILE_ERRNO);
	}
	close(dir);
}

void ws_lay_run(int top)
{
	struct ws_file_lay lay;

	for (take(&lay, sizeof(lay)); lay.kind != WS_LAY_END; take(&lay, sizeof(lay)))
		lay_one(top, &lay);
	_exit(0);
}
