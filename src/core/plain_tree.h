/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_PLAIN_TREE_H
#define WS_CORE_PLAIN_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/sha256.h"
#include "base/strv.h"
#include "core/spec.h"

/*
 * A plain folder of the host, as it looks at one moment: nothing is written, nothing
 * followed, no mount entered.
 *
 * Every file of a layer must belong to the caller's uid and primary gid, or overlayfs in
 * a user namespace cannot copy it up (EOVERFLOW): what does not is copied, never linked.
 * Also copied is what a link would carry along and a sandbox may not see or cannot copy
 * up: set-id bits, capabilities, ACLs, and user.overlay.*, which overlayfs would obey.
 */
enum ws_plain_how {
	WS_PLAIN_FOLDER,
	WS_PLAIN_SYMLINK,
	WS_PLAIN_COPY,
	WS_PLAIN_CLONE, /* FICLONE */
	WS_PLAIN_LINK,	/* a hard link */
};

struct ws_plain_entry {
	char *path; /* below the folder; "" for itself */
	char *link; /* a symbolic link's text */
	enum ws_plain_how how;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	dev_t dev;
	uint64_t ino, size;
	struct timespec mtime, ctime;
};

struct ws_plain_tree {
	int fd; /* the folder */
	struct ws_plain_entry *v;
	size_t n, cap;
	struct ws_strv special;	   /* sockets, pipes, devices: left out */
	struct ws_strv unreadable; /* left out, too */
};

#define WS_PLAIN_TREE_INIT ((struct ws_plain_tree){ .fd = -1 })

void ws_plain_tree_release(struct ws_plain_tree *t);
/*
 * Looks at the folder PATH. STORE is where its copy will be, below which clones are tried
 * out. A folder that is the same as FORBIDDEN (the state folder, by whatever path) is
 * refused: repo-unusable. Waits until the newest change is old enough that another one
 * cannot have its time stamp.
 */
int ws_plain_tree_look(const char *path, int store, int forbidden, enum ws_copy copy,
		       struct ws_plain_tree *ret, struct ws_err *err);
/*
 * A digest of paths, types, modes, owners, inodes, sizes, mtimes and, of what is not to
 * be hard-linked (which changes it), ctimes: the same folder, unchanged, has the same
 * one.
 */
void ws_plain_tree_digest(const struct ws_plain_tree *t, char ret[WS_SHA256_HEX]);

#endif
