/* SPDX-License-Identifier: Apache-2.0 */
#include "core/create.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/jsonw.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/tree.h"
#include "core/binds.h"
#include "core/fork.h"
#include "core/gate.h"
#include "core/hostview.h"
#include "core/import.h"
#include "core/layer.h"
#include "core/probes.h"
#include "core/repos.h"
#include "core/setup_make.h"
#include "core/shared.h"
#include "core/spec_file.h"
#include "core/user.h"

#define SPEC_FILE "config.json"
#define STATE_FILE "state.json"
#define LOCK_FILE "lock"
#define TRIES 8

/* A session on its way. */
struct making {
	const struct ws_root *root;
	const struct ws_create_opts *opts;
	struct ws_session s; /* what is saved in the end */
	struct ws_json *doc; /* the spec as it was given */
	struct ws_repos repos;
	char *parent; /* whose child it is to be; NULL: nobody's */
	struct ws_fork fork;
	struct ws_import import;
	int lock;
	bool fresh; /* its folder is new, and ours */
	bool given; /* with --from: the spec is this host's, not the archive's */
};

static void making_release(struct making *m)
{
	ws_fork_release(&m->fork);
	ws_import_release(&m->import);
	ws_freep(&m->parent);
	ws_repos_release(&m->repos);
	ws_json_free(m->doc);
	ws_session_release(&m->s);
	ws_closep(&m->lock);
}

/* ---- refusals: nothing is made yet ---- */

/* A child that is retried is its old parent's. */
static int retry(struct making *m, const struct ws_session *old, struct ws_err *err)
{
	if (m->parent && (!old->parent || strcmp(m->parent, old->parent) != 0))
		return ws_fail(err, WS_USAGE, "session '%s' is no child of '%s'", old->id,
			       m->parent);
	if (!m->parent)
		m->parent = ws_strdup(old->parent);
	return 0;
}

