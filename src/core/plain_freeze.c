/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plain_freeze.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "core/drift.h"
#include "core/layer.h"

#define XATTR_NAMES_MAX 65536
#define XATTR_VALUE_MAX 65536

struct freeze {
	const struct ws_plain_tree *tree;
	enum ws_copy copy;
	int to;	      /* the new folder's top */
	char *folder; /* path that these two are open at */
	int from_dir, to_dir;
	struct ws_buf *linked;
	struct ws_err *err;
};

static void freeze_release(struct freeze *f)
{
	ws_closep(&f->to);
	ws_closep(&f->from_dir);
	ws_closep(&f->to_dir);
	ws_freep(&f->folder);
}

static int fail_stale(struct freeze *f, const struct ws_plain_entry *e)
{
	return ws_fail(f->err, WS_STALE, "'%s' changed while it was copied", e->path);
}

/* Between a look and a copy things may vanish or become others. */
static int fail_entry(struct freeze *f, const struct ws_plain_entry *e)
{
	if (errno == ENOENT || errno == ELOOP || errno == ENOTDIR || errno == EXDEV ||
	    errno == EISDIR)
		return fail_stale(f, e);
	return ws_fail_errno(f->err, "copy '%s'", e->path);
}

static bool same(const struct ws_plain_entry *e, const struct stat *st)
{
	return st->st_ino == e->ino && st->st_mode == e->mode &&
	       (uint64_t)st->st_size == e->size && st->st_uid == e->uid &&
	       st->st_gid == e->gid && st->st_mtim.tv_sec == e->mtime.tv_sec &&
	       st->st_mtim.tv_nsec == e->mtime.tv_nsec;
}

/* The folders of E, here and there; *ret_name: the rest of its path. */
static int enter(struct freeze *f, const struct ws_plain_entry *e, const char **ret_name)
{
	const char *slash = strrchr(e->path, '/');
	size_t len = slash ? (size_t)(slash - e->path) : 0;

	*ret_name = slash ? slash + 1 : e->path;
	if (f->folder && strlen(f->folder) == len && !strncmp(f->folder, e->path, len))
		return 0;
	ws_closep(&f->from_dir);
	ws_closep(&f->to_dir);
	ws_freep(&f->folder);
	f->folder = ws_strndup(e->path, len);
	f->from_dir = ws_open_beneath(f->tree->fd, len ? f->folder : ".",
				      O_PATH | O_DIRECTORY, 0);
	f->to_dir =
		ws_open_beneath(f->to, len ? f->folder : ".", O_PATH | O_DIRECTORY, 0);
	return f->from_dir < 0 || f->to_dir < 0 ? fail_entry(f, e) : 0;
}

/* ---- one file ---- */

/* The holes of a sparse file stay holes. */
static int copy_bytes(int from, int to, uint64_t size)
{
	off_t at = 0, end;

	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		off_t in = at, out = at;

		end = lseek(from, at, SEEK_HOLE);
		if (end < 0)
			return -1;
		while (in < end) {
			ssize_t n = copy_file_range(from, &in, to, &out,
						    (size_t)(end - in), 0);

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return -1;
			if (n == 0)
				break;
		}
		at = end;
	}
	return errno == ENXIO ? ftruncate(to, (off_t)size) : -1;
}

/* Filesystems that cannot look for holes, or copy across their border. */
static int copy_plainly(int from, int to)
{
	WS_AUTO_FREE char *buf = ws_grow(NULL, 1u << 16, 1);
	ssize_t n;

	if (lseek(from, 0, SEEK_SET) < 0 || lseek(to, 0, SEEK_SET) < 0)
		return -1;
	while ((n = read(from, buf, 1u << 16)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || ws_write_all(to, buf, (size_t)n) < 0)
			return -1;
	}
	return 0;
}

static int copy_content(int from, int to, uint64_t size)
{
	if (copy_bytes(from, to, size) == 0)
		return 0;
	if (errno != EINVAL && errno != EXDEV && errno != EOPNOTSUPP && errno != ENOSYS)
		return -1;
	return ftruncate(to, 0) < 0 ? -1 : copy_plainly(from, to);
}

/* A user's own notes on a file; not those that overlayfs takes for its own. */
static int copy_xattrs(int from, int to)
{
	WS_AUTO_FREE char *names = ws_grow(NULL, XATTR_NAMES_MAX, 1);
	WS_AUTO_FREE char *value = NULL;
	ssize_t n = flistxattr(from, names, XATTR_NAMES_MAX);

	for (const char *at = names; n > 0 && at < names + n; at += strlen(at) + 1) {
		ssize_t len;

		if (!ws_text_starts(at, "user.") || ws_text_starts(at, "user.overlay."))
			continue;
		if (!value)
			value = ws_grow(NULL, XATTR_VALUE_MAX, 1);
		len = fgetxattr(from, at, value, XATTR_VALUE_MAX);
		if (len < 0 && errno == ENODATA)
			continue;
		if (len < 0 || fsetxattr(to, at, value, (size_t)len, 0) < 0)
			return -1;
	}
	return 0;
}

static int open_source(int dir, const char *name)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, flags | O_NOATIME);

	return fd < 0 && errno == EPERM ? openat(dir, name, flags) : fd;
}

/* A file of ours, whatever group a folder above wants to pass on. */
static int create(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);

	if (fd >= 0 && fchown(fd, (uid_t)-1, getegid()) < 0)
		ws_closep(&fd);
	return fd;
}

