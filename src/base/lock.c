/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

int ws_lock_open(int dir, const char *name)
{
	WS_AUTO_CLOSE int fd =
		openat(dir, name,
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		       0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return ws_steal_fd(&fd);
}

int ws_lock_try(int fd, bool exclusive)
{
	int rc;

	do
		rc = flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB);
	while (rc < 0 && errno == EINTR);
	return rc;
}

void ws_lock_drop(int fd)
{
	int saved = errno;

	flock(fd, LOCK_UN);
	errno = saved;
}

/* flock(2) has no timeout, and a timer's signal is not ours to use: so ask, and ask
 * again. */
int ws_lock_wait(int fd, bool exclusive, uint64_t timeout_ms, const char *what,
		 struct ws_err *err)
{
	uint64_t start = ws_clock_mono_ms();
	struct timespec pause = { .tv_nsec = 100000 };

	while (ws_lock_try(fd, exclusive) < 0) {
		if (errno != EWOULDBLOCK)
			return ws_fail_errno(err, "lock %s", what);
		if (ws_clock_mono_ms() - start >= timeout_ms)
			return ws_fail(err, WS_SESSION_BUSY, "%s is in use", what);
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10000000)
			pause.tv_nsec *= 2;
	}
	return 0;
}
