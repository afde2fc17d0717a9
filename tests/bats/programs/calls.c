/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls ABI: really makes system calls, with arguments that do no harm, and prints for
 * each a name and what came of it ("ok" or an errno). ABI: native, x32 (numbers with
 * x32's bit), old (x32's own numbers without it, x86_64's with it), i386 (by int $0x80).
 * calls ABI expected: what has to come of it under the filter "enforce".
 *
 * Without a filter most of them fail in another way, or not at all: so it is seen.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define X32_BIT 0x40000000
#define BAD 1L /* no address */
#define NONE (-1)
#define HIGH (1L << 32)
#define TIOCSTI_NR 0x5412
#define TIOCLINUX_NR 0x541c
#define TIOCGWINSZ_NR 0x5413
#define SETLEASE_NR 1024
#define SETDELEG_NR 1040

enum { NATIVE, X32, I386 };

static const struct {
	const char *name;
	int nr[8];
} numbers[] = {
#define SYSCALL(name, ...) { #name, { __VA_ARGS__ } },
#define NEW_SYSCALL SYSCALL
#include "../../../seccomp/syscalls.tbl"
	/* what is left alone */
	SYSCALL(ptrace, 101, 521, 26) SYSCALL(kcmp, 312, 312, 349)
		SYSCALL(personality, 135, 135, 136) SYSCALL(memfd_create, 319, 319, 356)
			SYSCALL(name_to_handle_at, 303, 303, 341)
				SYSCALL(mbind, 237, 237, 274) SYSCALL(bind, 49, 49, 361)
					SYSCALL(seccomp, 317, 317, 354)
};

#define LEFT 1000 /* as without a filter */

static const struct {
	const char *call;
	long args[5];
	int want;
} calls[] = {
	{ "unshare", { 0x10000000 }, EPERM }, /* NEWUSER */
	{ "unshare", { 0x00020000 }, EPERM }, /* NEWNS */
	{ "unshare", { 0x40000000 }, EPERM }, /* NEWNET */
	{ "unshare", { 0x20000000 }, EPERM },
	{ "unshare", { 0x08000000 }, EPERM },
	{ "unshare", { 0x04000000 }, EPERM },
	{ "unshare", { 0x02000000 }, EPERM },
	{ "unshare", { 0x00000080 }, EPERM }, /* NEWTIME */
	{ "unshare", { 0x7c020080 }, EPERM },
	{ "unshare", { 0x00000200 }, LEFT }, /* FS */
	{ "clone", { 0x10000000 | SIGCHLD }, EPERM },
	{ "clone", { 0x10020000 | SIGCHLD }, EPERM },
	{ "clone", { 0x40000000 | SIGCHLD }, EPERM },
	{ "clone", { SIGCHLD }, LEFT },
	{ "clone3", { 0 }, ENOSYS },
	{ "setns", { -1 }, EPERM },
	{ "mount", { BAD, BAD, BAD }, EPERM },
	{ "umount", { BAD }, EPERM },
	{ "umount2", { BAD, 0x40000000 }, EPERM },
	{ "pivot_root", { BAD, BAD }, EPERM },
	{ "chroot", { BAD }, EPERM },
	{ "open_tree", { -1, BAD, 0x7fffffff }, ENOSYS },
	{ "open_tree_attr", { -1, BAD, 0x7fffffff }, ENOSYS },
	{ "move_mount", { -1, BAD, -1, BAD, 0x7fffffff }, ENOSYS },
	{ "fsopen", { BAD, 0x7fffffff }, ENOSYS },
	{ "fsconfig", { -1, 99 }, ENOSYS },
	{ "fsmount", { -1, 0x7fffffff }, ENOSYS },
	{ "fspick", { -1, BAD, 0x7fffffff }, ENOSYS },
	{ "mount_setattr", { -1, BAD, 0x7fffffff }, ENOSYS },
	{ "io_uring_setup", { 0 }, EPERM },
	{ "io_uring_enter", { -1 }, EPERM },
	{ "io_uring_register", { -1 }, EPERM },
	{ "bpf", { 9999 }, EPERM },
	{ "userfaultfd", { 0x7fffffff }, EPERM },
	{ "perf_event_open", { BAD }, EPERM },
	{ "add_key", { BAD, BAD }, EPERM },
	{ "request_key", { BAD, BAD }, EPERM },
	{ "keyctl", { 9999 }, EPERM },
	{ "kexec_load", { 0, 99 }, EPERM },
	{ "init_module", { BAD }, EPERM },
	{ "finit_module", { -1 }, EPERM },
	{ "delete_module", { BAD }, EPERM },
	{ "open_by_handle_at", { -1, BAD }, EPERM },
	{ "fanotify_init", { 0x7fffffff }, EPERM },
	{ "quotactl", { 0x7fffffff, BAD }, EPERM },
	{ "quotactl_fd", { -1, 0x7fffffff }, EPERM },
	{ "acct", { BAD }, EPERM },
	{ "swapon", { BAD }, EPERM },
	{ "swapoff", { BAD }, EPERM },
	{ "settimeofday", { BAD }, EPERM },
	{ "clock_settime", { 0, BAD }, EPERM },
	{ "clock_settime64", { 0, BAD }, EPERM },
	{ "clock_adjtime", { 0, BAD }, EPERM },
	{ "clock_adjtime64", { 0, BAD }, EPERM },
	{ "adjtimex", { BAD }, EPERM },
	{ "stime", { BAD }, EPERM },
	{ "syslog", { 9999 }, EPERM },
	{ "iopl", { 0 }, EPERM },
	{ "ioperm", { 0, 1, 0 }, EPERM },
	{ "modify_ldt", { 99 }, EPERM },
	{ "ustat", { 0, BAD }, EPERM },
	{ "sysfs", { 9999 }, EPERM },
	{ "lookup_dcookie", { 0 }, EPERM },
	{ "socket", { 40, 1 }, EAFNOSUPPORT }, /* VSOCK */
	{ "socket", { 38, 5 }, EAFNOSUPPORT }, /* ALG */
	{ "socket", { 30, 1 }, EAFNOSUPPORT }, /* TIPC */
	{ "socket", { 17, 3 }, EAFNOSUPPORT }, /* PACKET */
	{ "socket", { 1, 1 }, LEFT },
	{ "socket", { 2, 1 }, LEFT },
	{ "socket", { 10, 2 }, LEFT },
	{ "socket", { 16, 3 }, LEFT },
	{ "socketpair", { 30, 1, 0, BAD }, EAFNOSUPPORT },
	{ "socketpair", { 1, 1, 0, BAD }, LEFT },
	{ "socketcall", { 1, BAD }, EPERM }, /* SOCKET */
	{ "socketcall", { 2, BAD }, LEFT },  /* BIND */
	{ "fcntl", { -1, SETLEASE_NR }, EPERM },
	{ "fcntl", { -1, SETLEASE_NR | HIGH }, EPERM },
	{ "fcntl", { -1, SETDELEG_NR }, EPERM },
	{ "fcntl", { -1, 1 }, LEFT }, /* GETFD */
	{ "fcntl64", { -1, SETLEASE_NR }, EPERM },
	{ "ioctl", { -1, TIOCSTI_NR }, EPERM },
	{ "ioctl", { -1, TIOCLINUX_NR }, EPERM },
	{ "ioctl", { -1, TIOCSTI_NR | HIGH }, EPERM },
	{ "ioctl", { -1, TIOCLINUX_NR | 0x7fffL << 40 }, EPERM },
	{ "ioctl", { -1, TIOCGWINSZ_NR }, LEFT },
	{ "ptrace", { 0 }, LEFT },
	{ "kcmp", { -1 }, LEFT },
	{ "personality", { 0xffffffff }, LEFT },
	{ "memfd_create", { BAD }, LEFT },
	{ "name_to_handle_at", { -1, BAD }, LEFT },
	{ "mbind", { 0, 0, 99 }, LEFT },
	{ "bind", { -1 }, LEFT },
	{ "seccomp", { 9999 }, LEFT },
};

static const int *numbers_of(const char *name)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strcmp(numbers[i].name, name))
			return numbers[i].nr;
	abort();
}

