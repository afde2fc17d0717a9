/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SESSION_ARCHIVE_H
#define WS_CORE_SESSION_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * A session as an archive: what export writes and create --from takes. In this order:
 *
 *   session.json   what it is: below
 *   config.json    its spec
 *   base/          what it started from: all layers below its own, as one tree
 *   changes/       what it made of that: whiteouts are devices 0, 0, and a folder that
 *                  hides the one below has user.overlay.opaque, as overlayfs has both
 *   home/          its HOME
 *   objects/NAME/  of a git repository the object pool: objects, packed-refs, shallow
 *   end            nothing: it was not cut off
 */
#define WS_SESSION_ARCHIVE_VERSION 1
#define WS_SESSION_ARCHIVE_MANIFEST "session.json"
#define WS_SESSION_ARCHIVE_SPEC "config.json"
#define WS_SESSION_ARCHIVE_BASE "base"
#define WS_SESSION_ARCHIVE_CHANGES "changes"
#define WS_SESSION_ARCHIVE_HOME "home"
#define WS_SESSION_ARCHIVE_OBJECTS "objects"
#define WS_SESSION_ARCHIVE_END "end"

struct ws_archived_repo {
	char *name, *vcs;
	char *path; /* on the host that it comes from: not for use here */
	char *revision, *branch;
	bool objects; /* there is a pool of it */
};

struct ws_session_archive {
	uint64_t version;
	char *format; /* "wsiso-session" */
	char *wsiso;  /* of the writer */
	char *id;
	uint64_t exported; /* ns since 1970 */
	bool running;	   /* commands were, at that time */
	struct ws_archived_repo *repos;
	size_t nrepos;
};

#define WS_SESSION_ARCHIVE_INIT ((struct ws_session_archive){ 0 })

void ws_session_archive_release(struct ws_session_archive *a);
void ws_session_archive_write(const struct ws_session_archive *a, struct ws_buf *out);
/* state-corrupt: no manifest, or one with wrong names; state-version: a newer one. */
int ws_session_archive_parse(const struct ws_buf *text, struct ws_session_archive *ret,
			     struct ws_err *err);

/*
 * Is PATH one of a pool's that is carried? Objects and refs; no configuration, no hook,
 * no alternates.
 */
bool ws_session_archive_pool_has(const char *path, bool folder);

#endif
