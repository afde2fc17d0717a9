/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_ERR_H
#define WS_BASE_ERR_H

/*
 * An error is a value on the caller's stack, the last parameter of whatever can
 * fail. Who fills it returns -1; nobody but the mains prints it, once.
 */

/* The closed list that callers may rely on; the words are in ws_kind_name(). */
#define WS_KINDS(X)                                   \
	X(USAGE, "usage")                             \
	X(DISABLED, "disabled")                       \
	X(SPEC_INVALID, "spec-invalid")               \
	X(POLICY_CHANGED, "policy-changed")           \
	X(HOST_UNSUPPORTED, "host-unsupported")       \
	X(BWRAP_UNUSABLE, "bwrap-unusable")           \
	X(OVERLAY_UNAVAILABLE, "overlay-unavailable") \
	X(SECCOMP_UNAVAILABLE, "seccomp-unavailable") \
	X(LIMITS_UNAVAILABLE, "limits-unavailable")   \
	X(HELPER_MISSING, "helper-missing")           \
	X(ROOT_UNSAFE, "root-unsafe")                 \
	X(SESSION_MISSING, "session-missing")         \
	X(SESSION_EXPIRED, "session-expired")         \
	X(SESSION_EXISTS, "session-exists")           \
	X(SESSION_BLOCKED, "session-blocked")         \
	X(SESSION_BUSY, "session-busy")               \
	X(REPO_UNUSABLE, "repo-unusable")             \
	X(BASE_MISSING, "base-missing")               \
	X(SNAPSHOT_FAILED, "snapshot-failed")         \
	X(SETUP_FAILED, "setup-failed")               \
	X(EXEC_MISSING, "exec-missing")               \
	X(SANDBOX_LOST, "sandbox-lost")               \
	X(STATE_CORRUPT, "state-corrupt")             \
	X(STATE_VERSION, "state-version")             \
	X(STALE, "stale")                             \
	X(CONFLICT, "conflict")                       \
	X(DISK_FULL, "disk-full")                     \
	X(IO, "io")                                   \
	X(TIMEOUT, "timeout")                         \
	X(INTERNAL, "internal")

enum ws_kind {
#define X(name, word) WS_##name,
	WS_KINDS(X)
#undef X
		WS_KIND_COUNT
};

/* What a kind means for the exit status of a command that is not exec or run. */
enum ws_kind_class {
	WS_CLASS_FAILED,  /* 1 */
	WS_CLASS_USAGE,	  /* 2 */
	WS_CLASS_REFUSED, /* 3 */
	WS_CLASS_COUNT
};

struct ws_err {
	enum ws_kind kind;
	int sys;	/* errno, or 0 */
	char msg[512];	/* one line, lower case, no full stop */
	char hint[256]; /* what to do about it, or empty */
};

#define WS_ERR_INIT ((struct ws_err){ .kind = WS_INTERNAL })

/* All return -1, so that callers write: return ws_fail(...); */
int ws_fail(struct ws_err *err, enum ws_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Adds ": strerror(errno)". The kind is disk-full for ENOSPC and EDQUOT, io
 * otherwise.
 */
int ws_fail_errno(struct ws_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the hint of an error that was just made; returns -1. */
int ws_hint(struct ws_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Puts "text: " before the message that is there; returns -1. */
int ws_fail_within(struct ws_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

const char *ws_kind_name(enum ws_kind kind);
/* Returns 0, or -1 if WORD is no kind. */
int ws_kind_parse(const char *word, enum ws_kind *ret);
enum ws_kind_class ws_kind_class(enum ws_kind kind);

#endif
