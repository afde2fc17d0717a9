/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child's commits for its parent. The objects of both are what their commands wrote,
 * as in git_changes.c: no config, no ref and no attributes of theirs count, and nothing
 * of theirs is written. What the parent is to have goes to OUT: a pack of the commits
 * that it lacks, which so have been read to the last byte, and its index, in which the
 * paths that these change have changed.
 *
 * Where the commits collide, RESOLVED says what the files are to be that somebody has
 * answered for: "MODE FILE PATH" and a NUL for each, MODE in octal, 0: it goes.
 *
 * The answer: "HOW ID COMMITS\n", HOW being noop, fast-forward or merge, ID what the
 * parent's branch is to be.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <git2/sys/mempack.h>
#include <git2/sys/odb_backend.h>

#include "base/fs.h"
#include "base/opt.h"
#include "base/text.h"
#include "helper/git.h"

#define MEMORY_MAX ((rlim_t)4 << 30) /* an object may claim to be of any size */
#define NAME "Codumentor"
#define EMAIL "codumentor@local"
#define NAMES_MAX 5
#define RESOLVED_MAX ((size_t)256 << 20)

struct job {
	const char *pool, *parent, *child, *ours, *theirs, *index, *message, *resolved,
		*out;
	git_odb *odb;
	git_repository *repo;
	git_commit *from, *with, *to; /* ours, theirs, what comes of both */
	git_index *entries;
	const char *how;
	size_t commits;
};

static void job_release(struct job *j)
{
	git_index_free(j->entries);
	git_commit_free(j->from);
	git_commit_free(j->with);
	git_commit_free(j->to);
	git_repository_free(j->repo);
	git_odb_free(j->odb);
}

/* ---- objects ---- */

static int add_store(struct job *j, const char *path, int priority)
{
	git_odb_backend *loose = NULL, *pack = NULL;

	if (git_odb_backend_pack(&pack, path) < 0 ||
	    git_odb_add_backend(j->odb, pack, priority) < 0 ||
	    git_odb_backend_loose(&loose, path, -1, 0, 0, 0) < 0)
		return -1;
	return git_odb_add_backend(j->odb, loose, priority - 1);
}

/* What is made here stays in memory; the pool, wsiso's own, is the most trusted. */
static int open_objects(struct job *j, struct ws_err *err)
{
	git_odb_backend *memory = NULL;

	if (git_odb_new(&j->odb) < 0 || git_mempack_new(&memory) < 0 ||
	    git_odb_add_backend(j->odb, memory, 20) < 0)
		return ws_git_fail(err, WS_INTERNAL, "make an object store");
	if (add_store(j, j->pool, 10) < 0 || add_store(j, j->parent, 8) < 0 ||
	    add_store(j, j->child, 6) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "open the objects");
	if (git_repository_wrap_odb(&j->repo, j->odb) < 0)
		return ws_git_fail(err, WS_INTERNAL, "make a repository");
	return 0;
}

static int find(struct job *j, const char *id, git_commit **ret, struct ws_err *err)
{
	git_oid oid;

	if (git_oid_fromstr(&oid, id) < 0 || git_commit_lookup(ret, j->repo, &oid) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "read commit %.40s", id);
	return 0;
}

/* ---- what comes of both ---- */

static int fail_conflicts(git_index *merged, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf names = WS_BUF_INIT;
	git_index_conflict_iterator *it = NULL;
	const git_index_entry *sides[3];
	size_t n = 0;

	if (git_index_conflict_iterator_new(&it, merged) < 0)
		return ws_git_fail(err, WS_INTERNAL, "list conflicts");
	while (git_index_conflict_next(&sides[0], &sides[1], &sides[2], it) == 0) {
		const git_index_entry *e = sides[1]   ? sides[1]
					   : sides[2] ? sides[2]
						      : sides[0];

		if (n++ >= NAMES_MAX)
			continue;
		ws_buf_addstr(&names, n > 1 ? ", '" : "'");
		ws_text_escape(&names, e->path, strnlen(e->path, 200));
		ws_buf_addch(&names, '\'');
	}
	git_index_conflict_iterator_free(it);
	ws_fail(err, WS_CONFLICT, "commits of both sides change %s%s", ws_buf_str(&names),
		n > NAMES_MAX ? ", ..." : "");
	return ws_hint(err, "commit in the parent what both have, or merge without "
			    "--commits, which brings the files");
}

/* A file that wsiso has made. */
static int read_ours(const char *file, struct ws_buf *ret, struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || ws_read_fd(fd, RESOLVED_MAX, ret) < 0)
		return ws_fail_errno(err, "read what was answered");
	return 0;
}

/* FILE is the blob's bytes. */
static int add_blob(struct job *j, git_index *merged, const char *path, unsigned mode,
		    const char *file, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf bytes = WS_BUF_INIT;
	git_index_entry e = { .path = path, .mode = mode };

	if (read_ours(file, &bytes, err) < 0)
		return -1;
	if (git_odb_write(&e.id, j->odb, ws_buf_str(&bytes), bytes.len, GIT_OBJECT_BLOB) <
		    0 ||
	    git_index_add(merged, &e) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "take an answer");
	return 0;
}

