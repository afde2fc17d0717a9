/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_TESTS_UNIT_GOLDEN_H
#define WS_TESTS_UNIT_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fs.h"
#include "check.h"

/*
 * CHECK_GOLDEN(name, text): TEXT is what the file tests/golden/NAME holds. With
 * WSISO_GOLDEN_UPDATE=1 it is written instead: look at the difference before you commit.
 */
static inline void check_golden(const char *name, const char *text, const char *file,
				int line)
{
	const char *top = getenv("WSISO_SRCDIR");
	WS_AUTO_FREE char *path = ws_format("%s/tests/golden/%s", top ? top : ".", name);
	WS_AUTO(ws_buf) struct ws_buf want = WS_BUF_INIT;
	FILE *f = fopen(path, getenv("WSISO_GOLDEN_UPDATE") ? "w+" : "r");

	MUST(f);
	if (getenv("WSISO_GOLDEN_UPDATE"))
		MUST(fputs(text, f) >= 0 && fflush(f) == 0 && fseek(f, 0, SEEK_SET) == 0);
	MUST(ws_read_fd(fileno(f), 1 << 20, &want) == 0);
	fclose(f);
	check_str(text, ws_buf_str(&want), name, file, line);
}

#define CHECK_GOLDEN(name, text) check_golden((name), (text), __FILE__, __LINE__)

#endif
