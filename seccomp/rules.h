/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_SECCOMP_RULES_H
#define WS_SECCOMP_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the filters refuse: the rows that the generator turns into programs, and that the
 * tests hold these against. Nothing here depends on the machine it is built on.
 */

/* One program for each of these and each architecture. */
enum filter {
	FILTER_LOG,	/* sandbox.seccomp "log": record, allow */
	FILTER_ENFORCE, /* "enforce": refuse */
	FILTER_HOST,	/* besides, in mode host_readonly */
	FILTERS
};

/* In the order of the columns of syscalls.tbl. */
enum abi {
	ABI_X86_64,
	ABI_X32,
	ABI_I386,
	ABI_AARCH64,
	ABI_ARM,
	ABI_RISCV64,
	ABI_PPC64LE,
	ABI_S390X,
	ABIS
};

#define ON(abi) (1u << (abi))

/* An x32 call is one of x86_64's architecture with this bit in its number. */
#define X32_BIT 0x40000000u

/*
 * An architecture: its own ABI, and another that its kernel runs as well. What comes by
 * any other is killed (with SIGSYS), by each of the filters: nobody knows what it means.
 */
struct machine {
	const char *name; /* of the files: NAME.FILTER.bpf */
	enum abi native;
	enum abi foreign; /* the same as native: none */
	bool big_endian;
};

enum when {
	ALWAYS,
	HAS_ANY, /* of the bits in values[0] */
	ONE_OF,	 /* the values */
	NONE_OF,
};

#define VALUES_MAX 6

/*
 * Of several rows for one call the first that applies counts. An argument is compared in
 * its low 32 bits, after MASK: more than these no kernel looks at in the calls below.
 */
struct rule {
	const char *call;
	enum when when;
	unsigned arg;
	uint32_t mask;
	uint32_t values[VALUES_MAX];
	size_t nvalues;
	uint32_t action[FILTERS]; /* SECCOMP_RET_* */
	unsigned abis;		  /* ON(...); 0: all that have the call */
	const char *why, *source;
};

/* clone's flags are its first argument, but on s390x the second. */
#define ARG_CLONE_FLAGS 6u

/* A call's numbers, -1 where an ABI does not have it. */
struct call {
	const char *name;
	int nr[ABIS];
	bool is_new; /* no libseccomp that is in use knows it */
};

extern const struct rule rules[];
extern const size_t rules_count;
extern const struct call calls[];
extern const size_t calls_count;
extern const struct machine machines[];
extern const size_t machines_count;
extern const uint32_t abi_audit_arch[ABIS];
extern const char *const abi_names[ABIS];
extern const char *const filter_names[FILTERS];

const struct call *call_find(const char *name);
unsigned rule_arg(const struct rule *r, enum abi abi);
bool rule_is_for(const struct rule *r, enum abi abi);

#endif
