/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fs.h"

#define OPAQUE "user.overlay.opaque"
#define WHITEOUT "user.overlay.whiteout"
#define DENTS_SIZE 65536
#define CHUNK 2048 /* of a path that is walked at once */
#define TRIES 8

/* ---- the layers ---- */

void ws_stack_release(struct ws_stack *stack)
{
	for (size_t i = 0; i < stack->n; i++)
		ws_closep(&stack->roots[i]);
	for (size_t i = 0; stack->names && i < stack->n; i++)
		ws_freep(&stack->names[i]);
	ws_freep(&stack->names);
	ws_freep(&stack->roots);
	ws_closep(&stack->blobs);
	stack->n = 0;
}

static int open_layer(const struct ws_root *root, const char *name, struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("layers/%s/root", name);
	int fd = ws_open_dir(root->fd, path);

	if (fd < 0 && errno == ENOENT)
		return ws_fail(err, WS_BASE_MISSING, "layer '%s' is not there", name);
	return fd < 0 ? ws_fail_errno(err, "open layer '%s'", name) : fd;
}

/* Under the others: where a repo is live, there are none. */
static int add_live(const struct ws_session_repo *repo, struct ws_stack *st,
		    struct ws_err *err)
{
	int fd = open(repo->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return ws_fail(err, WS_BASE_MISSING, "the live folder '%s': %m",
			       repo->path);
	st->names[st->n] = ws_strdup(repo->name);
	st->roots[st->n++] = fd;
	return 0;
}

/* Room for an upper, LAYERS and the live repos of S. */
static void make_room(const struct ws_session *s, const struct ws_strv *layers,
		      struct ws_stack *st)
{
	st->roots = ws_grow(NULL, layers->n + s->nrepos + 1, sizeof(*st->roots));
	st->names = ws_alloc((layers->n + s->nrepos + 1) * sizeof(*st->names));
}

/* LAYERS, the topmost first, and the live repos, below what ST has already. */
static int add_layers(const struct ws_root *root, const struct ws_session *s,
		      const struct ws_strv *layers, struct ws_stack *st,
		      struct ws_err *err)
{
	for (size_t i = layers->n; i > 0; i--) {
		int fd = open_layer(root, layers->v[i - 1], err);

		if (fd < 0)
			return ws_fail_within(err, "session '%s'", s->id);
		st->roots[st->n++] = fd;
	}
	for (size_t i = 0; i < s->nrepos; i++)
		if (s->repos[i].live && add_live(&s->repos[i], st, err) < 0)
			return -1;
	return 0;
}

static int open_all(const struct ws_root *root, const struct ws_session *s,
		    struct ws_stack *st, struct ws_err *err)
{
	make_room(s, &s->stack, st);
	st->own = 1 + (unsigned)s->frozen;
	st->roots[0] = ws_open_dir(s->dir, "upper");
	if (st->roots[0] < 0)
		return ws_fail_errno(err, "open the upper of session '%s'", s->id);
	st->n = 1;
	return add_layers(root, s, &s->stack, st, err);
}

int ws_stack_open_layers(const struct ws_root *root, const struct ws_session *s,
			 const struct ws_strv *layers, struct ws_stack *ret,
			 struct ws_err *err)
{
	WS_AUTO(ws_stack) struct ws_stack st = WS_STACK_INIT;