static int resolve_one(struct job *j, git_index *merged, const char *record,
		       struct ws_err *err)
{
	const git_index_entry *sides[3];
	char file[4096];
	unsigned mode;
	int path = 0;

	if (sscanf(record, "%o %4095s %n", &mode, file, &path) != 2 || !path)
		return ws_fail(err, WS_INTERNAL, "bring: no answer: '%.100s'", record);
	if (git_index_conflict_get(&sides[0], &sides[1], &sides[2], merged,
				   record + path) < 0)
		return 0;
	if (git_index_conflict_remove(merged, record + path) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "take an answer");
	return mode ? add_blob(j, merged, record + path, mode, file, err) : 0;
}

static int resolve(struct job *j, git_index *merged, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf list = WS_BUF_INIT;

	if (read_ours(j->resolved, &list, err) < 0)
		return -1;
	for (size_t at = 0; at < list.len; at += strlen(list.data + at) + 1)
		if (resolve_one(j, merged, list.data + at, err) < 0)
			return -1;
	return 0;
}

static int make_commit(struct job *j, git_index *merged, struct ws_err *err)
{
	const git_commit *parents[] = { j->from, j->with };
	git_signature *who = NULL;
	git_tree *tree = NULL;
	git_oid id;
	int rc = -1;

	if (git_index_write_tree_to(&id, merged, j->repo) == 0 &&
	    git_tree_lookup(&tree, j->repo, &id) == 0 &&
	    git_signature_now(&who, NAME, EMAIL) == 0 &&
	    git_commit_create(&id, j->repo, NULL, who, who, NULL, j->message, tree, 2,
			      parents) == 0)
		rc = git_commit_lookup(&j->to, j->repo, &id);
	git_signature_free(who);
	git_tree_free(tree);
	return rc < 0 ? ws_git_fail(err, WS_REPO_UNUSABLE, "make a merge commit") : 0;
}

struct trees {
	git_tree *base, *ours, *theirs;
	git_index *merged;
};

static void trees_release(struct trees *t)
{
	git_tree_free(t->base);
	git_tree_free(t->ours);
	git_tree_free(t->theirs);
	git_index_free(t->merged);
}

static int merge(struct job *j, struct ws_err *err)
{
	__attribute__((cleanup(trees_release))) struct trees t = { 0 };
	git_merge_options opts = GIT_MERGE_OPTIONS_INIT;
	git_commit *base = NULL;
	git_oid id;
	int rc;

	opts.flags = 0; /* no renames, as the files are merged */
	if (git_merge_base(&id, j->repo, git_commit_id(j->from), git_commit_id(j->with)) <
	    0)
		return ws_git_fail(err, WS_REPO_UNUSABLE,
				   "find what both commits have in common");
	rc = git_commit_lookup(&base, j->repo, &id);
	if (rc == 0)
		rc = git_commit_tree(&t.base, base);
	git_commit_free(base);
	if (rc < 0 || git_commit_tree(&t.ours, j->from) < 0 ||
	    git_commit_tree(&t.theirs, j->with) < 0 ||
	    git_merge_trees(&t.merged, j->repo, t.base, t.ours, t.theirs, &opts) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "merge two commits");
	if (resolve(j, t.merged, err) < 0)
		return -1;
	if (git_index_has_conflicts(t.merged))
		return fail_conflicts(t.merged, err);
	return make_commit(j, t.merged, err);
}

/* Is A B, or before it? */
static int is_in(const struct job *j, const git_commit *a, const git_commit *b,
		 struct ws_err *err)
{
	int rc = git_oid_equal(git_commit_id(a), git_commit_id(b))
			 ? 1
			 : git_graph_descendant_of(j->repo, git_commit_id(b),
						   git_commit_id(a));

	return rc < 0 ? ws_git_fail(err, WS_REPO_UNUSABLE, "compare two commits") : rc;
}

static int decide(struct job *j, struct ws_err *err)
{
	int there = is_in(j, j->with, j->from, err);
	int ahead = there == 0 ? is_in(j, j->from, j->with, err) : 0;

	if (there < 0 || ahead < 0)
		return -1;
	j->how = there ? "noop" : ahead ? "fast-forward" : "merge";
	if (!there && !ahead)
		return merge(j, err);
	return git_commit_dup(&j->to, there ? j->from : j->with);
}

/* ---- what the parent is to have ---- */

static int new_walk(const struct job *j, git_revwalk **ret)
{
	if (git_revwalk_new(ret, j->repo) < 0 ||
	    git_revwalk_push(*ret, git_commit_id(j->to)) < 0)
		return -1;
	return git_revwalk_hide(*ret, git_commit_id(j->from));
}

