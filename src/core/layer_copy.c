/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk without recursion. Of the folders on the way down only the lowest WINDOW are
 * open on either side; the others are opened anew on the way up, from the top.
 */
#include "core/layer_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"

#define WINDOW 32
#define BLOCK ((size_t)1 << 30)
#define OVERLAY "user.overlay."
#define ESCAPED "user.overlay.overlay." /* a payload's own, as the kernel keeps them */
#define OPAQUE "user.overlay.opaque"

struct level {
	char *name;
	struct ws_stack_dir from;
	int to;
	struct stat st;
	struct ws_strv names;
	size_t next;
};

struct copy {
	const struct ws_stack *stack;
	unsigned first, last;
	int top;
	enum ws_layer_copy how;
	struct level *levels;
	size_t depth, cap;
	size_t low; /* levels below this index are closed */
	struct ws_buf path;
};

static void level_close(struct level *l)
{
	ws_stack_dir_release(&l->from);
	ws_closep(&l->to);
}

static void level_release(struct level *l)
{
	level_close(l);
	ws_freep(&l->name);
	ws_strv_release(&l->names);
}

static void copy_release(struct copy *c)
{
	while (c->depth)
		level_release(&c->levels[--c->depth]);
	ws_freep(&c->levels);
	ws_buf_release(&c->path);
}

static struct level *lowest(struct copy *c)
{
	return &c->levels[c->depth - 1];
}

static int fail_at(const struct copy *c, const char *name, struct ws_err *err)
{
	int error = errno;
	WS_AUTO_FREE char *path =
		ws_format("%s%s%s", ws_buf_str(&c->path), c->path.len ? "/" : "", name);

	errno = error;
	return ws_fail_errno(err, "copy '%.200s'", path);
}

/* ---- what a file is besides its bytes ---- */

static bool is_kept(const char *name)
{
	return ws_text_starts(name, "user.") &&
	       (!ws_text_starts(name, OVERLAY) || ws_text_starts(name, ESCAPED));
}

int ws_layer_each_xattr(int from, ws_layer_xattr *take, void *data)
{
	WS_AUTO_FREE char *names = NULL;
	WS_AUTO_FREE char *value = NULL;
	ssize_t len = flistxattr(from, NULL, 0);

	if (len <= 0)
		return len < 0 && errno != ENOTSUP ? -1 : 0;
	names = ws_alloc((size_t)len + 1);
	value = ws_alloc(XATTR_SIZE_MAX);
	len = flistxattr(from, names, (size_t)len);
	for (const char *n = names; len > 0 && n < names + len; n += strlen(n) + 1) {
		ssize_t size;

		if (!is_kept(n))
			continue;
		size = fgetxattr(from, n, value, XATTR_SIZE_MAX);
		if (size < 0 || take(data, n, value, (size_t)size) < 0)
			return -1;
	}
	return len < 0 ? -1 : 0;
}

static int set_xattr(void *data, const char *name, const void *value, size_t size)
{
	const int *to = data;

	return fsetxattr(*to, name, value, size, 0);
}

int ws_layer_copy_xattrs(int from, int to)
{
	return ws_layer_each_xattr(from, set_xattr, &to);
}

void ws_layer_xattr_inside(const char *name, char ret[XATTR_NAME_MAX + 1])
{
	bool escaped = ws_text_starts(name, ESCAPED);

	snprintf(ret, XATTR_NAME_MAX + 1, "%s%s", escaped ? OVERLAY : "",
		 escaped ? name + strlen(ESCAPED) : name);
}

static void times_of(const struct stat *st, struct timespec ret[2])
{
	ret[0] = st->st_atim;
	ret[1] = st->st_mtim;
}

/* ---- one file ---- */

/* The run of data from AT on; holes stay holes. */
static int copy_run(int from, int to, off_t at, off_t end)
{
	if (lseek(from, at, SEEK_SET) < 0 || lseek(to, at, SEEK_SET) < 0)
		return -1;
	while (at < end) {
		size_t want = (size_t)(end - at) < BLOCK ? (size_t)(end - at) : BLOCK;
		ssize_t n = copy_file_range(from, NULL, to, NULL, want, 0);

		if (n < 0)
			return -1;
		if (n == 0)
			return 0; /* it was cut meanwhile */
		at += n;
	}
	return 0;
}

