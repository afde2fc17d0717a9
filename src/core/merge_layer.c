/* SPDX-License-Identifier: Apache-2.0 */
#include "core/merge_layer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "core/layer_copy.h"
#include "core/tree_cursor.h"

/* A folder of the layer, whose mode comes last: it may be one that lets nobody write. */
struct made {
	char *path;
	mode_t mode;
};

struct maker {
	const struct ws_merge_trees *t;
	int to;
	struct ws_tree_cursor ours;
	struct made *v;
	size_t n, cap;
	char *folder; /* where DIR is */
	int dir;
};

static void maker_release(struct maker *m)
{
	for (size_t i = 0; i < m->n; i++)
		ws_freep(&m->v[i].path);
	ws_freep(&m->v);
	ws_freep(&m->folder);
	ws_closep(&m->dir);
	ws_tree_cursor_release(&m->ours);
}

/* ---- folders ---- */

/* One that is there in ours keeps what it is, unless the merge changes its mode. */
static int describe(struct maker *m, const char *path, mode_t *ret_mode)
{
	const struct ws_merge_path *p = ws_merge_find(m->t->v, m->t->n, path);
	struct ws_stack_entry e;

	if (p && (p->action == WS_MERGE_TAKE || p->action == WS_MERGE_MODE)) {
		*ret_mode = p->mode;
		return 0;
	}
	if (ws_tree_cursor_look(&m->ours, path, &e) < 0)
		return -1;
	*ret_mode = S_ISDIR(e.st.st_mode) ? e.st.st_mode & 07777 : 0755;
	return 0;
}

/* The xattrs that a folder shows are those of its topmost layer; a new one has theirs. */
static int copy_xattrs(const struct maker *m, const char *path, int to)
{
	static const enum ws_merge_tree trees[] = { WS_TREE_OURS, WS_TREE_THEIRS };

	for (size_t i = 0; i < WS_ARRAY_SIZE(trees); i++) {
		WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;
		const struct ws_stack *stack = &m->t->stack[trees[i]];

		if (ws_stack_walk(stack, 0, (unsigned)stack->n, path, &dir) == 0)
			return ws_layer_copy_xattrs(dir.v[0].fd, to);
		if (errno != ENOENT && errno != ENOTDIR)
			return -1;
	}
	return 0;
}

/* NAME in the folder AT of the layer, which is PATH as a whole. */
static int make_folder(struct maker *m, int at, const char *name, const char *path)
{
	WS_AUTO_CLOSE int fd = ws_open_dir(at, name);
	mode_t mode;

	if (fd >= 0 || errno != ENOENT)
		return ws_steal_fd(&fd);
	if (describe(m, path, &mode) < 0 || mkdirat(at, name, 0700) < 0)
		return -1;
	fd = ws_open_dir(at, name);
	if (fd < 0 || copy_xattrs(m, path, fd) < 0)
		return -1;
	if (m->n == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 64;
		m->v = ws_grow(m->v, m->cap, sizeof(*m->v));
	}
	m->v[m->n++] = (struct made){ .path = ws_strdup(path), .mode = mode };
	return ws_steal_fd(&fd);
}

