/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_INSIDE_H
#define WS_CORE_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "core/root.h"
#include "core/sandbox.h"
#include "core/session.h"

/*
 * A small program of ours, run in a session's sandbox (started if need be) as any
 * command is, for wsiso itself: no record, no terminal. What it says is as good
 * as anything from inside: its process can be stopped or ended there.
 */
struct ws_inside {
	struct ws_strv argv;
	/* Whose mutex the caller has, joined (ws_sandbox_join); NULL: acquired here. */
	struct ws_sandbox *sandbox;
	int in;	     /* what its stdin gets, or -1; stays the caller's */
	bool chunks; /* in chunks: a uint32_t length before each, one of 0 at the end */
	/* Takes its stdout; -1 with ERR ends it. */
	int (*take)(void *arg, const char *data, size_t len, struct ws_err *err);
	void *arg;
	struct ws_buf complaint; /* its stderr, up to 64 KiB */
	int status;		 /* 0-255, 128+N */
};

#define WS_INSIDE_INIT ((struct ws_inside){ .in = -1 })

void ws_inside_release(struct ws_inside *in);
/*
 * Refusals as those of exec: disabled, session-blocked, policy-changed and so on. timeout
 * if nothing moves for half a minute although it is the program's turn. 0: it has ended,
 * with STATUS.
 */
int ws_inside_run(const struct ws_root *root, const struct ws_session *s,
		  struct ws_inside *in, struct ws_err *err);

#endif
