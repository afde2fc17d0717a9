/* SPDX-License-Identifier: Apache-2.0 */
#include "core/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "core/background.h"
#include "core/cgroup.h"
#include "core/enter.h"
#include "core/exec_caller.h"
#include "core/exec_note.h"
#include "core/exec_plan.h"
#include "core/execlog.h"
#include "core/execrec.h"
#include "core/gate.h"
#include "core/go_in.h"
#include "core/nested.h"
#include "core/network.h"
#include "core/profile.h"
#include "core/sandbox.h"
#include "core/seccomp.h"
#include "core/session.h"
#include "core/status.h"
#include "core/supervise.h"
#include "core/tty.h"
#include "core/user.h"

#define PRUNE_EVERY 16 /* on average; while the command is busy with its start */

struct exec {
	const struct ws_root *root;
	const struct ws_exec_opts *opts;
	struct ws_exec_result *result;
	struct ws_status status;
	struct ws_session session;
	const char *profile;
	const struct ws_profile *row;
	const struct ws_spec *spec; /* what the profile makes of the session's */
	struct ws_spec own;	    /* it, if that is not the session's own */
	struct ws_user user;
	struct ws_enter_plan plan;
	struct ws_sandbox sandbox;
	struct ws_entered entered;
	struct ws_receipt receipt;
	struct ws_exec_note note;
	struct ws_exec_caller caller;
	uint64_t oom_kills; /* in the session's cgroup, before this command */
	int signals;
	sigset_t mask;	  /* as it was before them */
	bool handed_over; /* to a process in the background */
};

#define EXEC_INIT                                                                 \
	.status = WS_STATUS_INIT, .session = WS_SESSION_INIT,                     \
	.plan = WS_ENTER_PLAN_INIT, .sandbox = WS_SANDBOX_INIT,                   \
	.entered = WS_ENTERED_INIT, .caller = WS_EXEC_CALLER_INIT, .signals = -1, \
	.note = WS_EXEC_NOTE_INIT

static void exec_release(struct exec *x)
{
	ws_exec_caller_release(&x->caller);
	ws_closep(&x->signals);
	ws_exec_note_release(&x->note);
	ws_receipt_release(&x->receipt);
	ws_entered_release(&x->entered);
	ws_sandbox_release(&x->sandbox);
	ws_enter_plan_release(&x->plan);
	ws_user_release(&x->user);
	ws_spec_release(&x->own);
	ws_session_release(&x->session);
	ws_status_release(&x->status);
}

void ws_exec_result_release(struct ws_exec_result *r)
{
	ws_freep(&r->exec_id);
	ws_buf_release(&r->plan);
}

void ws_exec_refuse(const struct ws_exec_opts *opts, const struct ws_err *err)
{
	WS_AUTO(ws_status) struct ws_status status = WS_STATUS_INIT;
	struct ws_err ignored = WS_ERR_INIT;

	ws_status_open(opts->status_fd, opts->status_file, NULL, &status, &ignored);
	ws_status_failed(&status, NULL, 125, err);
}

/* Who is killed for want of memory may be a child whose status the command passes on. */
static bool is_oom(const struct exec *x, const struct ws_outcome *o)
{
	return o->status == 128 + SIGKILL &&
	       ws_cgroup_oom_kills(x->sandbox.cgroup) > x->oom_kills;
}

static void note_end(void *arg, const struct ws_outcome *o)
{
	struct exec *x = arg;

	ws_session_touch(&x->session);
	ws_exec_note_ended(&x->note, o, is_oom(x, o) ? "oom" : NULL);
}

/* ---- before ---- */

/* The sandbox is the session's, whatever a profile makes of the command. */
static int use_profile(struct exec *x, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv warnings = WS_STRV_INIT;
	int rc;

	x->spec = &x->session.spec;
	if (!ws_profile_changes(x->spec, x->profile))
		return 0;
	if (ws_spec_copy(x->spec, &x->own, err) < 0)
		return -1;
	rc = ws_profile_apply(&x->own, x->profile, WS_PROFILE_EXEC, &warnings, err);
	for (size_t i = 0; i < warnings.n; i++)
		ws_warn("%s", warnings.v[i]);
	if (rc < 0 || ws_gate(&x->own, err) < 0)
		return -1;
	x->spec = &x->own;
	x->session.profile = ws_strdup(x->profile);
	return 0;
}

static int open_session(struct exec *x, struct ws_err *err)
{
	struct ws_session *s = &x->session;

	if (ws_session_open(x->root, x->opts->id, s, err) < 0 ||
	    ws_gate_session(s, err) < 0)
		return -1;
	if (!x->opts->dry_run && ws_network_ask(x->root, s, err) < 0)
		return -1;
	return use_profile(x, err);
}

static int open_place(struct exec *x, struct ws_err *err)
{
	const struct ws_exec_opts *o = x->opts;

	if (o->run) {
		x->spec = &x->session.spec;
		return ws_run_open(x->root, o->run, x->profile, o->dry_run, &x->session,
				   err);
	}
	return open_session(x, err);
}

