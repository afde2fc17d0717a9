/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_CHECK_H
#define WS_CORE_CHECK_H

#include <stdbool.h>

#include "core/root.h"

/*
 * `wsiso check`: proves on this host, as this user and on the real root, that sandboxes
 * can be had. Each probe really does its thing, in a process of its own with a time
 * limit.
 */
enum ws_check_status { WS_CHECK_OK, WS_CHECK_WARNING, WS_CHECK_FAILED };

struct ws_check_item {
	const char *id; /* stable: a constant */
	enum ws_check_status status;
	char detail[512];
	char remedy[512]; /* or empty */
};

const char *ws_check_status_name(enum ws_check_status status);
/* How many probes there are; ITEMS of ws_check_run holds as many. */
size_t ws_check_count(void);
/* Runs all. Returns true if the host is usable: nothing failed. */
bool ws_check_run(const struct ws_root *root, const struct ws_spec *spec,
		  struct ws_check_item *items);

#endif
