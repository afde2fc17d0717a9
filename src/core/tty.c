/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tty.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

static struct {
	int fd; /* -1: nothing to put back */
	struct termios saved, raw;
} state = { .fd = -1 };

int ws_tty_find(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (isatty(fd))
			return fd;
	return -1;
}

struct winsize ws_tty_size(void)
{
	struct winsize size = { 0 };
	int fd = ws_tty_find();

	if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col) {
		size.ws_row = 24;
		size.ws_col = 80;
	}
	return size;
}

int ws_tty_raw(int fd)
{
	static bool registered;

	if (tcgetattr(fd, &state.saved) < 0)
		return -1;
	if (!registered && atexit(ws_tty_restore) == 0)
		registered = true;
	state.raw = state.saved;
	cfmakeraw(&state.raw);
	state.fd = fd;
	return tcsetattr(fd, TCSANOW, &state.raw);
}

void ws_tty_resume(void)
{
	if (state.fd >= 0)
		tcsetattr(state.fd, TCSANOW, &state.raw);
}

void ws_tty_restore(void)
{
	int saved = errno;

	if (state.fd >= 0)
		tcsetattr(state.fd, TCSADRAIN, &state.saved);
	state.fd = -1;
	errno = saved;
}
