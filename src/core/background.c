/* SPDX-License-Identifier: Apache-2.0 */
#include "core/background.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/text.h"

static void close_inherited(void)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e;
	uint64_t fd;

	while (d && (e = readdir(d)))
		if (ws_text_u64(e->d_name, INT_MAX, &fd) == 0 && fd > STDERR_FILENO &&
		    fcntl((int)fd, F_GETFD) == 0)
			close((int)fd);
	if (d)
		closedir(d);
}

void ws_background_enter(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	close_inherited();
	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
	if (chdir("/") < 0)
		return; /* then it stays where the caller was */
}
