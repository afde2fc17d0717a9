/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_LAYER_H
#define WS_CORE_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sync.h"
#include "core/root.h"

#define WS_LAYER_VERSION 1
#define WS_LAYER_NAME_MAX 160

/*
 * A layer: layers/NAME/{meta.json,root/}, immutable once published, rooted at /workspace.
 * Built in a scratch folder (ws_root_scratch), published by rename.
 */
struct ws_layer_meta {
	uint64_t version;
	char *kind;   /* "base", "delta", "git" or "setup" */
	char *repo;   /* name below /workspace */
	char *source; /* path of the host's repo */
	char *revision;
	uint64_t created; /* ns since 1970 */
};

void ws_layer_meta_release(struct ws_layer_meta *m);
/*
 * Writes meta.json into the scratch folder, renames that to layers/NAME, and syncs both;
 * with LATER the caller does, before a record names the layer. An existing NAME is kept,
 * the scratch discarded (success).
 */
int ws_layer_publish(const struct ws_root *root, const char *scratch, const char *name,
		     const struct ws_layer_meta *meta, struct ws_unsynced *later,
		     struct ws_err *err);
/* base-missing, state-corrupt, state-version */
int ws_layer_load(const struct ws_root *root, const char *name, struct ws_layer_meta *ret,
		  struct ws_err *err);
bool ws_layer_exists(const struct ws_root *root, const char *name);
int ws_layer_discard(const struct ws_root *root, const char *name, struct ws_err *err);

/*
 * The name of a layer that belongs to one session alone: KIND-ID-RANDOM, where KIND is
 * WS_LAYER_GIT, _OWN or _FROZEN (no shared layer's name begins so). With a fork others
 * come to have it, too (shared.h).
 */
#define WS_LAYER_GIT "git"
#define WS_LAYER_OWN "own"
#define WS_LAYER_FROZEN "frozen"
void ws_layer_private_name(const char *kind, const char *id, char ret[WS_LAYER_NAME_MAX]);
bool ws_layer_is_private(const char *name, const char *id);
/* Whose it is: a session's id, the caller's; NULL if NAME is no private layer's. */
char *ws_layer_owner(const char *name);

/*
 * What a layer is made of. Modes do not depend on the umask, since the sandbox shows
 * them. PATH is relative to the scratch folder DIR; every folder of it is made, 0755.
 */
int ws_layer_mkdir(int dir, const char *path, struct ws_err *err);
/* A new file, 0644. It is only written: ws_layer_sync() makes it last. */
int ws_layer_write(int dir, const char *path, const char *text, struct ws_err *err);
int ws_layer_sync(int dir, const char *const *paths, size_t n, struct ws_err *err);

#endif
