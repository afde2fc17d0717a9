/* SPDX-License-Identifier: Apache-2.0 */
#include "core/check.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/proc.h"
#include "core/probes.h"

#define PROBE_TIMEOUT_MS 15000

const char *ws_check_status_name(enum ws_check_status status)
{
	static const char *const names[] = { "ok", "warning", "failed" };

	return names[status];
}

size_t ws_check_count(void)
{
	return ws_probe_count;
}

/* What does not come in time has failed. */
static void read_item(int fd, uint64_t deadline, struct ws_check_item *item)
{
	const char *id = item->id;
	char *to = (char *)item;
	size_t got = 0;

	while (got < sizeof(*item)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = ws_clock_mono_ms();
		int n = poll(&p, 1, now < deadline ? (int)(deadline - now) : 0);
		ssize_t r;

		if (n < 0 && errno == EINTR)
			continue;
		r = n > 0 ? read(fd, to + got, sizeof(*item) - got) : 0;
		if (r <= 0)
			break;
		got += (size_t)r;
	}
	if (got < sizeof(*item)) {
		*item = (struct ws_check_item){ .status = WS_CHECK_FAILED };
		snprintf(item->detail, sizeof(item->detail),
			 "no answer within %d seconds", PROBE_TIMEOUT_MS / 1000);
		snprintf(
			item->remedy, sizeof(item->remedy),
			"look for a mount or a device that hangs (wsiso --log-level debug check)");
	}
	item->id = id;
}

/* A probe on its way: a process group of its own, and the pipe its item comes by. */
struct running {
	pid_t pid;
	int fd;
};

static void start_probe(const struct ws_probe *probe, const struct ws_probe_host *host,
			struct ws_check_item *item, struct running *ret)
{
	WS_AUTO_CLOSE int from = -1;
	WS_AUTO_CLOSE int to = -1;

	*item = (struct ws_check_item){ .id = probe->id, .status = WS_CHECK_FAILED };
	*ret = (struct running){ .pid = -1, .fd = -1 };
	if (ws_pipe(&from, &to) < 0 || (ret->pid = fork()) < 0) {
		snprintf(item->detail, sizeof(item->detail), "cannot be tried: %s",
			 strerror(errno));
		return;
	}
	if (ret->pid == 0) {
		setpgid(0, 0);
		item->status = WS_CHECK_OK;
		probe->run(host, item);
		_exit(ws_write_all(to, item, sizeof(*item)) < 0);
	}
	setpgid(ret->pid, ret->pid);
	ret->fd = ws_steal_fd(&from);
}

/* What hangs is killed, with all that it started. */
static void end_probe(struct running *r, uint64_t deadline, struct ws_check_item *item)
{
	if (r->pid < 0)
		return;
	read_item(r->fd, deadline, item);
	kill(-r->pid, SIGKILL);
	waitpid(r->pid, NULL, 0);
	ws_closep(&r->fd);
}

/* All at once: together they take as long as the longest. */
bool ws_check_run(const struct ws_root *root, const struct ws_spec *spec,
		  struct ws_check_item *items)
{
	const struct ws_probe_host host = { .root = root, .spec = spec };
	WS_AUTO_FREE struct running *running =
		ws_alloc(ws_probe_count * sizeof(*running));
	uint64_t deadline = ws_clock_mono_ms() + PROBE_TIMEOUT_MS;
	bool usable = true;

	for (size_t i = 0; i < ws_probe_count; i++)
		start_probe(&ws_probes[i], &host, &items[i], &running[i]);
	for (size_t i = 0; i < ws_probe_count; i++) {
		end_probe(&running[i], deadline, &items[i]);
		usable &= items[i].status != WS_CHECK_FAILED;
	}
	return usable;
}
