/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk for both, without recursion. A folder is read whole: its files are dealt
 * with at once, the names of its folders are kept. Each folder on the way down is a
 * level; only the lowest WINDOW of them hold a descriptor. The way up leads through
 * "..", which must be the folder that we came from; if it is not, somebody moves folders
 * about, and the walk starts again.
 */
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/strv.h"

#define WINDOW 32
#define FOLDERS_MAX 4096 /* names kept per level, about */
#define RESCANS_MAX 100
#define RESTARTS_MAX 100
#define DENTS_SIZE 65536

struct level {
	int fd;	   /* -1: above the window */
	off_t pos; /* of fd, while it is -1 */
	dev_t dev;
	ino_t ino;
	char *name; /* in the level above */
	struct ws_strv folders;
	size_t next; /* of folders */
	bool more;   /* not read to its end */
	bool failed; /* something below stays */
	bool mended;
	mode_t mode; /* what it was */
	unsigned rescans;
};

struct walk {
	bool remove; /* else: count */
	int dir;     /* where the tree is, the caller's */
	const char *name;
	dev_t dev;
	struct level *levels;
	size_t depth, cap;
	size_t low; /* levels below this index hold no descriptor */
	char *dents;
	bool want_bytes;
	uint64_t bytes, linked, entries;
	bool failed;
	bool lost; /* begin again */
	unsigned restarts;
	struct ws_err *err; /* the first failure */
};

/* To be asked only while there is one. */
static struct level *top(struct walk *w)
{
	return &w->levels[w->depth - 1];
}

/* Notes errno for ENTRY, the first one for the caller, and goes on. */
static void note(struct walk *w, const char *entry)
{
	const char *verb = w->remove ? "remove" : "measure";

	if (w->depth)
		top(w)->failed = true;
	if (w->failed)
		return;
	w->failed = true;
	if (errno == EXDEV)
		ws_fail(w->err, WS_IO, "%s '%s': '%s' is a mount point", verb, w->name,
			entry);
	else if (strcmp(entry, w->name) == 0)
		ws_fail_errno(w->err, "%s '%s'", verb, w->name);
	else
		ws_fail_errno(w->err, "%s '%s': entry '%s'", verb, w->name, entry);
}

static void count(struct walk *w, const struct stat *st)
{
	w->entries++;
	if (!S_ISDIR(st->st_mode) && st->st_nlink > 1)
		w->linked += (uint64_t)st->st_blocks * 512;
	if (!w->remove || S_ISDIR(st->st_mode) || st->st_nlink == 1)
		w->bytes += (uint64_t)st->st_blocks * 512;
}

/* Nothing is followed and no mount is crossed, a bind mount of the same device included.
 */
static int open_folder(int dir, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_DIRECTORY | O_NOFOLLOW |
					      O_CLOEXEC),
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	long fd;

	do
		fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return (int)fd;
}

static int check_device(struct walk *w, const struct stat *st)
{
	if (w->depth == 0)
		w->dev = st->st_dev;
	if (st->st_dev == w->dev)
		return 0;
	errno = EXDEV;
	return -1;
}

/*
 * A folder that may not be read. /proc/self/fd/N is the very folder that the O_PATH
 * descriptor holds, whatever NAME is by now.
 */