static int take_content(struct freeze *f, const struct ws_plain_entry *e, int from,
			int to)
{
	if (e->how == WS_PLAIN_CLONE && ioctl(to, FICLONE, from) == 0)
		return 0;
	if (e->how == WS_PLAIN_CLONE && f->copy == WS_COPY_REFLINK && e->size > 0) {
		ws_fail(f->err, WS_SNAPSHOT_FAILED, "'%s' cannot be reflinked: %m",
			e->path);
		return ws_hint(
			f->err,
			"\"snapshots\": {\"copy\": \"auto\"} takes what the filesystem can "
			"do; reflinks need btrfs or xfs, with the state folder on the "
			"same one");
	}
	return copy_content(from, to, e->size) < 0 ? fail_entry(f, e) : 0;
}

static int copy_file(struct freeze *f, const struct ws_plain_entry *e, const char *name)
{
	const struct timespec times[] = { e->mtime, e->mtime };
	WS_AUTO_CLOSE int from = open_source(f->from_dir, name);
	WS_AUTO_CLOSE int to = -1;
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0)
		return fail_entry(f, e);
	if (!same(e, &st))
		return fail_stale(f, e);
	to = create(f->to_dir, name);
	if (to < 0)
		return ws_fail_errno(f->err, "copy '%s'", e->path);
	if (take_content(f, e, from, to) < 0)
		return -1;
	if (copy_xattrs(from, to) < 0 || fchmod(to, e->mode & 0777) < 0 ||
	    futimens(to, times) < 0)
		return ws_fail_errno(f->err, "copy '%s'", e->path);
	if (fstat(from, &st) < 0 || !same(e, &st))
		return fail_stale(f, e);
	return 0;
}

/* Nothing of the inode is touched; it may have too many links, or be immutable. */
static int link_file(struct freeze *f, const struct ws_plain_entry *e, const char *name)
{
	struct stat st;

	if (linkat(f->from_dir, name, f->to_dir, name, 0) < 0) {
		if (errno == EPERM || errno == EMLINK || errno == EXDEV ||
		    errno == EACCES || errno == EOPNOTSUPP)
			return copy_file(f, e, name);
		return fail_entry(f, e);
	}
	if (fstatat(f->to_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_entry(f, e);
	if (!same(e, &st))
		return fail_stale(f, e);
	ws_drift_note(f->linked, e->path, &st);
	return 0;
}

static int copy_link(struct freeze *f, const struct ws_plain_entry *e, const char *name)
{
	const struct timespec times[] = { e->mtime, e->mtime };

	if (symlinkat(e->link ? e->link : "", f->to_dir, name) < 0 ||
	    fchownat(f->to_dir, name, (uid_t)-1, getegid(), AT_SYMLINK_NOFOLLOW) < 0 ||
	    utimensat(f->to_dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return ws_fail_errno(f->err, "copy '%s'", e->path);
	return 0;
}

static int make_folder(struct freeze *f, const struct ws_plain_entry *e, const char *name)
{
	if (mkdirat(f->to_dir, name, 0700) < 0 ||
	    fchownat(f->to_dir, name, (uid_t)-1, getegid(), AT_SYMLINK_NOFOLLOW) < 0)
		return ws_fail_errno(f->err, "make the folder '%s'", e->path);
	return 0;
}

static int take(struct freeze *f, const struct ws_plain_entry *e)
{
	static int (*const ways[])(struct freeze *, const struct ws_plain_entry *,
				   const char *) = {
		[WS_PLAIN_FOLDER] = make_folder, [WS_PLAIN_SYMLINK] = copy_link,
		[WS_PLAIN_COPY] = copy_file,	 [WS_PLAIN_CLONE] = copy_file,
		[WS_PLAIN_LINK] = link_file,
	};
	const char *name;

	if (!*e->path)
		return 0; /* the top, which is there */
	return enter(f, e, &name) < 0 ? -1 : ways[e->how](f, e, name);
}

/* What is in a folder changes its time, and may need its mode: so those come last. */
static int finish_folder(struct freeze *f, const struct ws_plain_entry *e)
{
	const struct timespec times[] = { e->mtime, e->mtime };
	WS_AUTO_CLOSE int fd = ws_open_dir(f->to, *e->path ? e->path : ".");

	if (fd < 0 || futimens(fd, times) < 0 || fchmod(fd, e->mode & 01777) < 0)
		return ws_fail_errno(f->err, "finish the folder '%s'", e->path);
	return 0;
}

int ws_plain_freeze(const struct ws_plain_tree *tree, int dir, const char *below,
		    enum ws_copy copy, struct ws_buf *linked, struct ws_err *err)
{
	WS_AUTO(freeze)
	struct freeze f = { .tree = tree,
			    .copy = copy,
			    .to = -1,
			    .from_dir = -1,
			    .to_dir = -1,
			    .linked = linked,
			    .err = err };

	if (ws_layer_mkdir(dir, below, err) < 0)
		return -1;
	f.to = ws_open_dir(dir, below);
	if (f.to < 0)
		return ws_fail_errno(err, "open '%s'", below);
	for (size_t i = 0; i < tree->n; i++)
		if (take(&f, &tree->v[i]) < 0)
			return -1;
	for (size_t i = tree->n; i > 0; i--)
		if (tree->v[i - 1].how == WS_PLAIN_FOLDER &&
		    finish_folder(&f, &tree->v[i - 1]) < 0)
			return -1;
	return 0;
}