static int write_pack(struct job *j, struct ws_err *err)
{
	git_packbuilder *pack = NULL;
	git_revwalk *walk = NULL, *count = NULL;
	git_oid id;
	int rc = -1;

	if (new_walk(j, &count) == 0)
		while (git_revwalk_next(&id, count) == 0)
			j->commits++;
	if (j->commits && new_walk(j, &walk) == 0 &&
	    git_packbuilder_new(&pack, j->repo) == 0 &&
	    git_packbuilder_insert_walk(pack, walk) == 0)
		rc = git_packbuilder_write(pack, j->out, 0600, NULL, NULL);
	git_packbuilder_free(pack);
	git_revwalk_free(walk);
	git_revwalk_free(count);
	return rc < 0 ? ws_git_fail(err, WS_REPO_UNUSABLE, "read the child's commits")
		      : 0;
}

static bool is_entry(const git_index_entry *e, const git_tree_entry *t)
{
	if (!e || !t)
		return !e && !t;
	return git_oid_equal(&e->id, git_tree_entry_id(t)) &&
	       e->mode == (uint32_t)git_tree_entry_filemode(t);
}

struct indexing {
	struct job *j;
	bool failed; /* ERR says why */
	struct ws_err *err;
};

static int change_entry(void *data, const char *path, const git_tree_entry *old,
			const git_tree_entry *new)
{
	struct indexing *x = data;
	const git_index_entry *now = git_index_get_bypath(x->j->entries, path, 0);
	WS_AUTO(ws_buf) struct ws_buf shown = WS_BUF_INIT;
	git_index_entry e = { .path = path };
	int rc = 0;

	if (is_entry(now, new))
		return 0;
	if (!is_entry(now, old)) {
		x->failed = true;
		ws_text_escape(&shown, path, strnlen(path, 200));
		ws_fail(x->err, WS_CONFLICT,
			"'%s', which the child's commits change, is staged in the parent",
			ws_buf_str(&shown));
		return ws_hint(x->err, "commit there, or unstage it: git reset");
	}
	if (!new) {
		rc = git_index_remove(x->j->entries, path, 0);
	} else {
		/* of no size: git looks at the file itself */
		e.mode = (uint32_t)git_tree_entry_filemode(new);
		e.id = *git_tree_entry_id(new);
		rc = git_index_add(x->j->entries, &e);
	}
	return rc;
}

static int write_index(struct job *j, struct ws_err *err)
{
	struct indexing x = { .j = j, .err = err };
	git_tree *old = NULL, *new = NULL;
	int rc = -1;

	if (git_index_open(&j->entries, j->index) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "read the parent's index");
	if (git_index_has_conflicts(j->entries))
		return ws_fail(err, WS_CONFLICT,
			       "the parent is in the middle of a merge of its own");
	if (git_commit_tree(&old, j->from) == 0 && git_commit_tree(&new, j->to) == 0)
		rc = ws_git_trees_compare(j->repo, old, new, change_entry, &x);
	git_tree_free(old);
	git_tree_free(new);
	if (rc < 0)
		return x.failed ? -1
				: ws_git_fail(err, WS_REPO_UNUSABLE,
					      "change the parent's index");
	if (git_index_write(j->entries) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "write the index");
	return 0;
}

/* "bring", and options as below */
int ws_answer_bring(int argc, char **argv, struct ws_buf *out, struct ws_err *err)
{
	const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };
	WS_AUTO(ws_strv) struct ws_strv rest = WS_STRV_INIT;
	WS_AUTO(job) struct job j = { 0 };
	const struct ws_opt opts[] = {
		{ 0, "pool", WS_OPT_STR, &j.pool, "DIR", "objects of the host's" },
		{ 0, "parent", WS_OPT_STR, &j.parent, "DIR", "the parent's" },
		{ 0, "child", WS_OPT_STR, &j.child, "DIR", "the child's" },
		{ 0, "ours", WS_OPT_STR, &j.ours, "ID", "the parent's commit" },
		{ 0, "theirs", WS_OPT_STR, &j.theirs, "ID", "the child's commit" },
		{ 0, "index", WS_OPT_STR, &j.index, "FILE", "a copy of the parent's" },
		{ 0, "resolved", WS_OPT_STR, &j.resolved, "FILE", "what was answered" },
		{ 0, "message", WS_OPT_STR, &j.message, "TEXT", "of a merge commit" },
		{ 0, "out", WS_OPT_STR, &j.out, "DIR", "where the pack goes" },
		{ 0 },
	};
	char id[GIT_OID_HEXSZ + 1];

	if (ws_opt_parse(argc, argv, -1, opts, &rest, err) != 0)
		return -1;
	if (!j.pool || !j.parent || !j.child || !j.ours || !j.theirs || !j.index ||
	    !j.resolved || !j.message || !j.out || rest.n)
		return ws_fail(err, WS_INTERNAL, "bring: what?");
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_AS, &memory);
#else
	(void)memory;
#endif
	ws_git_forget_host();
	if (open_objects(&j, err) < 0 || find(&j, j.ours, &j.from, err) < 0 ||
	    find(&j, j.theirs, &j.with, err) < 0 || decide(&j, err) < 0)
		return -1;
	if (strcmp(j.how, "noop") != 0 &&
	    (write_pack(&j, err) < 0 || write_index(&j, err) < 0))
		return -1;
	git_oid_tostr(id, sizeof(id), git_commit_id(j.to));
	ws_buf_addf(out, "%s %s %zu\n", j.how, id, j.commits);
	return 0;
}
