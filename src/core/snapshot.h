/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SNAPSHOT_H
#define WS_CORE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strv.h"
#include "core/root.h"

#define WS_SNAPSHOT_VERSION 1

/*
 * A snapshot: the manifest snapshots/KEY.json, (repo, revision, name) to an ordered
 * list of layers, shared by all sessions at that revision. Single flight: KEY.lock.
 */
struct ws_snapshot {
	uint64_t version;
	bool building; /* a plan: whoever wrote it has not published the layers yet */
	char *key;
	char *repo; /* resolved path of the host's repo */
	char *name; /* below /workspace */
	char *vcs;
	char *revision;
	char *pool;   /* "KEY.git", or NULL: no git */
	char *family; /* those of one family differ in their revision alone; or NULL */
	struct ws_strv layers; /* bottom to top */
	struct ws_strv made; /* those of them that were made for it; others are shared */
	uint64_t created;
};

#define WS_SNAPSHOT_INIT ((struct ws_snapshot){ 0 })

void ws_snapshot_release(struct ws_snapshot *s);
int ws_snapshot_check_key(const char *key, struct ws_err *err);
/*
 * 1 and RET filled, or 0 if there is none (or its layers are gone: it is made anew), or
 * -1.
 */
int ws_snapshot_load(const struct ws_root *root, const char *key, struct ws_snapshot *ret,
		     struct ws_err *err);
/*
 * The manifest as it stands there, finished or only a plan: 1, 0: there is none, or -1.
 */
int ws_snapshot_read(const struct ws_root *root, const char *key, struct ws_snapshot *ret,
		     struct ws_err *err);
/* Synced, unless it is only a plan. */
int ws_snapshot_save(const struct ws_root *root, const struct ws_snapshot *s,
		     struct ws_err *err);
/*
 * The lock of KEY: exclusively by who makes or removes it, which may last long; shared by
 * who puts its layers into a stack or below another snapshot's, until that is on disk;
 * he ends it by ws_keyed_let_go. -1 with ERR. ws_snapshot_try does not wait:
 * session-busy.
 */
int ws_snapshot_lock(const struct ws_root *root, const char *key, bool exclusive,
		     struct ws_err *err);
int ws_snapshot_try(const struct ws_root *root, const char *key, bool exclusive,
		    struct ws_err *err);
/* Removes the layers of a plan whose maker died. The lock is held. */
int ws_snapshot_clear(const struct ws_root *root, const char *key, struct ws_err *err);
/* The manifest goes, and then its lock, which is held exclusively; no layer. */
int ws_snapshot_forget(const struct ws_root *root, const char *key, struct ws_err *err);
/* Records use; ns since 1970 of the last one. */
void ws_snapshot_touch(const struct ws_root *root, const char *key);
uint64_t ws_snapshot_last_use(const struct ws_root *root, const struct ws_snapshot *s);
/* Keys of all that have a manifest, sorted. */
int ws_snapshot_list(const struct ws_root *root, struct ws_strv *ret, struct ws_err *err);

#endif
