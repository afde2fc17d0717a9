/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_IMPORT_H
#define WS_CORE_IMPORT_H

#include "base/err.h"
#include "base/json.h"
#include "base/room.h"
#include "core/archive.h"
#include "core/root.h"
#include "core/session.h"
#include "core/session_archive.h"
#include "core/snapshot_make.h"

/*
 * A session out of an archive (session_archive.h) that nobody vouches for. All of it is
 * unpacked into scratch folders first, by unpack.h, and takes its place only when the
 * archive has ended as it must; then renames alone are left to do. What its spec says
 * may tighten this host's policy, never loosen it, and names nothing of this host.
 */
struct ws_import {
	const struct ws_root *root;
	struct ws_archive archive;
	struct ws_entry next; /* the one that nobody has taken yet */
	struct ws_session_archive about;
	struct ws_json *spec; /* the archive's */
	struct ws_scratch base, rest;
	struct ws_room room;
	mode_t modes[2]; /* of upper and HOME */
};

/* clang-format off */
#define WS_IMPORT_INIT ((struct ws_import){ .archive = WS_ARCHIVE_INIT, \
	.next = WS_ENTRY_INIT, .about = WS_SESSION_ARCHIVE_INIT, \
	.base = { .fd = -1 }, .rest = { .fd = -1 } })
/* clang-format on */

/* What was unpacked and not taken goes. */
void ws_import_release(struct ws_import *im);
/* FILE, or "-" for stdin. Reads what it is, and its spec. */
int ws_import_open(const struct ws_root *root, const char *file, struct ws_import *ret,
		   struct ws_err *err);
/*
 * The session's spec: that of the file PATH, or NULL: what of the archive's may be taken,
 * which must tighten what this host has. Repos are the archive's. *RET_DOC is the
 * caller's.
 */
int ws_import_spec(struct ws_import *im, const char *path, struct ws_json **ret_doc,
		   struct ws_spec *ret, struct ws_err *err);
/* SPEC says what this host keeps free. */
/*
 * What stands as the path of repo NAME: none. The archive's own would name a folder, or
 * an address, of this host, for whoever makes a session by that spec.
 */
char *ws_import_path(const char *name);
int ws_import_unpack(struct ws_import *im, const struct ws_spec *spec,
		     struct ws_err *err);
/* S, whose folders are there and empty, gets what was unpacked, and stack and repos. */
int ws_import_take(struct ws_import *im, struct ws_session *s, struct ws_err *err);
/* That failed, or what came after it: the pools that it has made go. */
void ws_import_undo(const struct ws_import *im, const struct ws_session *s);

#endif
