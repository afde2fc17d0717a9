/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/fs.h"
#include "base/text.h"
#include "core/commits.h"
#include "core/export.h"
#include "core/inside.h"
#include "core/spec_rules.h"

#define BEGIN "# v"

/* What git says inside, on its way to the file. */
struct bundling {
	const struct ws_exporting *x;
	uint64_t written;
};

/* Its first line is written whole: fewer bytes than these never come first. */
static int take(void *arg, const char *data, size_t len, struct ws_err *err)
{
	struct bundling *b = arg;

	if (!b->written &&
	    (len < strlen(BEGIN) || memcmp(data, BEGIN, strlen(BEGIN)) != 0))
		return ws_fail(err, WS_REPO_UNUSABLE, "what git wrote is no bundle");
	b->written += len;
	/* who has got hold of git's process may write for ever */
	if (ws_room_take(b->x->room, len, 0, err) < 0)
		return -1;
	if (ws_write_all(b->x->out, data, len) == 0)
		return 0;
	return ws_fail_errno(err, "write the bundle");
}

/* ---- of what ---- */

static bool is_git(const struct ws_session_repo *r)
{
	return !strcmp(r->vcs, "git");
}

static const struct ws_session_repo *find_repo(const struct ws_exporting *x,
					       struct ws_err *err)
{
	const struct ws_session_repo *found = NULL;

	for (size_t i = 0; i < x->s->nrepos; i++) {
		const struct ws_session_repo *r = &x->s->repos[i];

		if (x->opts->repo ? strcmp(r->name, x->opts->repo) != 0 : !is_git(r))
			continue;
		if (found) {
			ws_fail(err, WS_USAGE, "session '%s' has several git repos",
				x->s->id);
			ws_hint(err, "pick one by --repo");
			return NULL;
		}
		found = r;
	}
	if (found && is_git(found))
		return found;
	ws_fail(err, WS_USAGE, "session '%s' has no git repo%s%s", x->s->id,
		x->opts->repo ? " named " : "", x->opts->repo ? x->opts->repo : "");
	return NULL;
}

/* What is asked for, or what HEAD is; less the base. */
static int add_revisions(const struct ws_exporting *x, const struct ws_session_repo *r,
			 struct ws_strv *argv, struct ws_err *err)
{
	WS_AUTO(ws_commits) struct ws_commits at = WS_COMMITS_INIT;
	const char *ref = x->opts->ref;
	const char *base = x->opts->base ? x->opts->base : r->revision;

	if (ref && !ws_spec_rule_holds(&WS_RULE_BRANCH, ref))
		return ws_fail(err, WS_USAGE, "'%s' is no name of a ref", ref);
	if (x->opts->base && (x->opts->base[0] == '-' || x->opts->base[0] == '^' ||
			      !ws_spec_rule_holds(&WS_RULE_REVISION, x->opts->base)))
		return ws_fail(err, WS_USAGE, "'%s' is no revision", x->opts->base);
	if (ws_commits_head(x->stack, r, &at, err) < 0)
		return -1;
	if (!ref && (!at.head || (base && !strcmp(at.head, base)))) {
		ws_fail(err, WS_REPO_UNUSABLE,
			"repo '%s' has no commit that its base has not", r->name);
		return ws_hint(err, "--base none takes the whole history");
	}
	ws_strv_push(argv, ref ? ref : "HEAD");
	if (!ref && at.branch && ws_spec_rule_holds(&WS_RULE_BRANCH, at.branch))
		ws_strv_push(argv, at.branch);
	if (base && strcmp(base, "none") != 0)
		ws_strv_addf(argv, "^%s", base);
	return 0;
}

/* ---- git ---- */

/* Its last line; progress, which says that it lives, has ends of its own. */
static int fail_as_told(const struct ws_inside *in, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf shown = WS_BUF_INIT;
	const char *text = ws_buf_str(&in->complaint), *line = text;
	size_t len = in->complaint.len;

	while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\n' || text[i] == '\r')
			line = text + i + 1;
	ws_text_escape(&shown, line, (size_t)(text + len - line));
	return ws_fail(err, WS_REPO_UNUSABLE, "git bundle: %.300s (status %d)",
		       shown.len ? shown.data : "no reason given", in->status);
}

int ws_export_bundle(const struct ws_exporting *x, struct ws_err *err)
{
	struct bundling b = { .x = x };
	WS_AUTO(ws_inside) struct ws_inside in = { .in = -1, .take = take, .arg = &b };
	const struct ws_session_repo *r = find_repo(x, err);

	if (!r)
		return -1;
	ws_strv_add(&in.argv, "git", "-C", NULL);
	ws_strv_addf(&in.argv, "/workspace/%s", r->name);
	ws_strv_add(&in.argv, "bundle", "create", "--progress", "-", NULL);
	if (add_revisions(x, r, &in.argv, err) < 0 ||
	    ws_inside_run(x->root, x->s, &in, err) < 0)
		return -1;
	if (in.status != 0)
		return fail_as_told(&in, err);
	x->report->bytes = b.written;
	return b.written ? 0 : ws_fail(err, WS_REPO_UNUSABLE, "git wrote no bundle");
}
