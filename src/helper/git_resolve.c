/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/opt.h"
#include "base/text.h"
#include "helper/git.h"

#define HEADS "refs/heads/"
#define SIDE_FILE_MAX 65536u
#define SHALLOW_MAX (1u << 18)

/* What was asked for, and what is found. */
struct wish {
	const char *path, *revision, *branch, *has;
};

struct found {
	git_commit *commit;
	char *branch; /* to be on, or NULL */
	bool new_branch;
	struct ws_strv warnings;
};

static void found_release(struct found *f)
{
	git_commit_free(f->commit);
	ws_freep(&f->branch);
	ws_strv_release(&f->warnings);
}

/* The branch that HEAD names, there or not; NULL: detached, or not a branch. */
static char *head_branch(git_repository *repo)
{
	git_reference *head = NULL;
	const char *target = NULL;
	char *branch = NULL;

	if (git_reference_lookup(&head, repo, "HEAD") == 0)
		target = git_reference_symbolic_target(head);
	if (target && ws_text_starts(target, HEADS))
		branch = ws_strdup(target + strlen(HEADS));
	git_reference_free(head);
	return branch;
}

/* What is checked out. An unborn branch has nothing to show. */
static int find_head(const struct ws_git_repo *r, struct found *f, struct ws_err *err)
{
	WS_AUTO_FREE char *branch = head_branch(r->repo);
	git_reference *head = NULL;
	int rc = git_repository_head(&head, r->repo);

	if (rc == 0)
		rc = git_reference_peel((git_object **)&f->commit, head,
					GIT_OBJECT_COMMIT);
	git_reference_free(head);
	if (rc == 0)
		return 0;
	if (rc != GIT_EUNBORNBRANCH && rc != GIT_ENOTFOUND)
		return ws_git_fail(err, WS_REPO_UNUSABLE,
				   "read what '%s' has checked out", r->path);
	if (git_repository_is_empty(r->repo) == 1)
		ws_fail(err, WS_REPO_UNUSABLE,
			"the git repository '%s' has no commit yet", r->path);
	else
		ws_fail(err, WS_REPO_UNUSABLE,
			"'%s' is on branch '%s', which has no commit", r->path,
			branch ? branch : "(none)");
	return ws_hint(err, "make a first commit there, or name a revision");
}

static int find_revision(const struct ws_git_repo *r, const char *revision,
			 struct found *f, struct ws_err *err)
{
	git_object *object = NULL;
	int rc = git_revparse_single(&object, r->repo, revision);

	if (rc == 0)
		rc = git_object_peel((git_object **)&f->commit, object,
				     GIT_OBJECT_COMMIT);
	git_object_free(object);
	if (rc < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "find revision '%s' in '%s'",
				   revision, r->path);
	return 0;
}

/* The branch's own tip: 1, or 0 if there is no such branch. */
static int find_branch(const struct ws_git_repo *r, const char *branch, git_commit **ret,
		       struct ws_err *err)
{
	git_reference *ref = NULL;
	int valid = 0;
	int rc;

	if (git_branch_name_is_valid(&valid, branch) < 0 || !valid)
		return ws_fail(err, WS_REPO_UNUSABLE, "'%s' is no valid branch name",
			       branch);
	rc = git_branch_lookup(&ref, r->repo, branch, GIT_BRANCH_LOCAL);
	if (rc == GIT_ENOTFOUND)
		return 0;
	if (rc == 0)
		rc = git_reference_peel((git_object **)ret, ref, GIT_OBJECT_COMMIT);
	git_reference_free(ref);
	if (rc < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "read branch '%s' of '%s'",
				   branch, r->path);
	return 1;
}

static int fail_elsewhere(const struct wish *w, const git_commit *tip, struct ws_err *err)
{
	char hex[GIT_OID_HEXSZ + 1];

	git_oid_tostr(hex, sizeof(hex), git_commit_id(tip));
	ws_fail(err, WS_REPO_UNUSABLE,
		"branch '%s' of '%s' is at %.12s, not at revision '%s'", w->branch,
		w->path, hex, w->revision);
	return ws_hint(
		err,
		"leave the revision out to start at the branch's tip, or name another "
		"branch");
}

/* On a branch: the one asked for, made if it is not there. */
static int decide_branch(const struct ws_git_repo *r, const struct wish *w,
			 struct found *f, struct ws_err *err)
{
	git_commit *tip = NULL;
	int there = find_branch(r, w->branch, &tip, err);
	int rc = there < 0 ? -1 : 0;

