/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two folders are compared at a time: what the upper has at a path, and what the layers
 * below show there. Either may be missing. No recursion; of the folders on the way down
 * only the lowest WINDOW are open, the others are opened anew on the way up.
 */
#include "core/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sha256.h"

#define WINDOW 32
#define BLOCK 65536
#define GIT ".git"

struct level {
	char *name;
	bool has_up, has_low;
	bool open;
	struct ws_stack_dir up, low;
	struct ws_strv names;
	size_t next;
	bool whole; /* the names are those of both sides: what is not in UP is gone */
};

struct reader {
	const struct ws_stack *stack;
	const struct ws_strv *hidden;
	struct ws_diff *diff;
	struct level *levels;
	size_t depth, cap;
	size_t low; /* levels below this index are closed */
	struct ws_buf path;
};

static void level_close(struct level *l)
{
	ws_stack_dir_release(&l->up);
	ws_stack_dir_release(&l->low);
	l->open = false;
}

static void level_release(struct level *l)
{
	level_close(l);
	ws_freep(&l->name);
	ws_strv_release(&l->names);
}

static void reader_release(struct reader *r)
{
	while (r->depth)
		level_release(&r->levels[--r->depth]);
	ws_freep(&r->levels);
	ws_buf_release(&r->path);
}

static int fail_at(const struct reader *r, const char *name, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf shown = WS_BUF_INIT;
	int error = errno;

	ws_buf_addf(&shown, "%s%s%s", ws_buf_str(&r->path), r->path.len ? "/" : "", name);
	if (shown.len > 200)
		shown.data[200] = '\0';
	errno = error;
	return ws_fail_errno(err, "read '/workspace/%s'", shown.data);
}

/* The path of NAME in the lowest level; good until the next call. */
static const char *path_of(struct reader *r, const char *name)
{
	size_t len = r->path.len;

	if (len)
		ws_buf_addch(&r->path, '/');
	ws_buf_addstr(&r->path, name);
	r->path.len = len;
	return r->path.data;
}

/* ---- comparing ---- */

/* From where they are. */
static bool same_bytes(int a, int b)
{
	WS_AUTO_FREE char *x = ws_grow(NULL, BLOCK, 1);
	WS_AUTO_FREE char *y = ws_grow(NULL, BLOCK, 1);

	for (;;) {
		ssize_t n = read(a, x, BLOCK), m;
		ssize_t got = 0;

		if (n < 0)
			return false;
		while (got < n && (m = read(b, y + got, (size_t)(n - got))) > 0)
			got += m;
		if (got != n || memcmp(x, y, (size_t)n) != 0)
			return false;
		if (n == 0)
			return read(b, y, 1) == 0;
	}
}

static bool same_file(const struct ws_stack *x, const struct ws_stack_entry *a,
		      const struct ws_stack *y, const struct ws_stack_entry *b,
		      const char *path)
{
	WS_AUTO_CLOSE int from = -1;
	WS_AUTO_CLOSE int to = -1;

	if (a->st.st_size != b->st.st_size)
		return false;
	if (a->st.st_size == 0)
		return true;
	from = ws_stack_open_file(x, a->layer, path);
	to = from < 0 ? -1 : ws_stack_open_file(y, b->layer, path);
	return to >= 0 && same_bytes(from, to);
}

static bool same_link(const struct ws_stack *x, const struct ws_stack_entry *a,
		      const struct ws_stack *y, const struct ws_stack_entry *b,
		      const char *path)
{
	WS_AUTO_FREE char *from = ws_stack_read_link(x, a->layer, path);
	WS_AUTO_FREE char *to = ws_stack_read_link(y, b->layer, path);

	return from && to && !strcmp(from, to);
}

