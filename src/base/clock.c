/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static uint64_t read_ns(clockid_t id)
{
	struct timespec ts = { 0 };

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t ws_clock_wall_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

uint64_t ws_clock_mono_ms(void)
{
	return read_ns(CLOCK_MONOTONIC) / 1000000u;
}

uint64_t ws_clock_boot_ms(void)
{
	return read_ns(CLOCK_BOOTTIME) / 1000000u;
}

void ws_clock_rfc3339(uint64_t wall_ns, char out[WS_TIME_LEN])
{
	time_t seconds = (time_t)(wall_ns / 1000000000u);
	unsigned micros = (unsigned)(wall_ns % 1000000000u / 1000u);
	struct tm tm = { 0 };
	size_t len;

	gmtime_r(&seconds, &tm);
	len = strftime(out, WS_TIME_LEN, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + len, WS_TIME_LEN - len, ".%06uZ", micros);
}

void ws_clock_age(uint64_t seconds, char out[WS_TIME_LEN])
{
	uint64_t value = seconds;
	const char *unit = "s";

	if (seconds >= 2 * 86400u) {
		value = seconds / 86400u;
		unit = "d";
	} else if (seconds >= 2 * 3600u) {
		value = seconds / 3600u;
		unit = "h";
	} else if (seconds >= 2 * 60u) {
		value = seconds / 60u;
		unit = "min";
	}
	snprintf(out, WS_TIME_LEN, "%" PRIu64 " %s", value, unit);
}

void ws_clock_sleep_ms(uint64_t ms)
{
	struct timespec left = {
		.tv_sec = (time_t)(ms / 1000u),
		.tv_nsec = (long)(ms % 1000u) * 1000000,
	};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		continue;
}
