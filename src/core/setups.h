/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SETUPS_H
#define WS_CORE_SETUPS_H

#include <stdint.h>

#include "base/err.h"
#include "core/root.h"
#include "core/setup.h"

/* Setups by themselves, apart from the sessions that use them. */
struct ws_setup_info {
	struct ws_setup setup;
	const char *state;    /* the record's, or "lost": its maker has died */
	struct ws_strv users; /* ids of sessions */
	uint64_t last_use;    /* ns since 1970 */
};

struct ws_setups {
	struct ws_setup_info *v;
	size_t n;
};

void ws_setups_release(struct ws_setups *s);
/* All there are, by key. */
int ws_setups_list(const struct ws_root *root, struct ws_setups *ret, struct ws_err *err);
/*
 * Removes one, done or failed, its layer and its log. In use, or being made or taken
 * right now: session-busy, users named. None of that key: base-missing.
 */
int ws_setups_remove(const struct ws_root *root, const char *key, struct ws_err *err);

#endif
