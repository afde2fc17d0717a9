/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hit.h"

#include <ctype.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define X32_BIT 0x40000000u
#define NONE (-1) /* in syscalls.tbl */

/* The calls that the filters know, in the order of seccomp/syscalls.tbl. */
enum { X86_64, X32, I386, AARCH64, ARM, RISCV64, PPC64LE, S390X, ABIS };

static const struct {
	const char *name;
	int nr[ABIS];
} calls[] = {
#define SYSCALL(name, ...) { #name, { __VA_ARGS__ } },
#define NEW_SYSCALL SYSCALL
#include "seccomp/syscalls.tbl"
#undef NEW_SYSCALL
#undef SYSCALL
};

static const struct {
	const char *name;
	uint32_t arch;
} abis[ABIS] = {
	[X86_64] = { "x86_64", AUDIT_ARCH_X86_64 },
	[X32] = { "x32", 0 }, /* by a bit of the number */
	[I386] = { "i386", AUDIT_ARCH_I386 },
	[AARCH64] = { "aarch64", AUDIT_ARCH_AARCH64 },
	[ARM] = { "arm", AUDIT_ARCH_ARM },
	[RISCV64] = { "riscv64", AUDIT_ARCH_RISCV64 },
	[PPC64LE] = { "ppc64le", AUDIT_ARCH_PPC64LE },
	[S390X] = { "s390x", AUDIT_ARCH_S390X },
};

/* The value of " KEY=", or NULL. */
static const char *value_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = strstr(text, key); at; at = strstr(at + 1, key))
		if (at > text && at[-1] == ' ' && at[len] == '=')
			return at + len + 1;
	return NULL;
}

static uint64_t number_of(const char *text, const char *key, int base)
{
	const char *value = value_of(text, key);

	return value ? strtoull(value, NULL, base) : 0;
}

/* In quotes, or as hexadecimal digits where a byte is odd. */
static void read_comm(const char *text, char *out, size_t size)
{
	const char *value = value_of(text, "comm");
	size_t n = 0;
	unsigned byte;

	if (value && *value == '"')
		for (value++; *value && *value != '"' && n + 1 < size; value++)
			out[n++] = *value;
	else
		while (value && n + 1 < size && isxdigit((unsigned char)value[0]) &&
		       isxdigit((unsigned char)value[1]) &&
		       sscanf(value, "%2x", &byte) == 1) {
			out[n++] = (char)byte;
			value += 2;
		}
	out[n] = '\0';
}

/* "audit(SECONDS.MS:SERIAL)" */
static bool read_time(const char *text, uint64_t *ret)
{
	const char *at = strstr(text, "audit(");
	unsigned long long seconds;
	unsigned ms;

	if (!at || sscanf(at, "audit(%11llu.%3u:", &seconds, &ms) != 2)
		return false;
	*ret = seconds * 1000000000ull + ms * 1000000ull;
	return true;
}

bool ws_hit_parse(const char *line, size_t len, struct ws_hit *ret)
{
	WS_AUTO_FREE char *text = ws_strndup(line, len);
	const char *record = strstr(text, "type=1326 ");

	if (!record)
		record = strstr(text, "type=SECCOMP ");
	*ret = (struct ws_hit){ 0 };
	if (!record || !read_time(record, &ret->time) || !value_of(record, "pid") ||
	    !value_of(record, "uid") || !value_of(record, "arch"))
		return false;
	ret->pid = (pid_t)number_of(record, "pid", 10);
	ret->uid = (uid_t)number_of(record, "uid", 10);
	ret->arch = (uint32_t)number_of(record, "arch", 16);
	ret->nr = (uint32_t)number_of(record, "syscall", 10);
	ret->code = (uint32_t)number_of(record, "code", 16);
	read_comm(record, ret->comm, sizeof(ret->comm));
	return ret->pid > 0;
}

/* ABIS: an architecture that the filters do not know. */
static int abi_of(const struct ws_hit *hit)
{
	int abi = 0;

	if (hit->arch == AUDIT_ARCH_X86_64 && hit->nr & X32_BIT)
		return X32;
	while (abi < ABIS && abis[abi].arch != hit->arch)
		abi++;
	return abi;
}

const char *ws_hit_call(const struct ws_hit *hit, char buf[16])
{
	int abi = abi_of(hit);
	int nr = (int)(abi == X32 ? hit->nr & ~X32_BIT : hit->nr);

	for (size_t i = 0; abi < ABIS && i < WS_ARRAY_SIZE(calls); i++)
		if (calls[i].nr[abi] == nr || (abi == X32 && calls[i].nr[X86_64] == nr) ||
		    (abi == X86_64 && calls[i].nr[X32] == nr))
			return calls[i].name;
	snprintf(buf, 16, "%u", hit->nr);
	return buf;
}

const char *ws_hit_abi(const struct ws_hit *hit)
{
	int abi = abi_of(hit);

	return abi < ABIS ? abis[abi].name : "unknown";
}

const char *ws_hit_action(const struct ws_hit *hit)
{
	switch (hit->code & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_ALLOW:
		return "allowed";
	case SECCOMP_RET_KILL_PROCESS:
	case SECCOMP_RET_KILL_THREAD:
		return "killed";
	default:
		return "refused";
	}
}
