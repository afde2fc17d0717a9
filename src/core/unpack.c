/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One folder is open at a time. The way up is "..", of what was made here a moment ago,
 * in a place that nobody else writes to; it is the same folder, or the end. A folder has
 * mode 0700 until all in it is made.
 */
#include "core/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"

#define OPAQUE "user.overlay.opaque"

struct level {
	size_t name_len;
	dev_t dev;
	ino_t ino;
	mode_t mode;
	struct timespec mtime;
	char *last; /* name that came last; NULL: none yet */
	bool rest;  /* whiteouts are through */
};

struct unpacking {
	const struct ws_unpack *u;
	struct level *levels;
	size_t depth, cap;
	int fd;		    /* the lowest */
	struct ws_buf path; /* of the lowest */
	char *block;
};

static void unpacking_release(struct unpacking *k)
{
	while (k->depth)
		ws_freep(&k->levels[--k->depth].last);
	ws_freep(&k->levels);
	ws_closep(&k->fd);
	ws_buf_release(&k->path);
	ws_freep(&k->block);
}

static struct level *lowest(struct unpacking *k)
{
	return &k->levels[k->depth - 1];
}

int ws_unpack_fail(const struct ws_entry *e, const char *what, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf shown = WS_BUF_INIT;

	ws_text_escape(&shown, ws_buf_str(&e->path), strnlen(ws_buf_str(&e->path), 200));
	return ws_fail(err, WS_STATE_CORRUPT, "'%s' %s", ws_buf_str(&shown), what);
}

static int fail_make(const struct ws_entry *e, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf shown = WS_BUF_INIT;
	int error = errno;

	ws_text_escape(&shown, ws_buf_str(&e->path), strnlen(ws_buf_str(&e->path), 200));
	errno = error;
	return ws_fail_errno(err, "make '%s'", ws_buf_str(&shown));
}

static struct timespec mtime_of(const struct ws_entry *e)
{
	return (struct timespec){ .tv_sec = (time_t)e->mtime,
				  .tv_nsec = (long)e->mtime_ns };
}

/* ---- one name ---- */

static int make_folder(struct unpacking *k, int dir, const char *name,
		       const struct ws_entry *e, struct ws_err *err)
{
	struct level l = { .name_len = strlen(name),
			   .mode = e->mode,
			   .mtime = mtime_of(e) };
	WS_AUTO_CLOSE int fd = -1;
	struct stat st;

	if (mkdirat(dir, name, 0700) == 0)
		fd = ws_open_dir(dir, name);
	if (fd < 0 || fstat(fd, &st) < 0 ||
	    (e->opaque && fsetxattr(fd, OPAQUE, "y", 1, 0) < 0))
		return fail_make(e, err);
	l.dev = st.st_dev;
	l.ino = st.st_ino;
	if (k->depth == k->cap) {
		k->cap = k->cap ? k->cap * 2 : 64;
		k->levels = ws_grow(k->levels, k->cap, sizeof(*k->levels));
	}
	k->levels[k->depth++] = l;
	ws_closep(&k->fd);
	k->fd = ws_steal_fd(&fd);
	ws_buf_clear(&k->path);
	ws_buf_addstr(&k->path, ws_buf_str(&e->path));
	return 0;
}

/* The blocks that these bytes are the first in; DONE: so far it is written. */
static uint64_t new_blocks(uint64_t done, uint64_t at, size_t len)
{
	uint64_t had = (done + WS_ROOM_BLOCK - 1) / WS_ROOM_BLOCK;
	uint64_t first = at / WS_ROOM_BLOCK;
	uint64_t end = (at + len + WS_ROOM_BLOCK - 1) / WS_ROOM_BLOCK;

	first = first > had ? first : had;
	return end > first ? end - first : 0;
}

static int write_bytes(struct unpacking *k, int fd, const struct ws_entry *e,
		       struct ws_err *err)
{
	uint64_t at, done = 0;
	size_t len;

