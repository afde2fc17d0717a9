/* SPDX-License-Identifier: Apache-2.0 */
#include "init/init.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE 125

/* Where the linker has put the program's first byte, and the end of its code. */
extern char __executable_start[], etext[];

uint64_t ws_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void ws_forget_startup(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)__executable_start & ~(page - 1);

	madvise((void *)from, ((uintptr_t)etext & ~(page - 1)) - from, MADV_DONTNEED);
}

/*
 * exec has made the process dumpable, which lets the sandbox's others look into
 * it: undone before anything else, the capabilities it still has protect it until then.
 */
int main(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;

	if (argc && !strcmp(slash ? slash + 1 : argv[0], "ps"))
		ws_ps_run(argv);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || argc < 2)
		return EXIT_USAGE;
	if (!strcmp(argv[1], "file"))
		ws_file_run(argc - 2, argv + 2);
	if (argc != 2)
		return EXIT_USAGE;
	if (!strcmp(argv[1], "boot"))
		ws_pid1_run();
	if (!strcmp(argv[1], "enter"))
		ws_enter_run();
	return EXIT_USAGE;
}
