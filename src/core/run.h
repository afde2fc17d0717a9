/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_RUN_H
#define WS_CORE_RUN_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strv.h"
#include "core/profile.h"
#include "core/root.h"
#include "core/sandbox.h"
#include "core/session.h"

/*
 * A sandbox for one command. It has the form of a session without a workspace, so that
 * it is started, entered, shown and ended as one; what is its own: it belongs to the
 * wsiso that started it (init ends at the EOF of a socket which that one holds), and
 * nothing of its processes is left when the command has ended.
 *
 * With an id its folder is sessions/ID, kind "run", which keeps HOME; without, it is a
 * locked folder in tmp/, removed in the end or swept by the next call after a crash.
 */
struct ws_run_opts {
	const char *id;	       /* or NULL */
	const char *spec;      /* a file, "-", or NULL: what wsiso.json says */
	const char *network;   /* "share", "isolate", or NULL */
	struct ws_strv ro, rw; /* SRC[:DST] */
};

void ws_run_opts_release(struct ws_run_opts *o);

/*
 * Makes or finds it. RET's spec is the effective one, the profile of that NAME applied.
 * DRY: nothing is made (ret->dir may be -1).
 */
int ws_run_open(const struct ws_root *root, const struct ws_run_opts *opts,
		const char *profile, bool dry, struct ws_session *ret,
		struct ws_err *err);
/* Ends the sandbox, if it is ours: nothing of its processes is left. */
void ws_run_stop(const struct ws_sandbox *sb);
/* The same, and removes what is not kept. */
void ws_run_end(const struct ws_root *root, const struct ws_session *s,
		const struct ws_sandbox *sb);

#endif
