/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run.h"
#include "core/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/proc.h"
#include "core/run_spec.h"
#include "core/user.h"

#define KIND "run"
#define SPEC_FILE "config.json"
#define MONITOR_TIMEOUT_MS 1000

void ws_run_opts_release(struct ws_run_opts *o)
{
	ws_strv_release(&o->ro);
	ws_strv_release(&o->rw);
}

/* ---- its folder ---- */

static int make_files(int dir, struct ws_err *err)
{
	WS_AUTO_CLOSE int use = ws_lock_open(dir, "use");
	WS_AUTO_CLOSE int lock = ws_lock_open(dir, "lock");

	if (use < 0 || lock < 0)
		return ws_fail_errno(err, "make the folder of a run");
	return 0;
}

/* It keeps nothing: as long as ret->dir is open, nobody sweeps it. */
static int make_transient(const struct ws_root *root, struct ws_session *ret,
			  struct ws_err *err)
{
	char name[64];

	if (ws_root_scratch(root, KIND, name, &ret->dir, err) < 0)
		return -1;
	ret->id = ws_strdup(name);
	ret->below = ws_format("tmp/%s", name);
	ret->path = ws_format("%s/%s", root->path, ret->below);
	return make_files(ret->dir, err);
}

static int describe(const char *id, struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_user) struct ws_user user = { 0 };

	if (ws_user_self(&user, err) < 0)
		return -1;
	s->id = ws_strdup(id);
	s->version = WS_SESSION_VERSION;
	s->kind = ws_strdup(KIND);
	s->status = ws_strdup("created");
	s->owner = ws_steal_ptr(&user.name);
	s->created = ws_clock_wall_ns();
	return 0;
}

/* Whole at once, by a rename: who dies before that leaves what the next sweep takes. */
static int publish(const struct ws_root *root, const char *name, const char *id,
		   struct ws_err *err)
{
	WS_AUTO_CLOSE int tmp = ws_root_dir(root, "tmp", err);
	WS_AUTO_CLOSE int sessions = tmp < 0 ? -1 : ws_root_dir(root, "sessions", err);

	if (sessions < 0)
		return -1;
	if (renameat2(tmp, name, sessions, id, RENAME_NOREPLACE) == 0) {
		ws_journal(root, "create", id, KIND);
		return 0;
	}
	if (errno == EEXIST || errno == ENOTEMPTY)
		return 0; /* whose it is will be seen */
	return ws_fail_errno(err, "make '%s/sessions/%s'", root->path, id);
}

static int make_named(const struct ws_root *root, const char *id, struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_buf) struct ws_buf none = WS_BUF_INIT;
	char name[64];

	if (ws_root_scratch(root, KIND, name, &s.dir, err) < 0 ||
	    describe(id, &s, err) < 0 || make_files(s.dir, err) < 0)
		return -1;
	if (mkdirat(s.dir, "home", 0700) < 0)
		return ws_fail_errno(err, "make the HOME of '%s'", id);
	ws_session_touch(&s);
	ws_buf_addstr(&none, "{}\n");
	if (ws_write_atomic(s.dir, SPEC_FILE, &none, true, err) < 0 ||
	    ws_session_save(&s, err) < 0)
		return -1;
	return publish(root, name, id, err);
}

static int open_named(const struct ws_root *root, const char *id, bool dry,
		      struct ws_session *ret, struct ws_err *err)
{
	int rc = ws_session_open_record(root, id, ret, err);

	if (rc < 0 && err->kind == WS_SESSION_MISSING && dry) {
		ret->path = ws_format("%s/sessions/%s", root->path, id);
		return describe(id, ret, err);
	}
	if (rc < 0 && err->kind == WS_SESSION_MISSING) {
		if (make_named(root, id, err) < 0)
			return -1;
		rc = ws_session_open_record(root, id, ret, err);
	}
	if (rc < 0 && err->kind == WS_SESSION_MISSING) {
		ws_fail(err, WS_SESSION_EXISTS,
			"'%s/sessions/%s' is there, but is no run's", root->path, id);
		return ws_hint(err, "it is for wsiso create; take another name");
	}
	if (rc < 0)
		return -1;
	if (ws_session_is_run(ret))
		return 0;
	ws_fail(err, WS_SESSION_EXISTS, "'%s' is a session", id);
	return ws_hint(err, "take another name, or wsiso exec %s", id);
}