/* A session of that name refuses this one, unless it is blocked and to be retried. */
static int check_new(struct making *m, struct ws_err *err)
{
	WS_AUTO_FREE char *state = ws_format("sessions/%s/" STATE_FILE, m->opts->id);
	WS_AUTO(ws_session) struct ws_session old = WS_SESSION_INIT;
	bool blocked;

	if (faccessat(m->root->fd, state, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		if (ws_session_open_name(m->root, m->opts->id, &old, err) < 0 &&
		    err->kind == WS_SESSION_EXPIRED)
			return -1;
		*err = WS_ERR_INIT;
		return 0;
	}
	blocked = ws_session_open_name(m->root, m->opts->id, &old, err) == 0 &&
		  !strcmp(old.status, "blocked");
	if (blocked && m->opts->retry)
		return retry(m, &old, err);
	err->hint[0] = '\0';
	ws_fail(err, WS_SESSION_EXISTS, "there is a session '%s' already%s", m->opts->id,
		blocked ? ", and it is blocked" : "");
	return blocked ? ws_hint(err, "--retry goes on where it failed") : -1;
}

static char *spec_path(const struct making *m)
{
	if (m->opts->spec)
		return ws_strdup(m->opts->spec);
	if (m->opts->bundle)
		return ws_format("%s/" SPEC_FILE, m->opts->bundle);
	return ws_format("%s/" SPEC_FILE, m->s.path);
}

static bool spec_is_ours(const struct making *m)
{
	return !m->opts->spec && !m->opts->bundle;
}

/*
 * A second name has no spec of its own; what is added for a child may say that it is to
 * be more than that.
 */
static int read_child_spec(struct making *m, struct ws_err *err)
{
	WS_AUTO_FREE char *path = spec_path(m);
	bool none = spec_is_ours(m) && faccessat(AT_FDCWD, path, F_OK, 0) < 0 &&
		    errno == ENOENT;

	if (ws_fork_open(m->root, m->parent, &m->fork, err) < 0 ||
	    ws_fork_spec(&m->fork, none ? NULL : path, &m->doc, &m->s.spec, err) < 0)
		return -1;
	if (none || m->s.spec.subagent_isolation == WS_ISOLATION_ISOLATED)
		return 0;
	ws_fail(err, WS_SPEC_INVALID,
		"'%s' would be a second name of '%s', which has a "
		"spec",
		m->opts->id, m->fork.parent.id);
	return ws_hint(err, "leave the child's spec out, or set \"subagent_isolation\": "
			    "\"isolated\"");
}

static void spec_digest(const struct ws_buf *text, char ret[WS_SHA256_HEX])
{
	struct ws_sha256 sum;

	ws_sha256_init(&sum);
	ws_sha256_update(&sum, ws_buf_str(text), text->len);
	ws_sha256_hex(&sum, ret);
}

/*
 * Whose is the config.json in the session's folder? That which a killed import has put
 * there is an archive's, and its mark knows it by its digest; all else is the caller's.
 */
static bool has_spec(const struct making *m, const char *path)
{
	WS_AUTO_CLOSE int dir = open(m->s.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	WS_AUTO(ws_buf) struct ws_buf mark = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	char digest[WS_SHA256_HEX];

	if (!spec_is_ours(m))
		return true;
	if (faccessat(AT_FDCWD, path, F_OK, 0) < 0 && errno == ENOENT)
		return false;
	if (dir < 0 || ws_session_read_mark(dir, &mark) < 0 || !mark.len ||
	    ws_read_file(dir, SPEC_FILE, WS_JSON_MAX_SIZE, &text) < 0)
		return true;
	spec_digest(&text, digest);
	return strcmp(digest, ws_buf_str(&mark)) != 0;
}

/* What the archive says of itself has to be known before. */
static int read_import_spec(struct making *m, struct ws_err *err)
{
	WS_AUTO_FREE char *path = spec_path(m);

	m->given = has_spec(m, path);
	if (ws_import_open(m->root, m->opts->from, &m->import, err) < 0)
		return -1;
	return ws_import_spec(&m->import, m->given ? path : NULL, &m->doc, &m->s.spec,
			      err);
}

static int read_spec(struct making *m, struct ws_err *err)
{
	WS_AUTO_FREE char *path = spec_path(m);

	if (m->parent)
		return read_child_spec(m, err);
	if (m->opts->from)
		return read_import_spec(m, err);
	if (spec_is_ours(m) && faccessat(AT_FDCWD, path, F_OK, 0) < 0 &&
	    errno == ENOENT) {
		ws_fail(err, WS_SPEC_INVALID,
			"session '%s' has no spec: '%s' is not there", m->opts->id, path);
		return ws_hint(
			err,
			"write it there, or name one by --spec or --bundle; wsiso spec "
			"prints every option");
	}
	if (ws_spec_file_read(path, &m->doc, err) < 0 ||
	    ws_root_spec(m->root, m->doc, ws_spec_file_name(path), false, &m->s.spec,
			 err) < 0)
		return -1;
	return ws_gate(&m->s.spec, err);
}

static int check_space(const struct making *m, struct ws_err *err)
{
	double wanted = m->s.spec.snapshots.min_free_gb * 1e9;
	uint64_t left;

	if (ws_fs_free(m->root->fd, &left) < 0)
		return ws_fail_errno(err, "look for free space in '%s'", m->root->path);
	if (left < WS_ROOT_LEAST_FREE) {
		ws_fail(err, WS_DISK_FULL, "only %llu MiB are free where '%s' is",
			(unsigned long long)(left >> 20), m->root->path);
		return ws_hint(err, "make room there, or delete sessions");
	}
	if ((double)left < wanted)
		ws_warn("%.1f GB are free where '%s' is, fewer than snapshots.min_free_gb (%g)",
			(double)left / 1e9, m->root->path,
			m->s.spec.snapshots.min_free_gb);
	return 0;
}

static int describe(struct making *m, struct ws_err *err)
{
	WS_AUTO(ws_user) struct ws_user user = { 0 };

	if (ws_user_self(&user, err) < 0)
		return -1;
	m->s.version = 1;
	m->s.owner = ws_strdup(user.name);
	m->s.created = ws_clock_wall_ns();
	m->s.bundle =
		m->opts->bundle ? ws_realpath(m->opts->bundle) : ws_strdup(m->s.path);
	if (!m->s.bundle)
		return ws_fail_errno(err, "find the bundle '%s'", m->opts->bundle);
	return 0;
}

/* Where it works is settled here; what would keep it from starting is told here. */
static int check_host(struct making *m, struct ws_err *err)
{
	WS_AUTO(ws_hostview) struct ws_hostview view = { 0 };

	if (m->s.spec.mode != WS_MODE_HOST_READONLY)
		return 0;
	if (ws_launch_dir(m->root, &m->s.spec, &m->s.launch_dir, err) < 0)
		return -1;
	return ws_hostview_look(m->root, &m->s, &view, err);
}

static int check(struct making *m, struct ws_err *err)
{
	if (ws_session_check_id(m->opts->id, err) < 0)
		return -1;
	m->s.id = ws_strdup(m->opts->id);
	m->parent = ws_strdup(m->opts->parent);
	m->s.path = ws_format("%s/sessions/%s", m->root->path, m->opts->id);
	if (check_new(m, err) < 0 || read_spec(m, err) < 0 || describe(m, err) < 0)
		return -1;
	ws_root_sweep(m->root, NULL);
	if (check_space(m, err) < 0 || ws_binds_check(m->root, &m->s.spec, err) < 0)
		return -1;
	if (m->parent) /* which has been through all that */
		return 0;
	if (m->opts->from)
		return ws_overlay_check(m->root, &m->s.spec, err) < 0
			       ? -1
			       : ws_import_unpack(&m->import, &m->s.spec, err);
	if (check_host(m, err) < 0 ||
	    ws_repos_resolve(m->root, &m->s.spec, &m->repos, err) < 0 ||
	    ws_setup_check(m->root, &m->s.spec, &m->repos, err) < 0)
		return -1;
	return ws_overlay_check(m->root, &m->s.spec, err);
}

/* ---- the folder ---- */

static int lock_folder(struct making *m, int sessions, struct ws_err *err)
{
	const char *id = m->opts->id;
	struct stat ours, named;

	if (ws_lock_try(m->lock, true) < 0 && errno == EWOULDBLOCK)
		return ws_fail(
			err, WS_SESSION_EXISTS,
			"session '%s' is being made or used by another call right now",
			id);
	if (fstat(m->s.dir, &ours) < 0)
		return ws_fail_errno(err, "look at '%s'", m->s.path);
	return fstatat(sessions, id, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_ino == ours.st_ino && named.st_dev == ours.st_dev;
}

/* 1: the folder is ours and locked; 0: it went away meanwhile; -1. */
static int take_once(struct making *m, int sessions, struct ws_err *err)
{
	m->fresh = mkdirat(sessions, m->opts->id, 0700) == 0;
	if (!m->fresh && errno != EEXIST)
		return ws_fail_errno(err, "make '%s'", m->s.path);
	m->s.dir = ws_open_dir(sessions, m->opts->id);
	m->lock = m->s.dir < 0 ? -1 : ws_lock_open(m->s.dir, LOCK_FILE);
	if (m->lock < 0 && errno == ENOENT)
		return 0;
	if (m->lock < 0) {
		ws_fail_errno(err, "open '%s'", m->s.path);
		unlinkat(sessions, m->opts->id,
			 AT_REMOVEDIR); /* if it is ours, and so empty */
		return -1;
	}
	return lock_folder(m, sessions, err);
}

/* Of two creates at once one gets the lock; the other's is session-exists. */
static int take_folder(struct making *m, struct ws_err *err)
{
	WS_AUTO_CLOSE int sessions = ws_root_dir(m->root, "sessions", err);
	int rc = sessions < 0 ? -1 : 0;

	for (int i = 0; i < TRIES && rc == 0; i++) {
		ws_closep(&m->s.dir);
		ws_closep(&m->lock);
		rc = take_once(m, sessions, err);
	}
	if (rc < 0)
		return -1;
	if (rc == 0)
		return ws_fail(err, WS_SESSION_BUSY, "'%s' comes and goes", m->s.path);
	return check_new(m, err);
}

/*
 * What a create that was killed, or a blocked one, left. A folder with files in it was
 * no such, but for a child's: somebody's edits, whose record is lost, are not for us to
 * remove.
 */
static int clear_leftovers(struct making *m, struct ws_err *err)
{
	static const char *const kept[] = { "upper", "home", "tmp" };
	static const char *const gone[] = { "upper", "home", "tmp",	    "work",
					    "execs", "use",  "sandbox.json" };

	if (m->fresh)
		return 0;
	for (size_t i = 0; i < WS_ARRAY_SIZE(kept); i++) {
		if (ws_session_is_half_made(m->s.dir) ||
		    ws_dir_is_empty(m->s.dir, kept[i], !strcmp(kept[i], "upper")))
			continue;
		ws_fail(err, WS_STATE_CORRUPT,
			"'%s' has no record of a session, but files in '%s'", m->s.path,
			kept[i]);
		return ws_hint(err, "save them, then: wsiso delete -f %s", m->opts->id);
	}
	for (size_t i = 0; i < WS_ARRAY_SIZE(gone); i++)
		if (ws_tree_remove(m->s.dir, gone[i], NULL, err) < 0)
			return -1;
	return ws_shared_discard(m->root, &m->s, err);
}

/* ---- making ---- */

static int make_folder(const struct making *m, const char *name, mode_t mode,
		       struct ws_err *err)
{
	/* who made the session's folder may have made it set-group-id */
	if (mkdirat(m->s.dir, name, 0700) < 0 ||
	    fchownat(m->s.dir, name, (uid_t)-1, getegid(), AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(m->s.dir, name, mode, 0) < 0)
		return ws_fail_errno(err, "make '%s/%s'", m->s.path, name);
	return 0;
}

/* A live repo's overlay is its own; the mode of its part is what its top looks like. */
static int make_live_folders(const struct making *m, struct ws_err *err)
{
	for (size_t i = 0; i < m->repos.n; i++) {
		const struct ws_repo *r = &m->repos.v[i];
		WS_AUTO_FREE char *upper = ws_format("upper/%s", r->spec->name);
		WS_AUTO_FREE char *work = ws_format("work/%s", r->spec->name);
		struct stat st;

		if (!r->live)
			continue;
		if (stat(r->path, &st) < 0)
			return ws_fail_errno(err, "look at '%s'", r->path);
		if (make_folder(m, upper, st.st_mode & 01777, err) < 0 ||
		    make_folder(m, work, 0755, err) < 0)
			return -1;
	}
	return 0;
}

/* The same for a child: its live repos are its parent's. */
static int make_child_folders(const struct making *m, struct ws_err *err)
{
	const struct ws_session *p = &m->fork.parent;
	struct stat st;

	if (fstatat(p->dir, "upper", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(m->s.dir, "upper", st.st_mode & 07777, 0) < 0)
		return ws_fail_errno(err, "make '%s/upper'", m->s.path);
	for (size_t i = 0; i < p->nrepos; i++) {
		WS_AUTO_FREE char *upper = ws_format("upper/%s", p->repos[i].name);
		WS_AUTO_FREE char *work = ws_format("work/%s", p->repos[i].name);

		if (!p->repos[i].live)
			continue;
		if (fstatat(p->dir, upper, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return ws_fail_errno(err, "look at '%s/%s'", p->path, upper);
		if (make_folder(m, upper, st.st_mode & 07777, err) < 0 ||
		    make_folder(m, work, 0755, err) < 0)
			return -1;
	}
	return 0;
}

/* upper's mode is that of /workspace. */
static int make_folders(const struct making *m, struct ws_err *err)
{
	WS_AUTO_CLOSE int use = -1;

	if (make_folder(m, "upper", 0755, err) < 0 ||
	    make_folder(m, "work", 0755, err) < 0 ||
	    make_folder(m, "tmp", 01777, err) < 0 ||
	    (!m->s.home && make_folder(m, "home", 0700, err) < 0) ||
	    (m->parent ? make_child_folders(m, err) : make_live_folders(m, err)) < 0)
		return -1;
	use = ws_lock_open(m->s.dir, "use");
	return use < 0 ? ws_fail_errno(err, "make '%s/use'", m->s.path) : 0;
}

/* The stack: each snapshot's layers, what its setup made, and the session's own. */
static void keep_repos(struct making *m)
{
	m->s.repos = ws_alloc((m->repos.n + 1) * sizeof(*m->s.repos));
	for (size_t i = 0; i < m->repos.n; i++) {
		const struct ws_repo *r = &m->repos.v[i];

		ws_strv_extend(&m->s.stack, &r->snapshot.layers);
		if (r->setup_layer)
			ws_strv_push(&m->s.stack, r->setup_layer);
		if (r->layer)
			ws_strv_push(&m->s.stack, r->layer);
		m->s.repos[m->s.nrepos++] = (struct ws_session_repo){
			.name = ws_strdup(r->spec->name),
			.path = ws_strdup(r->path),
			.vcs = ws_strdup(r->kind->word),
			.revision = ws_strdup(r->revision),
			.branch = ws_strdup(r->branch),
			.snapshot = ws_strdup(r->snapshot.key),
			.pool = ws_strdup(r->snapshot.pool),
			.setup = ws_strdup(r->setup),
			.live = r->live,
		};
	}
}

static void write_spec(const struct making *m, struct ws_buf *text)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, text, true);
	ws_jsonw_value(&w, NULL, m->doc);
	ws_jsonw_done(&w);
}

/* The spec stays with the session: as given, or as it stands there already. */
static int keep_spec(struct making *m, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = -1;

	if (!spec_is_ours(m) || m->parent || m->opts->from) {
		write_spec(m, &text);
		/* its name is on the disk with the record's, which comes next */
		if (ws_write_atomic(m->s.dir, SPEC_FILE, &text, false, err) < 0)
			return -1;
	}
	fd = ws_open_beneath(m->s.dir, SPEC_FILE, O_RDONLY, 0);
	if (fd < 0)
		return ws_fail_errno(err, "keep '%s/" SPEC_FILE "'", m->s.path);
	ws_unsynced_take(&m->fork.unsynced, &fd);
	return 0;
}

/* The record is last: until then there is no session, and what is here is swept. */
static int commit(struct making *m, const char *status, struct ws_err *err)
{
	m->s.status = ws_strdup(status);
	if (keep_spec(m, err) < 0)
		return -1;
	ws_session_touch(&m->s);
	ws_session_sight(&m->s, 0, 0); /* so that gc needs no space for it */
	return ws_session_save_after(&m->s, &m->fork.unsynced, err);
}

static int make_child(struct making *m, struct ws_err *err)
{
	if (ws_session_mark(m->s.dir, "") < 0)
		return ws_fail_errno(err, "mark '%s'", m->s.path);
	if (ws_fork_take(&m->fork, &m->s, err) < 0 || make_folders(m, err) < 0 ||
	    ws_fork_branches(&m->fork, &m->s, err) < 0 || commit(m, "created", err) < 0)
		return -1;
	ws_session_mark(m->s.dir, NULL);
	return 0;
}

/* All of it is there already, under other names. */
static int make_import(struct making *m, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	char digest[WS_SHA256_HEX] = "";

	if (!m->given) {
		write_spec(m, &text);
		spec_digest(&text, digest);
	}
	if (ws_session_mark(m->s.dir, digest) < 0)
		return ws_fail_errno(err, "mark '%s'", m->s.path);
	if (make_folders(m, err) < 0 || ws_import_take(&m->import, &m->s, err) < 0 ||
	    commit(m, "created", err) < 0)
		return -1;
	ws_session_mark(m->s.dir, NULL);
	return 0;
}

static int make(struct making *m, struct ws_err *err)
{
	const struct ws_setup_opts setup = { .retry = m->opts->retry,
					     .progress = m->opts->progress };

	if (m->parent)
		return make_child(m, err);
	if (m->opts->from)
		return make_import(m, err);
	if (ws_repos_build(m->root, &m->s.spec, m->opts->id, &m->repos, err) < 0 ||
	    ws_setup_make(m->root, &m->s.spec, &setup, &m->repos, err) < 0 ||
	    make_folders(m, err) < 0)
		return -1;
	keep_repos(m);
	return commit(m, "created", err);
}

/*
 * A layer was begun, so somebody may want to know why, and try again: the error stays
 * ERR's.
 */
static int block(struct making *m, const struct ws_err *err)
{
	struct ws_err other = WS_ERR_INIT;

	ws_strv_clear(&m->s.stack);
	ws_freep(&m->s.home);
	if (m->parent && !m->s.parent)
		m->s.parent = ws_strdup(m->fork.parent.id);
	ws_closep(&m->fork.store);
	ws_unsynced_release(&m->fork.unsynced); /* it goes */
	if (ws_shared_discard(m->root, &m->s, &other) < 0)
		ws_warn("%s", other.msg);
	ws_freep(&m->s.status);
	m->s.cause_kind = ws_strdup(ws_kind_name(err->kind));
	m->s.cause = ws_strdup(err->msg);
	if (commit(m, "blocked", &other) < 0)
		ws_warn("the failed session could not be recorded: %s", other.msg);
	else
		ws_journal(m->root, "block", m->opts->id, err->msg);
	return -1;
}

/* Nothing but a record, which lies in the caller's folder as any other's. */
static int make_name(struct making *m, struct ws_err *err)
{
	m->s.status = ws_strdup("created");
	return ws_fork_name(&m->fork, &m->s, err) < 0 ? -1 : ws_session_save(&m->s, err);
}

static bool is_name(const struct making *m)
{
	return m->parent && m->s.spec.subagent_isolation == WS_ISOLATION_SHARED;
}

/* Of a second name that could not be made nothing stays. */
static int forget(const struct making *m)
{
	WS_AUTO_CLOSE int sessions = ws_open_dir(m->root->fd, "sessions");
	struct ws_err ignored = WS_ERR_INIT;

	if (sessions >= 0)
		ws_root_discard(m->root, sessions, m->opts->id, &ignored);
	return -1;
}

/*
 * The archive is still there, so there is nothing to go on with. What the caller has put
 * into the folder stays; of the rest the mark says that it is nobody's.
 */
static int forget_import(const struct making *m)
{
	struct ws_err ignored = WS_ERR_INIT;

	ws_import_undo(&m->import, &m->s);
	if (ws_shared_discard(m->root, &m->s, &ignored) < 0)
		ws_warn("%s", ignored.msg);
	return m->fresh ? forget(m) : -1;
}

static void note_created(const struct making *m)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	if (m->parent)
		ws_buf_addf(&text, "%s of %s ", m->s.alias ? "second name" : "child",
			    m->s.parent);
	if (m->opts->from)
		ws_buf_addf(&text, "from an archive of %s ",
			    m->import.about.id ? m->import.about.id : "nobody");
	for (size_t i = 0; i < m->s.nrepos; i++)
		ws_buf_addf(&text, "%s%s@%.12s", i ? " " : "", m->s.repos[i].name,
			    m->s.repos[i].revision ? m->s.repos[i].revision : "live");
	ws_journal(m->root, "create", m->opts->id, ws_buf_str(&text));
}

int ws_create(const struct ws_root *root, const struct ws_create_opts *opts,
	      struct ws_session *ret, struct ws_err *err)
{
	WS_AUTO(making)
	struct making m = { .root = root,
			    .opts = opts,
			    .s = WS_SESSION_INIT,
			    .fork = WS_FORK_INIT,
			    .import = WS_IMPORT_INIT,
			    .lock = -1 };

	if (check(&m, err) < 0)
		return -1;
	if (take_folder(&m, err) < 0 || clear_leftovers(&m, err) < 0)
		return -1;
	if (is_name(&m)) {
		if (make_name(&m, err) < 0)
			return forget(&m);
	} else if (make(&m, err) < 0) {
		return opts->from ? forget_import(&m) : block(&m, err);
	}
	note_created(&m);
	*ret = m.s;
	m.s = WS_SESSION_INIT;
	return 0;
}