	for (;;) {
		if (ws_archive_take_block(k->u->archive, &at, k->block, &len, err) < 0)
			return -1;
		if (!len)
			break;
		if (at < done || at > e->size || len > e->size - at)
			return ws_unpack_fail(e, "has more bytes than it says", err);
		if (ws_room_take(k->u->room, new_blocks(done, at, len) * WS_ROOM_BLOCK, 0,
				 err) < 0)
			return -1;
		if (lseek(fd, (off_t)at, SEEK_SET) < 0 ||
		    ws_write_all(fd, k->block, len) < 0)
			return fail_make(e, err);
		done = at + len;
	}
	return ftruncate(fd, (off_t)e->size) < 0 ? fail_make(e, err) : 0;
}

static int make_file(struct unpacking *k, const char *name, const struct ws_entry *e,
		     struct ws_err *err)
{
	const struct timespec times[2] = { mtime_of(e), mtime_of(e) };
	WS_AUTO_CLOSE int fd =
		openat(k->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);

	if (fd < 0)
		return fail_make(e, err);
	if (write_bytes(k, fd, e, err) < 0)
		return -1;
	return fchmod(fd, e->mode) < 0 || futimens(fd, times) < 0 ? fail_make(e, err) : 0;
}

static int make_other(struct unpacking *k, const char *name, const struct ws_entry *e,
		      struct ws_err *err)
{
	const struct timespec times[2] = { mtime_of(e), mtime_of(e) };
	int dir = k->fd, rc = -1;

	switch (e->type) {
	case WS_ENTRY_LINK:
		rc = symlinkat(ws_buf_str(&e->target), dir, name);
		break;
	case WS_ENTRY_FIFO:
		rc = mknodat(dir, name, S_IFIFO | 0600, 0);
		if (rc == 0) /* by nobody else's name: it was made just now */
			rc = fchmodat(dir, name, e->mode, 0);
		break;
	case WS_ENTRY_GONE:
		rc = mknodat(dir, name, S_IFCHR, 0);
		break;
	default:
		errno = EINVAL;
	}
	return rc < 0 || utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0
		       ? fail_make(e, err)
		       : 0;
}

/* ---- folders ---- */

/* The folder above the lowest, open; -1 and errno. */
static int open_above(const struct unpacking *k)
{
	const struct level *above = &k->levels[k->depth - 2];
	int fd = openat(k->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_dev == above->dev && st.st_ino == above->ino)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/* The lowest is finished; the one above it is the lowest then. */
static int pop(struct unpacking *k, struct ws_err *err)
{
	struct level *l = lowest(k);
	const struct timespec times[2] = { l->mtime, l->mtime };
	WS_AUTO_CLOSE int above = k->depth > 1 ? open_above(k) : -1;

	bool told = k->depth == 1 && k->u->ret_mode;

	if (told)
		*k->u->ret_mode = l->mode;
	if ((k->depth > 1 && above < 0) || futimens(k->fd, times) < 0 ||
	    (!told && fchmod(k->fd, l->mode) < 0))
		return ws_fail_errno(err, "finish a folder of the archive");
	ws_closep(&k->fd);
	k->fd = ws_steal_fd(&above);
	ws_freep(&l->last);
	if (--k->depth) { /* the topmost one's path is the prefix */
		k->path.len -= l->name_len + 1;
		k->path.data[k->path.len] = '\0';
	}
	return 0;
}

/* ---- what an entry may be ---- */

static bool is_below(const struct ws_entry *e, const struct ws_buf *folder)
{
	return e->path.len > folder->len &&
	       !memcmp(e->path.data, ws_buf_str(folder), folder->len) &&
	       e->path.data[folder->len] == '/';
}

static const char *wrong_about(const struct unpacking *k, const struct ws_entry *e)
{
	const char *below = ws_buf_str(&e->path) + strlen(k->u->prefix) + 1;
	bool folder = e->type == WS_ENTRY_FOLDER;

	if (e->mode & (folder ? 04000 : 06000))
		return "has a mode that no session has";
	if ((e->type == WS_ENTRY_GONE || e->opaque) && !k->u->marks)
		return "hides something, in a tree that lies over nothing";
	if (e->opaque && !folder)
		return "is opaque, and no folder";
	if (e->type == WS_ENTRY_LINK && (!e->target.len || e->target.len >= PATH_MAX))
		return "is a link to nothing";
	if (k->depth && k->u->wanted &&
	    ((!folder && e->type != WS_ENTRY_FILE) || !k->u->wanted(below, folder)))
		return "does not belong there";
	return NULL;
}

/* The next name of the lowest folder, which must come after the one before. */
static const char *next_name(struct unpacking *k, const struct ws_entry *e,
			     struct ws_err *err)
{
	struct level *l = lowest(k);
	const char *name = ws_buf_str(&e->path) + k->path.len + 1;
	bool rest = e->type != WS_ENTRY_GONE;

	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..") ||
	    strlen(name) > NAME_MAX) {
		ws_unpack_fail(e, "is not in a folder that came before it", err);
		return NULL;
	}
	if (rest && !l->rest)
		ws_freep(&l->last);
	if (rest < l->rest || (l->last && strcmp(name, l->last) <= 0)) {
		ws_unpack_fail(e, "comes out of order, or twice", err);
		return NULL;
	}
	l->rest = rest;
	ws_freep(&l->last);
	l->last = ws_strdup(name);
	return l->last;
}

