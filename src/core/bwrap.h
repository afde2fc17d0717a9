/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_BWRAP_H
#define WS_CORE_BWRAP_H

#include "base/err.h"
#include "core/root.h"
#include "core/spec.h"

/*
 * The bwrap program: the path set at configure time, or bwrap.path of wsiso.json, else
 * /usr/bin/bwrap, /usr/local/bin/bwrap; never from PATH. It has the overlay options, is
 * not setuid, and is 0.12.0 or later; 0.11 only if a probe shows that it does not follow
 * a planted link while it makes mount points (CVE-2026-87766).
 */
struct ws_bwrap {
	char *path;
	char *version; /* "0.12.0" */
};

void ws_bwrap_release(struct ws_bwrap *b);
/*
 * bwrap-unusable with the reason and the remedy. What a file at that path answered is
 * kept in ROOT/bwrap.json, and asked again when the file is another (device, inode, size,
 * times).
 */
int ws_bwrap_find(const struct ws_root *root, const struct ws_spec *spec,
		  struct ws_bwrap *ret, struct ws_err *err);

#endif
