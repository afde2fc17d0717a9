/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_FROZEN_H
#define WS_CORE_FROZEN_H

#include "base/err.h"
#include "base/sync.h"
#include "core/root.h"

/* Makes "root" in SCRATCH, an empty folder. */
typedef int ws_frozen_fill(void *data, int scratch, struct ws_err *err);

/*
 * Layer NAME, of what was, or could have been, a session's upper. All of it is on the
 * disk by then; with LATER the caller sees to that before a record names the layer, and
 * FILL makes folders alone. Who fails leaves nothing.
 */
int ws_frozen_make(const struct ws_root *root, const char *name, ws_frozen_fill *fill,
		   void *data, struct ws_unsynced *later, struct ws_err *err);

#endif