bool ws_changes_same_entry(const struct ws_stack *x, const struct ws_stack_entry *a,
			   const struct ws_stack *y, const struct ws_stack_entry *b,
			   const char *path)
{
	if (S_ISREG(a->st.st_mode))
		return same_file(x, a, y, b, path);
	if (S_ISLNK(a->st.st_mode))
		return same_link(x, a, y, b, path);
	return a->st.st_rdev == b->st.st_rdev;
}

static struct ws_change_side side(const struct ws_stack_entry *e)
{
	return (struct ws_change_side){ .mode = e->st.st_mode,
					.size = S_ISDIR(e->st.st_mode)
							? 0
							: (uint64_t)e->st.st_size,
					.layer = e->layer };
}

static struct ws_change *add(struct reader *r, enum ws_change_kind kind, const char *name,
			     const struct ws_stack_entry *old,
			     const struct ws_stack_entry *new)
{
	struct ws_change *c = ws_diff_add(r->diff, kind, path_of(r, name));

	if (old)
		c->old = side(old);
	if (new)
		c->new = side(new);
	c->content = true;
	return c;
}

/* Both are there, neither is a folder. */
static void compare_files(struct reader *r, const char *name,
			  const struct ws_stack_entry *old,
			  const struct ws_stack_entry *new)
{
	bool same;

	if ((old->st.st_mode & S_IFMT) != (new->st.st_mode &S_IFMT)) {
		add(r, WS_CHANGE_TYPE, name, old, new);
		return;
	}
	same = ws_changes_same_entry(r->stack, new, r->stack, old, path_of(r, name));
	if (!same || (!S_ISLNK(new->st.st_mode) && old->st.st_mode != new->st.st_mode))
		add(r, WS_CHANGE_MODIFIED, name, old, new)->content = !same;
}

/* ---- levels ---- */

static int enter(const struct level *l, const char *name, struct level *next)
{
	if (next->has_up && ws_stack_enter(&l->up, name, &next->up) < 0)
		return -1;
	if (next->has_low && ws_stack_enter(&l->low, name, &next->low) < 0)
		return -1;
	next->open = true;
	return 0;
}

/* The folders from the top down to level AT; the last WINDOW of them stay open. */
static int reopen(struct reader *r, size_t at)
{
	struct level *l = r->levels;

	if (l[at].open)
		return 0;
	for (size_t i = 0; i <= at; i++) {
		if (l[i].open)
			continue;
		if (i == 0) {
			if (ws_stack_top(r->stack, 0, r->stack->own - 1, &l[0].up) < 0 ||
			    ws_stack_top(r->stack, r->stack->own, (unsigned)r->stack->n,
					 &l[0].low) < 0)
				return -1;
			l[0].open = true;
		} else if (enter(&l[i - 1], l[i].name, &l[i]) < 0) {
			return -1;
		}
		if (i >= WINDOW)
			level_close(&l[i - WINDOW]);
	}
	r->low = at >= WINDOW ? at - WINDOW + 1 : 0;
	return 0;
}

/* Both are sorted. */
static void add_missing(struct ws_strv *names, const struct ws_strv *more)
{
	size_t at = 0, n = names->n;

	for (size_t i = 0; i < more->n; i++) {
		while (at < n && strcmp(names->v[at], more->v[i]) < 0)
			at++;
		if (at == n || strcmp(names->v[at], more->v[i]) != 0)
			ws_strv_push(names, more->v[i]);
	}
}

static int read_names(struct level *l)
{
	l->whole = !l->has_up || l->up.cut;
	if (l->has_up && ws_stack_names(&l->up, true, &l->names) < 0)
		return -1;
	if (l->has_low && l->whole) {
		WS_AUTO(ws_strv) struct ws_strv below = WS_STRV_INIT;

		if (ws_stack_names(&l->low, false, &below) < 0)
			return -1;
		add_missing(&l->names, &below);
	}
	return 0;
}