static int copy_bytes(int from, int to, off_t size)
{
	off_t at = 0;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	while (at < size) {
		off_t data = lseek(from, at, SEEK_DATA), hole;

		if (data < 0)
			break;
		hole = lseek(from, data, SEEK_HOLE);
		if (hole < 0 || copy_run(from, to, data, hole) < 0)
			return -1;
		at = hole;
	}
	return at < size && errno != ENXIO ? -1 : ftruncate(to, size);
}

int ws_layer_clone_file(int from, int dir, const char *name, const struct stat *st)
{
	WS_AUTO_CLOSE int to =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct timespec times[2];

	times_of(st, times);
	return to < 0 || copy_bytes(from, to, st->st_size) < 0 ||
			       ws_layer_copy_xattrs(from, to) < 0 ||
			       fchmod(to, st->st_mode & 07777) < 0 ||
			       futimens(to, times) < 0
		       ? -1
		       : 0;
}

int ws_layer_link_file(int from, int dir, const char *name)
{
	char self[40];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", from);
	return linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW);
}

static int copy_file(struct copy *c, const char *path, const char *name,
		     const struct ws_stack_entry *e)
{
	int dir = lowest(c)->to;
	WS_AUTO_CLOSE int from = ws_stack_open_file(c->stack, e->layer, path);
	struct stat st;

	if (from < 0)
		return -1;
	if (c->how == WS_LAYER_LINK && ws_layer_link_file(from, dir, name) == 0)
		return 0;
	/* too many links, for one; E's mode is its own, which may be mended right now */
	if (fstat(from, &st) < 0)
		return -1;
	st.st_mode = e->st.st_mode;
	return ws_layer_clone_file(from, dir, name, &st);
}

/* ---- what is no file ---- */

static int copy_link(const struct copy *c, const char *path, int dir, const char *name,
		     const struct ws_stack_entry *e)
{
	WS_AUTO_FREE char *target = ws_stack_read_link(c->stack, e->layer, path);

	return target ? symlinkat(target, dir, name) : -1;
}

static int copy_special(int dir, const char *name, const struct stat *st)
{
	if (mknodat(dir, name, st->st_mode & S_IFMT, 0) < 0)
		return -1;
	return fchmodat(dir, name, st->st_mode & 07777, 0);
}

static int copy_one(struct copy *c, const char *name, const struct ws_stack_entry *e)
{
	WS_AUTO_FREE char *path =
		ws_format("%s%s%s", ws_buf_str(&c->path), c->path.len ? "/" : "", name);
	int dir = lowest(c)->to;
	struct timespec times[2];

	if (S_ISREG(e->st.st_mode))
		return copy_file(c, path, name, e);
	times_of(&e->st, times);
	if ((S_ISLNK(e->st.st_mode) ? copy_link(c, path, dir, name, e)
				    : copy_special(dir, name, &e->st)) < 0)
		return -1;
	return utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
}

/* ---- folders ---- */

static int open_top(struct copy *c, struct level *l)
{
	l->to = fcntl(c->top, F_DUPFD_CLOEXEC, 3);
	return l->to < 0 ? -1 : ws_stack_top(c->stack, c->first, c->last, &l->from);
}

static int enter(struct level *above, const char *name, struct level *l)
{
	l->to = ws_open_dir(above->to, name);
	return l->to < 0 ? -1 : ws_stack_enter(&above->from, name, &l->from);
}

/* The lowest level is open again, and what is needed to get there was. */
static int reopen(struct copy *c)
{
	struct level *l = c->levels;
	size_t at = c->depth - 1;

	if (l[at].to >= 0)
		return 0;
	for (size_t i = 0; i <= at; i++) {
		if (l[i].to >= 0)
			continue;
		if ((i ? enter(&l[i - 1], l[i].name, &l[i]) : open_top(c, &l[0])) < 0)
			return -1;
		if (i >= WINDOW)
			level_close(&l[i - WINDOW]);
	}
	c->low = at >= WINDOW ? at - WINDOW + 1 : 0;
	return 0;
}

