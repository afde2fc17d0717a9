/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "core/gc_fate.h"
#include "core/refs.h"

#define S 1000000000ull
#define HOUR 3600ull
#define DAY (24 * HOUR)
#define WALL (1700000000ull * S)
#define BOOT 5000000ull

/* SECONDS after a first moment; the wall clock was set by STEP meanwhile. */
static struct ws_gc_moment at(int64_t seconds, int64_t step)
{
	return (struct ws_gc_moment){ WALL + (uint64_t)((seconds + step) * (int64_t)S),
				      BOOT + (uint64_t)(seconds * 1000) };
}

static const struct ws_gc_moment never = { 0, 0 };

static void test_two_sightings(void)
{
	uint64_t used = WALL - 31 * DAY * S, ttl = 30 * DAY;

	CHECK_INT(ws_gc_session_fate(at(0, 0), used, ttl, never), WS_GC_SIGHT);
	CHECK_INT(ws_gc_session_fate(at(HOUR - 1, 0), used, ttl, at(0, 0)), WS_GC_WAIT);
	CHECK_INT(ws_gc_session_fate(at(HOUR, 0), used, ttl, at(0, 0)), WS_GC_EXPIRE);
	CHECK_INT(ws_gc_session_fate(at(40 * DAY, 0), used, ttl, at(0, 0)), WS_GC_EXPIRE);
}

static void test_use_between(void)
{
	uint64_t ttl = 30 * DAY;

	CHECK_INT(ws_gc_session_fate(at(0, 0), WALL - 29 * DAY * S, ttl, never),
		  WS_GC_KEEP);
	/* seen idle, then used, and idle again: the old sighting counts no more */
	CHECK_INT(ws_gc_session_fate(at(60 * DAY, 0), WALL + DAY * S, ttl, at(0, 0)),
		  WS_GC_SIGHT);
	CHECK_INT(ws_gc_session_fate(at(10, 0), WALL - S, 1, at(0, 0)), WS_GC_WAIT);
}

static void test_clock_steps(void)
{
	uint64_t used = WALL - 31 * DAY * S, ttl = 30 * DAY;

	/* forwards, backwards, and by little, as ntp does */
	CHECK_INT(ws_gc_session_fate(at(2 * HOUR, DAY), used, ttl, at(0, 0)),
		  WS_GC_SIGHT);
	CHECK_INT(ws_gc_session_fate(at(2 * HOUR, -300), used, ttl, at(0, 0)),
		  WS_GC_SIGHT);
	CHECK_INT(ws_gc_session_fate(at(2 * HOUR, 30), used, ttl, at(0, 0)),
		  WS_GC_EXPIRE);
	/* a clock that jumps on by years makes nothing expire by itself */
	CHECK_INT(ws_gc_session_fate(at(0, 0), WALL - S, ttl, never), WS_GC_KEEP);
	CHECK_INT(ws_gc_session_fate(at(1, 3650 * DAY), WALL - S, ttl, never),
		  WS_GC_SIGHT);
	CHECK_INT(ws_gc_session_fate(at(HOUR + 1, 0), WALL - S, ttl, at(1, 3650 * DAY)),
		  WS_GC_KEEP);
}

static void test_reboot(void)
{
	uint64_t used = WALL - 31 * DAY * S, ttl = 30 * DAY;
	struct ws_gc_moment booted = { WALL + 2 * HOUR * S, 60000 };

	CHECK_INT(ws_gc_session_fate(booted, used, ttl, at(0, 0)), WS_GC_SIGHT);
}

static void test_future(void)
{
	CHECK_INT(ws_gc_session_fate(at(0, 0), WALL + DAY * S, 1, never), WS_GC_DOUBT);
	CHECK_INT(ws_gc_session_fate(at(0, 0), WALL + 60 * S, 1, never), WS_GC_KEEP);
	CHECK_INT(ws_gc_session_fate(at(0, 0), UINT64_MAX, 1, at(0, 0)), WS_GC_DOUBT);
	CHECK(!ws_gc_is_old(at(0, 0), WALL + DAY * S, 1));
	CHECK(!ws_gc_is_old(at(0, 0), UINT64_MAX, 0));
	CHECK(ws_gc_is_old(at(0, 0), 0, DAY));
	CHECK(ws_gc_is_old(at(0, 0), WALL - DAY * S, DAY));
	CHECK(!ws_gc_is_old(at(0, 0), WALL - DAY * S + 1, DAY));
}

static void test_due(void)
{
	CHECK(!ws_gc_is_due(at(0, 0), 0, 0));
	CHECK(ws_gc_is_due(at(0, 0), 0, HOUR));
	CHECK(!ws_gc_is_due(at(0, 0), WALL - S, HOUR));
	CHECK(ws_gc_is_due(at(0, 0), WALL - HOUR * S, HOUR));
	CHECK(ws_gc_is_due(at(0, 0), WALL + DAY * S, HOUR));
}

static void test_refs(void)
{
	struct ws_refs r = WS_REFS_INIT;

	CHECK(ws_refs_count(&r, "a") == 0);
	ws_refs_settle(&r);
	for (int i = 0; i < 300; i++)
		ws_refs_add(&r, i % 3 ? "b" : "a");
	ws_refs_add(&r, "c");
	ws_refs_settle(&r);
	CHECK_INT(ws_refs_count(&r, "a"), 100);
	CHECK_INT(ws_refs_count(&r, "b"), 200);
	CHECK_INT(ws_refs_count(&r, "d"), 0);
	CHECK_INT(ws_refs_drop(&r, "c"), 0);
	CHECK_INT(ws_refs_drop(&r, "c"), 0);
	CHECK_INT(ws_refs_drop(&r, "a"), 99);
	CHECK_INT(ws_refs_count(&r, "a"), 99);
	ws_refs_release(&r);
}

int main(void)
{
	test_two_sightings();
	test_use_between();
	test_clock_steps();
	test_reboot();
	test_future();
	test_due();
	test_refs();
	return CHECK_DONE();
}
