/* SPDX-License-Identifier: Apache-2.0 */
#include "core/merge_read.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "core/changes.h"
#include "core/tree_cursor.h"

#define GIT ".git"

void ws_merge_trees_release(struct ws_merge_trees *t)
{
	for (size_t i = 0; i < t->n; i++) {
		ws_freep(&t->v[i].path);
		ws_freep(&t->v[i].key);
		ws_buf_release(&t->v[i].bytes);
	}
	for (size_t i = 0; i < t->nleft; i++)
		ws_freep(&t->left[i].path);
	ws_freep(&t->v);
	ws_freep(&t->left);
	for (int i = 0; i < WS_TREES; i++)
		ws_stack_release(&t->stack[i]);
	t->n = t->nleft = 0;
}

const struct ws_merge_side *ws_merge_side(const struct ws_merge_path *p,
					  enum ws_merge_tree tree)
{
	return tree == WS_TREE_BASE   ? &p->base
	       : tree == WS_TREE_OURS ? &p->ours
				      : &p->theirs;
}

static void leave(struct ws_merge_trees *t, const char *path, const char *why)
{
	for (size_t i = 0; i < t->nleft; i++)
		if (!strcmp(t->left[i].path, path))
			return;
	t->left = ws_grow(t->left, t->nleft + 1, sizeof(*t->left));
	t->left[t->nleft++] =
		(struct ws_merge_left){ .path = ws_strdup(path), .why = why };
}

/* ---- which paths ---- */

/* And the folders on the way to it that are not on the way to LAST, which is there. */
static void add_path(struct ws_strv *paths, const char *last, const char *path)
{
	WS_AUTO_FREE char *copy = ws_strdup(path);

	ws_strv_push(paths, path);
	for (char *slash = strrchr(copy, '/'); slash; slash = strrchr(copy, '/')) {
		*slash = '\0';
		if (ws_tree_below(copy, last) || !strcmp(copy, last))
			return;
		ws_strv_push(paths, copy);
	}
}

static int add_changes(const struct ws_stack *stack, const struct ws_strv *hidden,
		       struct ws_merge_trees *t, struct ws_strv *paths,
		       struct ws_err *err)
{
	WS_AUTO(ws_diff) struct ws_diff diff = WS_DIFF_INIT;

	if (!stack->own)
		return 0;
	if (ws_changes_read(stack, hidden, &diff, err) < 0)
		return -1;
	for (size_t i = 0; i < diff.n; i++)
		add_path(paths, i ? diff.v[i - 1].path : "", diff.v[i].path);
	for (size_t i = 0; t && i < diff.omitted.n; i++)
		leave(t, diff.omitted.v[i], "git");
	return 0;
}

static bool is_git(const char *path)
{
	return !strcmp(ws_text_basename(path), GIT);
}

/* All that is in the folder PATH of STACK, as long as that is one. */
static int add_all_below(const struct ws_stack *stack, const char *path,
			 struct ws_strv *ret)
{
	WS_AUTO(ws_tree_cursor) struct ws_tree_cursor at = { .stack = stack };
	WS_AUTO(ws_strv) struct ws_strv todo = WS_STRV_INIT;

	ws_strv_push(&todo, path);
	for (size_t i = 0; i < todo.n; i++) {
		WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;

		errno = ENOENT; /* where it is not there */
		if (ws_tree_cursor_go(&at, todo.v[i]) < 0 || !at.there ||
		    ws_stack_names(&at.dir, false, &names) < 0)
			return -1;
		for (size_t k = 0; k < names.n; k++) {
			struct ws_stack_entry e;
			WS_AUTO_FREE char *full =
				ws_format("%s/%s", todo.v[i], names.v[k]);

			if (ws_stack_lookup(&at.dir, names.v[k], &e) < 0)
				return -1;
			ws_strv_push(ret, full);
			if (S_ISDIR(e.st.st_mode) && !is_git(full))
				ws_strv_push(&todo, full);
		}
	}
	return 0;
}

/* ---- what is there ---- */

struct look {
	struct ws_merge_trees *t;
	struct ws_tree_cursor at[WS_TREES];
	struct ws_strv tops[WS_TREES]; /* folders of which MORE has all by now */
	struct ws_strv more;	       /* what has to be looked at, too */
	bool again;		       /* that is done */
};

static void look_release(struct look *l)
{
	for (int i = 0; i < WS_TREES; i++) {
		ws_tree_cursor_release(&l->at[i]);
		ws_strv_release(&l->tops[i]);
	}
	ws_strv_release(&l->more);
}

/* Paths come sorted: whether PATH, and all after it, is behind what is below TOP. */
static bool is_behind(const char *top, const char *path)
{
	size_t len = strlen(top);
	int order = strncmp(path, top, len);

	return order > 0 || (order == 0 && (unsigned char)path[len] > '/');
}

/* One side has a folder at PATH, the other has none. */
static int look_below(struct look *l, enum ws_merge_tree tree, const char *path)
{
	struct ws_strv *tops = &l->tops[tree];

	while (tops->n && is_behind(tops->v[tops->n - 1], path))
		ws_freep(&tops->v[--tops->n]);
	for (size_t i = 0; i < tops->n; i++)
		if (ws_tree_below(tops->v[i], path))
			return 0;
	ws_strv_push(tops, path);
	return add_all_below(&l->t->stack[tree], path, &l->more);
}

