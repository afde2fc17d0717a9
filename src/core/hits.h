/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_HITS_H
#define WS_CORE_HITS_H

#include <stddef.h>

#include "base/err.h"
#include "core/hit.h"
#include "core/root.h"
#include "core/session.h"

struct ws_hits {
	struct ws_hit *v;
	size_t n;
};

#define WS_HITS_INIT ((struct ws_hits){ 0 })

void ws_hits_release(struct ws_hits *h);

/*
 * Those of session S and of this user, oldest first, from FROM: a file, "-" for stdin, or
 * NULL for the first of auditd's log and the kernel's own that can be read
 * (host-unsupported if none can).
 */
int ws_hits_read(const struct ws_root *root, const struct ws_session *s, const char *from,
		 struct ws_hits *ret, struct ws_err *err);

#endif
