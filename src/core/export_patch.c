/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "core/changes.h"
#include "core/export.h"
#include "core/patch.h"

struct patching {
	const struct ws_exporting *x;
	struct ws_patcher patcher;
	struct ws_diff changes, rest;
};

static void patching_release(struct patching *p)
{
	ws_patcher_release(&p->patcher);
	ws_diff_release(&p->changes);
	ws_diff_release(&p->rest);
}

static mode_t mode_of(const struct ws_change *c)
{
	return c->new.mode ? c->new.mode : c->old.mode;
}

static void leave(struct patching *p, const struct ws_change *c, const char *why,
		  bool lost)
{
	WS_AUTO_FREE char *shown = ws_path_shown(p->patcher.base, c->path);

	ws_export_leave(p->x->report, shown, why, lost);
}

/* What is no file and no link. True: the patch says nothing of it. */
static bool is_left_out(struct patching *p, const struct ws_change *c)
{
	mode_t mode = mode_of(c);

	if (S_ISDIR(mode)) /* git itself would drop that */
		leave(p, c, c->content ? "it is an empty folder" : "a folder's mode",
		      false);
	else if (!ws_change_is_patch(c))
		leave(p, c,
		      S_ISFIFO(mode)   ? "it is a FIFO"
		      : S_ISSOCK(mode) ? "it is a socket"
				       : "it is a device",
		      true);
	else
		return false;
	return true;
}

static int write_change(struct patching *p, const struct ws_change *c, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf piece = WS_BUF_INIT;
	struct ws_export_report *report = p->x->report;
	struct ws_patch_counts counts;

	if (is_left_out(p, c))
		return 0;
	if (ws_patch_change(&p->patcher, c, &piece, &counts, err) < 0) {
		if (err->kind != WS_IO || !err->sys)
			return -1;
		leave(p, c,
		      err->sys == EFBIG ? "it is too large for a patch"
					: "it cannot be read",
		      true);
		return 0;
	}
	report->deleted += !c->new.mode;
	report->links += S_ISLNK(c->new.mode);
	report->files += S_ISREG(c->new.mode);
	report->bytes += c->new.size;
	if (ws_room_take(p->x->room, piece.len, 0, err) < 0)
		return -1;
	if (ws_write_all(p->x->out, ws_buf_str(&piece), piece.len) == 0)
		return 0;
	ws_fail_errno(err, "write the patch");
	return -1;
}

/* As diff has it: of one repo, or of /workspace. */
static int read_changes(struct patching *p, struct ws_err *err)
{
	const struct ws_session *s = p->x->s;
	WS_AUTO(ws_strv) struct ws_strv hidden = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv paths = WS_STRV_INIT;

	for (size_t i = 0; i < s->nrepos; i++)
		if (!strcmp(s->repos[i].vcs, "git"))
			ws_strv_addf(&hidden, "%s/.git", s->repos[i].name);
	if (ws_changes_read(p->x->stack, &hidden, &p->changes, err) < 0)
		return -1;
	ws_changes_find_renames(p->x->stack, &p->changes);
	if (*p->patcher.base)
		ws_strv_push(&paths, p->patcher.base);
	ws_diff_select(&p->changes, &paths, &p->rest);
	return 0;
}

int ws_export_patch(const struct ws_exporting *x, struct ws_err *err)
{
	const struct ws_session *s = x->s;
	__attribute__((cleanup(patching_release))) struct patching p = {
		.x = x, .patcher = WS_PATCHER_INIT
	};

	p.patcher.stack = x->stack;
	p.patcher.base = x->opts->repo	  ? x->opts->repo
			 : s->nrepos == 1 ? s->repos[0].name
					  : "";
	if (read_changes(&p, err) < 0)
		return -1;
	for (size_t i = 0; i < p.changes.n; i++)
		if (write_change(&p, &p.changes.v[i], err) < 0)
			return -1;
	for (size_t i = 0; i < p.changes.omitted.n; i++)
		ws_export_leave(x->report, p.changes.omitted.v[i], "it is a git folder",
				true);
	for (size_t i = 0; !x->opts->repo && i < p.rest.n; i++)
		leave(&p, &p.rest.v[i], "it is outside the repo", true);
	return 0;
}
