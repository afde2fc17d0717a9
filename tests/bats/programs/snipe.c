/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snipe PARENT USEC: waits for the first child of PARENT, then USEC microseconds, and
 * kills it. Status 0: it was there to be killed, 1: it was not.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* -1: the parent has gone; 0: none yet */
static int first_child(const char *parent)
{
	char path[128], text[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/children", parent, parent);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = 0;
	return n < 0 ? -1 : (int)strtol(text, NULL, 10);
}

int main(int argc, char **argv)
{
	int child = 0;

	if (argc != 3)
		return 2;
	while (child == 0)
		child = first_child(argv[1]);
	if (child < 0)
		return 1;
	usleep((useconds_t)strtoul(argv[2], NULL, 10));
	/* not reaped by its parent: still the same one */
	return first_child(argv[1]) == child && kill(child, SIGKILL) == 0 ? 0 : 1;
}
