/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>

/* By number, as no header of the build host may stand between us and the kernel. */
#define NEWTIME 0x00000080u /* unshare alone: to clone these bits are a signal */
#define NEWNS 0x00020000u
#define NEWCGROUP 0x02000000u
#define NEWUTS 0x04000000u
#define NEWIPC 0x08000000u
#define NEWUSER 0x10000000u
#define NEWPID 0x20000000u
#define NEWNET 0x40000000u
#define NAMESPACES (NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET)

#define UNIX 1
#define INET 2
#define INET6 10
#define NETLINK 16
#define TYPE_MASK 0xf
#define STREAM 1
#define SEQPACKET 5
#define SYS_SOCKET 1
#define SYS_SOCKETPAIR 8
#define TIOCSTI 0x5412
#define TIOCLINUX 0x541c
#define SETLEASE 1024
#define SETDELEG 1040

#define ANY_ARG ALWAYS, 0, 0, { 0 }, 0
#define BITS(arg, bits) HAS_ANY, arg, ~0u, { bits }, 1
#define VALUES(...) \
	{ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)
#define IS(arg, ...) ONE_OF, arg, ~0u, VALUES(__VA_ARGS__)
#define IS_NOT(arg, ...) NONE_OF, arg, ~0u, VALUES(__VA_ARGS__)
#define MASKED_IS_NOT(arg, mask, ...) NONE_OF, arg, mask, VALUES(__VA_ARGS__)

#define PASS SECCOMP_RET_ALLOW
#define ERRNO(e) (SECCOMP_RET_ERRNO | (e))
#define REFUSE(e)                               \
	{                                       \
		SECCOMP_RET_LOG, ERRNO(e), PASS \
	}
#define UNSEEN(e)                    \
	{                            \
		PASS, ERRNO(e), PASS \
	} /* log mode keeps no record of it */
#define HOST(e)                      \
	{                            \
		PASS, PASS, ERRNO(e) \
	}
#define ALL_THREE(e)                                \
	{                                           \
		SECCOMP_RET_LOG, ERRNO(e), ERRNO(e) \
	}

#define LEASE "keeps the host from writing a file that the sandbox can read"

/* Where a rule is from. */
#define MOBY "moby profiles/seccomp/default.json"
#define FLATPAK "flatpak common/flatpak-run.c"
#define SYSTEMD "systemd src/shared/seccomp-util.c"
#define MAN(page) "man " page