static void push(struct reader *r, struct level *l)
{
	if (r->depth == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 64;
		r->levels = ws_grow(r->levels, r->cap, sizeof(*r->levels));
	}
	if (l->name) {
		if (r->path.len)
			ws_buf_addch(&r->path, '/');
		ws_buf_addstr(&r->path, l->name);
	}
	r->levels[r->depth++] = *l;
	*l = (struct level){ 0 };
	if (r->depth - r->low > WINDOW)
		level_close(&r->levels[r->low++]);
}

static void pop(struct reader *r)
{
	struct level *l = &r->levels[r->depth - 1];

	if (l->name) {
		size_t len = strlen(l->name);

		r->path.len -= r->path.len > len ? len + 1 : len;
	}
	level_release(l);
	r->depth--;
	if (r->low > r->depth)
		r->low = r->depth;
}

/* OLD, NEW: the folder on either side, NULL: there is none. */
static int descend(struct reader *r, const char *name, const struct ws_stack_entry *old,
		   const struct ws_stack_entry *new, struct ws_err *err)
{
	struct level next = { .name = ws_strdup(name), .has_up = new, .has_low = old };

	if (enter(&r->levels[r->depth - 1], name, &next) < 0 || read_names(&next) < 0) {
		int error = errno;

		level_release(&next);
		errno = error;
		if (error == ENOENT || error == ENOTDIR || error == ELOOP)
			return 0;
		return fail_at(r, name, err);
	}
	/* what is in it tells of a folder that came or went */
	if (old && new && old->st.st_mode != new->st.st_mode)
		add(r, WS_CHANGE_MODIFIED, name, old, new)->content = false;
	else if ((!old || !new) && next.names.n == 0)
		add(r, new ? WS_CHANGE_ADDED : WS_CHANGE_DELETED, name, old, new);
	push(r, &next);
	return 0;
}

/* ---- one name ---- */

/* A git folder is git's own affair. True: there is nothing more to do with it. */
static bool is_hidden(struct reader *r, const char *name)
{
	const char *path;

	if (strcmp(name, GIT) != 0)
		return false;
	path = path_of(r, name);
	if (!ws_strv_has(r->hidden, path))
		ws_strv_push(&r->diff->omitted, path);
	return true;
}

static int visit(struct reader *r, const char *name, struct ws_err *err)
{
	struct level *l = &r->levels[r->depth - 1];
	struct ws_stack_entry up, low;
	bool whiteout, new_dir, old_dir;

	if (ws_stack_lookup_raw(&l->up, name, &up, &whiteout) < 0 ||
	    ws_stack_lookup(&l->low, name, &low) < 0)
		return fail_at(r, name, err);
	if (whiteout)
		up.st.st_mode = 0;
	if (!up.st.st_mode && !whiteout && !l->whole)
		return 0; /* it has gone since the folder was read */
	if ((!up.st.st_mode && !low.st.st_mode) || is_hidden(r, name))
		return 0;
	new_dir = S_ISDIR(up.st.st_mode);
	old_dir = S_ISDIR(low.st.st_mode);
	if (up.st.st_mode && !new_dir) {
		if (!low.st.st_mode || old_dir)
			add(r, WS_CHANGE_ADDED, name, NULL, &up);
		else
			compare_files(r, name, &low, &up);
	} else if (low.st.st_mode && !old_dir) {
		add(r, WS_CHANGE_DELETED, name, &low, NULL);
	}
	if (new_dir || old_dir)
		return descend(r, name, old_dir ? &low : NULL, new_dir ? &up : NULL, err);
	return 0;
}

/* ---- the walk ---- */

static int walk(struct reader *r, struct ws_err *err)
{
	struct level first = { .has_up = true, .has_low = true };

	push(r, &first);
	if (reopen(r, 0) < 0 || read_names(&r->levels[0]) < 0)
		return ws_fail_errno(err, "read /workspace");
	while (r->depth) {
		struct level *l = &r->levels[r->depth - 1];

		if (l->next == l->names.n) {
			pop(r);
		} else if (reopen(r, r->depth - 1) < 0) {
			if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
				return fail_at(r, "", err);
			pop(r); /* it was moved away */
		} else if (visit(r, l->names.v[l->next++], err) < 0) {
			return -1;
		}
	}
	return 0;
}

