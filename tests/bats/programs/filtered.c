/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filtered FILE COMMAND...: runs it under the seccomp filter in FILE, as the kernel takes
 * it. What FILE says is right is not asked: the kernel does.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static struct sock_filter code[BPF_MAXINSNS];
	int fd = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = read(fd, code, sizeof(code));
	struct sock_fprog program = { .filter = code };

	if (n <= 0)
		return 3;
	program.len = (unsigned short)((size_t)n / sizeof(code[0]));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0) {
		perror("filtered");
		return 3;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
