/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of other processes. Starting them is in proc_spawn.c. */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

int ws_pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

int ws_pidfd_signal(int pidfd, int sig)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

bool ws_pidfd_gone(int pidfd, int timeout_ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	uint64_t start = ws_clock_mono_ms();
	int left = timeout_ms;
	int rc;

	while ((rc = poll(&p, 1, left)) < 0 && errno == EINTR) {
		uint64_t spent = ws_clock_mono_ms() - start;

		if (timeout_ms >= 0)
			left = spent < (uint64_t)timeout_ms ? timeout_ms - (int)spent : 0;
	}
	return rc > 0;
}

/* The name in field 2 may hold blanks and brackets: fields are counted from its end. */
int ws_proc_start_time(pid_t pid, uint64_t *ret)
{
	WS_AUTO(ws_buf) struct ws_buf buf = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = -1;
	char path[40];
	char *at, *save = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ws_read_fd(fd, 8192, &buf) < 0) {
		if (errno == ENOENT)
			errno = ESRCH;
		return -1;
	}
	at = buf.len ? strrchr(buf.data, ')') : NULL;
	at = at ? strtok_r(at + 1, " ", &save) : NULL;
	for (int field = 3; at && field < 22; field++)
		at = strtok_r(NULL, " ", &save);
	if (!at) {
		errno = EIO;
		return -1;
	}
	return ws_text_u64(at, UINT64_MAX, ret);
}

const char *ws_boot_id(void)
{
	static char id[WS_BOOT_ID_LEN];
	WS_AUTO(ws_buf) struct ws_buf buf = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = -1;

	if (id[0])
		return id;
	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ws_read_fd(fd, 64, &buf) < 0)
		return id;
	errno = EIO;
	if (buf.len >= sizeof(id) - 1)
		memcpy(id, buf.data, sizeof(id) - 1);
	return id;
}

int ws_proc_identify(pid_t pid, struct ws_proc_id *ret)
{
	struct ws_proc_id id = { .pid = pid };

	if (ws_proc_start_time(pid, &id.start) < 0)
		return -1;
	snprintf(id.boot, sizeof(id.boot), "%s", ws_boot_id());
	if (!id.boot[0]) {
		errno = ENOENT;
		return -1;
	}
	*ret = id;
	return 0;
}

/* A zombie's descriptor is readable: it counts as gone. */
int ws_proc_open(const struct ws_proc_id *id)
{
	const char *boot = ws_boot_id();
	WS_AUTO_CLOSE int fd = -1;
	uint64_t start;

	if (!boot[0]) /* for want of descriptors, say: then it may live */
		return -1;
	if (id->pid > 0 && strcmp(id->boot, boot) == 0)
		fd = ws_pidfd_open(id->pid);
	else
		errno = ESRCH;
	if (fd < 0 || ws_proc_start_time(id->pid, &start) < 0)
		return -1;
	if (start != id->start || ws_pidfd_gone(fd, 0)) {
		errno = ESRCH;
		return -1;
	}
	return ws_steal_fd(&fd);
}

/* close_range(2) with this flag is Linux 5.11; the loop is for filters that hide it. */
void ws_fds_cloexec(void)
{
	struct rlimit limit = { 0 };
	int saved = errno;

	if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) < 0) {
		getrlimit(RLIMIT_NOFILE, &limit);
		for (int fd = 3; (rlim_t)fd < limit.rlim_cur && fd < 1 << 20; fd++)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	errno = saved;
}
