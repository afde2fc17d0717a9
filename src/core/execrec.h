/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_EXECREC_H
#define WS_CORE_EXECREC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/proc.h"
#include "base/strv.h"
#include "core/session.h"

/*
 * What is kept of one exec: execs/ID.jsonl, no fsync (it carries the boot id). Each
 * change is a line of its own and the last whole line counts: appending never shows a
 * reader a part, never lacks the space, and costs a twentieth of a new file renamed over
 * an old one, which ext4 writes out at once. The last 200 of a session stay, those that
 * still run not counted. No argument and no environment value is kept: argv[0] alone.
 */
#define WS_EXECREC_KEEP 200

struct ws_execrec {
	uint64_t version;
	char *id;
	char *command; /* argv[0] */
	char *state;   /* "starting" "running" "exited" "failed" */
	/* the host's PIDs: wsiso itself, the shepherd, the command; pid 0: not known */
	struct ws_proc_id supervisor, shepherd, process;
	uint64_t started, ended; /* ns since 1970, 0: not yet */
	uint64_t status;	 /* exit status as wsiso returned it */
	char *cause; /* "" "timeout" "sandbox-lost" "signal", or an error's kind */
	bool tty, detached;
};

#define WS_EXECREC_INIT ((struct ws_execrec){ 0 })

void ws_execrec_release(struct ws_execrec *r);
/* usage error unless ID has the form of a session's id */
int ws_execrec_check_id(const char *id, struct ws_err *err);
/*
 * Begins the record: usage error if the session has one of that id. *ret_fd: for append.
 */
int ws_execrec_create(const struct ws_session *s, const struct ws_execrec *r, int *ret_fd,
		      struct ws_err *err);
int ws_execrec_append(int fd, const struct ws_execrec *r, struct ws_err *err);
/*
 * exec-missing, state-corrupt, state-version. Of one whose wsiso was killed before it
 * could say how the command ended, and which has, STATE is "exited" with status 137 and
 * cause "sandbox-lost".
 */
int ws_execrec_load(const struct ws_session *s, const char *id, struct ws_execrec *ret,
		    struct ws_err *err);
/* Has its command ended, or never begun? */
bool ws_execrec_ended(const struct ws_execrec *r);
/* Is anything of it left: the shepherd lives as long as one process of its tree does. */
bool ws_execrec_alive(const struct ws_execrec *r);
/* Ids, oldest first. */
int ws_execrec_list(const struct ws_session *s, struct ws_strv *ret, struct ws_err *err);
/* Drops the oldest beyond WS_EXECREC_KEEP, records and logs. */
void ws_execrec_prune(const struct ws_session *s);

#endif
