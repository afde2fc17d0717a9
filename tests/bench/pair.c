/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair N A... ::: B...
 * Runs the commands A and B in turn, N times each after one warm-up, output to
 * /dev/null, and prints "median_a_ms median_b_ms median_ratio": the ratio pair by pair, so that it
 * holds when the machine's speed drifts.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double run(char **argv)
{
	posix_spawn_file_actions_t actions;
	double begun = now_ms();
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "pair: '%s' failed\n", argv[0]);
		exit(1);
	}
	posix_spawn_file_actions_destroy(&actions);
	return now_ms() - begun;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[1]) : 0;
	char **a = argv + 2, **b = a;
	double *ta, *tb, *ratio;

	while (*b && strcmp(*b, ":::") != 0)
		b++;
	if (n < 1 || !*b || !b[1]) {
		fprintf(stderr, "usage: pair N A... ::: B...\n");
		return 2;
	}
	*b++ = NULL;
	ta = calloc((size_t)n, sizeof(*ta));
	tb = calloc((size_t)n, sizeof(*tb));
	ratio = calloc((size_t)n, sizeof(*ratio));
	run(a);
	run(b);
	for (int i = 0; i < n; i++) {
		ta[i] = run(a);
		tb[i] = run(b);
		ratio[i] = ta[i] / tb[i];
	}
	printf("%.2f %.2f %.3f\n", median(ta, n), median(tb, n), median(ratio, n));
	return 0;
}
