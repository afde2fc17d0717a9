/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_HELPER_GIT_H
#define WS_HELPER_GIT_H

#include <git2.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

/*
 * wsiso-git: the only program that links libgit2. wsiso runs it, with an environment
 * of its own, once per question. No file of the host's repository is written, none of
 * its hooks, filters or other programs is run.
 *
 *   git_main.c     the questions, the answer's form
 *   git_open.c     find and open a repository, or say what is wrong with it
 *   git_resolve.c  "resolve": which commit and branch, and all that a session needs to know
 *   git_refs.c     refs as the text of a packed-refs file
 *   git_config.c   config without what names programs, paths or secrets
 *   git_pool.c     "pool": a bare store whose objects are links to the repository's
 *   git_base.c     "base": a commit's tree as files, and the index that fits them
 *   git_delta.c    "near": which commit differs least; a layer over that one's files
 *   git_trees.c    how two trees differ
 *   git_index.c    that one's index with a few entries changed
 *   git_filter.c   what attributes and config do to those files' bytes
 *   git_merge.c    "merge": three-way merges of runs of bytes
 *   git_bring.c    "bring": a child's commits for its parent
 *   git_hunks.c    "hunks": how two runs of bytes differ, as the body of a patch
 */

#define WS_GIT_ATTRIBUTES ".gitattributes"

/* One question. Its answer, the whole of stdout, goes to OUT. */
typedef int ws_answer(int argc, char **argv, struct ws_buf *out, struct ws_err *err);
ws_answer ws_answer_resolve, ws_answer_pool, ws_answer_base, ws_answer_hunks,
	ws_answer_changes, ws_answer_near, ws_answer_merge, ws_answer_bring;

/* ws_fail with libgit2's last message put behind it. */
int ws_git_fail(struct ws_err *err, enum ws_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* From now on no config of this host counts. */
void ws_git_forget_host(void);

/* An opened repository of the host. */
struct ws_git_repo {
	git_repository *repo;
	char *path;   /* the work tree, or the bare repository; resolved */
	char *common; /* the git dir that worktrees share; resolved */
	bool partial; /* a partial clone: objects may be missing */
};

void ws_git_repo_release(struct ws_git_repo *r);
/* PATH is the repository itself: nothing is searched upwards. repo-unusable. */
int ws_git_repo_open(const char *path, struct ws_git_repo *ret, struct ws_err *err);

/* Appends the text of a regular file of the host and returns 1; 0 if there is none. */
int ws_git_text(const char *dir, const char *name, size_t max, struct ws_buf *ret,
		struct ws_err *err);

/* Heads, tags, remotes and notes whose objects are there: "refs/heads/main" to commit id. */
struct ws_git_ref {
	char *name;
	git_oid id;
};

struct ws_git_refs {
	struct ws_git_ref *v;
	size_t n;
};

void ws_git_refs_release(struct ws_git_refs *refs);
int ws_git_refs_read(git_repository *repo, struct ws_git_refs *ret, struct ws_err *err);
/* Adds a branch; repo-unusable if its name and another's cannot stand side by side. */
int ws_git_refs_add_branch(struct ws_git_refs *refs, const char *branch,
			   const git_oid *id, struct ws_err *err);
void ws_git_refs_print(struct ws_git_refs *refs, struct ws_buf *out); /* sorts */

/* The name of a session's remote for the host's repository: wsiso adds it. */
#define WS_GIT_REMOTE_OURS "host"

/*
 * CHECKOUT: what decides about bytes on disk. ALL: that, what a user set for himself, and
 * the remotes without credentials.
 */
int ws_git_config_print(git_repository *repo, struct ws_buf *checkout, struct ws_buf *all,
			struct ws_err *err);
/*
 * What git does to bytes on their way to the work tree, as far as it needs no program:
 * line ends, $Id$, encodings. Attributes are read from the repository's index and its
 * info/attributes. NEEDED looks into those of ENTRIES that are attributes: 1, or 0:
 * nothing of the kind is asked for anywhere. APPLY puts the bytes of blob ID, as they are
 * to stand at PATH, into OUT, which is empty.
 */
int ws_git_filter_needed(git_repository *repo, git_index_entry *const *entries, size_t n,
			 struct ws_err *err);
int ws_git_filter_apply(git_repository *repo, const char *path, const git_oid *id,
			const void *data, size_t len, struct ws_buf *out,
			struct ws_err *err);

/* OLD, NEW: what stands at PATH, no folder; one of them may be NULL. Not 0 ends it. */
typedef int ws_git_each_change(void *data, const char *path, const git_tree_entry *old,
			       const git_tree_entry *new);
/* What EACH returned, or libgit2's error. A folder's paths follow each other. */
int ws_git_trees_compare(git_repository *repo, const git_tree *old, const git_tree *new,
			 ws_git_each_change *each, void *data);

/* An entry as it stands in the file, or one that is FRESH; neither: it goes. */
struct ws_git_index_entry {
	const char *path;
	const uint8_t *raw;
	const git_index_entry *fresh; /* the caller's, read when the index is written */
};

/* The index of a kept revision, and what becomes of it. */
struct ws_git_index {
	const uint8_t *data; /* the file, mapped */
	size_t len;
	const uint8_t *extensions; /* in it */
	struct ws_git_index_entry *v;
	size_t n;
	struct ws_git_index_entry *changes;
	size_t nchanges;
};

void ws_git_index_release(struct ws_git_index *index);
/* How many entries the index FILE has; 0: it is none. */
size_t ws_git_index_count(const char *file);
int ws_git_index_map(const char *file, struct ws_git_index *ret, struct ws_err *err);
/* Once. Takes CHANGES over, and sorts them. */
void ws_git_index_change(struct ws_git_index *index, struct ws_git_index_entry *changes,
			 size_t n);
const struct ws_git_index_entry *ws_git_index_get(const struct ws_git_index *index,
						  const char *path);
bool ws_git_index_has_below(const struct ws_git_index *index, const char *path);
/* Path, mode and id of E. */
git_index_entry ws_git_index_entry(const struct ws_git_index_entry *e);
/* As the new file "index" of the git dir GIT. */
int ws_git_index_write(const struct ws_git_index *index, const char *git,
		       struct ws_err *err);

/* What a layer over the files of another commit has in it, and its index. */
struct ws_git_delta {
	struct ws_strv gone, come; /* paths */
	git_index_entry *written;  /* sorted; they have no stat data yet */
	size_t nwritten;
	struct ws_strv hidden; /* by a whiteout: paths */
	struct ws_git_index index;
	git_index_entry *attributes; /* all of its entries that are attributes */
	size_t nattributes;
};

void ws_git_delta_release(struct ws_git_delta *d);
/* How TREE differs from commit NEAR, whose kept index is FILE. */
int ws_git_delta_plan(git_repository *repo, const char *near, git_tree *tree,
		      const char *file, struct ws_git_delta *ret, struct ws_err *err);

/* "Name <address>" for commits and reflogs; never empty. */
void ws_git_config_ident(git_repository *repo, char **ret_name, char **ret_email);

/* The object folder of COMMON and all its alternates, resolved. */
int ws_git_pool_stores(const char *common, struct ws_strv *ret, struct ws_err *err);
/*
 * A text that changes whenever an object comes into one of STORES or goes. False: the
 * last change is so young that another may follow unseen.
 */
bool ws_git_pool_stamp(const struct ws_strv *stores, struct ws_buf *ret);

#endif
