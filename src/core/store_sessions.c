/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "core/layer.h"
#include "core/session.h"
#include "core/store_run.h"

/* ---- what it stands on ---- */

/* As of now, too: it may have come since they were listed. */
static bool has_layer(const struct ws_store_run *run, const char *name)
{
	return ws_strv_has_sorted(&run->layers, name) || ws_layer_exists(run->root, name);
}

/*
 * One that was deleted or changed meanwhile is not judged by what it was. A delete, which
 * takes the layers first, is let come to its end.
 */
static bool stays(const struct ws_store_run *run, const struct ws_session *s)
{
	WS_AUTO_CLOSE int lock = -1;
	struct ws_err err = WS_ERR_INIT;

	if (ws_session_lock(run->root, s, &lock, &err) < 0 &&
	    err.kind == WS_SESSION_MISSING)
		return false;
	return ws_session_is_fresh(s);
}

static void fail_stack(struct ws_store_run *run, const struct ws_session *s,
		       const char *layer)
{
	WS_AUTO_FREE char *subject = ws_format("sessions/%s", s->id);
	WS_AUTO_FREE char *remedy =
		ws_format("save what is in '%s/upper', then: wsiso delete -f %s", s->path,
			  s->id);

	if (stays(run, s))
		ws_store_note(run, WS_STORE_STACKS, WS_STORE_FAILED, subject, remedy,
			      "its layer '%s' is not there", layer);
}

static void check_stack(struct ws_store_run *run, const struct ws_session *s)
{
	WS_AUTO(ws_strv) struct ws_strv layers = WS_STRV_INIT;

	run->seen[WS_STORE_STACKS]++;
	ws_session_layers(s, &layers);
	for (size_t i = 0; i < layers.n; i++) {
		ws_refs_add(&run->named_layers, layers.v[i]);
		if (!has_layer(run, layers.v[i]))
			fail_stack(run, s, layers.v[i]);
	}
	if (s->home)
		ws_refs_add(&run->named_homes, s->home);
	for (size_t i = 0; i < s->nrepos; i++)
		if (s->repos[i].pool)
			ws_refs_add(&run->named_pools, s->repos[i].pool);
}

/* ---- its folders ---- */

static bool is_own_folder(int dir, const char *name, int *ret_errno)
{
	struct stat st;

	*ret_errno = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
	if (*ret_errno)
		return false;
	if (!S_ISDIR(st.st_mode))
		*ret_errno = ENOTDIR;
	else if (st.st_uid != geteuid())
		*ret_errno = EPERM;
	return !*ret_errno;
}

/* Somebody's work, which cannot be made again. */
static void check_work(struct ws_store_run *run, const struct ws_session *s, int dir,
		       const char *name, const char *what)
{
	WS_AUTO_FREE char *subject = ws_format("sessions/%s", s->id);
	WS_AUTO_FREE char *remedy =
		ws_format("put it back from a backup, or give it up: wsiso delete -f %s",
			  s->id);
	int why;

	run->seen[WS_STORE_FOLDERS]++;
	if (!is_own_folder(dir, name, &why) && stays(run, s))
		ws_store_note(run, WS_STORE_FOLDERS, WS_STORE_FAILED, subject, remedy,
			      "%s '%s' %s", what, name,
			      why == ENOENT  ? "is not there"
			      : why == EPERM ? "belongs to another user"
					     : "is no folder");
}

/* Of what is in it nothing is kept. */
static void check_empty(struct ws_store_run *run, const struct ws_session *s,
			const char *name, mode_t mode)
{
	WS_AUTO_FREE char *subject = ws_format("sessions/%s/%s", s->id, name);
	int why, rc = 1;

	run->seen[WS_STORE_FOLDERS]++;
	if (is_own_folder(s->dir, name, &why) || !stays(run, s))
		return;
	if (why != ENOENT) {
		ws_store_note(run, WS_STORE_FOLDERS, WS_STORE_FAILED, subject,
			      "remove it; wsiso check --store --repair makes it again",
			      why == EPERM ? "it belongs to another user"
					   : "it is no folder");
		return;
	}
	if (run->repair) {
		rc = mkdirat(s->dir, name, 0700);
		if (rc == 0)
			rc = fchownat(s->dir, name, (uid_t)-1, getegid(),
				      AT_SYMLINK_NOFOLLOW);
		if (rc == 0)
			rc = fchmodat(s->dir, name, mode, 0);
	}
	ws_store_note_repair(run, WS_STORE_FOLDERS, WS_STORE_FAILED, subject, rc,
			     "the folder is not there; it starts empty");
}

