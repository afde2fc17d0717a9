/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SNAPSHOTS_H
#define WS_CORE_SNAPSHOTS_H

#include <stdint.h>

#include "base/err.h"
#include "core/drift.h"
#include "core/root.h"
#include "core/snapshot.h"

/* Snapshots by themselves, apart from the sessions that use them. */
struct ws_snapshot_info {
	struct ws_snapshot snapshot;
	uint64_t own, shared;  /* bytes on disk: what its removal frees, and the rest */
	struct ws_strv users;  /* ids of sessions */
	uint64_t last_use;     /* ns since 1970 */
	struct ws_drift drift; /* of the files that are linked with the host's */
};

struct ws_snapshots {
	struct ws_snapshot_info *v;
	size_t n;
};

void ws_snapshots_release(struct ws_snapshots *s);
/*
 * Makes those that a session of the spec in FILE ("-": stdin) would look up, or only that
 * of REPO (NULL: of all). Refuses a spec whose sessions share none.
 */
int ws_snapshots_create(const struct ws_root *root, const char *file, const char *repo,
			struct ws_snapshots *ret, struct ws_err *err);
/* All there are; a damaged one is a warning. */
int ws_snapshots_list(const struct ws_root *root, struct ws_snapshots *ret,
		      struct ws_err *err);
/*
 * Removes one, and those of its layers that nobody else needs. In use, or being made or
 * taken right now: session-busy, users named. None of that key: base-missing.
 */
int ws_snapshots_remove(const struct ws_root *root, const char *key, struct ws_err *err);

#endif