static int push(struct copy *c, struct level *l)
{
	if (c->depth == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 64;
		c->levels = ws_grow(c->levels, c->cap, sizeof(*c->levels));
	}
	if (l->name)
		ws_buf_addf(&c->path, "%s%s", c->path.len ? "/" : "", l->name);
	c->levels[c->depth++] = *l;
	*l = (struct level){ .to = -1 };
	if (c->depth - c->low > WINDOW)
		level_close(&c->levels[c->low++]);
	l = lowest(c);
	if (l->from.cut && fsetxattr(l->to, OPAQUE, "y", 1, 0) < 0)
		return -1;
	return ws_layer_copy_xattrs(l->from.v[0].fd, l->to) < 0
		       ? -1
		       : ws_stack_names(&l->from, true, &l->names);
}

/* Its mode last: it may be one that lets nobody write, or enter. */
static int pop(struct copy *c)
{
	struct level *l = lowest(c);
	struct timespec times[2];
	int rc;

	times_of(&l->st, times);
	rc = futimens(l->to, times);
	if (rc == 0)
		rc = fchmod(l->to, l->st.st_mode & 07777);
	if (l->name) {
		size_t len = strlen(l->name);

		c->path.len -= c->path.len > len ? len + 1 : len;
		c->path.data[c->path.len] = '\0';
	}
	level_release(l);
	c->depth--;
	if (c->low > c->depth)
		c->low = c->depth;
	return rc;
}

static int descend(struct copy *c, const char *name, const struct stat *st)
{
	struct level next = { .name = ws_strdup(name), .to = -1, .st = *st };
	int rc;

	rc = mkdirat(lowest(c)->to, name, 0700);
	if (rc == 0)
		rc = enter(lowest(c), name, &next);
	if (rc == 0)
		return push(c, &next);
	level_release(&next);
	return -1;
}

/* ---- the walk ---- */

static int visit(struct copy *c, const char *name)
{
	struct ws_stack_entry e;
	bool whiteout;

	if (ws_stack_lookup_raw(&lowest(c)->from, name, &e, &whiteout) < 0)
		return -1;
	if (whiteout)
		return mknodat(lowest(c)->to, name, S_IFCHR, 0);
	if (!e.st.st_mode)
		return 0; /* it has gone since the folder was read */
	return S_ISDIR(e.st.st_mode) ? descend(c, name, &e.st) : copy_one(c, name, &e);
}

/* Who writes meanwhile although he should not: what vanishes is not copied. */
static bool is_gone(void)
{
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
}

static int walk(struct copy *c, struct ws_err *err)
{
	struct level first = { .to = -1 };

	if (open_top(c, &first) < 0 || fstat(first.from.v[0].fd, &first.st) < 0) {
		level_release(&first);
		return fail_at(c, "", err);
	}
	if (first.from.v[0].mended)
		first.st.st_mode = S_IFDIR | first.from.v[0].mode;
	if (push(c, &first) < 0)
		return fail_at(c, "", err);
	while (c->depth) {
		struct level *l = lowest(c);
		WS_AUTO_FREE char *name =
			l->next < l->names.n ? ws_strdup(l->names.v[l->next++]) : NULL;

		if (reopen(c) < 0 || (!name && pop(c) < 0))
			return fail_at(c, "", err);
		if (name && visit(c, name) < 0 && !is_gone())
			return fail_at(c, name, err);
	}
	return 0;
}

int ws_layer_copy(const struct ws_stack *stack, unsigned first, unsigned last, int to,
		  enum ws_layer_copy how, struct ws_err *err)
{
	__attribute__((cleanup(copy_release))) struct copy c = {
		.stack = stack, .first = first, .last = last, .top = to, .how = how
	};

	return walk(&c, err);
}
