/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CMD_PAGER_H
#define WS_CMD_PAGER_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Text for people: through $WSISO_PAGER, $PAGER or less where stdout is a terminal and
 * the text is longer than it; else, and if there is no such program, just out. The pager
 * is one word, a program; "" and "cat" mean none.
 */
int ws_pager_show(const struct ws_buf *text, struct ws_err *err);

#endif