/* ---- what state shows of it ---- */

static int keep_spec(const struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf now = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf old = WS_BUF_INIT;

	ws_spec_print_for(&s->spec, WS_SPEC_SESSION, true, &now);
	if (ws_read_file(s->dir, SPEC_FILE, WS_JSON_MAX_SIZE, &old) == 0 &&
	    strcmp(ws_buf_str(&old), ws_buf_str(&now)) == 0)
		return 0;
	return ws_write_atomic(s->dir, SPEC_FILE, &now, true, err);
}

static int keep_profile(struct ws_session *s, const char *profile, struct ws_err *err)
{
	if (s->profile && strcmp(s->profile, profile) == 0)
		return 0;
	ws_freep(&s->profile);
	s->profile = ws_strdup(profile);
	return ws_session_save(s, err);
}

/* Under the mutex, but not while another runs: that one's are the ones in force. */
static int keep(const struct ws_root *root, struct ws_session *s, const char *profile,
		struct ws_err *err)
{
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	WS_AUTO_CLOSE int lock = -1;
	int live;

	if (ws_session_lock(root, s, &lock, err) < 0)
		return -1;
	live = ws_sandbox_peek(s, &sb, err);
	if (live != 0)
		return live < 0 ? -1 : 0;
	return keep_spec(s, err) < 0 ? -1 : keep_profile(s, profile, err);
}

int ws_run_open(const struct ws_root *root, const struct ws_run_opts *opts,
		const char *profile, bool dry, struct ws_session *ret, struct ws_err *err)
{
	if (opts->id && ws_session_check_id(opts->id, err) < 0)
		return -1;
	if (ws_run_spec(root, opts, profile, &ret->spec, err) < 0)
		return -1;
	if (opts->id) {
		WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;

		if (open_named(root, opts->id, dry, &s, err) < 0)
			return -1;
		s.spec = ret->spec;
		*ret = s;
		s = WS_SESSION_INIT;
		return dry ? 0 : keep(root, ret, profile, err);
	}
	if (!dry)
		ws_root_sweep(root, NULL);
	if (dry)
		ret->path = ws_format("%s/tmp/" KIND, root->path);
	else if (make_transient(root, ret, err) < 0)
		return -1;
	ret->kind = ws_strdup(KIND);
	ret->profile = ws_strdup(profile);
	return 0;
}

/* It goes when its sandbox does; who runs in the background is not its parent. */
static void reap_monitor(const struct ws_sandbox *sb)
{
	WS_AUTO_CLOSE int fd = sb->monitor > 0 ? ws_pidfd_open(sb->monitor) : -1;

	if (fd >= 0 && ws_pidfd_gone(fd, MONITOR_TIMEOUT_MS))
		waitpid(sb->monitor, NULL, WNOHANG);
}

void ws_run_stop(const struct ws_sandbox *sb)
{
	if (sb->owner < 0)
		return; /* it is another's of that name */
	ws_sandbox_kill(sb);
	reap_monitor(sb);
	ws_cgroup_remove(sb->cgroup);
}

void ws_run_end(const struct ws_root *root, const struct ws_session *s,
		const struct ws_sandbox *sb)
{
	struct ws_err err = WS_ERR_INIT;
	WS_AUTO_CLOSE int tmp = -1;

	ws_run_stop(sb);
	if (!s->below || s->dir < 0)
		return;
	tmp = ws_root_dir(root, "tmp", &err);
	if (tmp < 0 || ws_root_discard(root, tmp, s->id, &err) < 0)
		ws_warn("%s", err.msg); /* the next sweep tries again */
}