	if (rc == 0 && w->revision)
		rc = find_revision(r, w->revision, f, err);
	else if (rc == 0 && !there)
		rc = find_head(r, f, err);
	if (rc == 0 && there && f->commit &&
	    !git_oid_equal(git_commit_id(tip), git_commit_id(f->commit)))
		rc = fail_elsewhere(w, tip, err);
	if (rc == 0 && !f->commit)
		f->commit = ws_steal_ptr(&tip);
	git_commit_free(tip);
	f->branch = ws_strdup(w->branch);
	f->new_branch = !there;
	return rc;
}

static int decide(const struct ws_git_repo *r, const struct wish *w, struct found *f,
		  struct ws_err *err)
{
	if (w->branch)
		return decide_branch(r, w, f, err);
	if (w->revision)
		return find_revision(r, w->revision, f, err);
	if (find_head(r, f, err) < 0)
		return -1;
	f->branch = head_branch(r->repo);
	return 0;
}

/* ---- checks on the commit ---- */

struct presence {
	git_odb *odb;
	char missing[GIT_OID_HEXSZ + 1];
};

static int check_entry(const char *root, const git_tree_entry *e, void *data)
{
	struct presence *p = data;

	(void)root;
	if (git_tree_entry_type(e) != GIT_OBJECT_BLOB ||
	    git_odb_exists(p->odb, git_tree_entry_id(e)))
		return 0;
	git_oid_tostr(p->missing, sizeof(p->missing), git_tree_entry_id(e));
	return -1;
}

/* A partial clone can serve only what it has: nothing is fetched here. */
static int check_complete(const struct ws_git_repo *r, git_tree *tree, struct ws_err *err)
{
	struct presence p = { 0 };
	int rc = git_repository_odb(&p.odb, r->repo);

	if (rc == 0)
		rc = git_tree_walk(tree, GIT_TREEWALK_PRE, check_entry, &p);
	git_odb_free(p.odb);
	if (rc == 0)
		return 0;
	ws_fail(err, WS_REPO_UNUSABLE,
		"'%s' is a partial clone (partialClone, promisor) and lacks object %.12s of the "
		"revision",
		r->path, p.missing[0] ? p.missing : "(a tree)");
	return ws_hint(
		err,
		"check the revision out there once, so that git fetches what is missing");
}

/* *RET_HAS: is W->HAS a file of the commit? */
static int check_tree(const struct ws_git_repo *r, const struct wish *w,
		      const struct found *f, bool *ret_has, struct ws_err *err)
{
	git_tree_entry *entry = NULL;
	git_tree *tree = NULL;
	int rc = 0;

	if (git_commit_tree(&tree, f->commit) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "read the revision of '%s'",
				   r->path);
	if (r->partial)
		rc = check_complete(r, tree, err);
	if (w->has && git_tree_entry_bypath(&entry, tree, w->has) == 0)
		*ret_has = git_tree_entry_type(entry) == GIT_OBJECT_BLOB;
	git_tree_entry_free(entry);
	git_tree_free(tree);
	return rc;
}

static void note_owner(const struct ws_git_repo *r, struct found *f)
{
	struct stat st;

	if (stat(r->common, &st) < 0 || st.st_uid == geteuid())
		return;
	ws_strv_addf(
		&f->warnings,
		"the git repository '%s' belongs to uid %u: it is read, its objects are copied, and "
		"the session's files belong to uid %u",
		r->path, (unsigned)st.st_uid, (unsigned)geteuid());
}

/* ---- the answer ---- */

/* JSON carries UTF-8 alone: another name would come out as a different one. */
static int check_utf8(const char *what, const char *name, struct ws_err *err)
{
	if (!name || ws_text_utf8(name, strlen(name)))
		return 0;
	return ws_fail(err, WS_REPO_UNUSABLE, "the name of %s is not UTF-8", what);
}

static int check_names(const struct ws_git_repo *r, const struct found *f,
		       const struct ws_strv *stores, struct ws_err *err)
{
	if (check_utf8("the repository", r->path, err) < 0 ||
	    check_utf8("the git folder", r->common, err) < 0 ||
	    check_utf8("the branch", f->branch, err) < 0)
		return -1;
	for (size_t i = 0; i < stores->n; i++)
		if (check_utf8("an object folder", stores->v[i], err) < 0)
			return -1;
	return 0;
}

static int add_text(struct ws_jsonw *w, const char *key, const char *dir,
		    const char *name, size_t max, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	int rc = ws_git_text(dir, name, max, &text, err);

	if (rc > 0 && text.len &&
	    (strlen(text.data) != text.len || !ws_text_utf8(text.data, text.len)))
		return ws_fail(err, WS_REPO_UNUSABLE, "'%s/%s' is not UTF-8 text", dir,
			       name);
	if (rc > 0)
		ws_jsonw_str(w, key, ws_buf_str(&text));
	return rc < 0 ? -1 : 0;
}

