/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_VCS_H
#define WS_CORE_VCS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strv.h"
#include "core/root.h"
#include "core/snapshot.h"
#include "core/snapshot_make.h"
#include "core/spec.h"

/*
 * What keeps a repo's history: a row for each kind. Nothing of what these do changes
 * the host's files (link counts and ctimes of linked ones aside), prompts or runs a
 * program that a repo names. All of it may be called by several threads at once.
 */
struct ws_vcs_kind;

/* One repo of a session that is being made. */
struct ws_repo {
	const struct ws_spec_repo *spec;
	const struct ws_vcs_kind *kind;
	char *path;	/* on the host, resolved; or a URL */
	char *revision; /* or NULL: the live folder */
	char *branch;	/* or NULL */
	bool has_setup; /* the setup script is there */
	bool live;	/* the folder itself is the lower (live.h): no snapshot */
	void *source;	/* what the kind found out: its own */
	struct ws_strv warnings;
	struct ws_snapshot snapshot;
	int hold;	   /* the snapshot's lock, shared, or -1 */
	char *setup;	   /* key of what its setup script made (setup.h), or NULL ... */
	char *setup_layer; /* ... and the layer of that, over the snapshot's ... */
	int setup_hold;	   /* ... and its lock, shared, or -1 */
	char *layer;	   /* the session's own on top, or NULL */
};

/* What all repos of one call have in common. */
struct ws_vcs_call {
	const struct ws_root *root;
	const struct ws_spec *spec;
	const char *id; /* the session; NULL: a snapshot for nobody yet */
};

struct ws_vcs_kind {
	const char *word; /* the spec's */
	enum ws_vcs vcs;
	/*
	 * Of vcs "auto": 0 the folder is one, N it lies in one N folders further up, -1
	 * it is none. The nearest wins. NULL: it is what no other is.
	 */
	int (*is)(const char *path);
	/*
	 * Fills path, revision, branch, has_setup, warnings. repo-unusable with the
	 * reason, before anything is made.
	 */
	int (*resolve)(const struct ws_vcs_call *call, struct ws_repo *r,
		       struct ws_err *err);
	/* Fills snapshot and hold: shared or made. */
	int (*snapshot)(const struct ws_vcs_call *call, struct ws_repo *r,
			struct ws_err *err);
	/* A layer of the session's own on top; NULL: none. */
	int (*own)(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err);
	void (*release)(void *source);
};

extern const struct ws_vcs_kind ws_vcs_git, ws_vcs_svn, ws_vcs_plain;

/* The row for a repo of the spec. */
const struct ws_vcs_kind *ws_vcs_of(const struct ws_spec_repo *repo);
/* Whether a path of the spec is a URL. */
bool ws_vcs_is_url(const char *path);
bool ws_vcs_has(const char *dir, const char *name); /* an entry of that name */
/* How many folders further up than PATH one is that TOP says yes to; -1: none. */
int ws_vcs_above(const char *path, bool (*top)(const char *dir));
/*
 * Refuses a folder in the state folder, one that has that in it, or one with a mount
 * below it: repo-unusable.
 */
int ws_vcs_check_place(const struct ws_root *root, const char *path, struct ws_err *err);
/* r->snapshot, described, as the spec wants it: shared, or the session's own. */
int ws_vcs_obtain(const struct ws_vcs_call *call, struct ws_snapshot_maker *m,
		  struct ws_repo *r, struct ws_err *err);

#endif
