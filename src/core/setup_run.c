/* SPDX-License-Identifier: Apache-2.0 */
#include "core/setup_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/lock.h"
#include "base/text.h"
#include "base/tree.h"
#include "core/execlog.h"
#include "core/layer.h"
#include "core/relay.h"
#include "core/run.h"
#include "core/sandbox.h"
#include "core/setup.h"
#include "core/supervise.h"

#define KILL_AFTER_MS 5000
#define OPAQUE "user.overlay.opaque"

void ws_setup_job_release(struct ws_setup_job *j)
{
	ws_enter_plan_release(&j->plan);
	ws_session_release(&j->session);
	ws_closep(&j->log);
}

/* ---- its folder ---- */

static int make_folder(const struct ws_session *s, const char *name, mode_t mode,
		       struct ws_err *err)
{
	if (mkdirat(s->dir, name, 0700) < 0 || fchmodat(s->dir, name, mode, 0) < 0)
		return ws_fail_errno(err, "make '%s/%s'", s->path, name);
	return 0;
}

/* Swept once we and the sandbox are gone, whoever dies first. */
static int make_place(const struct ws_root *root, struct ws_session *s,
		      struct ws_err *err)
{
	WS_AUTO_CLOSE int use = -1;
	WS_AUTO_CLOSE int lock = -1;
	char name[WS_SCRATCH_NAME_MAX];

	if (ws_root_scratch(root, "setup", name, &s->dir, err) < 0)
		return -1;
	ws_freep(&s->id);
	s->id = ws_strdup(name);
	s->below = ws_format("tmp/%s", name);
	s->path = ws_format("%s/%s", root->path, s->below);
	if (make_folder(s, "upper", 0755, err) < 0 ||
	    make_folder(s, "work", 0755, err) < 0 ||
	    make_folder(s, "home", 0700, err) < 0 ||
	    make_folder(s, "tmp", 01777, err) < 0)
		return -1;
	use = ws_lock_open(s->dir, "use");
	lock = ws_lock_open(s->dir, "lock");
	return use < 0 || lock < 0 ? ws_fail_errno(err, "make '%s'", s->path) : 0;
}

/* ---- signals: whoever asks us to end asks for the script's end ---- */

struct signals {
	sigset_t before;
	int fd; /* -1: not taken */
};

static int signals_take(struct signals *s, struct ws_err *err)
{
	static const int asking[] = { SIGTERM, SIGINT, SIGQUIT };
	struct sigaction hup;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < WS_ARRAY_SIZE(asking); i++)
		sigaddset(&set, asking[i]);
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, &s->before) < 0)
		return ws_fail_errno(err, "block signals");
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd >= 0)
		return 0;
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	return ws_fail_errno(err, "make a signal descriptor");
}

static void signals_release(struct signals *s)
{
	if (s->fd < 0)
		return;
	ws_closep(&s->fd);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

static int check_signals(const struct signals *s, struct ws_err *err)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	ws_fail(err, WS_SETUP_FAILED, "ended by signal %u (%s)", info.ssi_signo,
		strsignal((int)info.ssi_signo));
	return ws_hint(err, "nothing is remembered: the next one runs it from the start");
}

/* ---- the script ---- */

/* What it has against it; NULL: nothing. */
static char *find_cause(const struct ws_setup_job *j, const struct ws_outcome *o)
{
	if (o->timed_out)
		return ws_format("it took longer than %llu s",
				 (unsigned long long)(j->timeout_ms / 1000));
	if (o->lost)
		return ws_strdup("its sandbox was lost");
	if (o->signal)
		return ws_format("it died of signal %d (%s)", o->signal,
				 strsignal(o->signal));
	return o->status ? ws_format("it ended with status %d", o->status) : NULL;
}

static int supervise(const struct ws_setup_job *j, const struct ws_sandbox *sb,
		     struct ws_entered *entered, const struct signals *signals,
		     struct ws_outcome *ret, struct ws_err *err)
{
	uint64_t room = WS_EXECLOG_MAX;
	const struct ws_supervise sv = {
		.entered = entered,
		.sandbox = sb,
		.in = -1,
		.out = ws_relay_borrow(j->log, true),
		.errs = ws_relay_borrow(j->log, true),
		.room = &room,
		.signals = -1,
		.keyboard = -1,
		.timeout_ms = j->timeout_ms,
		.kill_after_ms = KILL_AFTER_MS,
		.parent = signals->fd, /* readable: end the tree */
	};

	return ws_supervise(&sv, ret, err);
}