static int add_files(struct ws_jsonw *w, const struct ws_git_repo *r, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf checkout = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf config = WS_BUF_INIT;
	WS_AUTO_FREE char *name = NULL;
	WS_AUTO_FREE char *email = NULL;
	WS_AUTO_FREE char *ident = NULL;

	if (ws_git_config_print(r->repo, &checkout, &config, err) < 0)
		return -1;
	ws_git_config_ident(r->repo, &name, &email);
	ident = ws_format("%s <%s>", name, email);
	ws_jsonw_str(w, "checkout", checkout.data);
	ws_jsonw_str(w, "config", config.data);
	ws_jsonw_str(w, "ident", ident);
	if (add_text(w, "exclude", r->common, "info/exclude", SIDE_FILE_MAX, err) < 0 ||
	    add_text(w, "attributes", r->common, "info/attributes", SIDE_FILE_MAX, err) <
		    0)
		return -1;
	return add_text(w, "shallow", r->common, "shallow", SHALLOW_MAX, err);
}

static int add_refs(const struct ws_git_repo *r, const struct found *f,
		    struct ws_buf *text, struct ws_err *err)
{
	struct ws_git_refs refs = { 0 };
	int rc = ws_git_refs_read(r->repo, &refs, err);

	if (rc == 0 && f->new_branch)
		rc = ws_git_refs_add_branch(&refs, f->branch, git_commit_id(f->commit),
					    err);
	if (rc == 0)
		ws_git_refs_print(&refs, text);
	ws_git_refs_release(&refs);
	return rc;
}

/*
 * One line of JSON, then the text of a packed-refs file: refs may be too many for JSON
 * of bounded size. The stamp is taken last, when every ref has been read: a pool
 * of that stamp has all objects that they name.
 */
static int print_answer(const struct ws_git_repo *r, const struct wish *wish,
			const struct found *f, struct ws_buf *out, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv stores = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf refs = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf stamp = WS_BUF_INIT;
	char hex[GIT_OID_HEXSZ + 1];
	struct ws_jsonw w;
	bool has = false;

	if (check_tree(r, wish, f, &has, err) < 0 || add_refs(r, f, &refs, err) < 0 ||
	    ws_git_pool_stores(r->common, &stores, err) < 0 ||
	    check_names(r, f, &stores, err) < 0)
		return -1;
	git_oid_tostr(hex, sizeof(hex), git_commit_id(f->commit));
	ws_jsonw_init(&w, out, false);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "path", r->path);
	ws_jsonw_str(&w, "common", r->common);
	ws_jsonw_str(&w, "revision", hex);
	if (f->branch)
		ws_jsonw_str(&w, "branch", f->branch);
	ws_jsonw_bool(&w, "new_branch", f->new_branch);
	ws_jsonw_bool(&w, "has", has);
	ws_jsonw_strv(&w, "stores", &stores);
	ws_jsonw_strv(&w, "warnings", &f->warnings);
	if (add_files(&w, r, err) < 0)
		return -1;
	if (ws_git_pool_stamp(&stores, &stamp))
		ws_jsonw_str(&w, "stamp", stamp.data);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	ws_buf_add(out, refs.data, refs.len);
	return 0;
}

/* "resolve --path P [--revision R] [--branch B] [--has FILE]" */
int ws_answer_resolve(int argc, char **argv, struct ws_buf *out, struct ws_err *err)
{
	WS_AUTO(ws_git_repo) struct ws_git_repo r = { 0 };
	WS_AUTO(found) struct found f = { 0 };
	WS_AUTO(ws_strv) struct ws_strv rest = WS_STRV_INIT;
	struct wish wish = { 0 };
	const struct ws_opt opts[] = {
		{ 0, "path", WS_OPT_STR, &wish.path, "DIR", "the repository" },
		{ 0, "revision", WS_OPT_STR, &wish.revision, "REV",
		  "what git rev-parse knows" },
		{ 0, "branch", WS_OPT_STR, &wish.branch, "NAME", "to be on" },
		{ 0, "has", WS_OPT_STR, &wish.has, "FILE", "to be looked for" },
		{ 0 },
	};

	if (ws_opt_parse(argc, argv, -1, opts, &rest, err) != 0)
		return -1;
	if (!wish.path || rest.n)
		return ws_fail(err, WS_INTERNAL, "resolve: which repository?");
	if (ws_git_repo_open(wish.path, &r, err) < 0)
		return -1;
	note_owner(&r, &f);
	if (decide(&r, &wish, &f, err) < 0)
		return -1;
	return print_answer(&r, &wish, &f, out, err);
}
