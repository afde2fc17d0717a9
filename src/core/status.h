/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_STATUS_H
#define WS_CORE_STATUS_H

#include <stdbool.h>

#include "base/err.h"
#include "core/receipt.h"
#include "core/sandbox.h"
#include "core/session.h"
#include "core/supervise.h"

/*
 * What a caller of exec learns apart from the output: JSON lines on --status-fd and
 * in --status-file, and --pid-file.
 */
struct ws_status {
	int fd, file; /* -1: not asked for */
	int pid_dir;
	const char *pid_name; /* in PID_DIR; NULL: no pid file */
};

#define WS_STATUS_INIT ((struct ws_status){ .fd = -1, .file = -1, .pid_dir = -1 })

/*
 * FD -1 and FILE NULL: none. FD becomes close-on-exec and stays the caller's. Everything
 * that can fail for the caller's mistake fails here. The strings must outlive it.
 */
int ws_status_open(int fd, const char *file, const char *pid_file, struct ws_status *ret,
		   struct ws_err *err);
void ws_status_release(struct ws_status *st);
/*
 * Replaces the pid file, if one is wanted. What cannot be written here and below is a
 * warning.
 */
void ws_status_pid(const struct ws_status *st, pid_t pid);
/* Is there anybody who wants lines, and so a receipt? */
bool ws_status_wanted(const struct ws_status *st);
void ws_status_started(const struct ws_status *st, const char *exec_id, pid_t pid,
		       const struct ws_session *s, const struct ws_sandbox *sb,
		       const struct ws_receipt *receipt);
void ws_status_exited(const struct ws_status *st, const char *exec_id,
		      const struct ws_outcome *outcome, const char *cause);
/* EXEC_ID may be NULL. STATUS 137: it was lost as it began, and may have run. */
void ws_status_failed(const struct ws_status *st, const char *exec_id, int status,
		      const struct ws_err *err);

#endif
