/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/opt.h"
#include "base/text.h"
#include "helper/git.h"

/*
 * A commit as what differs from another one, whose files are there: which of several is
 * the nearest, and what stands and what is hidden in a layer over that one's.
 */
#define PART 8	   /* more than one path in so many, and a tree of its own is as good */
#define ENOUGH 128 /* fewer than one in so many: the index takes longer than the files */

/* ---- near: which one ---- */

struct near {
	const char *pool, *commit;
	git_odb *odb;
	git_repository *repo;
	git_tree *tree;
	const char *best;
	size_t changed; /* by BEST */
	bool enough;	/* BEST is as good as any */
};

static void near_release(struct near *n)
{
	git_tree_free(n->tree);
	git_repository_free(n->repo);
	git_odb_free(n->odb);
}

static int find_tree(git_repository *repo, const char *commit, git_tree **ret)
{
	git_commit *found = NULL;
	git_oid id;
	int rc = git_oid_fromstr(&id, commit);

	if (rc == 0)
		rc = git_commit_lookup(&found, repo, &id);
	if (rc == 0)
		rc = git_commit_tree(ret, found);
	git_commit_free(found);
	return rc;
}

struct count {
	size_t n, limit;
};

/*
 * Attributes decide about the bytes of files that are the same in both, so a change of
 * theirs ends it, too.
 */
static int count_change(void *data, const char *path, const git_tree_entry *old,
			const git_tree_entry *new)
{
	struct count *count = data;

	(void)old;
	(void)new;
	if (count->n == count->limit ||
	    !strcmp(ws_text_basename(path), WS_GIT_ATTRIBUTES))
		return -1;
	count->n++;
	return 0;
}

/* One that cannot be compared is not near. */
static void compare(struct near *n, const char *commit, const char *index)
{
	size_t entries = ws_git_index_count(index);
	struct count count = { .limit = entries / PART };
	git_tree *tree = NULL;

	/* equally near is not nearer */
	if (n->best && count.limit >= n->changed)
		count.limit = n->changed - 1;
	if (find_tree(n->repo, commit, &tree) < 0)
		return;
	if (ws_git_trees_compare(n->repo, tree, n->tree, count_change, &count) == 0) {
		n->best = commit;
		n->changed = count.n;
		n->enough = n->changed <= entries / ENOUGH;
	}
	git_tree_free(tree);
}

static int open_near(struct near *n, struct ws_err *err)
{
	if (git_odb_open(&n->odb, n->pool) < 0 ||
	    git_repository_wrap_odb(&n->repo, n->odb) < 0 ||
	    find_tree(n->repo, n->commit, &n->tree) < 0)
		return ws_git_fail(err, WS_SNAPSHOT_FAILED, "read commit %.12s",
				   n->commit);
	return 0;
}

/* "near --pool OBJECTS --commit ID [ID INDEX]...": {"near", "changed"} or {} */
int ws_answer_near(int argc, char **argv, struct ws_buf *out, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv rest = WS_STRV_INIT;
	WS_AUTO(near) struct near n = { 0 };
	const struct ws_opt opts[] = {
		{ 0, "pool", WS_OPT_STR, &n.pool, "DIR", "the object folder" },
		{ 0, "commit", WS_OPT_STR, &n.commit, "ID", "what is to be made" },
		{ 0 },
	};
	struct ws_jsonw w;

	if (ws_opt_parse(argc, argv, -1, opts, &rest, err) != 0)
		return -1;
	if (!n.pool || !n.commit || rest.n % 2)
		return ws_fail(err, WS_INTERNAL, "near: to what, and of which?");
	if (open_near(&n, err) < 0)
		return -1;
	for (size_t i = 0; i < rest.n && !n.enough; i += 2)
		compare(&n, rest.v[i], rest.v[i + 1]);
	ws_jsonw_init(&w, out, false);
	ws_jsonw_object(&w, NULL);
	if (n.best) {
		ws_jsonw_str(&w, "near", n.best);
		ws_jsonw_u64(&w, "changed", n.changed);
	}
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return 0;
}

