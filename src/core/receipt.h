/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_RECEIPT_H
#define WS_CORE_RECEIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/jsonw.h"
#include "core/sandbox.h"
#include "core/session.h"

/*
 * What was in force, for the caller: read back from the kernel, from outside, and the
 * digests of what was handed over.
 */
#define WS_RECEIPT_NAMESPACES 8
#define WS_RECEIPT_RLIMITS 16

struct ws_receipt {
	uint64_t namespaces[WS_RECEIPT_NAMESPACES]; /* inode numbers */
	char caps[5][17]; /* inheritable permitted effective bounding ambient, as hex */
	bool no_new_privs;
	uint64_t seccomp_mode, seccomp_filters;
	const char *seccomp; /* ws_filter_mode() of what was asked for; a constant */
	char *filter;	     /* digest of the filters that were handed over, or "" */
	uint64_t soft[WS_RECEIPT_RLIMITS],
		hard[WS_RECEIPT_RLIMITS]; /* UINT64_MAX: none */
	char *cgroup;
	bool scoped; /* by Landlock: what nobody can read back, but nothing ran without */
};

#define WS_RECEIPT_INIT ((struct ws_receipt){ 0 })

void ws_receipt_release(struct ws_receipt *r);
/* All but SECCOMP and FILTER. -1 and errno (ESRCH: it has ended meanwhile). */
int ws_receipt_read(pid_t pid, struct ws_receipt *ret);

/* The members of an object that is open: what the kernel said; */
void ws_receipt_print(struct ws_jsonw *w, const struct ws_receipt *r);
/* what wsiso knows: network, snapshots, digests, bwrap, build. */
void ws_receipt_print_facts(struct ws_jsonw *w, const struct ws_session *s,
			    const struct ws_sandbox *sb, const struct ws_receipt *r);
/* Both, about a live sandbox as its init has them, with pid and start, as an object. */
void ws_receipt_sandbox(struct ws_jsonw *w, const char *key, const struct ws_session *s,
			const struct ws_sandbox *sb);

#endif
