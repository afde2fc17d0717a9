/* SPDX-License-Identifier: Apache-2.0 */
/* tracer PID: attaches, reads its memory, lets it go; "traced" if all of that worked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	unsigned long start = 0;
	char path[64];
	FILE *maps;

	if (pid <= 0)
		return 2;
	if (ptrace(PTRACE_ATTACH, pid, 0, 0) < 0 || waitpid(pid, NULL, __WALL) != pid) {
		perror("attach");
		return 1;
	}
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "r");
	if (!maps || fscanf(maps, "%lx", &start) != 1) {
		perror("maps");
		return 1;
	}
	errno = 0;
	if (ptrace(PTRACE_PEEKDATA, pid, (void *)start, 0) == -1 && errno) {
		perror("peek");
		return 1;
	}
	if (ptrace(PTRACE_DETACH, pid, 0, 0) < 0) {
		perror("detach");
		return 1;
	}
	puts("traced");
	return 0;
}
