/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "helper/archive.h"

#define MEMORY_MAX ((rlim_t)2 << 30) /* zstd may want 128 MiB of window, and no more */

/* What takes bytes from one descriptor to another, in memory of its own. */
static const int allowed[] = {
	SYS_read,	  SYS_write,	     SYS_close,	       SYS_brk,
	SYS_mmap,	  SYS_munmap,	     SYS_mremap,       SYS_madvise,
	SYS_futex,	  SYS_getrandom,     SYS_getpid,       SYS_gettid,
	SYS_exit,	  SYS_exit_group,    SYS_rt_sigaction, SYS_rt_sigprocmask,
	SYS_rt_sigreturn, SYS_clock_gettime, SYS_gettimeofday,
};

#define N_ALLOWED (sizeof(allowed) / sizeof(allowed[0]))

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCH AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define ARCH AUDIT_ARCH_S390X
#else
#define ARCH 0 /* which no call has: there nothing is read or written */
#endif

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define DENY (SECCOMP_RET_ERRNO | EPERM)

/* No file, no program, no process, no socket. */
static int load_filter(void)
{
	const struct sock_filter head[] = {
		LOAD(arch),
		IF_EQUAL(ARCH, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
	};
	enum { N_HEAD = sizeof(head) / sizeof(head[0]) };
	struct sock_filter rules[N_HEAD + N_ALLOWED + 2];
	struct sock_fprog program = { .filter = rules };
	unsigned short n = 0;

	for (size_t i = 0; i < N_HEAD; i++)
		rules[n++] = head[i];
	for (size_t i = 0; i < N_ALLOWED; i++) {
		uint8_t past = (uint8_t)(N_ALLOWED - i);

		rules[n++] = (struct sock_filter)IF_EQUAL(allowed[i], past, 0);
	}
	rules[n++] = (struct sock_filter)RETURN(DENY);
	rules[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	program.len = n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int ws_archive_give_up(struct ws_err *err)
{
	const struct rlimit none = { 0, 0 };
	const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return ws_fail_errno(err, "give up what is not needed");
#ifdef __SANITIZE_ADDRESS__ /* its shadow is larger, and it opens files */
	(void)memory;
	(void)load_filter;
	return 0;
#else
	if (setrlimit(RLIMIT_NOFILE, &none) < 0 || setrlimit(RLIMIT_AS, &memory) < 0)
		return ws_fail_errno(err, "give up what is not needed");
	if (load_filter() == 0)
		return 0;
	ws_fail_errno(err, "load the filter of wsiso-archive");
	err->kind = WS_SECCOMP_UNAVAILABLE;
	return -1;
#endif
}