static int make_plan(struct exec *x, struct ws_err *err)
{
	const struct ws_exec_source source = {
		.session = &x->session, .spec = x->spec, .row = x->row, .user = &x->user
	};

	if (ws_user_self(&x->user, err) < 0)
		return -1;
	return ws_exec_plan(&source, x->opts, &x->plan, err);
}

/* ---- going in ---- */

static int explain(const struct exec *x, struct ws_err *err)
{
	if (err->kind == WS_USAGE && err->sys && !x->opts->cwd)
		return ws_hint(err,
			       "it is where commands start; --cwd names another folder");
	return -1;
}

/* While the command waits: afterwards a short one may be gone before it was seen. */
static void read_receipt(void *arg, pid_t command)
{
	struct exec *x = arg;

	ws_receipt_release(&x->receipt); /* of another try */
	if (ws_receipt_read(command, &x->receipt) < 0)
		ws_warn("read back how process %d is confined: %s", (int)command,
			strerror(errno));
	x->receipt.seccomp = ws_filter_mode(x->spec);
	x->receipt.filter = ws_seccomp_digest(x->plan.filters);
	x->receipt.scoped = x->plan.flags & WS_PLAN_SCOPED;
}

/* What the command is made from: read, and read again if it changed before we came in. */
static int settle(struct exec *x, struct ws_err *err)
{
	if (open_place(x, err) < 0 || make_plan(x, err) < 0)
		return -1;
	if (ws_status_wanted(&x->status)) {
		x->plan.held = read_receipt;
		x->plan.held_arg = x;
	}
	return 0;
}

/* Where the way in looks for both nothing changes but what is there. */
static int settle_again(struct ws_way_in *way, struct ws_err *err)
{
	struct exec *x = way->arg;

	ws_enter_plan_release(&x->plan);
	x->plan = WS_ENTER_PLAN_INIT;
	ws_user_release(&x->user);
	x->user = (struct ws_user){ 0 };
	ws_spec_release(&x->own);
	x->own = (struct ws_spec){ 0 };
	ws_session_release(&x->session);
	x->session = WS_SESSION_INIT;
	return settle(x, err);
}

static int ready(void *arg, struct ws_err *err)
{
	struct exec *x = arg;

	x->oom_kills = ws_cgroup_oom_kills(x->sandbox.cgroup);
	x->signals = ws_supervise_signals(x->opts->tty, &x->mask);
	return x->signals < 0 ? ws_fail_errno(err, "make a signal descriptor") : 0;
}

static void missed(void *arg)
{
	struct exec *x = arg;

	ws_closep(&x->signals);
	sigprocmask(SIG_SETMASK, &x->mask, NULL);
}

static int enter(struct exec *x, struct ws_err *err)
{
	struct ws_way_in way = {
		.session = &x->session,
		.plan = &x->plan,
		.want_in = x->caller.in >= 0,
		.reread = settle_again,
		.ready = ready,
		.missed = missed,
		.arg = x,
	};

	return ws_go_in(x->root, &way, &x->sandbox, &x->entered, &x->result->status,
			err) < 0
		       ? explain(x, err)
		       : 0;
}

static int prepare(struct exec *x, struct ws_err *err)
{
	const struct ws_exec_opts *o = x->opts;

	if (ws_status_open(o->status_fd, o->status_file, o->pid_file, &x->status, err) <
		    0 ||
	    ws_exec_caller_check(o, x->row, &x->caller, err) < 0)
		return -1;
	return settle(x, err);
}

static int start(struct exec *x, struct ws_err *err)
{
	ws_session_touch(&x->session);
	if (ws_exec_note_begin(&x->note, &x->session, x->opts, err) < 0)
		return -1;
	x->result->exec_id = ws_strdup(x->note.record.id);
	if (ws_exec_caller_open(x->opts, x->row, &x->session, x->note.record.id,
				&x->caller, err) < 0 ||
	    enter(x, err) < 0) {
		ws_exec_note_failed(&x->note, x->result->status, err);
		return -1;
	}
	x->result->pid = x->entered.command;
	return 0;
}

/* ---- while it runs, and after ---- */

/* However it came to an end: of a run nothing stays. */
static void end_run(struct exec *x)
{
	if (x->opts->run && !x->handed_over)
		ws_run_end(x->root, &x->session, &x->sandbox);
}

/* Its name is on the record and with the caller before anything else is done. */
static void announce(struct exec *x)
{
	ws_exec_note_running(&x->note, x->entered.shepherd, x->entered.command);
	ws_status_pid(&x->status, x->entered.command);
	ws_status_started(&x->status, x->note.record.id, x->entered.command, &x->session,
			  &x->sandbox, &x->receipt);
	if (x->note.record.started % PRUNE_EVERY == 0)
		ws_execrec_prune(&x->session);
}

