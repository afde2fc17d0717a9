/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plain_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"

#define SETTLED_NS 20000000u /* longer than the kernel's coarsest tick */
#define LOOKS_MAX 5
#define NEAR_NS 10000000000u

void ws_plain_tree_release(struct ws_plain_tree *t)
{
	for (size_t i = 0; i < t->n; i++) {
		ws_freep(&t->v[i].path);
		ws_freep(&t->v[i].link);
	}
	ws_freep(&t->v);
	ws_strv_release(&t->special);
	ws_strv_release(&t->unreadable);
	ws_closep(&t->fd);
}

/* ---- the walk: folder by folder, parents before what is in them ---- */

struct look {
	const char *path;
	struct stat forbidden;
	struct ws_plain_tree *t;
	struct ws_err *err;
};

/* Beneath TOP, through no link and no mount, a bind mount included. */
static int open_folder(int top, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOATIME,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };
	long fd;

	do {
		fd = syscall(SYS_openat2, top, *path ? path : ".", &how, sizeof(how));
		if (fd < 0 && errno == EPERM) /* not ours: reading it leaves its trace */
			how.flags &= ~(uint64_t)O_NOATIME;
		else if (fd >= 0 || (errno != EINTR && errno != EAGAIN))
			break;
	} while (true);
	return (int)fd;
}

static int fail_folder(struct look *l, const char *path)
{
	if (errno == EXDEV) {
		ws_fail(l->err, WS_REPO_UNUSABLE,
			"'%s/%s' is a mount point inside the folder '%s'", l->path, path,
			l->path);
		return ws_hint(l->err, "unmount it, or name a copy without it");
	}
	ws_fail_errno(l->err, "look at the folder '%s/%s'", l->path, path);
	l->err->kind = errno == ENAMETOOLONG ? WS_REPO_UNUSABLE : l->err->kind;
	return -1;
}

static void keep(struct look *l, char *path, const struct stat *st, char *link)
{
	struct ws_plain_tree *t = l->t;

	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 256;
		t->v = ws_grow(t->v, t->cap, sizeof(*t->v));
	}
	t->v[t->n++] =
		(struct ws_plain_entry){ .path = path,
					 .link = link,
					 .how = S_ISDIR(st->st_mode)   ? WS_PLAIN_FOLDER
						: S_ISLNK(st->st_mode) ? WS_PLAIN_SYMLINK
								       : WS_PLAIN_COPY,
					 .mode = st->st_mode,
					 .uid = st->st_uid,
					 .gid = st->st_gid,
					 .dev = st->st_dev,
					 .ino = st->st_ino,
					 .size = S_ISDIR(st->st_mode) ? 0 : st->st_size,
					 .mtime = st->st_mtim,
					 .ctime = st->st_ctim };
}

static int visit(struct look *l, int dir, const char *folder, const char *name)
{
	WS_AUTO_FREE char *path = ws_format("%s%s%s", folder, *folder ? "/" : "", name);
	char text[PATH_MAX];
	struct stat st;
	ssize_t n = 0;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail_folder(l, path);
	if (S_ISLNK(st.st_mode) &&
	    (n = readlinkat(dir, name, text, sizeof(text) - 1)) < 0)
		return errno == ENOENT ? 0 : fail_folder(l, path);
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode))
		keep(l, ws_steal_ptr(&path), &st,
		     n > 0 ? ws_strndup(text, (size_t)n) : NULL);
	else
		ws_strv_push(&l->t->special, path);
	return 0;
}

/* In an order that does not depend on the filesystem's. */
static int read_names(int dir, struct ws_strv *ret)
{
	int copy = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *e;

	if (!d) {
		ws_closep(&copy);
		return -1;
	}
	errno = 0;
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			ws_strv_push(ret, e->d_name);
	if (errno) {
		int why = errno;

		closedir(d);
		errno = why;
		return -1;
	}
	closedir(d);
	ws_strv_sort(ret);
	return 0;
}

static int check_forbidden(struct look *l, const struct stat *st)
{
	if (st->st_ino != l->forbidden.st_ino || st->st_dev != l->forbidden.st_dev)
		return 0;
	ws_fail(l->err, WS_REPO_UNUSABLE, "the state folder lies inside the folder '%s'",
		l->path);
	return ws_hint(l->err,
		       "name a state folder outside of it by --root or WSISO_ROOT");
}

