/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SESSION_H
#define WS_CORE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strv.h"
#include "base/sync.h"
#include "core/root.h"
#include "core/spec.h"

#define WS_SESSION_VERSION 3 /* 1: was never forked, is no child; 2: never merged */

/* What create found out about one repo and keeps for good. */
struct ws_session_repo {
	char *name;	/* it appears at /workspace/NAME */
	char *path;	/* on the host, resolved */
	char *vcs;	/* "git", "svn" or "none" */
	char *revision; /* commit id, number, a folder's digest; NULL: live */
	char *branch;	/* or NULL: detached */
	char *snapshot; /* key of its manifest; NULL: layers of its own, or live */
	char *pool;	/* "KEY.git" below pools/, whose objects appear inside; or NULL */
	char *setup;	/* key of what its setup script made (setup.h); or NULL */
	bool live;	/* path itself is the lower of an overlay at /workspace/NAME */
};

/* A session as its folder keeps it. */
struct ws_session {
	char *id;
	char *name;  /* the second one that it was asked for by; or NULL */
	int dir;     /* sessions/ID */
	char *path;  /* absolute path of it, for bwrap's arguments */
	char *below; /* of a run that keeps nothing: its folder below the root; or NULL */
	struct ws_spec spec;
	uint64_t version;
	char *status;		  /* "created" or "blocked" */
	char *cause_kind, *cause; /* when blocked */
	uint64_t created;	  /* ns since 1970 */
	char *owner;		  /* user name of who made it */
	char *bundle;		  /* where config.json came from */
	char *parent;		  /* or NULL */
	uint64_t parent_created;  /* the one of that moment; 0: not known */
	bool copied;	 /* the parent had live commands: its upper was copied ... */
	bool torn;	 /* ... and not all of them could be stopped meanwhile */
	bool forked;	 /* others may have its layers, its HOME, or be names of it */
	uint64_t frozen; /* so many of the topmost of STACK were its uppers before */
	char *home;	 /* below homes/, shared; NULL: its own (ws_session_home) */
	char *alias;	 /* this is a second name of that session ... */
	uint64_t alias_created; /* ... the one of that moment */
	char *kind;		/* "run": a sandbox for one command; NULL: a session */
	char *profile;		/* of a run, or of the command at hand; NULL: tool */
	char *network;	  /* "share" or "isolate" as update set it; NULL: the spec's */
	char *hold;	  /* why gc leaves it alone; NULL: it does not */
	uint64_t expired; /* ns since 1970 when gc removed its edits; 0: it lives */
	char *launch_dir; /* host_readonly: resolved; else NULL */
	struct ws_strv stack; /* layers, bottom to top, names below layers/ */
	struct ws_strv
		merged; /* those of its state that its parent has; none: the fork's */
	struct ws_strv merging; /* they will be, if the parent's stack has MERGE_LAYER */
	char *merge_layer;
	char *incoming; /* a layer of a merge that is being laid over it (merge_live.h) */
	char *arrived;	/* the last one that was */
	struct ws_session_repo *repos;
	size_t nrepos;
	uint64_t record[2]; /* which file the record was read from: inode, ctime */
};

#define WS_SESSION_INIT ((struct ws_session){ .dir = -1 })

/* usage error unless ID is [A-Za-z0-9][A-Za-z0-9_.-]{0,127} */
int ws_session_check_id(const char *id, struct ws_err *err);
/*
 * Reads state.json and config.json. session-missing, state-corrupt, state-version; a
 * tombstone: session-expired. A second name leads to the session itself, here and in the
 * two below.
 */
int ws_session_open(const struct ws_root *root, const char *id, struct ws_session *ret,
		    struct ws_err *err);
/* The same, and what gc has left of an expired one: its records, nothing to run. */
int ws_session_open_any(const struct ws_root *root, const char *id,
			struct ws_session *ret, struct ws_err *err);
/* As open, without the spec: for what must work whatever config.json says now. */
int ws_session_open_record(const struct ws_root *root, const char *id,
			   struct ws_session *ret, struct ws_err *err);
/* The record of that very name, be it a second one (ALIAS is set then). */
int ws_session_open_name(const struct ws_root *root, const char *id,
			 struct ws_session *ret, struct ws_err *err);
/* Is its record still the file that S was read from? */
bool ws_session_is_fresh(const struct ws_session *s);
/* Where its HOME is, below the root; the caller frees. */
char *ws_session_home(const struct ws_root *root, const struct ws_session *s);
/* Fills spec, with what update said about the network. */
int ws_session_read_spec(const struct ws_root *root, struct ws_session *s,
			 struct ws_err *err);
void ws_session_release(struct ws_session *s);
/* All layers that its record names: of its stack, and what its merges need besides. */
void ws_session_layers(const struct ws_session *s, struct ws_strv *ret);
/* TO has none yet. */
void ws_session_copy_repos(const struct ws_session *from, struct ws_session *to);
/*
 * Takes the session's mutex (bounded wait), and makes sure that the session is still the
 * one in the root (a delete may have taken it). *ret_lock is the caller's; closing it
 * unlocks, unless it was inherited.
 */
int ws_session_lock(const struct ws_root *root, const struct ws_session *s, int *ret_lock,
		    struct ws_err *err);
bool ws_session_is_run(const struct ws_session *s);
/* usage error if it is a run: that has none, and takes no second command. */
int ws_session_check_workspace(const struct ws_session *s, struct ws_err *err);
/* Writes state.json (and only that), synced. The commit point of create. */
int ws_session_save(const struct ws_session *s, struct ws_err *err);
/* What is in BEFORE is on the disk before the record is. */
int ws_session_save_after(const struct ws_session *s, struct ws_unsynced *before,
			  struct ws_err *err);
/*
 * A child has files of ours in its upper before it has a record. Its maker says so by a
 * mark; as long as that is there, and no sandbox was ever started in the folder, nothing
 * in it is anybody's work. The mark comes, with TEXT in it, or, NULL, goes.
 */
int ws_session_mark(int dir, const char *text);
bool ws_session_is_half_made(int dir);
/* What the mark of one that is half made says; -1: there is none. */
int ws_session_read_mark(int dir, struct ws_buf *ret);
/* Records use: a time stamp on a file that only wsiso can write. */
void ws_session_touch(const struct ws_session *s);
/* ns since 1970 of the last use. */
uint64_t ws_session_last_use(const struct ws_session *s);
/*
 * What its spec, as it is now, says about how long things are kept: 1 and RET filled, 0
 * if it says nothing of that, -1 if it cannot be read.
 */
int ws_session_keeping(const struct ws_root *root, const struct ws_session *s,
		       struct ws_spec *ret, struct ws_err *err);
/*
 * When gc has first found it idle for too long: two time stamps of a file. 0, 0: never.
 */
void ws_session_sighting(const struct ws_session *s, uint64_t *ret_wall_ns,
			 uint64_t *ret_boot_ms);
int ws_session_sight(const struct ws_session *s, uint64_t wall_ns, uint64_t boot_ms);
/*
 * The record becomes a tombstone, which says when this was and, by "used", why. It needs
 * no space. What else is in the folder is the caller's to remove.
 */
int ws_session_bury(const struct ws_session *s, struct ws_err *err);
/*
 * Ids of everything in sessions/ that has a record, with TOMBS of the expired too,
 * sorted.
 */
int ws_session_list(const struct ws_root *root, bool tombs, struct ws_strv *ret,
		    struct ws_err *err);

#endif
