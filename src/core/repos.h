/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_REPOS_H
#define WS_CORE_REPOS_H

#include "base/err.h"
#include "core/root.h"
#include "core/spec.h"
#include "core/vcs.h"

/* The repos of a session that is being made, worked on side by side. */
struct ws_repos {
	struct ws_repo *v;
	size_t n;
};

void ws_repos_release(struct ws_repos *repos);
/*
 * What each of them is to be: repo-unusable with the reason, before anything is made.
 * Refuses a repo whose tree and the state folder overlap, or with a mount below it.
 */
int ws_repos_resolve(const struct ws_root *root, const struct ws_spec *spec,
		     struct ws_repos *ret, struct ws_err *err);
/*
 * Snapshots, made or shared, and the layers of session ID (NULL: snapshots only). What
 * lives (snapshots.enabled false) gets none.
 */
int ws_repos_build(const struct ws_root *root, const struct ws_spec *spec, const char *id,
		   struct ws_repos *repos, struct ws_err *err);

#endif
