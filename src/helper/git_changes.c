/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's commits. Its objects are what its commands wrote: bytes that no config, no
 * ref and no alternates file gives a meaning to. wsiso has put links to the plain files
 * among them into a folder of its own; nothing else of the session is opened here.
 *
 * The answer: "CHANGES COMMITS\n"; for each change
 * "OLDMODE NEWMODE OLDID NEWID OLDSIZE NEWSIZE\n" and its path, NUL; for each commit
 * "ID SECONDS\n" and parents, author, address, subject, with a NUL behind each.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/opt.h"
#include "helper/git.h"

#define BLOB_MAX ((size_t)256 << 20)
#define COMMITS_MAX 10000
#define MEMORY_MAX ((rlim_t)4 << 30) /* an object may claim to be of any size */

struct job {
	const char *objects, *pool, *from, *to, *blobs;
	git_odb *odb;
	git_repository *repo;
	git_tree *trees[2];
	git_diff *diff;
	int dir; /* BLOBS */
	struct ws_buf changes, commits;
	size_t nchanges, ncommits;
};

static void job_release(struct job *j)
{
	git_diff_free(j->diff);
	git_tree_free(j->trees[0]);
	git_tree_free(j->trees[1]);
	git_repository_free(j->repo);
	git_odb_free(j->odb);
	ws_closep(&j->dir);
	ws_buf_release(&j->changes);
	ws_buf_release(&j->commits);
}

/* Backends by path read no alternates. The pool is wsiso's own, the more trusted. */
static int open_objects(struct job *j, struct ws_err *err)
{
	const char *const stores[] = { j->pool, j->objects };

	if (git_odb_new(&j->odb) < 0)
		return ws_git_fail(err, WS_INTERNAL, "make an object store");
	for (size_t i = 0; i < WS_ARRAY_SIZE(stores); i++) {
		git_odb_backend *loose = NULL, *pack = NULL;

		if (git_odb_backend_pack(&pack, stores[i]) < 0 ||
		    git_odb_add_backend(j->odb, pack, (int)(10 - 2 * i)) < 0 ||
		    git_odb_backend_loose(&loose, stores[i], -1, 0, 0, 0) < 0 ||
		    git_odb_add_backend(j->odb, loose, (int)(9 - 2 * i)) < 0)
			return ws_git_fail(err, WS_REPO_UNUSABLE, "open the objects");
	}
	if (git_repository_wrap_odb(&j->repo, j->odb) < 0)
		return ws_git_fail(err, WS_INTERNAL, "make a repository");
	return 0;
}

static int open_tree(struct job *j, const char *id, git_tree **ret, struct ws_err *err)
{
	git_commit *commit = NULL;
	git_oid oid;
	int rc;

	if (git_oid_fromstr(&oid, id) < 0 ||
	    git_commit_lookup(&commit, j->repo, &oid) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "read commit %.40s", id);
	rc = git_commit_tree(ret, commit);
	git_commit_free(commit);
	if (rc < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "read the tree of commit %.40s",
				   id);
	return 0;
}

/* *RET_SIZE, and the bytes in a file; one that is too large has no file. */
static int put_blob(struct job *j, const git_diff_file *f, uint64_t *ret_size,
		    struct ws_err *err)
{
	char name[GIT_OID_HEXSZ + 1];
	git_odb_object *o = NULL;
	git_object_t type;
	size_t size;
	int rc = 0;

	*ret_size = 0;
	if (!f->mode || f->mode == GIT_FILEMODE_COMMIT)
		return 0;
	git_oid_tostr(name, sizeof(name), &f->id);
	if (git_odb_read_header(&size, &type, j->odb, &f->id) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "read object %s", name);
	*ret_size = size;
	if (size > BLOB_MAX || faccessat(j->dir, name, F_OK, 0) == 0)
		return 0;
	if (git_odb_read(&o, j->odb, &f->id) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "read object %s", name);
	{
		WS_AUTO_CLOSE int fd =
			openat(j->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			       0600);

		if (fd < 0 ||
		    ws_write_all(fd, git_odb_object_data(o), git_odb_object_size(o)) < 0)
			rc = ws_fail_errno(err, "keep object %s", name);
		*ret_size = git_odb_object_size(o);
	}
	git_odb_object_free(o);
	return rc;
}

static int list_change(struct job *j, const git_diff_delta *d, struct ws_err *err)
{
	char ids[2][GIT_OID_HEXSZ + 1];
	uint64_t sizes[2];

	if (put_blob(j, &d->old_file, &sizes[0], err) < 0 ||
	    put_blob(j, &d->new_file, &sizes[1], err) < 0)
		return -1;
	git_oid_tostr(ids[0], sizeof(ids[0]), &d->old_file.id);
	git_oid_tostr(ids[1], sizeof(ids[1]), &d->new_file.id);
	ws_buf_addf(&j->changes, "%o %o %s %s %llu %llu\n", (unsigned)d->old_file.mode,
		    (unsigned)d->new_file.mode, ids[0], ids[1],
		    (unsigned long long)sizes[0], (unsigned long long)sizes[1]);
	ws_buf_add(&j->changes, d->new_file.path, strlen(d->new_file.path) + 1);
	j->nchanges++;
	return 0;
}

