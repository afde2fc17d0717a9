/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gc_fate.h"

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
#define APART_MS (3600ull * 1000)
#define STEP_NS (60 * NS_PER_S) /* more than this and the wall clock was set */
#define FUTURE_NS (3600 * NS_PER_S)

/* Has the wall clock gone on like the boot clock, and was there no reboot? */
static bool clocks_agree(struct ws_gc_moment a, struct ws_gc_moment b)
{
	uint64_t wall = b.wall_ns - a.wall_ns;
	uint64_t boot = (b.boot_ms - a.boot_ms) * NS_PER_MS;

	if (b.wall_ns < a.wall_ns || b.boot_ms < a.boot_ms)
		return false;
	return wall > boot ? wall - boot <= STEP_NS : boot - wall <= STEP_NS;
}

static bool idle_for(uint64_t now_ns, uint64_t since_ns, uint64_t seconds)
{
	return now_ns > since_ns && (now_ns - since_ns) / NS_PER_S >= seconds;
}

enum ws_gc_fate ws_gc_session_fate(struct ws_gc_moment now, uint64_t used_ns,
				   uint64_t ttl_s, struct ws_gc_moment sighted)
{
	if (used_ns > now.wall_ns)
		return used_ns - now.wall_ns > FUTURE_NS ? WS_GC_DOUBT : WS_GC_KEEP;
	if (!idle_for(now.wall_ns, used_ns, ttl_s))
		return WS_GC_KEEP;
	if (!idle_for(sighted.wall_ns, used_ns, ttl_s) || !clocks_agree(sighted, now))
		return WS_GC_SIGHT;
	return now.boot_ms - sighted.boot_ms >= APART_MS ? WS_GC_EXPIRE : WS_GC_WAIT;
}

bool ws_gc_is_old(struct ws_gc_moment now, uint64_t last_ns, uint64_t ttl_s)
{
	return idle_for(now.wall_ns, last_ns, ttl_s);
}

bool ws_gc_is_due(struct ws_gc_moment now, uint64_t last_ns, uint64_t interval_s)
{
	if (interval_s == 0)
		return false;
	return last_ns > now.wall_ns || idle_for(now.wall_ns, last_ns, interval_s);
}