/* A folder that may not be listed or entered is left out with all that is in it. */
static int visit_folder(struct look *l, size_t i)
{
	WS_AUTO_FREE char *path = ws_strdup(l->t->v[i].path);
	WS_AUTO_CLOSE int dir = open_folder(l->t->fd, path);
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;
	struct stat st;

	if (dir < 0 && errno == ENOENT)
		return 0; /* it went away; who compares two looks finds that */
	if ((dir < 0 && errno == EACCES) ||
	    (dir >= 0 && faccessat(dir, ".", X_OK, AT_EACCESS) < 0)) {
		ws_strv_push(&l->t->unreadable, path);
		l->t->v[i].how =
			WS_PLAIN_COPY; /* no folder any more: see drop_unreadable */
		return 0;
	}
	if (dir < 0 || fstat(dir, &st) < 0)
		return fail_folder(l, path);
	if (check_forbidden(l, &st) < 0)
		return -1;
	if (read_names(dir, &names) < 0)
		return fail_folder(l, path);
	for (size_t k = 0; k < names.n; k++)
		if (visit(l, dir, path, names.v[k]) < 0)
			return -1;
	return 0;
}

static int walk(struct look *l)
{
	struct stat st;

	l->t->fd = open(l->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->t->fd < 0 || fstat(l->t->fd, &st) < 0)
		return ws_fail(l->err, WS_REPO_UNUSABLE,
			       "the folder '%s' cannot be read: %m", l->path);
	keep(l, ws_strdup(""), &st, NULL);
	for (size_t i = 0; i < l->t->n; i++)
		if (l->t->v[i].how == WS_PLAIN_FOLDER && visit_folder(l, i) < 0)
			return -1;
	if (ws_strv_has(&l->t->unreadable, ""))
		return ws_fail(l->err, WS_REPO_UNUSABLE, "the folder '%s' cannot be read",
			       l->path);
	return 0;
}

/* ---- how each file is to be taken ---- */

static bool is_ours(const struct ws_plain_entry *e)
{
	return e->uid == geteuid() && e->gid == getegid();
}

static bool may_read(const struct ws_plain_tree *t, const struct ws_plain_entry *e)
{
	if (e->uid == geteuid() && (e->mode & 0400))
		return true;
	return faccessat(t->fd, e->path, R_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
}

/* Has the file anything on it that must not come along with a hard link? */
static bool has_burden(const struct ws_plain_tree *t, const struct ws_plain_entry *e)
{
	static const char *const burdens[] = { "user.overlay.", "system.posix_acl",
					       "security.capability" };
	WS_AUTO_FREE char *path = ws_format("/proc/self/fd/%d/%s", t->fd, e->path);
	char names[4096];
	ssize_t n = llistxattr(path, names, sizeof(names));

	if (n < 0)
		return errno != EOPNOTSUPP && errno != ENOENT;
	for (const char *at = names; at < names + n; at += strlen(at) + 1)
		for (size_t i = 0; i < WS_ARRAY_SIZE(burdens); i++)
			if (ws_text_starts(at, burdens[i]))
				return true;
	return (e->mode & (S_ISUID | S_ISGID)) != 0;
}

/* Tries it with the first file that has anything in it. */
static bool can_clone(const struct ws_plain_tree *t, int store)
{
	char name[32] = "clone-";

	ws_text_random(name + strlen(name), 8);
	for (size_t i = 0; i < t->n; i++) {
		const struct ws_plain_entry *e = &t->v[i];
		WS_AUTO_CLOSE int from = -1;
		WS_AUTO_CLOSE int to = -1;
		bool done;

		if (e->how != WS_PLAIN_COPY || !S_ISREG(e->mode) || e->size == 0 ||
		    !may_read(t, e))
			continue;
		from = ws_open_beneath(t->fd, e->path, O_RDONLY | O_NONBLOCK, 0);
		to = openat(store, name,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		done = from >= 0 && to >= 0 && ioctl(to, FICLONE, from) == 0;
		unlinkat(store, name, 0);
		return done;
	}
	return false;
}

static enum ws_plain_how how_of(const struct ws_plain_tree *t,
				const struct ws_plain_entry *e, enum ws_plain_how best,
				dev_t store)
{
	if (best == WS_PLAIN_LINK && (!is_ours(e) || e->dev != store || has_burden(t, e)))
		return WS_PLAIN_COPY;
	return best;
}

/* Unreadable files and folders, and all that is in those, leave the list. */
static void drop_unreadable(struct ws_plain_tree *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct ws_plain_entry *e = &t->v[i];
		bool gone = e->how == WS_PLAIN_COPY && S_ISDIR(e->mode);

		if (!gone && (e->how == WS_PLAIN_COPY || e->how == WS_PLAIN_CLONE) &&
		    !may_read(t, e)) {
			ws_strv_push(&t->unreadable, e->path);
			gone = true;
		}
		if (gone) {
			ws_freep(&e->path);
			ws_freep(&e->link);
		} else {
			t->v[n++] = *e;
		}
	}
	t->n = n;
}

static void decide(struct ws_plain_tree *t, int store, enum ws_copy copy)
{
	enum ws_plain_how best = copy == WS_COPY_COPY ? WS_PLAIN_COPY : WS_PLAIN_LINK;
	struct stat st = { 0 };

	fstat(store, &st);
	if (copy == WS_COPY_REFLINK || (copy == WS_COPY_AUTO && can_clone(t, store)))
		best = WS_PLAIN_CLONE;
	for (size_t i = 0; i < t->n; i++) {
		struct ws_plain_entry *e = &t->v[i];

		if (!S_ISREG(e->mode))
			continue;
		e->how = how_of(t, e, best, st.st_dev);
		/* what we own and may not read can still be linked */
		if (copy == WS_COPY_AUTO && best == WS_PLAIN_CLONE && !may_read(t, e))
			e->how = how_of(t, e, WS_PLAIN_LINK, st.st_dev);
	}
	drop_unreadable(t);
}

/* ---- look and digest ---- */

static uint64_t ns_of(const struct timespec *ts)
{
	return ts->tv_sec < 0
		       ? 0
		       : (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec;
}

/* A change after this look could have the same time stamp as one before it. */
static bool is_young(const struct ws_plain_tree *t, uint64_t now)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct ws_plain_entry *e = &t->v[i];
		const struct timespec *ts =
			e->how == WS_PLAIN_LINK ? &e->mtime : &e->ctime;
		uint64_t at = ns_of(ts);

		if (e->how != WS_PLAIN_FOLDER && at + SETTLED_NS > now &&
		    at < now + NEAR_NS)
			return true;
	}
	return false;
}

