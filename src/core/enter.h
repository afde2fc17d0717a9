/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_ENTER_H
#define WS_CORE_ENTER_H

#include <stdbool.h>
#include <sys/ioctl.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "core/frame.h"
#include "core/sandbox.h"
#include "init/protocol.h"

/* What a command is to be, once inside. */
struct ws_enter_plan {
	struct ws_strv argv, env;
	char *cwd, *home; /* absolute paths inside */
	uint32_t flags;	  /* WS_PLAN_*, but for WS_PLAN_STDIN and WS_PLAN_HOLD */
	uint32_t umask;
	uint32_t kill_after_ms;
	uint64_t tmpfs_size; /* bytes; with WS_PLAN_PRIVATE_* */
	struct winsize size; /* with WS_PLAN_TTY */
	/* At most WS_PLAN_RLIMITS_MAX, within our own hard ones; CORE is always 1. */
	struct ws_rlimit *rlimits;
	size_t nrlimits;
	struct ws_buf filters[WS_PLAN_FILTERS_MAX]; /* seccomp, loaded in this order */
	/*
	 * If set: called when the command's process (the host's PID) is confined and
	 * waits, and does not run before this returns.
	 */
	void (*held)(void *arg, pid_t command);
	void *held_arg;
};

#define WS_ENTER_PLAN_INIT ((struct ws_enter_plan){ .umask = 022 })

void ws_enter_plan_release(struct ws_enter_plan *p);
/* The plan as the body of a PLAN frame; LABEL may be NULL. usage if it does not fit. */
int ws_enter_plan_encode(const struct ws_enter_plan *p, const char *label,
			 bool with_stdin, struct ws_buf *ret, struct ws_err *err);

/* A command that has started: our ends of its stdio, and its shepherd's socket. */
struct ws_entered {
	int control; /* frames of protocol.h */
	/* Pipes: we write IN, read OUT and ERRS; -1: /dev/null or tty. */
	int in, out, errs;
	int tty;		 /* the pty's master, or -1 */
	pid_t shepherd, command; /* the host's PIDs */
	uint64_t begun_ms;	 /* when it was let go, on the monotonic clock */
};

#define WS_ENTERED_INIT \
	((struct ws_entered){ .control = -1, .in = -1, .out = -1, .errs = -1, .tty = -1 })

void ws_entered_release(struct ws_entered *e);
/* To the command's process group and to its pty's foreground group. -1 and errno. */
int ws_entered_signal(const struct ws_entered *e, int sig);
/* Ends the whole tree, as closing the socket does before EXITED; the socket stays. */
int ws_entered_end(const struct ws_entered *e);

/*
 * Joins SB, confines itself and starts the command; WANT_IN: a pipe as its stdin.
 * Returns 0 when the command's exec has succeeded; after that frames come from
 * ret->control: EXITED, then EOF when the last of its tree is gone.
 * Else -1, and *ret_status is
 *
 *   126, 127  exec-missing: the command could not be run, was not found;
 *   125       nothing ran; if it is sandbox-lost with ESRCH in err->sys, look the
 *             sandbox up again: it is ending, or somebody killed us on the way in;
 *   137       sandbox-lost: the shepherd went when the command may have been
 *             running, so the sandbox has been killed.
 *
 * sb->use is closed as soon as the command's shepherd is in the PID namespace. SIGCHLD
 * may not be ignored, SIGPIPE has to be. A payload that stops the processes on the way
 * in can delay this by 30 s.
 */
int ws_enter(struct ws_sandbox *sb, const struct ws_enter_plan *plan, bool want_in,
	     struct ws_entered *ret, int *ret_status, struct ws_err *err);

#endif