/* clang-format off */
const struct rule rules[] = {
	/* Namespaces: in a user namespace of its own a payload has every capability. */
	{ "unshare", BITS(0, NAMESPACES | NEWTIME), REFUSE(EPERM), 0,
	  "new namespaces; files, filesystem data and semaphores may be unshared", MOBY },
	{ "clone", BITS(ARG_CLONE_FLAGS, NAMESPACES), REFUSE(EPERM), 0,
	  "new namespaces; processes and threads are let through", MOBY },
	{ "clone3", ANY_ARG, UNSEEN(ENOSYS), 0,
	  "its flags are in memory, where no filter sees them; every libc falls back to clone. "
	  "Each thread calls it: log mode would record little else", FLATPAK },
	{ "setns", ANY_ARG, REFUSE(EPERM), 0, "other namespaces", MOBY },

	/* Mounts. */
	{ "mount", ANY_ARG, REFUSE(EPERM), 0, "the old mount API", MOBY },
	{ "umount", ANY_ARG, REFUSE(EPERM), 0, "the old mount API", MOBY },
	{ "umount2", ANY_ARG, REFUSE(EPERM), 0, "the old mount API", MOBY },
	{ "pivot_root", ANY_ARG, REFUSE(EPERM), 0, "another root", MOBY },
	{ "chroot", ANY_ARG, REFUSE(EPERM), 0, "another root", MOBY },
	{ "open_tree", ANY_ARG, REFUSE(ENOSYS), 0, "the new mount API", FLATPAK },
	{ "open_tree_attr", ANY_ARG, REFUSE(ENOSYS), 0, "the new mount API", FLATPAK },
	{ "move_mount", ANY_ARG, REFUSE(ENOSYS), 0, "the new mount API", FLATPAK },
	{ "fsopen", ANY_ARG, REFUSE(ENOSYS), 0, "the new mount API", FLATPAK },
	{ "fsconfig", ANY_ARG, REFUSE(ENOSYS), 0, "the new mount API; CVE-2022-0185", FLATPAK },
	{ "fsmount", ANY_ARG, REFUSE(ENOSYS), 0, "the new mount API", FLATPAK },
	{ "fspick", ANY_ARG, REFUSE(ENOSYS), 0, "the new mount API", FLATPAK },
	{ "mount_setattr", ANY_ARG, REFUSE(ENOSYS), 0, "the new mount API", FLATPAK },

	/* Parts of the kernel with a history of holes; programs have other ways. */
	{ "io_uring_setup", ANY_ARG, ALL_THREE(EPERM), 0,
	  "io_uring does what no filter sees, and IORING_OP_SOCKET makes a socket; CVE-2022-29582",
	  "moby 46762" },
	{ "io_uring_enter", ANY_ARG, REFUSE(EPERM), 0, "io_uring", "moby 46762" },
	{ "io_uring_register", ANY_ARG, REFUSE(EPERM), 0, "io_uring", "moby 46762" },
	{ "bpf", ANY_ARG, REFUSE(EPERM), 0, "programs in the kernel; CVE-2021-3490", MOBY },
	{ "userfaultfd", ANY_ARG, REFUSE(EPERM), 0,
	  "holds the kernel up at a chosen place", MOBY },
	{ "perf_event_open", ANY_ARG, REFUSE(EPERM), 0, "CVE-2023-5717", MOBY },

	/* Keys: of the same user as the caller's. */
	{ "add_key", ANY_ARG, REFUSE(EPERM), 0, "keyrings are no namespace's", MOBY },
	{ "request_key", ANY_ARG, REFUSE(EPERM), 0, "keyrings; runs a program of the host", MOBY },
	{ "keyctl", ANY_ARG, REFUSE(EPERM), 0, "keyrings; CVE-2016-0728", MOBY },

	/* The machine: without capabilities the kernel itself refuses most of these. */
	{ "kexec_load", ANY_ARG, REFUSE(EPERM), 0, "another kernel", MOBY },
	{ "kexec_file_load", ANY_ARG, REFUSE(EPERM), 0, "another kernel", MOBY },
	{ "init_module", ANY_ARG, REFUSE(EPERM), 0, "kernel modules", MOBY },
	{ "finit_module", ANY_ARG, REFUSE(EPERM), 0, "kernel modules", MOBY },
	{ "delete_module", ANY_ARG, REFUSE(EPERM), 0, "kernel modules", MOBY },
	{ "create_module", ANY_ARG, REFUSE(EPERM), 0, "kernel modules", MOBY },
	{ "query_module", ANY_ARG, REFUSE(EPERM), 0, "kernel modules", MOBY },
	{ "get_kernel_syms", ANY_ARG, REFUSE(EPERM), 0, "kernel modules", MOBY },
	{ "open_by_handle_at", ANY_ARG, REFUSE(EPERM), 0,
	  "any file of a filesystem by its inode", "the hole called Shocker" },
	{ "fanotify_init", ANY_ARG, REFUSE(EPERM), 0, "watches whole filesystems", MOBY },
	{ "quotactl", ANY_ARG, REFUSE(EPERM), 0, "quotas of the host's filesystems", MOBY },
	{ "quotactl_fd", ANY_ARG, REFUSE(EPERM), 0, "quotas of the host's filesystems", MOBY },
	{ "acct", ANY_ARG, REFUSE(EPERM), 0, "accounting of the host's processes", MOBY },
	{ "swapon", ANY_ARG, REFUSE(EPERM), 0, "swap", MOBY },
	{ "swapoff", ANY_ARG, REFUSE(EPERM), 0, "swap", MOBY },
	{ "reboot", ANY_ARG, REFUSE(EPERM), 0, "the machine", MOBY },
	{ "syslog", ANY_ARG, REFUSE(EPERM), 0, "the kernel's log and its addresses", MOBY },
	{ "settimeofday", ANY_ARG, REFUSE(EPERM), 0, "the clock", MOBY },
	{ "clock_settime", ANY_ARG, REFUSE(EPERM), 0, "the clock", MOBY },
	{ "clock_settime64", ANY_ARG, REFUSE(EPERM), 0, "the clock", MOBY },
	{ "clock_adjtime", ANY_ARG, REFUSE(EPERM), 0, "the clock", SYSTEMD },
	{ "clock_adjtime64", ANY_ARG, REFUSE(EPERM), 0, "the clock", SYSTEMD },
	{ "adjtimex", ANY_ARG, REFUSE(EPERM), 0, "the clock", SYSTEMD },
	{ "stime", ANY_ARG, REFUSE(EPERM), 0, "the clock", MOBY },

	/* Entry points that nothing of today needs. */
	{ "iopl", ANY_ARG, REFUSE(EPERM), 0, "I/O ports", MOBY },
	{ "ioperm", ANY_ARG, REFUSE(EPERM), 0, "I/O ports", MOBY },
	{ "modify_ldt", ANY_ARG, REFUSE(EPERM), 0, "16-bit segments; CVE-2017-17053", SYSTEMD },
	{ "vm86", ANY_ARG, REFUSE(EPERM), 0, "16-bit mode", MOBY },
	{ "vm86old", ANY_ARG, REFUSE(EPERM), 0, "16-bit mode", MOBY },
	{ "uselib", ANY_ARG, REFUSE(EPERM), 0, "obsolete; CVE-2004-1235", MOBY },
	{ "ustat", ANY_ARG, REFUSE(EPERM), 0, "obsolete", MOBY },
	{ "sysfs", ANY_ARG, REFUSE(EPERM), 0, "obsolete", MOBY },
	{ "_sysctl", ANY_ARG, REFUSE(EPERM), 0, "obsolete", MOBY },
	{ "lookup_dcookie", ANY_ARG, REFUSE(EPERM), 0, "obsolete", MOBY },
	{ "nfsservctl", ANY_ARG, REFUSE(EPERM), 0, "obsolete", MOBY },
	{ "bdflush", ANY_ARG, REFUSE(EPERM), 0, "obsolete", SYSTEMD },
	{ "pciconfig_iobase", ANY_ARG, REFUSE(EPERM), 0, "PCI devices", SYSTEMD },
	{ "pciconfig_read", ANY_ARG, REFUSE(EPERM), 0, "PCI devices", SYSTEMD },
	{ "pciconfig_write", ANY_ARG, REFUSE(EPERM), 0, "PCI devices", SYSTEMD },
	{ "rtas", ANY_ARG, REFUSE(EPERM), 0, "the firmware", SYSTEMD },
	{ "s390_pci_mmio_read", ANY_ARG, REFUSE(EPERM), 0, "PCI devices", SYSTEMD },
	{ "s390_pci_mmio_write", ANY_ARG, REFUSE(EPERM), 0, "PCI devices", SYSTEMD },

	/*
	 * Sockets. AF_VSOCK is no network namespace's and reaches the hypervisor; AF_ALG
	 * and the rest are code that a payload would have loaded by asking for it.
	 */
	{ "socket", IS_NOT(0, UNIX, INET, INET6, NETLINK), REFUSE(EAFNOSUPPORT), 0,
	  "AF_VSOCK (no network namespace holds it), AF_ALG (CVE-2026-31431), all but the usual",
	  "moby 44562, 52494" },
	{ "socketpair", IS_NOT(0, UNIX, INET, INET6, NETLINK), REFUSE(EAFNOSUPPORT), 0,
	  "AF_TIPC has pairs as well", "net/tipc/socket.c" },
	{ "socketcall", IS(0, SYS_SOCKET), REFUSE(EPERM), ON(ABI_I386) | ON(ABI_PPC64LE),
	  "the family is in memory, so all of them; on s390x, whose libc has no other way, none",
	  "moby 52494" },

	/* Terminals: what is typed into one runs outside. */
	{ "ioctl", IS(1, TIOCSTI, TIOCLINUX), REFUSE(EPERM), 0,
	  "types into a terminal, pastes on a console; CVE-2017-5226, CVE-2023-28100", FLATPAK },

	/*
	 * Leases: who opens such a file to write waits for its holder, 45 s each
	 * time, and a file that is only read can have one.
	 */
	{ "fcntl", IS(1, SETLEASE, SETDELEG), ALL_THREE(EPERM), 0, LEASE,
	  "fs/locks.c" },
	{ "fcntl64", IS(1, SETLEASE, SETDELEG), ALL_THREE(EPERM), 0, LEASE,
	  "fs/locks.c" },

	/*
	 * Mode host_readonly, where the host's unix sockets are in sight. A datagram
	 * socket of a pair could be connected anew, or send to any address; SOCK_RAW is
	 * one, too.
	 */
	{ "socket", IS_NOT(0, INET, INET6, NETLINK), HOST(EACCES), 0,
	  "AF_UNIX: a read-only mount keeps nobody from connecting; AF_VSOCK and the rest",
	  "contract, section 5" },
	{ "socketpair", IS_NOT(0, UNIX), HOST(EAFNOSUPPORT), 0, "AF_TIPC and the rest",
	  "contract, section 5" },
	{ "socketpair", MASKED_IS_NOT(1, TYPE_MASK, STREAM, SEQPACKET), HOST(EACCES), 0,
	  "a datagram socket of a pair can send anywhere", "net/unix/af_unix.c" },
	{ "socketcall", IS(0, SYS_SOCKET, SYS_SOCKETPAIR), HOST(EACCES), 0,
	  "family and type are in memory", "contract, section 5" },
};
/* clang-format on */

