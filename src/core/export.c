/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export.h"

#include <string.h>
#include <sys/stat.h>

#include "core/archive.h"
#include "core/merge_live.h"
#include "core/procs.h"
#include "core/sandbox.h"
#include "core/stack.h"

#define TOP "workspace"
/* OCI would have no holes in a layer: only what would take for ever has them. */
#define DENSE_LAYER ((uint64_t)64 << 20)

/* ---- layers and trees ---- */

/* A repo's .git is of no use without the object pool, which is no part of /workspace. */
static void skip_git(const struct ws_session *s, struct ws_pack *p)
{
	for (size_t i = 0; i < s->nrepos; i++)
		if (!strcmp(s->repos[i].vcs, "git"))
			ws_strv_addf(&p->skipped, "%s/.git", s->repos[i].name);
}

static int export_archive(const struct ws_exporting *x, struct ws_err *err)
{
	WS_AUTO(ws_archive) struct ws_archive archive = WS_ARCHIVE_INIT;
	bool layer = x->opts->format == WS_EXPORT_LAYER;
	struct ws_pack p = { .archive = &archive,
			     .report = x->report,
			     .prefix = TOP,
			     .layer = layer,
			     .portable = true,
			     .dense = layer ? DENSE_LAYER : 0,
			     .room = x->room,
			     .only = x->opts->repo };
	int rc = ws_archive_write(x->opts->compression, x->out, &archive, err);

	skip_git(x->s, &p);
	if (rc == 0)
		rc = layer ? ws_pack_tree(&p, x->stack, 0, x->stack->own - 1,
					  WS_WALK_CHANGES, err)
			   : ws_pack_tree(&p, x->stack, 0, (unsigned)x->stack->n,
					  WS_WALK_VIEW, err);
	ws_strv_release(&p.skipped);
	return rc < 0 ? -1 : ws_archive_end(&archive, err);
}

/* ---- all of them ---- */

static bool has_repo(const struct ws_session *s, const char *name)
{
	for (size_t i = 0; i < s->nrepos; i++)
		if (!strcmp(s->repos[i].name, name))
			return true;
	return false;
}

/* A merge into it that was killed is finished first. */
static int open_record(const struct ws_root *root, const char *id, bool with_spec,
		       struct ws_session *s, struct ws_err *err)
{
	if ((with_spec ? ws_session_open(root, id, s, err)
		       : ws_session_open_record(root, id, s, err)) < 0)
		return -1;
	if (!s->incoming)
		return 0;
	ws_session_release(s);
	*s = WS_SESSION_INIT;
	return ws_merge_resume(root, id, err) < 0
		       ? -1
		       : open_record(root, id, with_spec, s, err);
}

static int open_session(const struct ws_root *root, const char *id,
			const struct ws_export_opts *opts, struct ws_session *s,
			struct ws_err *err)
{
	/* what git is to do inside is bound by its spec */
	if (open_record(root, id, opts->format == WS_EXPORT_BUNDLE, s, err) < 0 ||
	    ws_session_check_workspace(s, err) < 0)
		return -1;
	if (s->launch_dir) {
		ws_fail(err, WS_USAGE, "session '%s' has no workspace to export", id);
		return ws_hint(err,
			       "its mode is host_readonly: all it has is the host's");
	}
	if (opts->repo && !has_repo(s, opts->repo))
		return ws_fail(err, WS_USAGE, "session '%s' has no repo '%s'", id,
			       opts->repo);
	ws_session_touch(s);
	return 0;
}

static bool is_running(const struct ws_session *s)
{
	WS_AUTO(ws_sandbox) struct ws_sandbox live = WS_SANDBOX_INIT;
	WS_AUTO(ws_procs) struct ws_procs procs = WS_PROCS_INIT;
	struct ws_err ignored = WS_ERR_INIT;

	if (ws_sandbox_peek(s, &live, &ignored) <= 0)
		return false;
	if (ws_procs_list(&live, &procs, &ignored) < 0)
		return true;
	for (size_t i = 0; i < procs.n; i++)
		if (!procs.v[i].ours && procs.v[i].state != 'Z')
			return true;
	return false;
}

/*
 * What was deleted meanwhile had less and less in it. A fork is no such thing: what we
 * have open became a layer.
 */
static int check_still_there(const struct ws_root *root, const struct ws_session *s,
			     struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session now = WS_SESSION_INIT;

	if (ws_session_is_fresh(s))
		return 0;
	if (ws_session_open_record(root, s->id, &now, err) < 0)
		return ws_fail_within(err, "it went while it was exported");
	if (now.created == s->created)
		return 0;
	return ws_fail(err, WS_SESSION_MISSING,
		       "session '%s' was deleted while it was exported", s->id);
}

/* By hard links, or by writing on, a session could fill any disk. */
static void bound_room(int out, struct ws_room *ret)
{
	struct stat st;

	ret->floor = WS_ROOT_LEAST_FREE;
	if (fstat(out, &st) == 0 && S_ISREG(st.st_mode))
		ret->fd = out;
}

int ws_export(const struct ws_root *root, const char *id,
	      const struct ws_export_opts *opts, int out, struct ws_export_report *ret,
	      struct ws_err *err)
{
	static int (*const formats[])(const struct ws_exporting *, struct ws_err *) = {
		[WS_EXPORT_LAYER] = export_archive,
		[WS_EXPORT_TAR] = export_archive,
		[WS_EXPORT_PATCH] = ws_export_patch,
		[WS_EXPORT_SESSION] = ws_export_session,
		[WS_EXPORT_BUNDLE] = ws_export_bundle,
	};
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_stack) struct ws_stack stack = WS_STACK_INIT;
	struct ws_room room = WS_ROOM_INIT;
	const struct ws_exporting x = { root, &s, &stack, opts, out, &room, ret };

	bound_room(out, &room);
	if (open_session(root, id, opts, &s, err) < 0 ||
	    ws_stack_open(root, &s, &stack, err) < 0)
		return -1;
	ret->running = opts->format != WS_EXPORT_BUNDLE && is_running(&s);
	if (formats[opts->format](&x, err) < 0)
		return -1;
	/* git itself sees to what it takes */
	ret->running =
		opts->format != WS_EXPORT_BUNDLE && (ret->running || is_running(&s));
	return check_still_there(root, &s, err);
}