static bool same(const struct look *l, const char *path, enum ws_merge_tree x,
		 const struct ws_stack_entry *a, enum ws_merge_tree y,
		 const struct ws_stack_entry *b)
{
	if (!a->st.st_mode || (a->st.st_mode & S_IFMT) != (b->st.st_mode & S_IFMT))
		return false;
	if (a->st.st_ino == b->st.st_ino && a->st.st_dev == b->st.st_dev)
		return true;
	return S_ISDIR(a->st.st_mode) ||
	       ws_changes_same_entry(&l->t->stack[x], a, &l->t->stack[y], b, path);
}

static struct ws_merge_side side(const struct ws_stack_entry *e, unsigned number)
{
	return (struct ws_merge_side){ .mode = e->st.st_mode,
				       .same = number,
				       .size = S_ISDIR(e->st.st_mode)
						       ? 0
						       : (uint64_t)e->st.st_size,
				       .layer = e->layer };
}

static bool is_special(mode_t mode)
{
	return mode && !S_ISREG(mode) && !S_ISLNK(mode) && !S_ISDIR(mode);
}

/* Git's own files, and what is neither file, link nor folder, stay as they are here. */
static void keep_ours(struct look *l, struct ws_merge_path *p)
{
	if (is_git(p->path)) {
		p->base = p->theirs = p->ours;
	} else if (is_special(p->theirs.mode)) {
		if (p->base.mode != p->theirs.mode)
			leave(l->t, p->path, "special");
		p->theirs = p->base;
	}
}

static int look_at(struct look *l, char *path, struct ws_merge_path *ret)
{
	struct ws_stack_entry e[WS_TREES];
	unsigned ours, theirs;

	*ret = (struct ws_merge_path){ .path = path };
	for (int i = 0; i < WS_TREES; i++)
		if (ws_tree_cursor_look(&l->at[i], path, &e[i]) < 0)
			return -1;
	ours = same(l, path, WS_TREE_BASE, &e[0], WS_TREE_OURS, &e[1]) ? 1 : 2;
	theirs = same(l, path, WS_TREE_BASE, &e[0], WS_TREE_THEIRS, &e[2])   ? 1
		 : same(l, path, WS_TREE_OURS, &e[1], WS_TREE_THEIRS, &e[2]) ? ours
									     : 3;
	ret->base = side(&e[0], 1);
	ret->ours = side(&e[1], ours);
	ret->theirs = side(&e[2], theirs);
	keep_ours(l, ret);
	if (l->again)
		return 0;
	if (S_ISDIR(ret->ours.mode) && !S_ISDIR(ret->theirs.mode))
		return look_below(l, WS_TREE_OURS, path);
	if (S_ISDIR(ret->theirs.mode) && ret->ours.mode && !S_ISDIR(ret->ours.mode))
		return look_below(l, WS_TREE_THEIRS, path);
	return 0;
}

static int look_at_all(struct look *l, struct ws_strv *paths)
{
	struct ws_merge_trees *t = l->t;

	t->v = ws_grow(NULL, paths->n + 1, sizeof(*t->v));
	for (size_t i = 0; i < paths->n; i++)
		if (look_at(l, ws_steal_ptr(&paths->v[i]), &t->v[t->n++]) < 0)
			return -1;
	return 0;
}

/* Again with what is in a folder that the other side has not; there is no third time. */
static int look_again(struct look *l, struct ws_strv *paths)
{
	struct ws_merge_trees *t = l->t;

	if (!l->more.n)
		return 0;
	ws_strv_clear(paths);
	for (size_t i = 0; i < t->n; i++)
		ws_strv_take(paths, ws_steal_ptr(&t->v[i].path));
	ws_strv_extend(paths, &l->more);
	ws_strv_sort_once(paths);
	ws_freep(&t->v);
	t->n = 0;
	l->again = true;
	return look_at_all(l, paths);
}

int ws_merge_read(struct ws_merge_trees *t, const struct ws_strv *hidden,
		  struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv paths = WS_STRV_INIT;
	WS_AUTO(look) struct look l = { .t = t };

	for (int i = 0; i < WS_TREES; i++)
		l.at[i].stack = &t->stack[i];
	if (add_changes(&t->stack[WS_TREE_THEIRS], hidden, t, &paths, err) < 0 ||
	    add_changes(&t->stack[WS_TREE_BASE], hidden, NULL, &paths, err) < 0)
		return -1;
	ws_strv_sort_once(&paths);
	if (look_at_all(&l, &paths) < 0 || look_again(&l, &paths) < 0)
		return ws_fail_errno(err, "compare '/workspace/%.200s'",
				     t->n ? t->v[t->n - 1].path : "");
	return 0;
}

int ws_merge_load(const struct ws_merge_trees *t, const struct ws_merge_path *p,
		  enum ws_merge_tree tree, size_t max, struct ws_buf *ret)
{
	const struct ws_merge_side *s = ws_merge_side(p, tree);
	const struct ws_change_side side = { .mode = s->mode,
					     .size = s->size,
					     .layer = s->layer };

	if (!S_ISREG(s->mode) && !S_ISLNK(s->mode))
		return 0;
	return ws_changes_load(&t->stack[tree], p->path, &side, max, ret);
}
