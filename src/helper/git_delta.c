/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/jsonw.h"
#include "base/opt.h"
#include "helper/git.h"

/*
 * A commit as what differs from another one, whose files are there: which of several is
 * the nearest, and what stands and what is hidden in a layer over that one's.
 */
#define PART 8	  /* more than one path in so many, and a tree of its own is as good */
#define MOST 4096 /* the index is changed path by path */
#define HEADER 12 /* of an index: "DIRC", version, count of entries */

/* ---- near: which one ---- */

struct near {
	const char *pool, *commit;
	git_odb *odb;
	git_repository *repo;
	git_tree *tree;
	const char *best;
	size_t changed; /* by BEST */
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

/* How many paths the index FILE lists; 0: it is none. */
static size_t count_entries(const char *file)
{
	WS_AUTO_CLOSE int fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	unsigned char head[HEADER];

	if (fd < 0 || read(fd, head, HEADER) != HEADER || memcmp(head, "DIRC", 4) != 0)
		return 0;
	return (size_t)head[8] << 24 | (size_t)head[9] << 16 | (size_t)head[10] << 8 |
	       head[11];
}

/* How far it may go on. */
struct limit {
	size_t left;
};

/*
 * Attributes decide about the bytes of files that are the same in both, so a change of
 * theirs ends it, too.
 */
static int count_change(const git_diff *diff, const git_diff_delta *d,
			const char *pathspec, void *data)
{
	const char *path = d->old_file.path ? d->old_file.path : d->new_file.path;
	const char *slash = strrchr(path, '/');
	struct limit *limit = data;

	(void)diff;
	(void)pathspec;
	if (limit->left == 0 || !strcmp(slash ? slash + 1 : path, WS_GIT_ATTRIBUTES))
		return -1;
	limit->left--;
	return 0;
}

/* One that cannot be compared is not near. */
static void compare(struct near *n, const char *commit, const char *index)
{
	git_diff_options opts = GIT_DIFF_OPTIONS_INIT;
	struct limit limit = { count_entries(index) / PART };
	git_tree *tree = NULL;
	git_diff *diff = NULL;

	if (limit.left > MOST)
		limit.left = MOST;
	/* equally near is not nearer */
	if (n->best && limit.left >= n->changed)
		limit.left = n->changed ? n->changed - 1 : 0;
	opts.notify_cb = count_change;
	opts.payload = &limit;
	if ((n->best && n->changed == 0) || find_tree(n->repo, commit, &tree) < 0)
		return;
	if (git_diff_tree_to_tree(&diff, n->repo, tree, n->tree, &opts) == 0) {
		n->best = commit;
		n->changed = git_diff_num_deltas(diff);
	}
	git_diff_free(diff);
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
	for (size_t i = 0; i < rest.n; i += 2)
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

static bool has_below(git_index *index, const char *path)
{
	WS_AUTO_FREE char *folder = ws_format("%s/", path);

	return git_index_find_prefix(NULL, index, folder) == 0;
}

/* A submodule is a folder, too. */
static bool is_folder(git_index *index, const char *path)
{
	const git_index_entry *e = git_index_get_bypath(index, path, 0);

	return e ? e->mode == GIT_FILEMODE_COMMIT : has_below(index, path);
}

/*
 * PATH is no more: the topmost part of it that is no folder now is hidden, unless what
 * stands there hides it.
 */
static void hide(git_index *index, const char *path, struct ws_strv *hidden)
{
	WS_AUTO_FREE char *part = ws_strdup(path);
	char *end = part;

	do {
		end += strcspn(end, "/");
		*end = '\0';
		if (!is_folder(index, part)) {
			if (!git_index_get_bypath(index, part, 0) &&
			    (!hidden->n || strcmp(hidden->v[hidden->n - 1], part) != 0))
				ws_strv_push(hidden, part);
			return;
		}
		*end = path[end - part];
	} while (*end++);
}

/* All that goes first: a folder may come where a file was, or the other way round. */
static int change_index(git_index *index, const git_diff *diff, struct ws_git_delta *ret)
{
	size_t n = git_diff_num_deltas(diff);
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		const git_diff_delta *d = git_diff_get_delta(diff, i);

		if (d->status == GIT_DELTA_DELETED)
			rc = git_index_remove(index, d->old_file.path, 0);
	}
	for (size_t i = 0; i < n && rc == 0; i++) {
		const git_diff_delta *d = git_diff_get_delta(diff, i);
		const git_index_entry entry = { .path = d->new_file.path,
						.mode = d->new_file.mode,
						.id = d->new_file.id };

		if (d->status == GIT_DELTA_DELETED)
			continue;
		rc = git_index_add(index, &entry);
		ws_strv_push(&ret->written, entry.path);
	}
	for (size_t i = 0; i < n && rc == 0; i++) {
		const git_diff_delta *d = git_diff_get_delta(diff, i);

		if (d->status == GIT_DELTA_DELETED)
			hide(index, d->old_file.path, &ret->hidden);
	}
	return rc;
}

void ws_git_delta_release(struct ws_git_delta *d)
{
	ws_strv_release(&d->written);
	ws_strv_release(&d->hidden);
}

int ws_git_delta_apply(git_repository *repo, const char *near, git_tree *tree,
		       git_index *index, struct ws_git_delta *ret, struct ws_err *err)
{
	git_diff_options opts = GIT_DIFF_OPTIONS_INIT;
	git_tree *old = NULL;
	git_diff *diff = NULL;
	int rc;

	/* a submodule's commit is in no store of ours */
	git_libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION, 0);
	opts.ignore_submodules = GIT_SUBMODULE_IGNORE_NONE;
	rc = find_tree(repo, near, &old);
	if (rc == 0)
		rc = git_diff_tree_to_tree(&diff, repo, old, tree, &opts);
	if (rc == 0)
		rc = change_index(index, diff, ret);
	git_diff_free(diff);
	git_tree_free(old);
	return rc < 0 ? ws_git_fail(err, WS_SNAPSHOT_FAILED, "compare with commit %.12s",
				    near)
		      : 0;
}

/* A copy, which is to be changed. */
int ws_git_delta_index(const char *file, const char *git, struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("%s/index", git);
	WS_AUTO_CLOSE int from = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	WS_AUTO_CLOSE int to =
		from < 0
			? -1
			: open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			       0644);
	ssize_t n = 1;

	while (to >= 0 && n > 0)
		n = copy_file_range(from, NULL, to, NULL, (size_t)1 << 30, 0);
	if (to < 0 || n < 0)
		return ws_fail_errno(err, "copy '%s'", file);
	return 0;
}