/* Where the way to PATH goes on from: what of it DIR is, or the folder above DIR. */
static int start(struct maker *m, const char *path, char *copy, char **ret_rest)
{
	const char *rest = m->folder ? ws_tree_below(m->folder, path) : NULL;
	const char *up = m->folder ? ws_tree_below(path, m->folder) : NULL;

	*ret_rest = copy;
	if (up && !strchr(up, '/')) {
		*ret_rest = copy + strlen(copy);
		return openat(m->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (rest)
		*ret_rest = copy + (rest - path);
	return fcntl(rest ? m->dir : m->to, F_DUPFD_CLOEXEC, 3);
}

/* DIR is the folder PATH of the layer, made if need be; step by step, at any depth. */
static int enter(struct maker *m, const char *path)
{
	WS_AUTO_FREE char *copy = ws_strdup(path);
	WS_AUTO_CLOSE int at = -1;
	char *rest;

	if (m->folder && !strcmp(m->folder, path))
		return 0;
	at = start(m, path, copy, &rest);
	for (char *name = rest; at >= 0 && *name;) {
		char *end = name + strcspn(name, "/");
		char kept = *end;
		int next;

		*end = '\0';
		next = make_folder(m, at, name, copy);
		ws_closep(&at);
		at = next;
		*end = kept;
		name = end + (kept != '\0');
	}
	if (at < 0)
		return -1;
	ws_closep(&m->dir);
	ws_freep(&m->folder);
	m->dir = ws_steal_fd(&at);
	m->folder = ws_strdup(path);
	return 0;
}

/* The deepest first, so that the way there can be walked. */
static int set_modes(struct maker *m)
{
	for (size_t i = m->n; i > 0; i--)
		if (enter(m, m->v[i - 1].path) < 0 ||
		    fchmod(m->dir, m->v[i - 1].mode) < 0)
			return -1;
	return 0;
}

/* ---- what is in them ---- */

static int put_whiteout(const struct maker *m, const char *name)
{
	return mknodat(m->dir, name, S_IFCHR, 0);
}

static int put_file(struct maker *m, const struct ws_merge_path *p,
		    enum ws_merge_tree tree, const char *name)
{
	const struct ws_merge_side *s = ws_merge_side(p, tree);
	const struct ws_stack *stack = &m->t->stack[tree];
	WS_AUTO_CLOSE int from = ws_stack_open_file(stack, s->layer, p->path);
	bool linked = tree == WS_TREE_THEIRS && s->layer < stack->own &&
		      p->mode == (s->mode & 07777);
	struct stat st;

	if (from < 0)
		return -1;
	/* it may have too many names already */
	if (linked && ws_layer_link_file(from, m->dir, name) == 0)
		return 0;
	if (fstat(from, &st) < 0)
		return -1;
	st.st_mode = S_IFREG | p->mode;
	return ws_layer_clone_file(from, m->dir, name, &st);
}

static int put_link(struct maker *m, const struct ws_merge_path *p, const char *name)
{
	WS_AUTO_FREE char *target = ws_stack_read_link(&m->t->stack[WS_TREE_THEIRS],
						       p->theirs.layer, p->path);

	return target ? symlinkat(target, m->dir, name) : -1;
}

static int put_bytes(struct maker *m, const struct ws_merge_path *p, const char *name)
{
	WS_AUTO_CLOSE int fd =
		openat(m->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || ws_write_all(fd, ws_buf_str(&p->bytes), p->bytes.len) < 0 ||
	    fchmod(fd, p->mode) < 0)
		return -1;
	return 0;
}

static int put_theirs(struct maker *m, const struct ws_merge_path *p, const char *name)
{
	if (S_ISDIR(p->theirs.mode))
		return enter(m, p->path);
	if (S_ISLNK(p->theirs.mode))
		return put_link(m, p, name);
	return put_file(m, p, WS_TREE_THEIRS, name);
}

/* To the folder in which PATH stands. *RET_NAME is its last part. */
static int enter_above(struct maker *m, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	WS_AUTO_FREE char *folder = ws_strndup(path, slash ? (size_t)(slash - path) : 0);

	*ret_name = slash ? slash + 1 : path;
	return enter(m, folder);
}

static int put_extra(struct maker *m, int dir, const struct ws_merge_extra *x)
{
	WS_AUTO_CLOSE int from = openat(dir, x->from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	const char *name;
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0 || enter_above(m, x->path, &name) < 0)
		return -1;
	st.st_mode = S_IFREG | x->mode;
	return ws_layer_clone_file(from, m->dir, name, &st);
}

static int put(struct maker *m, const struct ws_merge_path *p)
{
	const char *name;

	if (enter_above(m, p->path, &name) < 0)
		return -1;
	switch (p->action) {
	case WS_MERGE_TAKE:
		return put_theirs(m, p, name);
	case WS_MERGE_DELETE:
		return put_whiteout(m, name);
	case WS_MERGE_MODE:
		return S_ISDIR(p->ours.mode) ? enter(m, p->path)
					     : put_file(m, p, WS_TREE_OURS, name);
	case WS_MERGE_JOIN:
	case WS_MERGE_ANSWER:
		return put_bytes(m, p, name);
	case WS_MERGE_KEEP:
	case WS_MERGE_CONFLICT:
		break;
	}
	return 0;
}

int ws_merge_layer_make(const struct ws_merge_trees *t,
			const struct ws_merge_extras *extras, int to, struct ws_err *err)
{
	WS_AUTO(maker)
	struct maker m = {
		.t = t,
		.to = to,
		.dir = -1,
		.ours = { .stack = &t->stack[WS_TREE_OURS] },
	};

	for (size_t i = 0; i < t->n; i++)
		if (ws_merge_acts(&t->v[i]) && put(&m, &t->v[i]) < 0)
			return ws_fail_errno(err, "merge '/workspace/%.200s'",
					     t->v[i].path);
	for (size_t i = 0; i < extras->n; i++)
		if (put_extra(&m, extras->dir, &extras->v[i]) < 0)
			return ws_fail_errno(err, "merge '/workspace/%.200s'",
					     extras->v[i].path);
	return set_modes(&m) < 0 ? ws_fail_errno(err, "merge folders") : 0;
}
