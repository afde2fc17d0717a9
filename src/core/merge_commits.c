/* SPDX-License-Identifier: Apache-2.0 */
#include "core/merge_commits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "core/spec_rules.h"
#include "core/tree_cursor.h"
#include "core/vcs_git.h"

#define INDEX_MAX ((size_t)1 << 30)
#define REFLOG_MAX ((size_t)64 << 20)
#define ANSWER_MAX ((size_t)256 << 20)
#define TIMEOUT_MS 600000
#define WHO "Codumentor <codumentor@local>"

void ws_merge_commits_release(struct ws_merge_commits *c)
{
	for (size_t i = 0; i < c->n; i++) {
		ws_freep(&c->v[i].repo);
		ws_freep(&c->v[i].how);
		ws_freep(&c->v[i].branch);
		ws_freep(&c->v[i].from);
		ws_freep(&c->v[i].to);
	}
	ws_freep(&c->v);
	c->n = 0;
	for (size_t i = 0; i < c->extras.n; i++) {
		ws_freep(&c->extras.v[i].path);
		ws_freep(&c->extras.v[i].from);
	}
	ws_freep(&c->extras.v);
	c->extras = (struct ws_merge_extras){ .dir = -1 };
	ws_commits_room_release(&c->parent);
	ws_commits_room_release(&c->child);
}

bool ws_merge_commits_any(const struct ws_merge_commits *c)
{
	return c->extras.n > 0;
}

/* ---- one repo ---- */

struct bringing {
	struct ws_merge_commits *c;
	struct ws_merge_trees *t;
	const struct ws_session *child;
	const struct ws_session_repo *repo;
	struct ws_commits ours, theirs;
	struct ws_tree_cursor at; /* in ours */
};

static void bringing_release(struct bringing *b)
{
	ws_commits_release(&b->ours);
	ws_commits_release(&b->theirs);
	ws_tree_cursor_release(&b->at);
}

static int fail_repo(const struct bringing *b, enum ws_kind kind, const char *what,
		     struct ws_err *err)
{
	ws_fail(err, kind, "repo '%s' of the parent %s", b->repo->name, what);
	return ws_hint(err, "merge without --commits brings the files");
}

/* Nobody's git may be at work there, or in the middle of something. */
static int check_quiet(struct bringing *b, struct ws_err *err)
{
	static const struct {
		const char *name;
		enum ws_kind kind;
		const char *what;
	} signs[] = {
		{ "index.lock", WS_SESSION_BUSY, "is being worked on: .git/index.lock" },
		{ "MERGE_HEAD", WS_CONFLICT, "is in the middle of a merge" },
		{ "CHERRY_PICK_HEAD", WS_CONFLICT, "is in the middle of a cherry-pick" },
		{ "REVERT_HEAD", WS_CONFLICT, "is in the middle of a revert" },
		{ "rebase-merge", WS_CONFLICT, "is in the middle of a rebase" },
		{ "rebase-apply", WS_CONFLICT, "is in the middle of a rebase" },
	};

	for (size_t i = 0; i < WS_ARRAY_SIZE(signs); i++) {
		WS_AUTO_FREE char *path =
			ws_format("%s/.git/%s", b->repo->name, signs[i].name);
		struct ws_stack_entry e;

		if (ws_tree_cursor_look(&b->at, path, &e) < 0)
			return ws_fail_errno(err, "look at '%.200s'", path);
		if (e.st.st_mode)
			return fail_repo(b, signs[i].kind, signs[i].what, err);
	}
	if (!b->ours.head)
		return fail_repo(b, WS_REPO_UNUSABLE, "has no commit", err);
	if (b->ours.branch && !ws_spec_rule_holds(&WS_RULE_BRANCH, b->ours.branch))
		return fail_repo(b, WS_REPO_UNUSABLE, "is on a branch of an odd name",
				 err);
	return 0;
}

/* ---- what comes of it ---- */

