/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command like any other, confined like any other, so that nothing is in reach that a
 * command of the session does not reach by itself. Links are followed as the session
 * sees them. What is opened must lie on one of the mounts that are the session's own;
 * it is looked at before it is opened, by a descriptor that opens nothing (O_PATH).
 */
#include "init/init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40
#define BLOCK 65536
#define KEPT_MODE 0777u
#define DEFAULT_FOLDER 0777

static char block[BLOCK];
static const char *home;

/* The new file has a name of its own already, which must not stay. */
static struct {
	int dir;
	char name[40];
	bool there;
} staged;

_Noreturn void ws_file_fail(enum ws_file_problem problem)
{
	const struct ws_file_failed f = { .problem = problem, .error = errno };

	if (staged.there)
		unlinkat(staged.dir, staged.name, 0);
	_exit(write(STDERR_FILENO, &f, sizeof(f)) == sizeof(f) ? WS_FILE_STATUS : 1);
}

static int check(int rc)
{
	if (rc < 0)
		ws_file_fail(WS_FILE_ERRNO);
	return rc;
}

static void put(const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			_exit(1); /* nobody listens */
		at += n;
		len -= (size_t)n;
	}
}

/* ---- where ---- */

static uint64_t mount_of(int dir, const char *path, int flags)
{
	struct statx st;

	if (statx(dir, path, flags, STATX_MNT_ID, &st) < 0 ||
	    !(st.stx_mask & STATX_MNT_ID))
		return 0;
	return st.stx_mnt_id;
}

/* A repo that is live has a mount of its own in /workspace, which then is read-only. */
static bool is_live_repo(int fd, uint64_t mount)
{
	static const char top[] = "/workspace/";
	char path[40], place[sizeof(top) + NAME_MAX];
	struct stat st, workspace;
	ssize_t n;

	if (fstat(fd, &st) == 0 &&
	    fstatat(AT_FDCWD, "/workspace", &workspace, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == workspace.st_dev && st.st_ino == workspace.st_ino)
		return true;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, place, sizeof(place) - 1);
	if (n < 0)
		return false;
	place[n] = '\0';
	if (strncmp(place, top, strlen(top)) != 0)
		return false;
	place[strlen(top) + strcspn(place + strlen(top), "/")] = '\0';
	return mount == mount_of(AT_FDCWD, place, AT_SYMLINK_NOFOLLOW);
}

/* A folder that is not kept is no mount of its own, but a part of the root. */
static void check_place(int fd)
{
	const char *const kept[] = { "/workspace", home, "/tmp" };
	uint64_t mount = mount_of(fd, "", AT_EMPTY_PATH);

	if (mount && mount != mount_of(AT_FDCWD, "/", 0))
		for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
			if (mount_of(AT_FDCWD, kept[i], AT_SYMLINK_NOFOLLOW) == mount)
				return;
	if (mount && is_live_repo(fd, mount))
		return;
	ws_file_fail(WS_FILE_OUTSIDE);
}

/* The very file that FD names. */
static int open_again(int fd, int flags)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return check(open(path, flags | O_NOCTTY | O_CLOEXEC));
}

/* PATH itself, whatever it is, without opening it. */
static int hold(const char *path, struct stat *st)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == ELOOP)) /* a link to nowhere */
		fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	check(fd);
	check_place(fd);
	check(fstat(fd, st));
	return fd;
}

static void check_regular(mode_t mode)
{
	errno = S_ISLNK(mode) ? ENOENT : 0;
	if (S_ISLNK(mode))
		ws_file_fail(WS_FILE_ERRNO);
	if (S_ISDIR(mode))
		ws_file_fail(WS_FILE_FOLDER);
	if (!S_ISREG(mode))
		ws_file_fail(WS_FILE_SPECIAL);
}

/* ---- read and list ---- */

static uint64_t ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static struct ws_file_entry describe(const struct stat *st)
{
	return (struct ws_file_entry){ .mode = st->st_mode,
				       .ino = st->st_ino,
				       .size = (uint64_t)st->st_size,
				       .mtime_ns = ns(&st->st_mtim),
				       .ctime_ns = ns(&st->st_ctim) };
}

static void put_entry(const struct stat *st, const char *name, int dir,
		      const char *link_name)
{
	struct ws_file_entry e = describe(st);
	static char target[PATH_MAX];
	ssize_t n = S_ISLNK(st->st_mode)
			    ? readlinkat(dir, link_name, target, sizeof(target))
			    : 0;

	e.name_len = (uint32_t)strlen(name);
	e.target_len = n > 0 ? (uint32_t)n : 0;
	put(&e, sizeof(e));
	put(name, e.name_len);
	put(target, e.target_len);
}

