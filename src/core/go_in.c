/* SPDX-License-Identifier: Apache-2.0 */
#include "core/go_in.h"

#include <errno.h>

#include "base/clock.h"
#include "base/fs.h"
#include "core/merge_live.h"

#define TIMEOUT_MS 10000
#define RETRY_MS 100

static bool was_changed(const struct ws_err *err)
{
	return err->kind == WS_POLICY_CHANGED && err->sys == EAGAIN;
}

static bool was_ending(const struct ws_err *err)
{
	return err->kind == WS_SANDBOX_LOST && err->sys == ESRCH;
}

static int try_in(const struct ws_root *root, struct ws_way_in *way,
		  struct ws_sandbox *sb, struct ws_entered *ret, int *ret_status,
		  struct ws_err *err)
{
	ws_sandbox_release(sb);
	*sb = WS_SANDBOX_INIT;
	/* nobody sees half of a merge that was killed */
	if (way->session->incoming && (ws_merge_resume(root, way->session->id, err) < 0 ||
				       way->reread(way, err) < 0))
		return -1;
	if (ws_sandbox_acquire(root, way->session, sb, err) < 0)
		return -1;
	if (way->ready && way->ready(way->arg, err) < 0)
		return -1;
	if (ws_enter(sb, way->plan, way->want_in, ret, ret_status, err) == 0)
		return 0;
	if (way->missed)
		way->missed(way->arg);
	return -1;
}

int ws_go_in(const struct ws_root *root, struct ws_way_in *way, struct ws_sandbox *sb,
	     struct ws_entered *ret, int *ret_status, struct ws_err *err)
{
	uint64_t deadline = 0; /* a wait for the mutex is not in it */

	for (;;) {
		if (try_in(root, way, sb, ret, ret_status, err) == 0)
			return 0;
		if (!deadline)
			deadline = ws_clock_mono_ms() + TIMEOUT_MS;
		if (ws_clock_mono_ms() >= deadline)
			return -1;
		if (was_changed(err)) {
			if (way->reread(way, err) < 0)
				return -1;
		} else if (was_ending(err)) {
			ws_closep(&sb->use);
			/* or somebody inside has killed what came in: it does not end */
			ws_pidfd_gone(sb->pidfd, RETRY_MS);
		} else {
			return -1;
		}
	}
}