/* Folders on the way, where they are there, must be some: nothing is replaced by one. */
static int check_way(struct bringing *b, const char *path, struct ws_err *err)
{
	WS_AUTO_FREE char *copy = ws_strdup(path);

	for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct ws_stack_entry e;
		int rc;

		*slash = '\0';
		rc = ws_tree_cursor_look(&b->at, copy, &e);
		*slash = '/';
		if (rc < 0)
			return ws_fail_errno(err, "look at '%.200s'", path);
		if (e.st.st_mode && !S_ISDIR(e.st.st_mode))
			return fail_repo(b, WS_REPO_UNUSABLE,
					 "has no folders where git has them", err);
	}
	return 0;
}

/* The file FROM of the room, at NAME in the git folder. */
static int add_extra(struct bringing *b, const char *name, const char *from, mode_t mode,
		     struct ws_err *err)
{
	struct ws_merge_extras *x = &b->c->extras;
	WS_AUTO_FREE char *path = ws_format("%s/.git/%s", b->repo->name, name);

	if (check_way(b, path, err) < 0)
		return -1;
	x->v = ws_grow(x->v, x->n + 1, sizeof(*x->v));
	x->v[x->n++] = (struct ws_merge_extra){ .path = ws_steal_ptr(&path),
						.from = ws_strdup(from),
						.mode = mode };
	return 0;
}

static int add_text(struct bringing *b, const char *name, const struct ws_buf *text,
		    struct ws_err *err)
{
	WS_AUTO_FREE char *from =
		ws_format("extra-%zu-%s", b->c->extras.n, b->repo->name);
	WS_AUTO_CLOSE int fd = openat(b->c->parent.fd, from,
				      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || ws_write_all(fd, ws_buf_str(text), text->len) < 0)
		return ws_fail_errno(err, "keep what '%s' is to be", name);
	return add_extra(b, name, from, 0644, err);
}

static int add_line(struct bringing *b, const char *name, const char *line,
		    struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	ws_buf_addf(&text, "%s\n", line);
	return add_text(b, name, &text, err);
}

/* Where there is one, as git would have gone on with it. */
static int add_reflog(struct bringing *b, const struct ws_brought *r, const char *name,
		      struct ws_err *err)
{
	WS_AUTO_FREE char *log = ws_format("logs/%s", name);
	WS_AUTO_FREE char *path = ws_format("%s/.git/%s", b->repo->name, log);
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	if (ws_stack_read(b->at.stack, path, REFLOG_MAX, &text) < 0)
		return 0;
	ws_buf_addf(&text, "%s %s " WHO " %lld +0000\tmerge %s: %s\n", r->from, r->to,
		    (long long)time(NULL), b->child->id, r->how);
	return add_text(b, log, &text, err);
}