static void read_file(const char *path)
{
	struct stat st;
	int held = hold(path, &st), fd;
	ssize_t n;

	check_regular(st.st_mode);
	fd = open_again(held, O_RDONLY | O_NONBLOCK);
	check(fstat(fd, &st));
	put_entry(&st, "", -1, NULL);
	while ((n = check((int)read(fd, block, sizeof(block)))) > 0)
		put(block, (size_t)n);
}

static void list_folder(int fd)
{
	ssize_t n;

	while ((n = check((int)getdents64(fd, block, sizeof(block)))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(block + at);
			struct stat st = { .st_mode = DTTOIF(d->d_type) };

			at += d->d_reclen;
			if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
				continue;
			if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
			    errno != ENOENT)
				put_entry(&st, d->d_name, fd, d->d_name);
		}
}

static void list(const char *path)
{
	struct stat st;
	int held = hold(path, &st);

	put_entry(&st, "", held, "");
	if (S_ISDIR(st.st_mode))
		list_folder(check(openat(held, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
}

/* ---- write ---- */

/* What "mkdir -p" does; each new folder is made where the one above it was looked at. */
static void make_folders(int at, const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	for (size_t i = 1; i <= len; i++) {
		char *slash;
		int above;

		if (path[i] != '/' && path[i])
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		slash = strrchr(part, '/');
		if (faccessat(at, part, F_OK, 0) == 0)
			continue;
		if (slash && slash != part)
			*slash = '\0';
		above = check(openat(at,
				     slash == part ? "/"
				     : slash	   ? part
						   : ".",
				     O_PATH | O_DIRECTORY | O_CLOEXEC));
		check_place(above);
		if (mkdirat(above, slash ? slash + 1 : part, DEFAULT_FOLDER) < 0 &&
		    errno != EEXIST)
			ws_file_fail(WS_FILE_ERRNO);
		close(above);
	}
}

static int open_folder(int at, const char *path, bool make)
{
	int fd = openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && make) {
		make_folders(at, path);
		fd = openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0 && errno == ENOTDIR)
		ws_file_fail(WS_FILE_NO_FOLDER);
	check(fd);
	check_place(fd);
	return fd;
}

/*
 * The folder and the name at which PATH, or what it is a link to, is or will be. A path
 * longer than the buffer is none for the kernel either.
 */
static int resolve(char path[PATH_MAX], bool make, const char **ret_name)
{
	static char name[NAME_MAX + 1];
	int at = AT_FDCWD;

	for (int links = 0; links < LINKS_MAX; links++) {
		char *slash = strrchr(path, '/');
		const char *last = slash ? slash + 1 : path;
		ssize_t n;

		if (!*last || !strcmp(last, ".") || !strcmp(last, ".."))
			ws_file_fail(WS_FILE_FOLDER);
		errno = ENAMETOOLONG;
		if (snprintf(name, sizeof(name), "%s", last) >= (int)sizeof(name))
			ws_file_fail(WS_FILE_ERRNO);
		if (slash)
			*slash = '\0';
		at = open_folder(at, !slash ? "." : slash == path ? "/" : path, make);
		n = readlinkat(at, name, path, PATH_MAX - 1);
		if (n < 0) {
			*ret_name = name;
			return at;
		}
		path[n] = '\0';
	}
	errno = ELOOP;
	ws_file_fail(WS_FILE_ERRNO);
}

struct target {
	int dir;
	const char *name;
	const char *stamp;
	mode_t mode; /* of the new file */
};

/* Is it what it shall be? Its mode is the new file's. */
static void check_target(struct target *t)
{
	char stamp[100];
	struct stat st;
	struct ws_file_entry e;

	if (fstatat(t->dir, t->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			ws_file_fail(WS_FILE_ERRNO);
		if (strcmp(t->stamp, "-") != 0 && strcmp(t->stamp, "none") != 0)
			ws_file_fail(WS_FILE_STALE);
		return;
	}
	check_regular(st.st_mode);
	e = describe(&st);
	snprintf(stamp, sizeof(stamp), WS_FILE_STAMP, (unsigned long long)e.ino,
		 (unsigned long long)e.size, (unsigned long long)e.mtime_ns,
		 (unsigned long long)e.ctime_ns);
	if (strcmp(t->stamp, "-") != 0 && strcmp(t->stamp, stamp) != 0)
		ws_file_fail(WS_FILE_STALE);
	t->mode = st.st_mode & KEPT_MODE;
}

void ws_file_fill(void *data, size_t len)
{
	char *at = data;

	while (len > 0) {
		ssize_t n = read(STDIN_FILENO, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			ws_file_fail(WS_FILE_CUT_OFF);
		at += n;
		len -= (size_t)n;
	}
}

static void take_content(int fd)
{
	uint32_t left;

	for (ws_file_fill(&left, sizeof(left)); left; ws_file_fill(&left, sizeof(left)))
		while (left > 0) {
			size_t n = left < sizeof(block) ? left : sizeof(block);

			ws_file_fill(block, n);
			errno = ENOSPC; /* of a write that was cut short */
			if (write(fd, block, n) != (ssize_t)n)
				ws_file_fail(WS_FILE_ERRNO);
			left -= (uint32_t)n;
		}
}

/*
 * Without a name until it is complete, where the filesystem can do so: whoever is killed
 * leaves nothing behind.
 */
static int open_new(int dir)
{
	unsigned char random[8];
	int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	check((int)getrandom(random, sizeof(random), 0));
	staged.dir = dir;
	memcpy(staged.name, ".wsiso-", sizeof(".wsiso-"));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(staged.name + strlen(staged.name), 3, "%02x", random[i]);
	if (fd >= 0)
		return fd;
	fd = check(
		openat(dir, staged.name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
	staged.there = true;
	return fd;
}

static void put_in_place(const struct target *t, int fd)
{
	unsigned how = strcmp(t->stamp, "none") == 0 ? RENAME_NOREPLACE : 0;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!staged.there)
		check(linkat(AT_FDCWD, path, t->dir, staged.name, AT_SYMLINK_FOLLOW));
	staged.there = true;
	if (renameat2(t->dir, staged.name, t->dir, t->name, how) < 0)
		ws_file_fail(how && errno == EEXIST ? WS_FILE_STALE : WS_FILE_ERRNO);
	staged.there = false;
}

static void write_file(char *path, mode_t mode, const char *stamp, bool make)
{
	struct target t = { .stamp = stamp, .mode = mode };
	struct stat st;
	int fd;

	t.dir = resolve(path, make, &t.name);
	check_target(&t);
	fd = open_new(t.dir);
	take_content(fd);
	check(fchmod(fd, t.mode));
	check_target(&t);
	put_in_place(&t, fd);
	check(fstat(fd, &st));
	put_entry(&st, "", -1, NULL);
}

/* ---- whole trees ---- */

static void run_tar(const char *path, const char *const argv[], bool make)
{
	static const char *const places[] = { "/usr/bin/tar", "/bin/tar" };
	char *env[] = { (char[]){ "PATH=/usr/bin:/bin" }, (char[]){ "LC_ALL=C" }, NULL };
	int fd = open_folder(AT_FDCWD, path, make);

	check(fchdir(fd));
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		execve(places[i], (char *const *)argv, env);
	ws_file_fail(WS_FILE_NO_TAR);
}

static void pack(const char *path)
{
	static const char *const argv[] = { "tar", "-c",       "-f",
					    "-",   "--sparse", "--format=posix",
					    ".",   NULL };

	run_tar(path, argv, false);
}

static void unpack(const char *path, bool make)
{
	static const char *const argv[] = { "tar", "-x", "-p", "--no-same-owner",
					    "-f",  "-",	 NULL };

	run_tar(path, argv, make);
}

void ws_file_run(int argc, char **argv)
{
	static char path[PATH_MAX];
	const char *op;
	bool make;

	umask(022);
	errno = EINVAL;
	if (argc < 3 || snprintf(path, sizeof(path), "%s", argv[2]) >= PATH_MAX)
		ws_file_fail(WS_FILE_ERRNO);
	home = argv[0];
	op = argv[1];
	make = argc > 5 && strchr(argv[5], 'p');
	if (!strcmp(op, "read"))
		read_file(path);
	else if (!strcmp(op, "list"))
		list(path);
	else if (!strcmp(op, "write") && argc > 4)
		write_file(path, (mode_t)strtoul(argv[3], NULL, 8), argv[4], make);
	else if (!strcmp(op, "pack"))
		pack(path);
	else if (!strcmp(op, "unpack"))
		unpack(path, make);
	else if (!strcmp(op, "lay"))
		ws_lay_run(open_folder(AT_FDCWD, path, false));
	else
		ws_file_fail(WS_FILE_ERRNO);
	_exit(0);
}
