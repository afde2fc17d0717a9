/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls: "GETPPID_NS IOCTL_NS SOCKET_NS", the best of some rounds each: a call that the
 * kernel knows to be always allowed, one whose argument the filter looks at, and one that
 * it looks at and that does something.
 */
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20
#define CALLS 100000

static void do_getppid(void)
{
	syscall(SYS_getppid);
}

static void do_ioctl(void)
{
	syscall(SYS_ioctl, -1, TIOCGWINSZ, 0);
}

static void do_socket(void)
{
	close(socket(AF_INET, SOCK_STREAM, 0));
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double best(void (*call)(void), int calls)
{
	double least = 1e18;

	for (int round = 0; round < ROUNDS; round++) {
		double begun = now_ns(), each;

		for (int i = 0; i < calls; i++)
			call();
		each = (now_ns() - begun) / calls;
		least = each < least ? each : least;
	}
	return least;
}

int main(void)
{
	printf("%.1f %.1f %.1f\n", best(do_getppid, CALLS), best(do_ioctl, CALLS),
	       best(do_socket, CALLS / 20));
	return 0;
}
