/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_VCS_GIT_NEAR_H
#define WS_CORE_VCS_GIT_NEAR_H

#include "base/err.h"
#include "base/strv.h"
#include "core/root.h"
#include "core/snapshot.h"

/* A kept snapshot that another revision differs from so little as to stand on it. */
struct ws_git_near {
	char *revision;
	struct ws_strv layers; /* its files, bottom to top, without its git layer */
	char *index;	       /* path of the index that fits them */
	int hold;	       /* its lock, shared: it stays while that is open */
};

#define WS_GIT_NEAR_INIT ((struct ws_git_near){ .hold = -1 })

void ws_git_near_release(struct ws_git_near *n);
/*
 * For S, which is described (family, pool, revision, name): 1 and RET filled, or 0: there
 * is none, or its layers are as many as a stack should have.
 */
int ws_git_near_find(const struct ws_root *root, const struct ws_snapshot *s,
		     struct ws_git_near *ret, struct ws_err *err);

#endif