/* ---- the layer ---- */

/* A submodule is a folder, too. */
static bool is_folder(const struct ws_git_index *index, const char *path)
{
	const struct ws_git_index_entry *e = ws_git_index_get(index, path);

	return e ? ws_git_index_entry(e).mode == GIT_FILEMODE_COMMIT
		 : ws_git_index_has_below(index, path);
}

/*
 * PATH is no more: the topmost part of it that is no folder now is hidden, unless what
 * stands there hides it.
 */
static void hide(const struct ws_git_index *index, const char *path,
		 struct ws_strv *hidden)
{
	WS_AUTO_FREE char *part = ws_strdup(path);
	char *end = part;

	do {
		end += strcspn(end, "/");
		*end = '\0';
		if (!is_folder(index, part)) {
			if (!ws_git_index_get(index, part) &&
			    (!hidden->n || strcmp(hidden->v[hidden->n - 1], part) != 0))
				ws_strv_push(hidden, part);
			return;
		}
		*end = path[end - part];
	} while (*end++);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const git_index_entry *)a)->path,
		      ((const git_index_entry *)b)->path);
}

static int note_change(void *data, const char *path, const git_tree_entry *old,
		       const git_tree_entry *new)
{
	struct ws_git_delta *d = data;

	(void)old;
	if (!new) {
		ws_strv_push(&d->gone, path);
		return 0;
	}
	ws_strv_push(&d->come, path);
	d->written = ws_grow(d->written, d->come.n, sizeof(*d->written));
	d->written[d->nwritten++] =
		(git_index_entry){ .path = d->come.v[d->come.n - 1],
				   .mode = git_tree_entry_filemode(new),
				   .id = *git_tree_entry_id(new) };
	return 0;
}

/* A folder may come where a file was, or the other way round. */
static void change_index(struct ws_git_delta *d)
{
	size_t n = d->gone.n + d->nwritten;
	struct ws_git_index_entry *changes = ws_alloc((n + 1) * sizeof(*changes));

	if (d->nwritten)
		qsort(d->written, d->nwritten, sizeof(*d->written), by_path);
	for (size_t i = 0; i < d->gone.n; i++)
		changes[i].path = d->gone.v[i];
	for (size_t i = 0; i < d->nwritten; i++) {
		changes[d->gone.n + i].path = d->written[i].path;
		changes[d->gone.n + i].fresh = &d->written[i];
	}
	ws_git_index_change(&d->index, changes, n);
	for (size_t i = 0; i < d->gone.n; i++)
		hide(&d->index, d->gone.v[i], &d->hidden);
}

static void find_attributes(struct ws_git_delta *d)
{
	for (size_t i = 0; i < d->index.n; i++) {
		if (strcmp(ws_text_basename(d->index.v[i].path), WS_GIT_ATTRIBUTES) != 0)
			continue;
		d->attributes = ws_grow(d->attributes, d->nattributes + 1,
					sizeof(*d->attributes));
		d->attributes[d->nattributes++] = ws_git_index_entry(&d->index.v[i]);
	}
}

void ws_git_delta_release(struct ws_git_delta *d)
{
	ws_freep(&d->written);
	ws_freep(&d->attributes);
	ws_strv_release(&d->hidden);
	ws_git_index_release(&d->index);
	ws_strv_release(&d->gone);
	ws_strv_release(&d->come);
}

int ws_git_delta_plan(git_repository *repo, const char *near, git_tree *tree,
		      const char *file, struct ws_git_delta *ret, struct ws_err *err)
{
	git_tree *old = NULL;
	int rc;

	if (ws_git_index_map(file, &ret->index, err) < 0)
		return -1;
	rc = find_tree(repo, near, &old);
	if (rc == 0)
		rc = ws_git_trees_compare(repo, old, tree, note_change, ret);
	git_tree_free(old);
	if (rc < 0)
		return ws_git_fail(err, WS_SNAPSHOT_FAILED, "compare with commit %.12s",
				   near);
	change_index(ret);
	find_attributes(ret);
	return 0;
}
