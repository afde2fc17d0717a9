/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiocsti TEXT: types TEXT into every terminal that can be reached: what the descriptors
 * 0 to 9 and /dev/tty are. Says for each whether the kernel took it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void type_into(const char *name, int fd, const char *text)
{
	int taken = 0;

	if (fd < 0 || !isatty(fd))
		return;
	for (const char *c = text; *c; c++)
		taken += ioctl(fd, TIOCSTI, c) == 0;
	printf("%s: %s\n", name, taken ? "taken" : strerror(errno));
}

int main(int argc, char **argv)
{
	char name[8];

	if (argc < 2)
		return 2;
	for (int fd = 0; fd < 10; fd++) {
		snprintf(name, sizeof(name), "%d", fd);
		type_into(name, fd, argv[1]);
	}
	type_into("/dev/tty", open("/dev/tty", O_RDWR | O_CLOEXEC), argv[1]);
	printf("done\n");
	return 0;
}