static int open_mended(struct walk *w, int dir, const char *name, struct stat *ret)
{
	WS_AUTO_CLOSE int held = open_folder(dir, name, O_PATH);
	char path[40];

	if (held < 0 || fstat(held, ret) < 0 || check_device(w, ret) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
	if (chmod(path, (ret->st_mode & 07777) | 0700) < 0)
		return -1;
	return openat(held, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Opens it so that what is in it can be reached (and, to remove, unlinked). */
static int open_level(struct walk *w, int dir, const char *name, struct level *l,
		      struct stat *st)
{
	mode_t need = w->remove ? 0700 : 0500;

	l->fd = open_folder(dir, name, O_RDONLY);
	if (l->fd < 0 && errno == EACCES) {
		l->fd = open_mended(w, dir, name, st);
		l->mended = l->fd >= 0;
	} else if (l->fd >= 0) {
		if (fstat(l->fd, st) < 0 || check_device(w, st) < 0)
			return -1;
		if ((st->st_mode & need) != need)
			l->mended = fchmod(l->fd, (st->st_mode & 07777) | 0700) == 0;
	}
	if (l->fd < 0)
		return -1;
	l->dev = st->st_dev;
	l->ino = st->st_ino;
	l->mode = st->st_mode & 07777;
	return 0;
}

/* What is only measured gets its mode back. */
static void level_release(struct walk *w, struct level *l)
{
	if (l->mended && !w->remove && l->fd >= 0 && fchmod(l->fd, l->mode) < 0)
		note(w, l->name);
	ws_closep(&l->fd);
	ws_freep(&l->name);
	ws_strv_release(&l->folders);
}

static void push(struct walk *w, const struct level *l)
{
	struct level *out;

	if (w->depth == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 64;
		w->levels = ws_grow(w->levels, w->cap, sizeof(*w->levels));
	}
	w->levels[w->depth++] = *l;
	if (w->depth - w->low <= WINDOW)
		return;
	out = &w->levels[w->low++];
	out->pos = lseek(out->fd, 0, SEEK_CUR);
	ws_closep(&out->fd);
}

static void pop(struct walk *w)
{
	struct level l = *top(w);

	w->depth--;
	if (w->depth == 0)
		w->low = 0;
	else if (l.failed)
		top(w)->failed = true;
	level_release(w, &l);
}

/* What was no folder a moment ago; if it is one by now, its level gets to it. */
static void visit_file(struct walk *w, int dir, const char *name)
{
	struct stat st = { 0 };
	int rc = 0;

	if (w->want_bytes)
		rc = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
	if (rc == 0 && S_ISDIR(st.st_mode)) {
		rc = -1;
		errno = EISDIR;
	}
	if (rc == 0 && w->remove)
		rc = unlinkat(dir, name, 0);
	if (rc == 0)
		count(w, &st);
	else if (w->depth && errno == EISDIR)
		ws_strv_push(&top(w)->folders, name);
	else if (errno != ENOENT)
		note(w, name);
}

static bool is_folder(int dir, const struct dirent64 *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

static void visit_entries(struct walk *w, ssize_t len)
{
	struct level *l = top(w);

	for (ssize_t at = 0; at < len;) {
		struct dirent64 *d = (void *)(w->dents + at);

		at += d->d_reclen;
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (is_folder(l->fd, d))
			ws_strv_push(&l->folders, d->d_name);
		else
			visit_file(w, l->fd, d->d_name);
	}
}

/* Reads on in the lowest level until it ends or enough folders are known. */
static void scan(struct walk *w)
{
	struct level *l = top(w);
	ssize_t n = 1;

	ws_strv_clear(&l->folders);
	l->next = 0;
	l->more = false;
	while (l->folders.n < FOLDERS_MAX) {
		n = getdents64(l->fd, w->dents, DENTS_SIZE);
		if (n <= 0)
			break;
		visit_entries(w, n);
	}
	if (n > 0)
		l->more = true;
	else if (n < 0 && errno != ENOENT)
		note(w, l->name);
}

static void descend(struct walk *w, int dir, const char *name)
{
	struct level l = { .fd = -1 };
	struct stat st;

	if (open_level(w, dir, name, &l, &st) < 0) {
		int why = errno;

		level_release(w, &l);
		errno = why;
		if (why == ENOTDIR || why == ELOOP)
			visit_file(w, dir, name);
		else if (why != ENOENT)
			note(w, name);
		return;
	}
	count(w, &st);
	l.name = ws_strdup(name);
	push(w, &l);
	scan(w);
}

/* The level above the lowest gets its descriptor back. */
static int reopen_parent(struct walk *w)
{
	struct level *l = top(w);
	struct level *up = l - 1;
	struct stat st;

	if (up->fd >= 0)
		return 0;
	up->fd = open_folder(l->fd, "..", O_RDONLY);
	if (up->fd < 0 || fstat(up->fd, &st) < 0 || st.st_dev != up->dev ||
	    st.st_ino != up->ino || lseek(up->fd, up->pos, SEEK_SET) < 0) {
		ws_closep(&up->fd);
		return -1;
	}
	w->low = w->depth - 2;
	return 0;
}

/*
 * The lowest level was emptied, and is not empty. It got new entries, or its
 * filesystem passes over some while others go: read it again. Or its name belongs to
 * another folder by now: that one comes next. Returns false when it is enough.
 */
static bool try_again(struct walk *w, int dir)
{
	struct level *l = top(w);
	WS_AUTO_FREE char *name = NULL;
	struct stat st;

	if (fstatat(dir, l->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == l->ino &&
	    st.st_dev == l->dev) {
		if (l->rescans++ == RESCANS_MAX || lseek(l->fd, 0, SEEK_SET) < 0)
			return false;
		scan(w);
		return true;
	}
	if (w->restarts++ == RESTARTS_MAX)
		return false;
	name = ws_strdup(l->name);
	pop(w);
	if (w->depth)
		ws_strv_push(&top(w)->folders, name);
	else
		w->lost = true;
	return true;
}

/* All that was read of the lowest level is done. */
static void leave(struct walk *w)
{
	struct level *l = top(w);
	int dir = w->dir;

	if (l->more) {
		scan(w);
		return;
	}
	if (w->depth > 1) {
		if (reopen_parent(w) < 0) {
			w->lost = true;
			return;
		}
		dir = l[-1].fd;
	}
	if (w->remove && !l->failed && unlinkat(dir, l->name, AT_REMOVEDIR) < 0) {
		if ((errno == ENOTEMPTY || errno == EEXIST) && try_again(w, dir))
			return;
		if (errno == ENOTDIR && unlinkat(dir, l->name, 0) == 0)
			errno = ENOENT;
		if (errno != ENOENT)
			note(w, l->name);
	}
	pop(w);
}

static void walk_once(struct walk *w)
{
	w->lost = w->failed = false;
	if (!w->remove)
		w->bytes = w->linked = w->entries = 0;
	descend(w, w->dir, w->name);
	while (w->depth && !w->lost) {
		struct level *l = top(w);

		if (l->next < l->folders.n)
			descend(w, l->fd, l->folders.v[l->next++]);
		else
			leave(w);
	}
	while (w->depth)
		pop(w);
}

static int walk_tree(struct walk *w, int dir, const char *path)
{
	WS_AUTO_FREE char *copy = ws_strdup(path);
	WS_AUTO_FREE char *dents = ws_grow(NULL, DENTS_SIZE, 1);
	WS_AUTO_CLOSE int above = -1;
	char *slash = strrchr(copy, '/');

	w->dir = dir;
	w->name = slash ? slash + 1 : copy;
	w->dents = dents;
	if (!*w->name || strcmp(w->name, ".") == 0 || strcmp(w->name, "..") == 0)
		return ws_fail(w->err, WS_INTERNAL, "'%s' names no tree", path);
	if (slash) {
		*slash = '\0';
		above = ws_open_beneath(dir, copy, O_PATH | O_DIRECTORY, 0);
		if (above < 0 && errno == ENOENT && w->remove)
			return 0;
		if (above < 0)
			return ws_fail_errno(w->err, "open '%s'", copy);
		w->dir = above;
	}
	do
		walk_once(w);
	while (w->lost && w->restarts++ < RESTARTS_MAX);
	free(w->levels);
	if (w->lost)
		return ws_fail(w->err, WS_IO, "'%s' is being moved about", path);
	return w->failed ? -1 : 0;
}

int ws_tree_remove(int dir, const char *name, uint64_t *ret_bytes, struct ws_err *err)
{
	struct walk w = { .remove = true, .want_bytes = ret_bytes, .err = err };
	int rc = walk_tree(&w, dir, name);

	if (ret_bytes)
		*ret_bytes = w.bytes;
	return rc;
}

static int measure(struct walk *w, int dir, const char *name, struct ws_err *err)
{
	*w = (struct walk){ .want_bytes = true, .err = err };
	if (walk_tree(w, dir, name) < 0)
		return -1;
	if (w->entries > 0)
		return 0;
	errno = ENOENT;
	return ws_fail_errno(err, "measure '%s'", name);
}

int ws_tree_usage(int dir, const char *name, uint64_t *ret_bytes, uint64_t *ret_entries,
		  struct ws_err *err)
{
	struct walk w;

	if (measure(&w, dir, name, err) < 0)
		return -1;
	if (ret_bytes)
		*ret_bytes = w.bytes;
	if (ret_entries)
		*ret_entries = w.entries;
	return 0;
}

int ws_tree_usage_linked(int dir, const char *name, uint64_t *ret_bytes,
			 uint64_t *ret_linked, struct ws_err *err)
{
	struct walk w;

	if (measure(&w, dir, name, err) < 0)
		return -1;
	*ret_bytes = w.bytes;
	*ret_linked = w.linked;
	return 0;
}