static int add_packs(struct bringing *b, const char *folder, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;

	if (ws_dir_list(b->c->parent.fd, folder, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		WS_AUTO_FREE char *from = ws_format("%s/%s", folder, names.v[i]);
		WS_AUTO_FREE char *name = ws_format("objects/pack/%s", names.v[i]);

		if (add_extra(b, name, from, 0444, err) < 0)
			return -1;
	}
	return 0;
}

static int add_all(struct bringing *b, const struct ws_brought *r, const char *folder,
		   const char *index, struct ws_err *err)
{
	WS_AUTO_FREE char *ref = b->ours.branch
					 ? ws_format("refs/heads/%s", b->ours.branch)
					 : ws_strdup("HEAD");

	if (add_packs(b, folder, err) < 0 ||
	    add_extra(b, "index", index, 0644, err) < 0 ||
	    add_line(b, "ORIG_HEAD", r->from, err) < 0 ||
	    add_line(b, ref, r->to, err) < 0 || add_reflog(b, r, "HEAD", err) < 0)
		return -1;
	return b->ours.branch ? add_reflog(b, r, ref, err) : 0;
}

/* ---- what was answered ---- */

/* What PATH is to be, that both sides have changed, for the commit of a merge. */
static int write_answer(const struct bringing *b, const struct ws_merge_path *p,
			size_t number, struct ws_buf *list, struct ws_err *err)
{
	bool ours = p->action == WS_MERGE_KEEP;
	const struct ws_merge_side *s =
		ws_merge_side(p, ours ? WS_TREE_OURS : WS_TREE_THEIRS);
	bool made = p->action == WS_MERGE_JOIN || p->action == WS_MERGE_ANSWER;
	mode_t mode = made ? S_IFREG | p->mode : s->mode;
	const char *below = ws_tree_below(b->repo->name, p->path);
	WS_AUTO_FREE char *name = ws_format("answer-%s-%zu", b->repo->name, number);
	WS_AUTO(ws_buf) struct ws_buf bytes = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = -1;

	if (p->action == WS_MERGE_DELETE || !mode) {
		ws_buf_addf(list, "0 - %s", below);
		ws_buf_addch(list, '\0');
		return 0;
	}
	if (!S_ISREG(mode) && !S_ISLNK(mode))
		return 0;
	if (!made && ws_merge_load(b->t, p, ours ? WS_TREE_OURS : WS_TREE_THEIRS,
				   ANSWER_MAX, &bytes) < 0)
		return ws_fail_errno(err, "read '/workspace/%.200s'", p->path);
	fd = openat(b->c->parent.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ws_write_all(fd, ws_buf_str(made ? &p->bytes : &bytes),
				   made ? p->bytes.len : bytes.len) < 0)
		return ws_fail_errno(err, "keep an answer");
	ws_buf_addf(list, "%o %s/tmp/%s/%s %s",
		    S_ISLNK(mode)    ? 0120000u
		    : mode & S_IXUSR ? 0100755u
				     : 0100644u,
		    b->c->parent.root->path, b->c->parent.name, name, below);
	ws_buf_addch(list, '\0');
	return 0;
}

static int write_answers(const struct bringing *b, const char *name, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf list = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = -1;

	for (size_t i = 0; i < b->t->n; i++)
		if (b->t->v[i].clash && ws_tree_below(b->repo->name, b->t->v[i].path) &&
		    write_answer(b, &b->t->v[i], i, &list, err) < 0)
			return -1;
	fd = openat(b->c->parent.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ws_write_all(fd, ws_buf_str(&list), list.len) < 0)
		return ws_fail_errno(err, "keep the answers");
	return 0;
}

/* ---- the question ---- */

static int copy_index(const struct bringing *b, const char *name, struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("%s/.git/index", b->repo->name);
	WS_AUTO(ws_buf) struct ws_buf bytes = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = -1;

	if (ws_stack_read(b->at.stack, path, INDEX_MAX, &bytes) < 0) {
		ws_fail_errno(err, "read the index of repo '%s'", b->repo->name);
		err->kind = WS_REPO_UNUSABLE;
		return -1;
	}
	fd = openat(b->c->parent.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ws_write_all(fd, ws_buf_str(&bytes), bytes.len) < 0)
		return ws_fail_errno(err, "copy the index of repo '%s'", b->repo->name);
	return 0;
}

static int ask(const struct bringing *b, const char *folder, const char *index,
	       struct ws_brought *r, struct ws_err *err)
{
	const struct ws_commits_room *parent = &b->c->parent, *child = &b->c->child;
	const char *root = parent->root->path, *name = b->repo->name;
	WS_AUTO(ws_strv) struct ws_strv argv = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf answer = WS_BUF_INIT;
	char how[16], to[41];

	ws_strv_add(&argv, "bring", "--ours", r->from, "--theirs", b->theirs.head, NULL);
	ws_strv_addf(&argv, "--pool=%s/pools/%s/objects", root, b->repo->pool);
	ws_strv_addf(&argv, "--parent=%s/tmp/%s/objects-%s", root, parent->name, name);
	ws_strv_addf(&argv, "--child=%s/tmp/%s/objects-%s", root, child->name, name);
	ws_strv_addf(&argv, "--index=%s/tmp/%s/%s", root, parent->name, index);
	ws_strv_addf(&argv, "--resolved=%s/tmp/%s/answers-%s", root, parent->name, name);
	ws_strv_addf(&argv, "--out=%s/tmp/%s/%s", root, parent->name, folder);
	ws_strv_addf(&argv, "--message=Merge the work of session '%s'", b->child->id);
	if (ws_git_ask(&argv, NULL, 0, TIMEOUT_MS, &answer, err) < 0)
		return -1;
	if (sscanf(ws_buf_str(&answer), "%15s %40s %zu", how, to, &r->commits) != 3)
		return ws_fail(err, WS_INTERNAL, "wsiso-git's answer cannot be read");
	r->how = ws_strdup(how);
	r->to = ws_strdup(to);
	return 0;
}

static int bring(struct bringing *b, struct ws_brought *r, struct ws_err *err)
{
	WS_AUTO_FREE char *folder = ws_format("pack-%s", b->repo->name);
	WS_AUTO_FREE char *index = ws_format("index-%s", b->repo->name);
	WS_AUTO_FREE char *answers = ws_format("answers-%s", b->repo->name);
	struct ws_merge_commits *c = b->c;

	if (check_quiet(b, err) < 0 ||
	    ws_commits_lay_out(&c->parent, b->at.stack, b->repo->name, err) < 0 ||
	    ws_commits_lay_out(&c->child, &b->t->stack[WS_TREE_THEIRS], b->repo->name,
			       err) < 0 ||
	    copy_index(b, index, err) < 0 || write_answers(b, answers, err) < 0)
		return -1;
	if (ws_mkdir(c->parent.fd, folder, 0700) < 0)
		return ws_fail_errno(err, "make a folder for a pack");
	if (ask(b, folder, index, r, err) < 0)
		return -1;
	return strcmp(r->how, "noop") == 0 ? 0 : add_all(b, r, folder, index, err);
}

static int bring_repo(struct bringing *b, struct ws_err *err)
{
	struct ws_merge_commits *c = b->c;
	struct ws_brought *r;

	if (ws_commits_head(b->at.stack, b->repo, &b->ours, err) < 0 ||
	    ws_commits_head(&b->t->stack[WS_TREE_THEIRS], b->repo, &b->theirs, err) < 0)
		return -1;
	c->v = ws_grow(c->v, c->n + 1, sizeof(*c->v));
	r = &c->v[c->n++];
	*r = (struct ws_brought){ .repo = ws_strdup(b->repo->name),
				  .branch = ws_strdup(b->ours.branch),
				  .from = ws_strdup(b->ours.head) };
	if (b->theirs.head && (!b->ours.head || strcmp(b->ours.head, b->theirs.head)))
		return bring(b, r, err);
	r->how = ws_strdup("noop");
	r->to = ws_strdup(b->ours.head);
	return 0;
}

int ws_merge_commits_read(const struct ws_root *root, const struct ws_session *child,
			  struct ws_merge_trees *t, struct ws_merge_commits *ret,
			  struct ws_err *err)
{
	if (ws_commits_room_open(root, &t->stack[WS_TREE_OURS], &ret->parent, err) < 0 ||
	    ws_commits_room_open(root, &t->stack[WS_TREE_THEIRS], &ret->child, err) < 0)
		return -1;
	ret->extras.dir = ret->parent.fd;
	for (size_t i = 0; i < child->nrepos; i++) {
		WS_AUTO(bringing)
		struct bringing b = { .c = ret,
				      .t = t,
				      .child = child,
				      .repo = &child->repos[i],
				      .at = { .stack = &t->stack[WS_TREE_OURS] } };

		if (!strcmp(child->repos[i].vcs, "git") && child->repos[i].pool &&
		    bring_repo(&b, err) < 0)
			return ws_fail_within(err, "commits of '%s'",
					      child->repos[i].name);
	}
	return 0;
}
