/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/text.h"
#include "cmd/common.h"
#include "cmd/diff_print.h"
#include "core/changes.h"
#include "core/commits.h"
#include "core/merge_live.h"
#include "core/root.h"
#include "core/session.h"
#include "core/stack.h"

/* Which part of the work of a git repo is meant. */
enum part { PART_ALL, PART_COMMITTED, PART_UNCOMMITTED };

struct diff {
	struct ws_root root;
	struct ws_session session;
	struct ws_stack stack;
	struct ws_diff changes, rest;
	struct ws_strv paths;
	struct ws_commits_room room;
	struct ws_commits *commits; /* of each repo of the session */
	const char *base;	    /* paths are shown relative to it */
};

static void diff_release(struct diff *d)
{
	ws_strv_release(&d->paths);
	ws_diff_release(&d->changes);
	ws_diff_release(&d->rest);
	for (size_t i = 0; d->commits && i < d->session.nrepos; i++)
		ws_commits_release(&d->commits[i]);
	ws_freep(&d->commits);
	ws_commits_room_release(&d->room);
	ws_stack_release(&d->stack);
	ws_session_release(&d->session);
	ws_root_release(&d->root);
}

/* ---- what is asked for ---- */

static int find_format(const char *name, enum ws_diff_format *ret, struct ws_err *err)
{
	static const char *const names[] = { [WS_DIFF_NAMES] = "name-status",
					     [WS_DIFF_STAT] = "stat",
					     [WS_DIFF_PATCH] = "patch",
					     [WS_DIFF_JSON] = "json" };

	for (size_t i = 0; i < WS_ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name)) {
			*ret = (enum ws_diff_format)i;
			return 0;
		}
	return ws_fail(err, WS_USAGE,
		       "'%s' is no format: name-status, stat, patch or json", name);
}

static int find_base(struct diff *d, const char *repo, struct ws_err *err)
{
	const struct ws_session *s = &d->session;

	d->base = s->nrepos == 1 ? s->repos[0].name : "";
	if (!repo)
		return 0;
	for (size_t i = 0; i < s->nrepos; i++)
		if (!strcmp(s->repos[i].name, repo)) {
			d->base = s->repos[i].name;
			return 0;
		}
	return ws_fail(err, WS_USAGE, "session '%s' has no repo '%s'", s->id, repo);
}

/* As it stands in the list: relative to /workspace, without slashes at its end. */
static int add_path(struct diff *d, const char *arg, struct ws_err *err)
{
	WS_AUTO_FREE char *full = NULL;
	WS_AUTO_FREE char *shown = ws_strdup(arg);
	const char *top = "/workspace";
	size_t len;

	if (arg[0] != '/')
		full = ws_format("%s%s%s", d->base, *d->base ? "/" : "", arg);
	else if (ws_text_starts(arg, top) &&
		 (arg[strlen(top)] == '/' || !arg[strlen(top)]))
		full = ws_strdup(arg + strlen(top) + (arg[strlen(top)] == '/'));
	else
		return ws_fail(err, WS_USAGE, "'%s' is not below /workspace", arg);
	len = strlen(full);
	while (len && full[len - 1] == '/')
		full[--len] = '\0';
	if (len >= 2 && !strcmp(full + len - 2, "/."))
		full[len - 2] = '\0';
	if (!strcmp(full, "."))
		*full = '\0';
	ws_strv_push(&d->paths, full);
	return 0;
}

/* ---- reading ---- */

static bool is_git(const struct ws_session_repo *repo)
{
	return !strcmp(repo->vcs, "git") && repo->revision && repo->pool;
}

/* What the commands committed in each repo. */
static int read_commits(struct diff *d, struct ws_err *err)
{
	for (size_t i = 0; i < d->session.nrepos; i++) {
		const struct ws_session_repo *repo = &d->session.repos[i];
		struct ws_commits *c = &d->commits[i];

		if (!is_git(repo))
			continue;
		if (ws_commits_head(&d->stack, repo, c, err) < 0)
			return -1;
		if (!c->head || !strcmp(c->head, repo->revision))
			continue;
		if (ws_commits_room_open(&d->root, &d->stack, &d->room, err) < 0 ||
		    ws_commits_read(&d->room, &d->stack, repo, c, err) < 0)
			return -1;
	}
	return 0;
}

static void join_commits(struct diff *d, struct ws_diff *ret)
{
	for (size_t i = 0; i < d->session.nrepos; i++) {
		struct ws_diff *own = &d->commits[i].diff;

		for (size_t k = 0; k < own->n; k++)
			ws_diff_take(ret, &own->v[k]);
		own->n = 0;
	}
	ws_diff_sort(ret);
}

static bool is_same(void *arg, const char *path, const struct ws_change_side *a,
		    const struct ws_change_side *b)
{
	return ws_changes_same(arg, path, a, b);
}

static int read_work(struct diff *d, struct ws_diff *ret, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv hidden = WS_STRV_INIT;
	const struct ws_session *s = &d->session;

	for (size_t i = 0; i < s->nrepos; i++)
		if (!strcmp(s->repos[i].vcs, "git"))
			ws_strv_addf(&hidden, "%s/.git", s->repos[i].name);
	return ws_changes_read(&d->stack, &hidden, ret, err);
}