const size_t rules_count = sizeof(rules) / sizeof(rules[0]);

#define NONE (-1)
#define SYSCALL(name, ...) { #name, { __VA_ARGS__ }, false },
#define NEW_SYSCALL(name, ...) { #name, { __VA_ARGS__ }, true },
const struct call calls[] = {
#include "syscalls.tbl"
};
#undef SYSCALL
#undef NEW_SYSCALL

const size_t calls_count = sizeof(calls) / sizeof(calls[0]);

const struct machine machines[] = {
	{ "x86_64", ABI_X86_64, ABI_I386, false },
	{ "aarch64", ABI_AARCH64, ABI_ARM, false },
	{ "riscv64", ABI_RISCV64, ABI_RISCV64, false },
	{ "ppc64le", ABI_PPC64LE, ABI_PPC64LE, false },
	{ "s390x", ABI_S390X, ABI_S390X, true },
};

const size_t machines_count = sizeof(machines) / sizeof(machines[0]);

const uint32_t abi_audit_arch[ABIS] = {
	[ABI_X86_64] = AUDIT_ARCH_X86_64,   [ABI_X32] = AUDIT_ARCH_X86_64,
	[ABI_I386] = AUDIT_ARCH_I386,	    [ABI_AARCH64] = AUDIT_ARCH_AARCH64,
	[ABI_ARM] = AUDIT_ARCH_ARM,	    [ABI_RISCV64] = AUDIT_ARCH_RISCV64,
	[ABI_PPC64LE] = AUDIT_ARCH_PPC64LE, [ABI_S390X] = AUDIT_ARCH_S390X,
};

const char *const abi_names[ABIS] = {
	"x86_64", "x32", "i386", "aarch64", "arm", "riscv64", "ppc64le", "s390x",
};

const char *const filter_names[FILTERS] = { "log", "enforce", "host" };

const struct call *call_find(const char *name)
{
	for (size_t i = 0; i < calls_count; i++)
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	return NULL;
}

unsigned rule_arg(const struct rule *r, enum abi abi)
{
	if (r->arg != ARG_CLONE_FLAGS)
		return r->arg;
	return abi == ABI_S390X ? 1 : 0; /* CONFIG_CLONE_BACKWARDS2 */
}

bool rule_is_for(const struct rule *r, enum abi abi)
{
	return !r->abis || r->abis & ON(abi);
}