	make_room(s, layers, &st);
	st.own = 0;
	if (add_layers(root, s, layers, &st, err) < 0)
		return -1;
	*ret = st;
	st = WS_STACK_INIT;
	return 0;
}

/*
 * A fork may come between the reading of S and the opening of its upper, which is
 * another then: first the record says what it becomes (fork.c), so the record tells.
 */
int ws_stack_open(const struct ws_root *root, const struct ws_session *s,
		  struct ws_stack *ret, struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session now = WS_SESSION_INIT;
	const char *id = s->id; /* of what is the caller's */

	for (int i = 0; i < TRIES; i++) {
		WS_AUTO(ws_stack) struct ws_stack st = WS_STACK_INIT;
		int rc = open_all(root, s, &st, err);

		if (ws_session_is_fresh(s)) {
			if (rc < 0)
				return -1;
			*ret = st;
			st = WS_STACK_INIT;
			return 0;
		}
		ws_session_release(&now);
		now = WS_SESSION_INIT;
		if (ws_session_open_record(root, id, &now, err) < 0)
			return -1;
		s = &now;
	}
	return ws_fail(err, WS_SESSION_BUSY, "session '%s' does not stay the same", id);
}

void ws_stack_of(int fd, struct ws_stack *ret)
{
	*ret = WS_STACK_INIT;
	ret->roots = ws_grow(NULL, 1, sizeof(*ret->roots));
	ret->roots[ret->n++] = fd;
}

/* Where a layer is not rooted at /workspace, its name there. */
static const char *name_of(const struct ws_stack *stack, unsigned layer)
{
	return stack->names ? stack->names[layer] : NULL;
}

/* ---- what overlayfs writes down ---- */

static bool has_mark(int fd, const char *name, char value)
{
	char got[4];
	ssize_t n = fgetxattr(fd, name, got, sizeof(got));

	return n == 1 && got[0] == value;
}

/* A file of no bytes with a mark; told from its name, so that nothing is opened. */
static bool is_marked_file(int dir, const char *name)
{
	WS_AUTO_CLOSE int fd = -1;
	char path[40], got[4];

	fd = ws_open_beneath(dir, name, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return getxattr(path, WHITEOUT, got, sizeof(got)) >= 0;
}

static bool is_whiteout(const struct ws_stack_part *part, const char *name,
			const struct stat *st)
{
	if (S_ISCHR(st->st_mode) && st->st_rdev == 0)
		return true;
	return S_ISREG(st->st_mode) && st->st_size == 0 &&
	       has_mark(part->fd, OPAQUE, 'x') && is_marked_file(part->fd, name);
}

/* ---- folders ---- */

void ws_stack_dir_release(struct ws_stack_dir *dir)
{
	for (size_t i = 0; i < dir->n; i++) {
		/* one that cannot be put back: its owner has taken it away meanwhile */
		if (dir->v[i].mended && fchmod(dir->v[i].fd, dir->v[i].mode) < 0)
			errno = 0;
		ws_closep(&dir->v[i].fd);
	}
	ws_freep(&dir->v);
	dir->n = 0;
}

static void add_part(struct ws_stack_dir *dir, const struct ws_stack_part *part)
{
	dir->v = ws_grow(dir->v, dir->n + 1, sizeof(*dir->v));
	dir->v[dir->n++] = *part;
}

/* /proc/self/fd/N is the very file that the O_PATH descriptor holds. */
static int mend(int held, mode_t mode)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
	return chmod(path, mode);
}

/* The mode stays mended while the folder is open: each look into it asks for x. */
static int open_part(int dir, const char *name, struct ws_stack_part *ret)
{
	WS_AUTO_CLOSE int held = -1;
	struct stat st;

	ret->mended = false;
	ret->fd = ws_open_dir(dir, name);
	if (ret->fd >= 0 && fstat(ret->fd, &st) == 0 && (st.st_mode & 0500) == 0500)
		return 0;
	if (ret->fd < 0 && (errno != EACCES || ret->host))
		return -1;
	if (ret->host)
		return 0;
	ws_closep(&ret->fd);
	held = ws_open_beneath(dir, name, O_PATH | O_DIRECTORY, 0);
	if (held < 0 || fstat(held, &st) < 0 ||
	    mend(held, (st.st_mode & 07777) | 0700) < 0)
		return -1;
	ret->mended = true;
	ret->mode = st.st_mode & 07777;
	ret->fd = openat(held, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret->fd < 0 ? -1 : 0;
}

int ws_stack_top(const struct ws_stack *stack, unsigned first, unsigned last,
		 struct ws_stack_dir *ret)
{
	WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;

	for (unsigned i = first; i < stack->n && i <= last; i++) {
		struct ws_stack_part part = { .layer = i };

		if (name_of(stack, i))
			continue;
		if (open_part(stack->roots[i], ".", &part) < 0)
			return -1;
		add_part(&dir, &part);
		dir.cut = has_mark(part.fd, OPAQUE, 'y');
		if (dir.cut)
			break;
	}
	dir.top = stack;
	dir.first = first;
	dir.last = last;
	*ret = dir;
	dir = WS_STACK_DIR_INIT;
	return 0;
}

/* The live repo at NAME of the topmost folder, or -1. */
static int find_live(const struct ws_stack_dir *dir, const char *name)
{
	for (unsigned i = dir->first; dir->top && i < dir->top->n && i <= dir->last; i++)
		if (name_of(dir->top, i) && !strcmp(name_of(dir->top, i), name))
			return (int)i;
	return -1;
}

static int look(const struct ws_stack_part *part, const char *name, struct stat *st,
		bool *ret_whiteout)
{
	*ret_whiteout = false;
	if (fstatat(part->fd, name, st, AT_SYMLINK_NOFOLLOW) < 0) {
		st->st_mode = 0;
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	}
	*ret_whiteout = is_whiteout(part, name, st);
	return 0;
}

int ws_stack_lookup_raw(const struct ws_stack_dir *dir, const char *name,
			struct ws_stack_entry *ret, bool *ret_whiteout)
{
	*ret = (struct ws_stack_entry){ 0 };
	*ret_whiteout = false;
	for (size_t i = 0; i < dir->n; i++) {
		ret->layer = dir->v[i].layer;
		if (look(&dir->v[i], name, &ret->st, ret_whiteout) < 0)
			return -1;
		if (ret->st.st_mode)
			return 0;
	}
	return 0;
}

int ws_stack_lookup(const struct ws_stack_dir *dir, const char *name,
		    struct ws_stack_entry *ret)
{
	bool whiteout;

	if (ws_stack_lookup_raw(dir, name, ret, &whiteout) < 0)
		return -1;
	if (ret->st.st_mode) {
		ret->st.st_mode = whiteout ? 0 : ret->st.st_mode;
		return 0;
	}
	if (find_live(dir, name) < 0)
		return 0;
	ret->layer = (unsigned)find_live(dir, name);
	return fstat(dir->top->roots[ret->layer], &ret->st);
}

/* 1: the folder of this layer is the last that counts; 0: go on below. */
static int enter_part(const struct ws_stack_part *part, const char *name,
		      struct ws_stack_dir *dir)
{
	struct ws_stack_part next = { .layer = part->layer, .host = part->host };
	struct stat st;
	bool whiteout;

	if (look(part, name, &st, &whiteout) < 0)
		return -1;
	if (!st.st_mode)
		return 0;
	if (whiteout || !S_ISDIR(st.st_mode)) {
		errno = whiteout ? ENOENT : ENOTDIR;
		return dir->n ? 1 : -1;
	}
	if (open_part(part->fd, name, &next) < 0)
		return -1;
	add_part(dir, &next);
	return has_mark(next.fd, OPAQUE, 'y');
}

static int enter_live(const struct ws_stack_dir *dir, const char *name,
		      struct ws_stack_dir *ret)
{
	struct ws_stack_part part = { .layer = (unsigned)find_live(dir, name),
				      .host = true };

	if (open_part(dir->top->roots[part.layer], ".", &part) < 0)
		return -1;
	add_part(ret, &part);
	return 0;
}

int ws_stack_enter(const struct ws_stack_dir *dir, const char *name,
		   struct ws_stack_dir *ret)
{
	WS_AUTO(ws_stack_dir) struct ws_stack_dir next = WS_STACK_DIR_INIT;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < dir->n; i++)
		rc = enter_part(&dir->v[i], name, &next);
	next.cut = dir->cut || rc > 0;
	if (rc == 0 && find_live(dir, name) >= 0)
		rc = enter_live(dir, name, &next);
	if (rc < 0)
		return -1;
	if (!next.n) {
		errno = ENOENT;
		return -1;
	}
	*ret = next;
	next = WS_STACK_DIR_INIT;
	return 0;
}

/* ---- names ---- */

static int read_names(int fd, struct ws_strv *ret)
{
	WS_AUTO_FREE char *dents = ws_grow(NULL, DENTS_SIZE, 1);
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	while ((n = getdents64(fd, dents, DENTS_SIZE)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(dents + at);

			at += d->d_reclen;
			if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
				ws_strv_push(ret, d->d_name);
		}
	return n < 0 && errno != ENOENT ? -1 : 0;
}

int ws_stack_names(const struct ws_stack_dir *dir, bool raw, struct ws_strv *ret)
{
	WS_AUTO(ws_strv) struct ws_strv all = WS_STRV_INIT;

	for (size_t i = 0; i < dir->n; i++)
		if (read_names(dir->v[i].fd, &all) < 0)
			return -1;
	ws_strv_sort_once(&all);
	for (size_t i = 0; i < all.n; i++) {
		struct ws_stack_entry e;

		if (!raw && ws_stack_lookup(dir, all.v[i], &e) < 0)
			return -1;
		if (raw || e.st.st_mode)
			ws_strv_take(ret, ws_steal_ptr(&all.v[i]));
	}
	return 0;
}

/* ---- paths ---- */

int ws_stack_walk(const struct ws_stack *stack, unsigned first, unsigned last,
		  const char *path, struct ws_stack_dir *ret)
{
	WS_AUTO(ws_stack_dir) struct ws_stack_dir at = WS_STACK_DIR_INIT;
	WS_AUTO_FREE char *copy = ws_strdup(path);
	char *save = NULL;

	if (ws_stack_top(stack, first, last, &at) < 0)
		return -1;
	for (char *c = strtok_r(copy, "/", &save); c; c = strtok_r(NULL, "/", &save)) {
		struct ws_stack_dir next = WS_STACK_DIR_INIT;

		if (ws_stack_enter(&at, c, &next) < 0)
			return -1;
		ws_stack_dir_release(&at);
		at = next;
	}
	*ret = at;
	at = WS_STACK_DIR_INIT;
	return 0;
}

/* Opens the folder of a long path chunk by chunk; PATH then points to the rest. */
static int open_above(int root, const char **path)
{
	WS_AUTO_CLOSE int at = fcntl(root, F_DUPFD_CLOEXEC, 3);

	while (at >= 0 && strlen(*path) > CHUNK) {
		WS_AUTO_FREE char *chunk = NULL;
		size_t len = CHUNK;
		int next;

		while (len && (*path)[len] != '/')
			len--;
		if (!len) {
			errno = ENAMETOOLONG;
			return -1;
		}
		chunk = ws_strndup(*path, len);
		*path += len + 1;
		next = ws_open_beneath(at, chunk, O_PATH | O_DIRECTORY, 0);
		ws_closep(&at);
		at = next;
	}
	return ws_steal_fd(&at);
}

/*
 * The way there by parts, where a folder's mode stops the short one. Its mode must stay
 * mended until the file is open.
 */
static int hold_part(const struct ws_stack *stack, unsigned layer, const char *path,
		     int flags)
{
	WS_AUTO_FREE char *dir = ws_strdup(path);
	WS_AUTO(ws_stack_dir) struct ws_stack_dir at = WS_STACK_DIR_INIT;
	char *slash = strrchr(dir, '/');
	const char *name = slash ? slash + 1 : dir;

	if (slash)
		*slash = '\0';
	if (ws_stack_walk(stack, layer, layer, slash ? dir : "", &at) < 0)
		return -1;
	return ws_open_beneath(at.v[0].fd, name, flags, 0);
}

static int hold(const struct ws_stack *stack, unsigned layer, const char *path)
{
	const char *name = name_of(stack, layer);
	const char *rest = name ? path + strlen(name) + 1 : path;
	WS_AUTO_CLOSE int above = open_above(stack->roots[layer], &rest);
	int fd = above < 0 ? -1 : ws_open_beneath(above, rest, O_PATH | O_NOFOLLOW, 0);

	if (fd < 0 && errno == EACCES && !name)
		fd = hold_part(stack, layer, path, O_PATH | O_NOFOLLOW);
	return fd;
}

int ws_stack_open_file(const struct ws_stack *stack, unsigned layer, const char *path)
{
	WS_AUTO_CLOSE int held = hold(stack, layer, path);
	char self[40];
	struct stat st;
	int fd;

	if (held < 0 || fstat(held, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", held);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 || errno != EACCES || name_of(stack, layer))
		return fd;
	if (mend(held, (st.st_mode & 07777) | 0400) < 0)
		return -1;
	fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (mend(held, st.st_mode & 07777) < 0)
		ws_closep(&fd);
	return fd;
}

int ws_stack_read(const struct ws_stack *stack, const char *path, size_t max,
		  struct ws_buf *ret)
{
	WS_AUTO_FREE char *above = ws_strdup(path);
	WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;
	WS_AUTO_CLOSE int fd = -1;
	struct ws_stack_entry e;
	char *slash = strrchr(above, '/');

	if (slash)
		*slash = '\0';
	if (ws_stack_walk(stack, 0, (unsigned)stack->n, slash ? above : "", &dir) < 0 ||
	    ws_stack_lookup(&dir, slash ? slash + 1 : above, &e) < 0)
		return -1;
	errno = ENOENT;
	if (!e.st.st_mode)
		return -1;
	fd = ws_stack_open_file(stack, e.layer, path);
	return fd < 0 ? -1 : ws_read_fd(fd, max, ret);
}

char *ws_stack_read_link(const struct ws_stack *stack, unsigned layer, const char *path)
{
	WS_AUTO_CLOSE int held = hold(stack, layer, path);
	char target[PATH_MAX + 1];
	ssize_t n = held < 0 ? -1 : readlinkat(held, "", target, sizeof(target) - 1);

	return n < 0 ? NULL : ws_strndup(target, (size_t)n);
}
