/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mount_table.h"
#include "core/probes.h"

#define ANSWER_MS 2000
#define ASKED_MAX 64
#define HUNG_MAX 4 /* each costs ANSWER_MS */

/* A mount whose server is gone: what looks at it waits, perhaps for ever. */
void ws_probe_mounts(const struct ws_probe_host *host, struct ws_check_item *item)
{
	WS_AUTO(ws_mount_table) struct ws_mount_table t = { 0 };
	WS_AUTO(ws_buf) struct ws_buf hung = WS_BUF_INIT;
	struct ws_err err = WS_ERR_INIT;
	unsigned asked = 0, silent = 0;

	(void)host;
	if (ws_mount_table_read("/proc/self/mountinfo", &t, &err) < 0) {
		ws_probe_say(item, WS_CHECK_FAILED, "mount /proc", "%s", err.msg);
		return;
	}
	for (size_t i = 0; i < t.n && asked < ASKED_MAX && silent < HUNG_MAX; i++) {
		if (!ws_mount_may_hang(&t.v[i]))
			continue;
		asked++;
		if (ws_path_answers(t.v[i].target, ANSWER_MS))
			continue;
		silent++;
		ws_buf_addf(&hung, "%s'%s' (%s)", hung.len ? ", " : "", t.v[i].target,
			    t.v[i].type);
	}
	if (silent)
		ws_probe_say(
			item, WS_CHECK_WARNING,
			"bring its server back, or unmount it (umount -l); sandboxes "
			"start all the same, but what looks at it waits",
			"no answer from %s", ws_buf_str(&hung));
	else
		ws_probe_say(item, WS_CHECK_OK, NULL,
			     "%zu mounts, %u that depend on others, which answer", t.n,
			     asked);
}