/* 1: it ran; 0: it could not be executed, and *ret_cause says why; -1. */
static int execute(const struct ws_setup_job *j, struct ws_sandbox *sb,
		   const struct signals *signals, struct ws_outcome *ret,
		   char **ret_cause, struct ws_err *err)
{
	WS_AUTO(ws_entered) struct ws_entered entered = WS_ENTERED_INIT;
	int status = 0;

	if (ws_enter(sb, &j->plan, false, &entered, &status, err) == 0)
		return supervise(j, sb, &entered, signals, ret, err) < 0 ? -1 : 1;
	if (err->kind != WS_EXEC_MISSING)
		return -1;
	*ret_cause = ws_strdup(err->msg);
	return 0;
}

static int run(const struct ws_root *root, struct ws_setup_job *j, char **ret_cause,
	       struct ws_err *err)
{
	__attribute__((cleanup(signals_release))) struct signals signals = { .fd = -1 };
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	struct ws_outcome outcome;
	int rc;

	if (signals_take(&signals, err) < 0 ||
	    ws_sandbox_acquire(root, &j->session, &sb, err) < 0)
		return -1;
	rc = execute(j, &sb, &signals, &outcome, ret_cause, err);
	/* what it left in the background goes, too; then nothing writes any more */
	ws_run_stop(&sb);
	if (rc < 0 || check_signals(&signals, err) < 0)
		return -1;
	if (rc > 0)
		*ret_cause = find_cause(j, &outcome);
	return *ret_cause ? 0 : 1;
}

/* ---- what it made ---- */

static void tell_left_behind(const struct ws_setup_job *j, const struct ws_strv *names)
{
	for (size_t i = 0; i < names->n; i++) {
		WS_AUTO(ws_buf) struct ws_buf name = WS_BUF_INIT;

		if (!strcmp(names->v[i], j->name))
			continue;
		ws_text_escape(&name, names->v[i], strlen(names->v[i]));
		ws_setup_log_say(j->log,
				 "'/workspace/%s' is thrown away: it is not in '%s'",
				 ws_buf_str(&name), j->name);
	}
}

/*
 * A new folder in the old one's place would hide the base, and with it each session's
 * .git.
 */
static char *check_folder(const struct ws_setup_job *j, int upper, const struct stat *st,
			  int *ret_fd)
{
	char mark[2];

	if (!S_ISDIR(st->st_mode))
		return ws_format("it took '/workspace/%s' away", j->name);
	if (fchmodat(upper, j->name, (st->st_mode & 07777) | 0700, 0) == 0)
		*ret_fd = ws_open_dir(upper, j->name);
	if (*ret_fd < 0)
		return ws_format("'/workspace/%s' cannot be opened: %s", j->name,
				 strerror(errno));
	if (fgetxattr(*ret_fd, OPAQUE, mark, sizeof(mark)) == 1 && mark[0] == 'y')
		return ws_format("it made '/workspace/%s' anew", j->name);
	return NULL;
}

static int drop_git(const struct ws_setup_job *j, int folder, struct ws_err *err)
{
	if (!j->own_git || faccessat(folder, ".git", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	ws_setup_log_say(j->log,
			 "'.git' is as each session makes it: what was changed in "
			 "there is thrown away");
	return ws_tree_remove(folder, ".git", NULL, err);
}

/* 1: it is in LAYER; 0: it is nothing to work with; -1. */
static int harvest(const struct ws_setup_job *j, const struct ws_scratch *layer,
		   char **ret_cause, struct ws_err *err)
{
	WS_AUTO_CLOSE int upper = ws_open_dir(j->session.dir, "upper");
	WS_AUTO_FREE char *to = ws_format("root/%s", j->name);
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;
	WS_AUTO_CLOSE int folder = -1;
	struct stat st;

	if (upper < 0)
		return ws_fail_errno(err, "open what the setup made");
	if (ws_layer_mkdir(layer->fd, "root", err) < 0 ||
	    ws_dir_list(upper, ".", &names, err) < 0)
		return -1;
	tell_left_behind(j, &names);
	if (fstatat(upper, j->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 1 : ws_fail_errno(err, "look at '%s'", j->name);
	*ret_cause = check_folder(j, upper, &st, &folder);
	if (*ret_cause)
		return 0;
	if (drop_git(j, folder, err) < 0)
		return -1;
	if (renameat(upper, j->name, layer->fd, to) < 0 ||
	    fchmod(folder, st.st_mode & 07777) < 0)
		return ws_fail_errno(err, "keep what the setup made");
	return 1;
}

int ws_setup_run(const struct ws_root *root, struct ws_setup_job *j,
		 const struct ws_scratch *layer, char **ret_cause, struct ws_err *err)
{
	int rc = make_place(root, &j->session, err);

	*ret_cause = NULL;
	if (rc == 0)
		rc = run(root, j, ret_cause, err);
	if (rc > 0)
		rc = harvest(j, layer, ret_cause, err);
	if (j->session.dir >= 0)
		ws_scratch_discard(root, j->session.id);
	return rc;
}
