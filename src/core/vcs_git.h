/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_VCS_GIT_H
#define WS_CORE_VCS_GIT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "core/root.h"
#include "core/session.h"
#include "core/snapshot.h"
#include "core/spec.h"
#include "core/vcs.h"

/*
 * A git repository of the host as layers: by the helper wsiso-git, never by running
 * git there; no hook, filter or other program of the repo runs, nothing in it changes but
 * link counts. All of this may be called by several threads at once.
 */

/* What resolve found. */
struct ws_git_source {
	char *path;	       /* work tree or bare folder, resolved */
	char *common;	       /* its common git dir */
	char *revision;	       /* full commit id */
	char *branch;	       /* to be on, or NULL: detached */
	bool new_branch;       /* the branch does not exist in the repo */
	bool has;	       /* the file that was asked about is in the commit */
	struct ws_strv stores; /* object folders, alternates included */
	char *stamp;	       /* state of the stores, or NULL: changing right now */
	char *refs;	       /* text of a packed-refs file of this moment */
	char *checkout;	       /* the part of config that decides about files' bytes */
	char *config;	       /* text of the sanitised config */
	char *ident;	       /* "Name <address>" for the reflog */
	char *exclude, *attributes, *shallow; /* texts of those files, or NULL */
	struct ws_strv warnings;
};

void ws_git_source_release(struct ws_git_source *g);
/* r->source is a struct ws_git_source. */
int ws_git_resolve(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err);
/* Makes or shares pool, base and git layer. */
int ws_git_snapshot(const struct ws_vcs_call *call, struct ws_repo *r,
		    struct ws_err *err);
/* The session's own HEAD, refs and reflog as a layer on top: its name in r->layer. */
int ws_git_private(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err);

/* What objects/info/alternates of a repo says: where the sandbox has its pool. */
char *ws_git_alternates(const char *repo);

/* The path of wsiso-git; NULL: helper-missing. */
const char *ws_git_helper(struct ws_err *err);
/* One question to wsiso-git: ARGV behind its name; FDS it keeps open (locks). */
int ws_git_ask(struct ws_strv *argv, const int *fds, size_t nfds, uint64_t timeout_ms,
	       struct ws_buf *ret, struct ws_err *err);

#endif
