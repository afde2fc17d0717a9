/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "core/create.h"
#include "core/procs.h"
#include "core/sandbox.h"
#include "core/setup.h"
#include "core/shared.h"
#include "core/snapshot.h"

#define GRACE_MS 2000

static bool is_there(const struct ws_root *root, const char *id)
{
	WS_AUTO_FREE char *path = ws_format("sessions/%s", id);
	struct stat st;

	return fstatat(root->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* By its folder alone: the record is missing, cannot be read, or is a tombstone. */
static int open_damaged(const struct ws_root *root, const char *id,
			struct ws_session *ret, struct ws_err *err)
{
	WS_AUTO_FREE char *below = ws_format("sessions/%s", id);

	ret->id = ws_strdup(id);
	ret->path = ws_format("%s/sessions/%s", root->path, id);
	ret->dir = ws_open_dir(root->fd, below);
	return ret->dir < 0 ? ws_fail_errno(err, "open '%s'", ret->path) : 0;
}

/* What a newer wsiso made is not ours to judge, whatever the caller insists on. */
static int open_any(const struct ws_root *root, const char *id, bool force,
		    struct ws_session *ret, struct ws_err *err)
{
	if (ws_session_open_name(root, id, ret, err) == 0)
		return 0;
	if (err->kind == WS_SESSION_EXPIRED) {
		*err = WS_ERR_INIT;
		return open_damaged(root, id, ret, err);
	}
	if (err->kind == WS_USAGE || err->kind == WS_STATE_VERSION || !is_there(root, id))
		return -1;
	if (force)
		return open_damaged(root, id, ret, err);
	if (err->kind == WS_SESSION_MISSING)
		ws_fail(err, WS_SESSION_MISSING,
			"'%s' is a folder without a session's record", id);
	return ws_hint(err, "wsiso delete -f %s removes what is there", id);
}

/* A sandbox that only lingers is no obstacle; commands in it are. */
static int check_idle(const struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	WS_AUTO(ws_procs) struct ws_procs procs = WS_PROCS_INIT;
	size_t live = 0;
	int rc = ws_sandbox_peek(s, &sb, err);

	if (rc <= 0)
		return rc;
	if (ws_procs_list(&sb, &procs, err) < 0)
		return -1;
	for (size_t i = 0; i < procs.n; i++)
		live += !procs.v[i].ours && procs.v[i].state != 'Z';
	if (live == 0)
		return 0;
	ws_fail(err, WS_SESSION_BUSY, "session '%s' has %zu live process%s", s->id, live,
		live == 1 ? "" : "es");
	return ws_hint(err, "wsiso ps %s lists them; wsiso delete -f %s ends them", s->id,
		       s->id);
}

static int end(const struct ws_session *s, bool force, struct ws_err *err)
{
	struct ws_err other = WS_ERR_INIT;

	if (!force)
		return check_idle(s, err) < 0 ? -1 : ws_sandbox_end(s, GRACE_MS, err);
	if (ws_sandbox_end(s, GRACE_MS, &other) == 0)
		return 0;
	/*
	 * a record that cannot be read names no sandbox; one that lives must not lose
	 * its files
	 */
	if (other.kind == WS_STATE_CORRUPT) {
		ws_warn("%s", other.msg);
		return ws_sandbox_check_lease(s, err);
	}
	*err = other;
	return -1;
}

/*
 * Layers first: if we die in between, a second delete finds the session and the rest.
 * What a child, or a parent, has stays.
 */
static int remove_all(const struct ws_root *root, const struct ws_session *s,
		      struct ws_err *err)
{
	WS_AUTO_CLOSE int sessions = ws_root_dir(root, "sessions", err);
	const char *id = s->id;

	if (sessions < 0 || (!s->alias && ws_shared_discard(root, s, err) < 0))
		return -1;
	if (ws_root_discard(root, sessions, id, err) == 0)
		return 0;
	if (is_there(root, id))
		return -1;
	/* the session is gone, its files lie in the trash: the next sweep tries again */
	ws_warn("session '%s': %s", id, err->msg);
	return 0;
}

/* A second name is good for nothing without its session. */
static int check_names(const struct ws_root *root, const struct ws_session *s,
		       struct ws_err *err)
{
	WS_AUTO(ws_shared) struct ws_shared sh = WS_SHARED_INIT;

	if (!s->forked)
		return 0;
	if (ws_shared_look(root, s, &sh, err) < 0)
		return -1;
	if (sh.names.n == 0)
		return 0;
	ws_fail(err, WS_SESSION_BUSY, "session '%s' has a second name, '%s'%s", s->id,
		sh.names.v[0], sh.names.n > 1 ? ", and others" : "");
	return ws_hint(err, "delete that first; -f deletes the session all the same");
}

static void touch_shared(const struct ws_root *root, const struct ws_session *s)
{
	for (size_t i = 0; i < s->nrepos; i++) {
		if (s->repos[i].snapshot)
			ws_snapshot_touch(root, s->repos[i].snapshot);
		if (s->repos[i].setup)
			ws_setup_touch(root, s->repos[i].setup);
	}
}

int ws_delete(const struct ws_root *root, const char *id, bool force, struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO_CLOSE int lock = -1;

	if (open_any(root, id, force, &s, err) < 0 ||
	    ws_session_lock(root, &s, &lock, err) < 0)
		return -1;
	if (!force && check_names(root, &s, err) < 0)
		return -1;
	if (!s.alias && end(&s, force, err) < 0)
		return -1;
	touch_shared(root, &s); /* used until now */
	if (remove_all(root, &s, err) < 0)
		return -1;
	touch_shared(root, &s);
	ws_journal(root, "delete", id, force ? "forced" : NULL);
	return 0;
}
