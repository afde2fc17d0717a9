/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_CLOCK_H
#define WS_BASE_CLOCK_H

#include <stdint.h>

#define WS_TIME_LEN 32 /* "2026-11-30T21:45:09.123456Z" fits */

uint64_t ws_clock_wall_ns(void); /* CLOCK_REALTIME since 1970 */
uint64_t ws_clock_mono_ms(void); /* CLOCK_MONOTONIC */
uint64_t ws_clock_boot_ms(void); /* CLOCK_BOOTTIME: counts suspend too */
void ws_clock_rfc3339(uint64_t wall_ns, char out[WS_TIME_LEN]); /* UTC, microseconds */
/* "3 min", "2 h", "5 d": an age for tables. */
void ws_clock_age(uint64_t seconds, char out[WS_TIME_LEN]);
void ws_clock_sleep_ms(uint64_t ms);

#endif