/* A level of a high stack has a descriptor per layer. */
static void raise_open_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur == l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

static int open_side(const struct ws_stack *stack, const char *path,
		     const struct ws_change_side *s)
{
	if (s->blob[0])
		return ws_open_beneath(stack->blobs, s->blob, O_RDONLY | O_NOFOLLOW, 0);
	return ws_stack_open_file(stack, s->layer, path);
}

static void digest(void *arg, struct ws_change *c)
{
	const struct ws_change_side *s = c->kind == WS_CHANGE_DELETED ? &c->old : &c->new;
	WS_AUTO_CLOSE int fd = open_side(arg, c->path, s);
	WS_AUTO_FREE char *block = ws_grow(NULL, BLOCK, 1);
	char hex[WS_SHA256_HEX];
	struct ws_sha256 sum;
	uint64_t left = s->size;
	ssize_t n = -1;

	/* a file that somebody goes on writing to never ends */
	ws_sha256_init(&sum);
	while (fd >= 0 && (n = read(fd, block, BLOCK)) > 0 && (uint64_t)n <= left) {
		ws_sha256_update(&sum, block, (size_t)n);
		left -= (uint64_t)n;
	}
	if (n != 0 || left != 0)
		return;
	ws_sha256_hex(&sum, hex);
	c->digest = ws_strdup(hex);
}

int ws_changes_read(const struct ws_stack *stack, const struct ws_strv *hidden,
		    struct ws_diff *ret, struct ws_err *err)
{
	__attribute__((cleanup(reader_release))) struct reader r = { .stack = stack,
								     .hidden = hidden,
								     .diff = ret };

	raise_open_files();
	if (walk(&r, err) < 0)
		return -1;
	ws_diff_sort(ret);
	return 0;
}

void ws_changes_find_renames(const struct ws_stack *stack, struct ws_diff *diff)
{
	ws_diff_find_renames(diff, digest, (void *)(uintptr_t)stack);
}

bool ws_changes_same(const struct ws_stack *stack, const char *path,
		     const struct ws_change_side *a, const struct ws_change_side *b)
{
	WS_AUTO(ws_buf) struct ws_buf x = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf y = WS_BUF_INIT;
	WS_AUTO_CLOSE int from = -1;
	WS_AUTO_CLOSE int to = -1;

	if (S_ISLNK(a->mode))
		return ws_changes_load(stack, path, a, PATH_MAX, &x) == 0 &&
		       ws_changes_load(stack, path, b, PATH_MAX, &y) == 0 &&
		       !strcmp(ws_buf_str(&x), ws_buf_str(&y));
	if (!S_ISREG(a->mode))
		return true;
	if (a->size != b->size)
		return false;
	from = open_side(stack, path, a);
	to = from < 0 ? -1 : open_side(stack, path, b);
	return to >= 0 && same_bytes(from, to);
}

int ws_changes_load(const struct ws_stack *stack, const char *path,
		    const struct ws_change_side *s, size_t max, struct ws_buf *ret)
{
	WS_AUTO_CLOSE int fd = -1;

	if (S_ISLNK(s->mode) && !s->blob[0]) {
		WS_AUTO_FREE char *target = ws_stack_read_link(stack, s->layer, path);

		if (target)
			ws_buf_addstr(ret, target);
		return target ? 0 : -1;
	}
	if (s->size > max) {
		errno = EFBIG;
		return -1;
	}
	fd = open_side(stack, path, s);
	if (fd < 0)
		return -1;
	ws_buf_reserve(ret, (size_t)s->size + 1);
	return ws_read_fd(fd, max, ret);
}
