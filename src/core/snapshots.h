/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SNAPSHOTS_H
#define WS_CORE_SNAPSHOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/drift.h"
#include "core/progress.h"
#include "core/root.h"
#include "core/snapshot.h"

/* Snapshots by themselves, apart from the sessions that use them. */
struct ws_snapshot_info {
	struct ws_snapshot snapshot;
	uint64_t own, shared;  /* bytes on disk: what its removal frees, and the rest */
	char *setup;	       /* of a new one: key of its setup, or NULL */
	struct ws_strv users;  /* ids of sessions */
	uint64_t last_use;     /* ns since 1970 */
	struct ws_drift drift; /* of the files that are linked with the host's */
};

struct ws_snapshots {
	struct ws_snapshot_info *v;
	size_t n;
};

void ws_snapshots_release(struct ws_snapshots *s);
struct ws_snapshots_opts {
	const char *spec; /* a file; "-": stdin */
	const char *repo; /* only that of this one; NULL: all */
	bool setup;	  /* run the setup scripts, too, as far as the spec lets it */
	const struct ws_progress *progress; /* or NULL */
};

/*
 * Makes those that a session of the spec would look up. Refuses a spec whose sessions
 * share none.
 */
int ws_snapshots_create(const struct ws_root *root, const struct ws_snapshots_opts *opts,
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
