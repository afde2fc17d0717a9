/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CMD_FILE_REF_H
#define WS_CMD_FILE_REF_H

#include <stdbool.h>

#include "base/err.h"
#include "base/jsonw.h"
#include "cmd/cmd.h"
#include "core/files.h"

/* "ID:PATH" with its session opened: what cp, cat and ls have in common. */
struct ws_place {
	struct ws_root root;
	struct ws_session session;
	struct ws_file_ref ref;
};

#define WS_PLACE_INIT \
	((struct ws_place){ .root = WS_ROOT_INIT, .session = WS_SESSION_INIT })

void ws_place_release(struct ws_place *p);
/* usage unless ARG names a session. RESCUE: whatever its config.json says. */
int ws_place_open(const struct ws_global *global, const char *arg, bool rescue,
		  struct ws_place *ret, struct ws_err *err);
/* The members of one file, for JSON. */
void ws_file_info_json(struct ws_jsonw *w, const struct ws_file_info *info);

#endif
