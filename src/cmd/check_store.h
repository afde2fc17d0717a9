/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CMD_CHECK_STORE_H
#define WS_CMD_CHECK_STORE_H

#include <stdbool.h>

#include "base/err.h"
#include "core/root.h"

/* `wsiso check --store`: its output; the exit status, or -1. */
int ws_check_store(const struct ws_root *root, bool repair, bool json,
		   struct ws_err *err);

#endif
