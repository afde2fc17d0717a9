/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SANDBOX_RECORD_H
#define WS_CORE_SANDBOX_RECORD_H

#include <stdint.h>

#include "base/err.h"
#include "base/proc.h"
#include "core/session.h"

/*
 * The live form of a session: namespaces built by bwrap, parked under wsiso-init. The
 * lease "use" is held shared by init and by whoever is on his way in; a second sandbox
 * needs it exclusively and the old init's death.
 */
struct ws_sandbox {
	int pidfd; /* of init; -1: none */
	int use;   /* the joiner's own shared hold: close it once the command is inside */
	int owner; /* of a run's: when the last copy is closed it ends; else -1 */
	pid_t monitor; /* bwrap's process outside, our child; 0: another's */
	struct ws_proc_id init;
	uint64_t nsflags; /* CLONE_NEW*: what setns has to join */
	uint64_t protocol;
	uint64_t started; /* ns since 1970 */
	char *policy;	  /* canonical text it was started with */
	char *label;	  /* LSM label of init, or "" */
	char *filter;	  /* digest of the system call filters of init, or "" */
	char *keyring;	  /* name of its session keyring */
	char *bwrap, *bwrap_version, *build;
	char *cgroup; /* the folder of the session's own; NULL: that of its starter */
};

#define WS_SANDBOX_INIT ((struct ws_sandbox){ .pidfd = -1, .use = -1, .owner = -1 })

void ws_sandbox_release(struct ws_sandbox *sb);

/*
 * sessions/ID/sandbox.json: who the session's init is and how its sandbox was made. No
 * fsync: it carries the boot id. A record of a dead init is left where it is.
 */
/* 1: read into RET (no descriptor opened), 0: none or of another boot, -1. */
int ws_sandbox_record_load(const struct ws_session *s, struct ws_sandbox *ret,
			   struct ws_err *err);
int ws_sandbox_record_save(const struct ws_session *s, const struct ws_sandbox *sb,
			   struct ws_err *err);

#endif
