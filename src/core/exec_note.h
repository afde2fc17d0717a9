/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_EXEC_NOTE_H
#define WS_CORE_EXEC_NOTE_H

#include "core/exec.h"
#include "core/execrec.h"
#include "core/session.h"
#include "core/supervise.h"

/*
 * One exec's record, as it goes on. The command is what matters: a record that cannot be
 * written is a warning, once, and a full disk is no reason to refuse it, since it may be
 * what makes room again.
 */
struct ws_exec_note {
	struct ws_execrec record;
	int fd; /* -1: it runs without */
};

#define WS_EXEC_NOTE_INIT ((struct ws_exec_note){ .fd = -1 })

void ws_exec_note_release(struct ws_exec_note *n);
/* usage if OPTS' exec id is none or taken. n->record.id is set even on a full disk. */
int ws_exec_note_begin(struct ws_exec_note *n, const struct ws_session *s,
		       const struct ws_exec_opts *opts, struct ws_err *err);
void ws_exec_note_running(struct ws_exec_note *n, pid_t shepherd, pid_t command);
/* CAUSE: NULL: what O says. */
void ws_exec_note_ended(struct ws_exec_note *n, const struct ws_outcome *o,
			const char *cause);
void ws_exec_note_failed(struct ws_exec_note *n, int status, const struct ws_err *err);

#endif