static int list_changes(struct job *j, struct ws_err *err)
{
	git_diff_options opts = GIT_DIFF_OPTIONS_INIT;

	opts.flags = GIT_DIFF_INCLUDE_TYPECHANGE | GIT_DIFF_IGNORE_SUBMODULES;
	if (open_tree(j, j->from, &j->trees[0], err) < 0 ||
	    open_tree(j, j->to, &j->trees[1], err) < 0)
		return -1;
	if (git_diff_tree_to_tree(&j->diff, j->repo, j->trees[0], j->trees[1], &opts) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "compare two commits");
	for (size_t i = 0; i < git_diff_num_deltas(j->diff); i++)
		if (list_change(j, git_diff_get_delta(j->diff, i), err) < 0)
			return -1;
	return 0;
}

static void add_text(struct ws_buf *out, const char *text)
{
	ws_buf_add(out, text ? text : "", strlen(text ? text : "") + 1);
}

static void list_commit(struct job *j, git_commit *c)
{
	const git_signature *who = git_commit_author(c);
	char id[GIT_OID_HEXSZ + 1];

	git_oid_tostr(id, sizeof(id), git_commit_id(c));
	ws_buf_addf(&j->commits, "%s %lld\n", id, (long long)git_commit_time(c));
	for (unsigned i = 0; i < git_commit_parentcount(c); i++) {
		git_oid_tostr(id, sizeof(id), git_commit_parent_id(c, i));
		ws_buf_addf(&j->commits, "%s%s", i ? " " : "", id);
	}
	ws_buf_add(&j->commits, "", 1);
	add_text(&j->commits, who->name);
	add_text(&j->commits, who->email);
	add_text(&j->commits, git_commit_summary(c));
	j->ncommits++;
}

/* The newest first; what a shallow history does not have ends it. */
static int list_commits(struct job *j, struct ws_err *err)
{
	git_revwalk *walk = NULL;
	git_oid id, from, to;

	if (git_oid_fromstr(&from, j->from) < 0 || git_oid_fromstr(&to, j->to) < 0 ||
	    git_revwalk_new(&walk, j->repo) < 0 || git_revwalk_push(walk, &to) < 0 ||
	    git_revwalk_hide(walk, &from) < 0) {
		git_revwalk_free(walk);
		return ws_git_fail(err, WS_REPO_UNUSABLE, "list the commits");
	}
	git_revwalk_sorting(walk, GIT_SORT_TOPOLOGICAL | GIT_SORT_TIME);
	while (j->ncommits < COMMITS_MAX && git_revwalk_next(&id, walk) == 0) {
		git_commit *c = NULL;

		if (git_commit_lookup(&c, j->repo, &id) < 0)
			break;
		list_commit(j, c);
		git_commit_free(c);
	}
	git_revwalk_free(walk);
	return 0;
}

/* "changes --objects DIR --pool DIR --from ID --to ID --blobs DIR" */
int ws_answer_changes(int argc, char **argv, struct ws_buf *out, struct ws_err *err)
{
	const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };
	WS_AUTO(ws_strv) struct ws_strv rest = WS_STRV_INIT;
	WS_AUTO(job) struct job j = { .dir = -1 };
	const struct ws_opt opts[] = {
		{ 0, "objects", WS_OPT_STR, &j.objects, "DIR", "the session's" },
		{ 0, "pool", WS_OPT_STR, &j.pool, "DIR", "the host's" },
		{ 0, "from", WS_OPT_STR, &j.from, "ID", "the base's commit" },
		{ 0, "to", WS_OPT_STR, &j.to, "ID", "the session's commit" },
		{ 0, "blobs", WS_OPT_STR, &j.blobs, "DIR", "where blobs go" },
		{ 0 },
	};

	if (ws_opt_parse(argc, argv, -1, opts, &rest, err) != 0)
		return -1;
	if (!j.objects || !j.pool || !j.from || !j.to || !j.blobs || rest.n)
		return ws_fail(err, WS_INTERNAL, "changes: of what?");
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_AS, &memory);
#else
	(void)memory;
#endif
	ws_git_forget_host();
	j.dir = open(j.blobs, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (j.dir < 0)
		return ws_fail_errno(err, "open '%s'", j.blobs);
	if (open_objects(&j, err) < 0 || list_changes(&j, err) < 0 ||
	    list_commits(&j, err) < 0)
		return -1;
	ws_buf_addf(out, "%zu %zu\n", j.nchanges, j.ncommits);
	ws_buf_add(out, ws_buf_str(&j.changes), j.changes.len);
	ws_buf_add(out, ws_buf_str(&j.commits), j.commits.len);
	return 0;
}