/* Whoever of the tree lives on writes to the log from now on, never to a broken pipe. */
static void keep_survivors(struct exec *x)
{
	struct ws_exec_caller *c = &x->caller;
	struct ws_err err = WS_ERR_INIT;

	if (x->entered.out < 0 && x->entered.errs < 0)
		return;
	if (c->log < 0 &&
	    ws_execlog_open(&x->session, x->note.record.id, &c->log, &c->room, &err) < 0)
		ws_warn("%s", err.msg);
	if (ws_execlog_follow(c->log, c->room, x->entered.out, x->entered.errs) < 0)
		ws_warn("keep the output of what runs on: %s", strerror(errno));
}

static void note_lost_output(struct exec *x, const struct ws_outcome *o)
{
	if (!o->output_error || x->opts->detach)
		return;
	errno = o->output_error;
	ws_fail_errno(&x->result->late, "pass on the output of '%s'",
		      x->note.record.command);
	x->result->late.kind = WS_IO;
}

/* F045: what it says itself names the kernel, or nothing. */
static void explain_end(const struct exec *x, const struct ws_outcome *o)
{
	if (o->status == 0 || o->timed_out || o->lost || x->opts->detach ||
	    strcmp(ws_filter_mode(x->spec), "enforce") != 0 ||
	    !ws_nested_sandbox(x->plan.argv.v[0]))
		return;
	ws_warn("'%s' ended with status %d: under 'sandbox.seccomp' \"enforce\" it can "
		"make no namespace and no mount. If it needs them: its own switch for an "
		"outer sandbox, or \"log\", in a session of its own; see wsiso-spec(5)",
		x->note.record.command, o->status);
}

static int supervise(struct exec *x, struct ws_err *err)
{
	struct ws_supervise sv = {
		.entered = &x->entered,
		.sandbox = &x->sandbox,
		.signals = x->signals,
		.in = ws_steal_fd(&x->caller.in),
		.out = ws_steal_fd(&x->caller.out),
		.errs = ws_steal_fd(&x->caller.errs),
		.room = x->opts->detach ? &x->caller.room : NULL,
		.keyboard = -1,
		.timeout_ms = ws_exec_timeout(x->spec, x->opts),
		.kill_after_ms = x->opts->kill_after_ms,
		.parent = x->caller.parent,
		.serves = x->row->serves,
		.on_end = note_end,
		.arg = x,
	};
	struct ws_outcome outcome;

	if (x->opts->tty && isatty(STDIN_FILENO))
		sv.keyboard = STDIN_FILENO;
	if (ws_supervise(&sv, &outcome, err) < 0) {
		x->result->status =
			128 + SIGKILL; /* its shepherd ends it, now that we go */
		ws_exec_note_failed(&x->note, x->result->status, err);
		return -1;
	}
	end_run(x);
	if (!x->opts->run)
		keep_survivors(x);
	ws_status_exited(&x->status, x->note.record.id, &outcome, x->note.record.cause);
	note_lost_output(x, &outcome);
	explain_end(x, &outcome);
	x->result->status = outcome.status;
	return 0;
}

/* ---- in the background ---- */

static _Noreturn void detached(struct exec *x, int ready)
{
	struct ws_err err = WS_ERR_INIT;

	ws_proc_identify(getpid(), &x->note.record.supervisor);
	announce(x);
	ws_background_enter();
	close(ready);
	if (supervise(x, &err) < 0)
		ws_warn("%s", err.msg);
	end_run(x);
	exec_release(x);
	_exit(0);
}

/*
 * The caller gets its prompt back when the one who supervises from now on is on record.
 */
static int detach(struct exec *x, struct ws_err *err)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return ws_fail_errno(err, "make a pipe");
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		detached(x, ends[1]);
	}
	close(ends[1]);
	while (pid > 0 && read(ends[0], &byte, 1) < 0 && errno == EINTR)
		;
	close(ends[0]);
	if (pid < 0)
		return ws_fail_errno(err, "start a process for the background");
	x->handed_over = true;
	x->result->status = 0;
	return 0;
}

static int run(struct exec *x, struct ws_err *err)
{
	if (prepare(x, err) < 0)
		return -1;
	if (x->opts->dry_run) {
		x->result->status = 0;
		return ws_exec_dry_run(x->root, &x->session, &x->plan, x->opts->json,
				       &x->result->plan, err);
	}
	if (start(x, err) < 0)
		return -1;
	if (x->opts->detach)
		return detach(x, err);
	announce(x);
	return supervise(x, err);
}

int ws_exec(const struct ws_root *root, const struct ws_exec_opts *opts,
	    struct ws_exec_result *ret, struct ws_err *err)
{
	__attribute__((cleanup(exec_release))) struct exec x = {
		EXEC_INIT,
		.root = root,
		.opts = opts,
		.result = ret,
		.profile = opts->profile ? opts->profile : WS_PROFILE_DEFAULT,
	};
	int rc;

	ret->status = 125;
	x.row = ws_profile_find(x.profile);
	rc = run(&x, err);
	end_run(&x);
	if (rc < 0)
		ws_status_failed(&x.status, x.note.record.id, ret->status, err);
	return rc;
}
