/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_EXECLOG_H
#define WS_CORE_EXECLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/session.h"

/*
 * The log of one exec, execs/ID.log: the output of a command in the background, or of
 * what another left there. Bounded; what comes after is read and dropped, so no writer
 * ever sees a broken pipe. Its writer holds a lock on it.
 */
#define WS_EXECLOG_MAX (8u << 20)

/* Opened for appending and locked; made if absent. *ret_room: bytes it still takes. */
int ws_execlog_open(const struct ws_session *s, const char *exec_id, int *ret_fd,
		    uint64_t *ret_room, struct ws_err *err);
/* For reading; -1 and errno (ENOENT: nothing was ever logged). */
int ws_execlog_read(const struct ws_session *s, const char *exec_id);
/* Does somebody still write to it? FD is from ws_execlog_read. */
bool ws_execlog_is_live(int fd);
/*
 * A process of its own, with no descriptor but these, copies from OUT and ERRS (-1: none)
 * to LOG (-1: nowhere) until nobody has them open for writing. -1 and errno.
 */
int ws_execlog_follow(int log, uint64_t room, int out, int errs);

#endif
