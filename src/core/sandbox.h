/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SANDBOX_H
#define WS_CORE_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/sandbox_record.h"
#include "core/session.h"

/*
 * The session's live sandbox, held (use shared); started if there is none. Waits up to 10
 * s for a dying one. policy-changed if the session's policy differs from the live one's;
 * with err->sys EAGAIN if S is no longer what the session's files say: open it anew.
 */
int ws_sandbox_acquire(const struct ws_root *root, const struct ws_session *s,
		       struct ws_sandbox *ret, struct ws_err *err);
/*
 * For who has the mutex of S: SB, which a peek has found, is held, too. session-busy (it
 * is about to end), policy-changed, state-version.
 */
int ws_sandbox_join(const struct ws_session *s, struct ws_sandbox *sb,
		    struct ws_err *err);
/* Is there a live one? 1 (ret filled, pidfd open, use not held), 0 or -1. */
int ws_sandbox_peek(const struct ws_session *s, struct ws_sandbox *ret,
		    struct ws_err *err);
/*
 * Ends it: TERM to every process, KILL after GRACE_MS, until init is dead. LOCK is the
 * session's mutex, held. Success if there was none. session-busy: its lease is held, and
 * not by what its record names.
 */
int ws_sandbox_end(const struct ws_session *s, uint64_t grace_ms, struct ws_err *err);
/* The lease: whoever has the session's files mounted holds it. session-busy. */
#define WS_SANDBOX_LEASE "use"
int ws_sandbox_check_lease(const struct ws_session *s, struct ws_err *err);
/* Ends what a bwrap that was killed half-way has left, and holds the lease. */
void ws_sandbox_kill_strays(const struct ws_session *s);
/* What one that is gone has left outside of the session's folder: its cgroup. */
void ws_sandbox_clear_up(const struct ws_session *s);
/* Kills it at once, without the mutex: a supervisor whose tree could not be ended. */
void ws_sandbox_kill(const struct ws_sandbox *sb);

/* Has it no process but init? (the joiner on his way in holds the lease, not a PID) */
bool ws_sandbox_idle(const struct ws_sandbox *sb);

/* Processes of the sandbox by host PID, init and shepherds included; caller frees. */
int ws_sandbox_pids(const struct ws_sandbox *sb, pid_t **ret, size_t *ret_n,
		    struct ws_err *err);

#endif
