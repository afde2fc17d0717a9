/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CMD_FOLLOW_H
#define WS_CMD_FOLLOW_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* A log that is printed, to a terminal with its control bytes escaped. */
struct ws_follow {
	int log;	    /* for reading; -1: nothing was logged as yet */
	struct ws_buf rest; /* read, not yet out */
};

#define WS_FOLLOW_INIT ((struct ws_follow){ .log = -1 })

void ws_follow_release(struct ws_follow *r);
/* Prints all that is in the file by now; LAST: no more will come. */
int ws_follow_copy(struct ws_follow *r, bool last, struct ws_err *err);
/* Waits a moment for more. False: nobody reads what we print. */
bool ws_follow_pause(void);

#endif
