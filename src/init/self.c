/* SPDX-License-Identifier: Apache-2.0 */
#include "init/init.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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