int ws_plain_tree_look(const char *path, int store, int forbidden, enum ws_copy copy,
		       struct ws_plain_tree *ret, struct ws_err *err)
{
	for (int i = 0;; i++) {
		WS_AUTO(ws_plain_tree) struct ws_plain_tree t = WS_PLAIN_TREE_INIT;
		struct look l = { .path = path, .t = &t, .err = err };
		uint64_t begun = ws_clock_wall_ns();

		if (fstat(forbidden, &l.forbidden) < 0)
			return ws_fail_errno(err, "look at the state folder");
		if (walk(&l) < 0)
			return -1;
		decide(&t, store, copy);
		if (i == LOOKS_MAX || !is_young(&t, begun)) {
			*ret = t;
			t = WS_PLAIN_TREE_INIT;
			return 0;
		}
		ws_clock_sleep_ms(SETTLED_NS / 1000000u);
	}
}

static void digest_entry(struct ws_sha256 *sum, const struct ws_plain_entry *e)
{
	const struct timespec none = { 0 };
	const struct timespec *m = e->how == WS_PLAIN_FOLDER ? &none : &e->mtime;
	const struct timespec *c =
		e->how == WS_PLAIN_FOLDER || e->how == WS_PLAIN_LINK ? &none : &e->ctime;
	char text[256];

	snprintf(text, sizeof(text), "%d %o %u %u %llu %llu %lld.%09ld %lld.%09ld",
		 (int)e->how, (unsigned)e->mode, (unsigned)e->uid, (unsigned)e->gid,
		 (unsigned long long)e->ino, (unsigned long long)e->size,
		 (long long)m->tv_sec, m->tv_nsec, (long long)c->tv_sec, c->tv_nsec);
	ws_sha256_field(sum, e->path);
	ws_sha256_field(sum, text);
	ws_sha256_field(sum, e->link ? e->link : "");
}

void ws_plain_tree_digest(const struct ws_plain_tree *t, char ret[WS_SHA256_HEX])
{
	struct ws_sha256 sum;

	ws_sha256_init(&sum);
	for (size_t i = 0; i < t->n; i++)
		digest_entry(&sum, &t->v[i]);
	ws_sha256_hex(&sum, ret);
}
