/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CMD_PROGRESS_H
#define WS_CMD_PROGRESS_H

#include "base/err.h"
#include "core/progress.h"

/*
 * How long work goes, on stderr. FORM is what --progress names: "text", "json" (a line
 * for each event) or "none"; NULL: text on a terminal, else none. usage.
 */
int ws_progress_open(const char *form, struct ws_progress *ret, struct ws_err *err);

/* The option's row. */
#define WS_PROGRESS_ROW(target)                                    \
	{                                                          \
		0, "progress", WS_OPT_STR, target, "FORM",         \
			"how it goes, on stderr: text, json, none" \
	}

#endif
