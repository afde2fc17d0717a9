/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_HIT_H
#define WS_CORE_HIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What the filter of a session has met, as the kernel's log has it: records of type 1326
 * (SECCOMP), in the form of /dev/kmsg, of dmesg or of auditd. The kernel drops some when
 * there are many, and names no session: a record is told by user, PID and time.
 */
struct ws_hit {
	uint64_t time; /* ns since 1970 */
	pid_t pid;     /* the host's */
	uid_t uid;
	uint32_t arch; /* AUDIT_ARCH_* */
	uint32_t nr;
	uint32_t code;	/* SECCOMP_RET_* */
	char comm[64];	/* raw bytes that a payload has chosen */
	char exec[129]; /* the exec it is of for sure, or "" */
};

/* Is this line (of LEN bytes) such a record? EXEC stays "". */
bool ws_hit_parse(const char *line, size_t len, struct ws_hit *ret);
/* "unshare", or the number as text in BUF if it is none of the rules'. */
const char *ws_hit_call(const struct ws_hit *hit, char buf[16]);
/* "x86_64", "i386", "x32" ..., or "unknown" */
const char *ws_hit_abi(const struct ws_hit *hit);
/* "allowed", "refused" or "killed" */
const char *ws_hit_action(const struct ws_hit *hit);

#endif