/* The result as the kernel gives it: an errno is negative. */
static long call64(long nr, const long *a)
{
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static long call32(long nr, const long *a)
{
	int result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"((int)nr), "b"((int)a[0]), "c"((int)a[1]), "d"((int)a[2]),
			   "S"((int)a[3]), "D"((int)a[4])
			 : "r8", "r9", "r10", "r11", "memory");
	return result;
}

/* In a child, which may end up in whatever namespace. Returns 0 or an errno. */
static int make(int abi, long nr, const long *args)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		pid_t self = getpid();
		long result = abi == I386 ? call32(nr, args) : call64(nr, args);

		if (result == 0 && getpid() != self) /* a clone's own child */
			_exit(0);
		_exit(result < 0 && result > -4096 ? (int)-result : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		exit(3);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void print(size_t i, long nr, int result)
{
	printf("%s(0x%lx, 0x%lx) = %ld: ", calls[i].call, (unsigned long)calls[i].args[0],
	       (unsigned long)calls[i].args[1], nr);
	if (result >= 1000)
		printf("signal %d\n", result - 1000);
	else
		printf("%s\n", result ? strerrorname_np(result) : "ok");
}

static void try(int abi, size_t i, long nr, int expect)
{
	if (!expect)
		print(i, nr, make(abi, nr, calls[i].args));
	else if (calls[i].want != LEFT)
		print(i, nr, calls[i].want);
}

int main(int argc, char **argv)
{
	const char *abi = argc > 1 ? argv[1] : "native";
	int expect = argc > 2;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		const int *nr = numbers_of(calls[i].call);

		if (!strcmp(abi, "native") && nr[NATIVE] != NONE)
			try(NATIVE, i, nr[NATIVE], expect);
		if (!strcmp(abi, "x32") && nr[X32] != NONE)
			try(X32, i, nr[X32] | X32_BIT, expect);
		if (!strcmp(abi, "i386") && nr[I386] != NONE)
			try(I386, i, nr[I386], expect);
		if (strcmp(abi, "old") != 0)
			continue;
		if (nr[NATIVE] != NONE)
			try(X32, i, nr[NATIVE] | X32_BIT, expect);
		if (nr[X32] != nr[NATIVE] && nr[X32] != NONE)
			try(NATIVE, i, nr[X32], expect);
	}
	return 0;
}