static int read_part(struct diff *d, enum part part, struct ws_err *err)
{
	WS_AUTO(ws_diff) struct ws_diff committed = WS_DIFF_INIT;
	WS_AUTO(ws_diff) struct ws_diff work = WS_DIFF_INIT;

	if (part == PART_ALL)
		return read_work(d, &d->changes, err);
	if (read_commits(d, err) < 0)
		return -1;
	if (part == PART_COMMITTED) {
		join_commits(d, &d->changes);
		return 0;
	}
	join_commits(d, &committed);
	if (read_work(d, &work, err) < 0)
		return -1;
	ws_diff_between(&committed, &work, is_same, &d->stack, &d->changes);
	ws_strv_extend(&d->changes.omitted, &work.omitted);
	return 0;
}

/* JSON tells of the commits, too; where they cannot be read, of the rest all the same. */
static void tell_commits(struct diff *d)
{
	struct ws_err err = WS_ERR_INIT;

	if (read_commits(d, &err) < 0)
		ws_warn("%s", err.msg);
}

static int read_changes(struct diff *d, enum part part, enum ws_diff_format form,
			struct ws_err *err)
{
	if (read_part(d, part, err) < 0)
		return -1;
	if (part == PART_ALL && form == WS_DIFF_JSON)
		tell_commits(d);
	ws_changes_find_renames(&d->stack, &d->changes);
	ws_diff_select(&d->changes, &d->paths, &d->rest);
	return 0;
}

/* One into the session that was killed half-way. */
static void finish_merge(struct diff *d)
{
	struct ws_err err = WS_ERR_INIT;

	if (d->session.incoming && ws_merge_resume(&d->root, d->session.id, &err) < 0)
		ws_warn("a merge is not finished yet: %s", err.msg);
}

static int open_session(const struct ws_global *global, const char *id, struct diff *d,
			struct ws_err *err)
{
	if (ws_root_open(global->root, true, &d->root, err) < 0 ||
	    ws_session_open_record(&d->root, id, &d->session, err) < 0 ||
	    ws_session_check_workspace(&d->session, err) < 0)
		return -1;
	ws_session_touch(&d->session);
	finish_merge(d);
	d->commits = ws_alloc((d->session.nrepos + 1) * sizeof(*d->commits));
	return ws_stack_open(&d->root, &d->session, &d->stack, err);
}

static int diff_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		    char **argv, struct ws_err *err)
{
	__attribute__((cleanup(diff_release))) struct diff d = {
		.root = WS_ROOT_INIT,
		.session = WS_SESSION_INIT,
		.stack = WS_STACK_INIT,
		.room = WS_COMMITS_ROOM_INIT,
	};
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	const char *format = "name-status", *repo = NULL;
	bool json = false, no_pager = false, committed = false, uncommitted = false;
	bool whole;
	enum ws_diff_format form = WS_DIFF_NAMES;
	const struct ws_opt opts[] = {
		{ 'f', "format", WS_OPT_STR, &format, "FORMAT",
		  "name-status (default), stat, patch or json" },
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "the same as --format json" },
		{ 0, "repo", WS_OPT_STR, &repo, "NAME",
		  "what changed in this repo, with paths relative to it" },
		{ 0, "committed", WS_OPT_FLAG, &committed, NULL,
		  "only what git repos have in commits" },
		{ 0, "uncommitted", WS_OPT_FLAG, &uncommitted, NULL,
		  "only what differs from the last commit" },
		{ 0, "no-pager", WS_OPT_FLAG, &no_pager, NULL,
		  "use no pager on a terminal" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, SIZE_MAX, err) < 0 ||
	    find_format(json ? "json" : format, &form, err) < 0 ||
	    open_session(global, args.v[0], &d, err) < 0 || find_base(&d, repo, err) < 0)
		return -1;
	if (committed && uncommitted)
		return ws_fail(err, WS_USAGE, "--committed excludes --uncommitted");
	for (size_t i = 1; i < args.n; i++)
		if (add_path(&d, args.v[i], err) < 0)
			return -1;
	whole = !d.paths.n;
	/* a patch is of one folder: that which its paths are relative to */
	if (whole && *d.base && (repo || form == WS_DIFF_PATCH))
		ws_strv_push(&d.paths, d.base);
	if (read_changes(&d,
			 committed     ? PART_COMMITTED
			 : uncommitted ? PART_UNCOMMITTED
				       : PART_ALL,
			 form, err) < 0)
		return -1;
	return ws_diff_print(&(const struct ws_diff_output){ .session = &d.session,
							     .stack = &d.stack,
							     .changes = &d.changes,
							     .commits = d.commits,
							     .rest = whole && !repo
									     ? &d.rest
									     : NULL,
							     .base = d.base,
							     .format = form,
							     .pager = !no_pager },
			     err);
}

const struct ws_cmd ws_cmd_diff = {
	.name = "diff",
	.args = "ID [OPTIONS] [PATH...]",
	.help = "show what a session changed",
	.npos = -1,
	.run = diff_run,
	.status_of = WS_STATUS_PLAIN,
};