static int make(struct unpacking *k, const struct ws_entry *e, struct ws_err *err)
{
	const char *wrong = wrong_about(k, e);
	WS_AUTO_FREE char *name = NULL;

	if (wrong)
		return ws_unpack_fail(e, wrong, err);
	if (ws_room_take(k->u->room, WS_ROOM_BLOCK, 1, err) < 0)
		return -1;
	while (!is_below(e, &k->path))
		if (pop(k, err) < 0)
			return -1;
	name = ws_strdup(next_name(k, e, err));
	if (!name)
		return -1;
	if (e->type == WS_ENTRY_FOLDER)
		return make_folder(k, k->fd, name, e, err);
	return e->type == WS_ENTRY_FILE ? make_file(k, name, e, err)
					: make_other(k, name, e, err);
}

static int unpack(struct unpacking *k, struct ws_entry *e, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf top = WS_BUF_INIT;
	const char *wrong = wrong_about(k, e);

	ws_buf_addstr(&top, k->u->prefix);
	if (wrong || e->type != WS_ENTRY_FOLDER)
		return ws_unpack_fail(e, wrong ? wrong : "is no folder", err);
	if (make_folder(k, k->u->to, k->u->name, e, err) < 0)
		return -1;
	for (;;) {
		if (ws_archive_take(k->u->archive, e, err) < 0)
			return -1;
		if (e->type == WS_ENTRY_END || !is_below(e, &top))
			break;
		if (make(k, e, err) < 0)
			return -1;
	}
	while (k->depth)
		if (pop(k, err) < 0)
			return -1;
	return 0;
}

int ws_unpack_tree(const struct ws_unpack *u, struct ws_entry *e, struct ws_err *err)
{
	__attribute__((cleanup(unpacking_release))) struct unpacking k = { .u = u,
									   .fd = -1 };

	k.block = ws_grow(NULL, WS_ENTRY_BLOCK, 1);
	return unpack(&k, e, err);
}

int ws_unpack_text(struct ws_archive *a, const struct ws_entry *e, size_t max,
		   struct ws_buf *ret, struct ws_err *err)
{
	WS_AUTO_FREE char *block = ws_grow(NULL, WS_ENTRY_BLOCK, 1);
	uint64_t at;
	size_t len;

	if (e->type != WS_ENTRY_FILE)
		return ws_unpack_fail(e, "is no file", err);
	do {
		if (ws_archive_take_block(a, &at, block, &len, err) < 0)
			return -1;
		if (len && (at != ret->len || ret->len + len > max))
			return ws_unpack_fail(e, "is larger than it may be", err);
		ws_buf_add(ret, block, len);
	} while (len);
	return ret->len == e->size ? 0 : ws_unpack_fail(e, "is not whole", err);
}
