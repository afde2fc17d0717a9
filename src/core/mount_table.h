/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_MOUNT_TABLE_H
#define WS_CORE_MOUNT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The lines of a mountinfo file (proc_pid_mountinfo(5)), in their order. */
struct ws_mount_entry {
	uint64_t id;
	char *device;  /* "8:1": the same for all mounts of one filesystem */
	char *root;    /* what of the filesystem is mounted */
	char *target;  /* where */
	char *options; /* this mount's: "ro,nosuid" */
	char *type;    /* "ext4", "fuse.sshfs" */
};

struct ws_mount_table {
	struct ws_mount_entry *v;
	size_t n;
};

void ws_mount_table_release(struct ws_mount_table *t);
int ws_mount_table_read(const char *path, struct ws_mount_table *ret, struct ws_err *err);
/* The mount in which PATH is, or NULL. Asks no filesystem. */
const struct ws_mount_entry *ws_mount_table_at(const struct ws_mount_table *t,
					       const char *path);
/* Does somebody else, who may be gone, answer for what is there: FUSE, NFS, autofs? */
bool ws_mount_may_hang(const struct ws_mount_entry *m);

/* What of PATH follows DIR and its slash; "" for DIR itself; NULL: it is not below. */
const char *ws_path_below(const char *path, const char *dir);
/* Does PATH answer within TIMEOUT_MS, be it by an error? A child asks, and is left. */
bool ws_path_answers(const char *path, int timeout_ms);
/*
 * realpath(3) for a path whose own mounts answer, but whose links may lead anywhere:
 * those a child follows. NULL and errno; ETIMEDOUT. Caller frees.
 */
char *ws_path_resolve(const char *path, int timeout_ms);

#endif
