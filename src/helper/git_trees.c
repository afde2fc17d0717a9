/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "helper/git.h"

/*
 * How two trees differ. libgit2's own git_diff_tree_to_tree reads all of both, 500
 * folders for a change in one; what has the same id is the same, and is not read here.
 */
struct walk {
	git_repository *repo;
	ws_git_each_change *each;
	void *data;
	struct ws_buf path;
};

static int walk_trees(struct walk *w, const git_tree *old, const git_tree *new);

static int lookup(const struct walk *w, const git_tree_entry *e, git_tree **ret)
{
	return e ? git_tree_lookup(ret, w->repo, git_tree_entry_id(e)) : 0;
}

static bool is_tree(const git_tree_entry *e)
{
	return e && git_tree_entry_type(e) == GIT_OBJECT_TREE;
}

static int walk_folder(struct walk *w, const git_tree_entry *old,
		       const git_tree_entry *new)
{
	git_tree *a = NULL, *b = NULL;
	int rc = lookup(w, old, &a);

	if (rc == 0)
		rc = lookup(w, new, &b);
	if (rc == 0) {
		ws_buf_addch(&w->path, '/');
		rc = walk_trees(w, a, b);
	}
	git_tree_free(a);
	git_tree_free(b);
	return rc;
}

/* Of the same name and, as to folders, of the same kind; or one of them is NULL. */
static int walk_entry(struct walk *w, const git_tree_entry *old,
		      const git_tree_entry *new)
{
	size_t len = w->path.len;
	int rc;

	if (old && new &&git_oid_equal(git_tree_entry_id(old), git_tree_entry_id(new)) &&
	    git_tree_entry_filemode(old) == git_tree_entry_filemode(new))
		return 0;
	ws_buf_addstr(&w->path, git_tree_entry_name(old ? old : new));
	rc = is_tree(old ? old : new) ? walk_folder(w, old, new)
				      : w->each(w->data, ws_buf_str(&w->path), old, new);
	w->path.len = len;
	w->path.data[len] = '\0';
	return rc;
}

/* Either may be NULL: an empty one. */
static int walk_trees(struct walk *w, const git_tree *old, const git_tree *new)
{
	size_t nold = old ? git_tree_entrycount(old) : 0, i = 0;
	size_t nnew = new ? git_tree_entrycount(new) : 0, k = 0;
	int rc = 0;

	while (rc == 0 && (i < nold || k < nnew)) {
		const git_tree_entry *a =
			i < nold ? git_tree_entry_byindex(old, i) : NULL;
		const git_tree_entry *b =
			k < nnew ? git_tree_entry_byindex(new, k) : NULL;
		/* a folder's name is sorted as if it ended in a slash */
		int cmp = !a ? 1 : !b ? -1 : git_tree_entry_cmp(a, b);

		i += cmp <= 0;
		k += cmp >= 0;
		rc = walk_entry(w, cmp <= 0 ? a : NULL, cmp >= 0 ? b : NULL);
	}
	return rc;
}

int ws_git_trees_compare(git_repository *repo, const git_tree *old, const git_tree *new,
			 ws_git_each_change *each, void *data)
{
	struct walk w = { .repo = repo, .each = each, .data = data };
	int rc = git_oid_equal(git_tree_id(old), git_tree_id(new))
			 ? 0
			 : walk_trees(&w, old, new);

	ws_buf_release(&w.path);
	return rc;
}
