/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SUPERVISE_H
#define WS_CORE_SUPERVISE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/enter.h"
#include "core/sandbox.h"

struct ws_outcome {
	int status;	      /* 0-255, 124, 128+N, 137 */
	int signal;	      /* that ended the command, or 0 */
	bool timed_out, lost; /* lost: the sandbox went, or was ended, under it */
	int output_error;     /* errno: output was lost, not for want of a reader; 0 */
};

/* What the supervisor does while a command runs. */
struct ws_supervise {
	struct ws_entered *entered;
	const struct ws_sandbox *sandbox; /* killed if the tree cannot be ended */
	int in, out, errs; /* ours, from ws_relay_borrow: taken; -1: none */
	uint64_t *room;	   /* bound of OUT and ERRS in bytes (a log), or NULL */
	int signals;	   /* from ws_supervise_signals; -1: none come */
	int keyboard;	   /* terminal to put into raw mode, or -1 */
	uint64_t timeout_ms, kill_after_ms;
	int parent;  /* --with-parent: pidfd of the caller, or -1 */
	bool serves; /* kill_after_ms after the end of IN its tree is ended */
	/* called as soon as the outcome is known, before the rest of the output is out */
	void (*on_end)(void *arg, const struct ws_outcome *outcome);
	void *arg;
};

/*
 * Blocks the signals that are the command's and gives a descriptor for them; *ret_old:
 * the mask before. With TTY also those about the terminal. A SIGHUP that was ignored
 * (nohup) stays so. -1 and errno.
 */
int ws_supervise_signals(bool tty, sigset_t *ret_old);

/*
 * Until the command has ended and all that it wrote is out. Whoever of its tree lives on
 * then has entered->out and errs still open for writing: they are -1 if
 * nobody does.
 */
int ws_supervise(const struct ws_supervise *sv, struct ws_outcome *ret,
		 struct ws_err *err);

#endif