static void check_mode(struct ws_store_run *run, const struct ws_session *s)
{
	WS_AUTO_FREE char *subject = ws_format("sessions/%s", s->id);
	struct stat st;

	if (fstat(s->dir, &st) < 0 || !(st.st_mode & 077))
		return;
	ws_store_note_repair(run, WS_STORE_FOLDERS, WS_STORE_FAILED, subject,
			     run->repair ? fchmod(s->dir, 0700) : 1,
			     "others have access to its folder");
}

static void check_folders(struct ws_store_run *run, const struct ws_session *s)
{
	WS_AUTO_FREE char *home = ws_session_home(run->root, s);

	check_mode(run, s);
	check_work(run, s, run->root->fd, home, "its HOME");
	if (ws_session_is_run(s))
		return;
	check_work(run, s, s->dir, "upper", "its folder");
	check_empty(run, s, "work", 0755);
	check_empty(run, s, "tmp", 01777);
}

/* ---- its record ---- */

static void fail_record(struct ws_store_run *run, const char *subject, const char *id,
			const struct ws_err *why)
{
	WS_AUTO_FREE char *remedy =
		why->kind == WS_STATE_VERSION
			? ws_strdup("use the wsiso that made it")
			: ws_format("save what is in '%s/%s/upper', then: "
				    "wsiso delete -f %s",
				    run->root->path, subject, id);

	run->unsure = true;
	ws_store_note(run, WS_STORE_SESSIONS, WS_STORE_FAILED, subject, remedy, "%s",
		      why->msg);
}

static void check_name(struct ws_store_run *run, const char *subject, const char *id)
{
	WS_AUTO(ws_session) struct ws_session to = WS_SESSION_INIT;
	WS_AUTO_FREE char *remedy = ws_format("wsiso delete %s, or wsiso gc", id);
	struct ws_err err = WS_ERR_INIT;

	if (ws_session_open_record(run->root, id, &to, &err) < 0 &&
	    err.kind == WS_SESSION_MISSING)
		ws_store_note(run, WS_STORE_SESSIONS, WS_STORE_WARNING, subject, remedy,
			      "%s", err.msg);
}

static void check_session(struct ws_store_run *run, const char *id)
{
	WS_AUTO_FREE char *subject = ws_format("sessions/%s", id);
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	struct ws_err err = WS_ERR_INIT;
	struct stat st;

	if (fstatat(run->root->fd, subject, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (!S_ISDIR(st.st_mode) || ws_session_check_id(id, &err) < 0) {
		ws_store_note(run, WS_STORE_SESSIONS, WS_STORE_WARNING, subject,
			      "move it elsewhere", "it is no session's folder");
		return;
	}
	if (ws_session_open_name(run->root, id, &s, &err) < 0) {
		/* a spec that somebody put there, or the tombstone of one that went */
		if (err.kind != WS_SESSION_MISSING && err.kind != WS_SESSION_EXPIRED)
			fail_record(run, subject, id, &err);
		return;
	}
	run->seen[WS_STORE_SESSIONS]++;
	if (s.alias) {
		check_name(run, subject, id);
		return;
	}
	check_stack(run, &s);
	if (strcmp(s.status, "blocked") != 0)
		check_folders(run, &s);
}

void ws_store_sessions(struct ws_store_run *run)
{
	WS_AUTO(ws_strv) struct ws_strv ids = WS_STRV_INIT;

	ws_store_list(run, "sessions", &ids);
	for (size_t i = 0; i < ids.n; i++)
		check_session(run, ids.v[i]);
}
