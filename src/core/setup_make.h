/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SETUP_MAKE_H
#define WS_CORE_SETUP_MAKE_H

#include <stdbool.h>

#include "base/err.h"
#include "core/progress.h"
#include "core/repos.h"
#include "core/root.h"
#include "core/spec.h"

/* How the repos of a session, or of none as yet, are set up. */
struct ws_setup_opts {
	bool retry; /* an earlier failure does not count */
	const struct ws_progress *progress;
};

/*
 * Before anything is made: could the scripts that REPOS have be run under SPEC? Refusals
 * of its policy, and of a live folder, which has no committed base.
 */
int ws_setup_check(const struct ws_root *root, const struct ws_spec *spec,
		   const struct ws_repos *repos, struct ws_err *err);
/*
 * The snapshots are there. Each repo with a script gets setup, setup_layer and
 * setup_hold: an earlier result of the same key, or what its script makes now. Single
 * flight. setup-failed if it fails, or has failed and that is not forgotten yet.
 */
int ws_setup_make(const struct ws_root *root, const struct ws_spec *spec,
		  const struct ws_setup_opts *opts, struct ws_repos *repos,
		  struct ws_err *err);

#endif
