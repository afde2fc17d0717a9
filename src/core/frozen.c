/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frozen.h"

#include "base/clock.h"
#include "core/layer.h"
#include "core/snapshot_make.h"

static int sync_all(int scratch, struct ws_err *err)
{
	return ws_sync_tree(scratch) < 0 ? ws_fail_errno(err, "sync a layer") : 0;
}

int ws_frozen_make(const struct ws_root *root, const char *name, ws_frozen_fill *fill,
		   void *data, struct ws_unsynced *later, struct ws_err *err)
{
	const struct ws_layer_meta meta = { .version = WS_LAYER_VERSION,
					    .kind = (char[]){ "frozen" },
					    .created = ws_clock_wall_ns() };
	char scratch[WS_SCRATCH_NAME_MAX] = "";
	WS_AUTO_CLOSE int dir = -1;

	if (ws_root_scratch(root, "frozen", scratch, &dir, err) == 0 &&
	    fill(data, dir, err) == 0 && (later || sync_all(dir, err) == 0) &&
	    ws_layer_publish(root, scratch, name, &meta, later, err) == 0)
		return 0;
	ws_scratch_discard(root, scratch);
	return -1;
}
