/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_PROCS_H
#define WS_CORE_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/proc.h"
#include "core/sandbox.h"

/*
 * The processes of a sandbox as the host sees them. What wsiso runs there itself, init
 * and the shepherds, is told from what commands run: a shepherd is a child of init (or
 * still of wsiso outside) that runs init's own program, and all below it is its exec's.
 */
struct ws_process {
	pid_t pid, parent; /* the host's */
	uint64_t start;	   /* clock ticks since boot */
	char state;	   /* R S D T Z ... */
	bool ours;	   /* init, a shepherd, or one on its way in */
	pid_t shepherd;	   /* of its exec; 0: none is left */
};

struct ws_procs {
	struct ws_process *v;
	size_t n;
};

#define WS_PROCS_INIT ((struct ws_procs){ 0 })

void ws_procs_release(struct ws_procs *p);
int ws_procs_list(const struct ws_sandbox *sb, struct ws_procs *ret, struct ws_err *err);
/*
 * Signals what commands run, all of it or only what SHEPHERD has below it. KILL is
 * repeated until nothing of it is left. *ret_n: how many processes were there at first.
 */
int ws_procs_signal(const struct ws_sandbox *sb, const struct ws_proc_id *shepherd,
		    int sig, size_t *ret_n, struct ws_err *err);
/* ns since 1970 at which it began. */
uint64_t ws_process_began(const struct ws_process *p);
/*
 * Its arguments, joined by blanks, or its name in brackets; raw bytes. The caller frees.
 */
char *ws_process_command(const struct ws_process *p);

#endif
