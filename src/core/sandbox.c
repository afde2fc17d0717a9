/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sandbox.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "core/cgroup.h"
#include "core/drift.h"
#include "core/idle.h"
#include "core/sandbox_record.h"
#include "core/sandbox_start.h"
#include "init/protocol.h"

#define ACQUIRE_TIMEOUT_MS 10000
#define STRAY_AFTER_MS 1000

/* May a command join it? Only what was started alike, by a wsiso that speaks alike. */
static int check_joinable(const struct ws_session *s, const struct ws_sandbox *sb,
			  struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf policy = WS_BUF_INIT;

	if (sb->protocol != WS_PROTOCOL) {
		ws_fail(err, WS_STATE_VERSION,
			"session '%s' has a live sandbox of wsiso %s, which speaks "
			"protocol %llu; this is %s, which speaks %d",
			s->id, sb->build ? sb->build : "?",
			(unsigned long long)sb->protocol, PACKAGE_VERSION, WS_PROTOCOL);
		return ws_hint(err, "wsiso stop %s", s->id);
	}
	ws_spec_policy(&s->spec, &policy);
	if (strcmp(sb->policy, ws_buf_str(&policy)) == 0)
		return 0;
	ws_fail(err, WS_POLICY_CHANGED,
		"the policy of session '%s' is not the one its live sandbox was started with",
		s->id);
	return ws_hint(
		err,
		"wsiso stop %s ends the sandbox; the next exec starts one with the new "
		"policy",
		s->id);
}

int ws_sandbox_join(const struct ws_session *s, struct ws_sandbox *sb, struct ws_err *err)
{
	WS_AUTO_CLOSE int use = ws_lock_open(s->dir, WS_SANDBOX_LEASE);

	if (use < 0)
		return ws_fail_errno(err, "open the lease of session '%s'", s->id);
	if (ws_lock_try(use, false) < 0)
		return ws_fail(err, WS_SESSION_BUSY,
			       "the sandbox of session '%s' is about to end", s->id);
	if (check_joinable(s, sb, err) < 0)
		return -1;
	sb->use = ws_steal_fd(&use);
	return 0;
}

static int refuse_second(const struct ws_session *s, struct ws_err *err)
{
	ws_fail(err, WS_SESSION_BUSY, "'%s' is running already", s->id);
	return ws_hint(err, "wsiso ps %s shows it, wsiso stop %s ends it", s->id, s->id);
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/*
 * Does S still say what its files say? It was read before the mutex was ours, and an
 * update, a fork or a gc may have come between: a sandbox started from it would be one of
 * yesterday.
 */
static int check_fresh(const struct ws_root *root, const struct ws_session *s,
		       struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session now = WS_SESSION_INIT;
	WS_AUTO(ws_buf) struct ws_buf read = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf fresh = WS_BUF_INIT;

	if (ws_session_is_run(s))
		return 0;
	if (ws_session_open(root, s->id, &now, err) < 0)
		return -1;
	ws_spec_policy(&s->spec, &read);
	ws_spec_policy(&now.spec, &fresh);
	if (strcmp(ws_buf_str(&read), ws_buf_str(&fresh)) == 0 &&
	    ws_strv_equal(&s->stack, &now.stack) && same_text(s->home, now.home) &&
	    same_text(s->incoming, now.incoming))
		return 0;
	ws_fail(err, WS_POLICY_CHANGED, "session '%s' is being changed", s->id);
	err->sys = EAGAIN;
	return ws_hint(err, "try again");
}

/*
 * One look, under the mutex: 1 joined or started; 0 the old one is dying, look
 * again; -1. A second sandbox needs the lease exclusively and the old init's death.
 */
static int try_acquire(const struct ws_root *root, const struct ws_session *s,
		       struct ws_sandbox *sb, struct ws_err *err)
{
	WS_AUTO_CLOSE int lock = -1;
	WS_AUTO_CLOSE int use = -1;
	int live;

	if (ws_session_lock(root, s, &lock, err) < 0)
		return -1;
	live = ws_sandbox_peek(s, sb, err);
	if (live < 0)
		return -1;
	if (live && ws_session_is_run(s))
		return refuse_second(s, err);
	use = ws_lock_open(s->dir, WS_SANDBOX_LEASE);
	if (use < 0)
		return ws_fail_errno(err, "open the lease of session '%s'", s->id);
	if (ws_lock_try(use, !live) < 0)
		return 0;
	if (!live) {
		ws_sandbox_clear_up(s);
		if (check_fresh(root, s, err) < 0 || ws_drift_check(root, s, err) < 0 ||
		    ws_sandbox_start(root, s, use, sb, err) < 0)
			return -1;
		if (!ws_session_is_run(s))
			ws_idle_note(root, s, s->spec.max_idle);
		return 1;
	}
	if (check_joinable(s, sb, err) < 0) {
		struct ws_err stale = WS_ERR_INIT;

		if (err->kind == WS_POLICY_CHANGED && check_fresh(root, s, &stale) < 0)
			*err = stale;
		return -1;
	}
	sb->use = ws_steal_fd(&use);
	return 1;
}

int ws_sandbox_acquire(const struct ws_root *root, const struct ws_session *s,
		       struct ws_sandbox *ret, struct ws_err *err)
{
	uint64_t begun = ws_clock_mono_ms();
	bool strays_killed = false;

	for (;;) {
		WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
		int rc = try_acquire(root, s, &sb, err);
		uint64_t waited = ws_clock_mono_ms() - begun;

		if (rc != 0) {
			*ret = sb;
			sb = WS_SANDBOX_INIT;
			return rc < 0 ? -1 : 0;
		}
		if (waited > ACQUIRE_TIMEOUT_MS)
			break;
		if (waited > STRAY_AFTER_MS && !strays_killed) {
			ws_sandbox_kill_strays(s);
			strays_killed = true;
		}
		if (sb.pidfd >= 0)
			ws_pidfd_gone(sb.pidfd, 50);
		else
			ws_clock_sleep_ms(2);
	}
	ws_fail(err, WS_SESSION_BUSY,
		"session '%s' is held by a sandbox that does not end", s->id);
	return ws_hint(err, "wsiso stop %s; wsiso ps %s shows what runs", s->id, s->id);
}
