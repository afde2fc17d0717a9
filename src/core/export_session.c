/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "core/archive.h"
#include "core/export.h"
#include "core/session_archive.h"

/* ---- what it is ---- */

/* The strings stay the session's. */
static int write_manifest(const struct ws_exporting *x, struct ws_archive *to,
			  struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	const struct ws_session *s = x->s;
	WS_AUTO_FREE struct ws_archived_repo *repos =
		ws_alloc((s->nrepos + 1) * sizeof(*repos));
	struct ws_session_archive a = { .wsiso = (char[]){ PACKAGE_VERSION },
					.id = s->id,
					.exported = ws_clock_wall_ns(),
					.running = x->report->running,
					.repos = repos,
					.nrepos = s->nrepos };

	for (size_t i = 0; i < s->nrepos; i++)
		repos[i] = (struct ws_archived_repo){ .name = s->repos[i].name,
						      .vcs = s->repos[i].vcs,
						      .path = s->repos[i].path,
						      .revision = s->repos[i].revision,
						      .branch = s->repos[i].branch,
						      .objects = s->repos[i].pool };
	ws_session_archive_write(&a, &text);
	return ws_pack_text(to, WS_SESSION_ARCHIVE_MANIFEST, text.data, text.len, err);
}

static int write_spec(const struct ws_exporting *x, struct ws_archive *to,
		      struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	if (ws_read_file(x->s->dir, "config.json", WS_JSON_MAX_SIZE, &text) < 0)
		return ws_fail_errno(err, "read '%s/config.json'", x->s->path);
	return ws_pack_text(to, WS_SESSION_ARCHIVE_SPEC, ws_buf_str(&text), text.len,
			    err);
}

/* ---- its trees ---- */

static int write_layers(struct ws_pack *p, const struct ws_exporting *x,
			struct ws_err *err)
{
	const struct ws_stack *st = x->stack;

	p->prefix = WS_SESSION_ARCHIVE_BASE;
	if (ws_pack_tree(p, st, st->own, (unsigned)st->n, WS_WALK_VIEW, err) < 0)
		return -1;
	p->prefix = WS_SESSION_ARCHIVE_CHANGES;
	return ws_pack_tree(p, st, 0, st->own - 1, WS_WALK_CHANGES, err);
}

/* A folder that is no layer, by itself. */
static int write_folder(struct ws_pack *p, int fd, struct ws_err *err)
{
	WS_AUTO(ws_stack) struct ws_stack st = WS_STACK_INIT;

	ws_stack_of(fd, &st);
	return ws_pack_tree(p, &st, 0, 0, WS_WALK_MARKS, err);
}

static int write_home(struct ws_pack *p, const struct ws_exporting *x, struct ws_err *err)
{
	WS_AUTO_FREE char *home = ws_session_home(x->root, x->s);
	int fd = ws_open_dir(x->root->fd, home);

	if (fd < 0)
		return ws_fail_errno(err, "open the HOME of session '%s'", x->s->id);
	p->prefix = WS_SESSION_ARCHIVE_HOME;
	return write_folder(p, fd, err);
}

static int write_objects(struct ws_pack *p, const struct ws_exporting *x,
			 const struct ws_session_repo *r, struct ws_err *err)
{
	WS_AUTO_FREE char *prefix = ws_format(WS_SESSION_ARCHIVE_OBJECTS "/%s", r->name);
	WS_AUTO_FREE char *pool = ws_format("pools/%s", r->pool);
	int fd = ws_open_dir(x->root->fd, pool), rc;

	if (fd < 0) {
		ws_fail_errno(err, "open the objects of repo '%s'", r->name);
		err->kind = WS_BASE_MISSING;
		return -1;
	}
	p->prefix = prefix;
	p->wanted = ws_session_archive_pool_has;
	rc = write_folder(p, fd, err);
	p->wanted = NULL;
	return rc;
}

static int write_all(const struct ws_exporting *x, struct ws_archive *to,
		     struct ws_err *err)
{
	struct ws_pack p = { .archive = to, .report = x->report, .room = x->room };

	if (write_manifest(x, to, err) < 0 || write_spec(x, to, err) < 0 ||
	    write_layers(&p, x, err) < 0 || write_home(&p, x, err) < 0)
		return -1;
	for (size_t i = 0; i < x->s->nrepos; i++)
		if (x->s->repos[i].pool && write_objects(&p, x, &x->s->repos[i], err) < 0)
			return -1;
	return ws_pack_text(to, WS_SESSION_ARCHIVE_END, "", 0, err);
}

/* A live folder is the user's own, with whatever credentials are in its .git/config. */
static int check(const struct ws_exporting *x, struct ws_err *err)
{
	if (x->opts->repo)
		return ws_fail(err, WS_USAGE, "a session is exported with all its repos");
	for (size_t i = 0; i < x->s->nrepos; i++)
		if (x->s->repos[i].live) {
			ws_fail(err, WS_USAGE,
				"session '%s' stands on the live folder '%s', of which "
				"it has no base",
				x->s->id, x->s->repos[i].path);
			return ws_hint(err, "export it as a layer or as tar; or make "
					    "sessions with snapshots.enabled true");
		}
	return 0;
}

int ws_export_session(const struct ws_exporting *x, struct ws_err *err)
{
	WS_AUTO(ws_archive) struct ws_archive archive = WS_ARCHIVE_INIT;

	if (check(x, err) < 0 ||
	    ws_archive_write(x->opts->compression, x->out, &archive, err) < 0 ||
	    write_all(x, &archive, err) < 0)
		return -1;
	return ws_archive_end(&archive, err);
}
