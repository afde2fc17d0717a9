/* SPDX-License-Identifier: Apache-2.0 */
#include "core/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"

#define STAT_MAX 4096
#define COMMAND_MAX 4096
#define KILL_TIMEOUT_MS 5000

void ws_procs_release(struct ws_procs *p)
{
	ws_freep(&p->v);
	p->n = 0;
}

static int open_file(pid_t pid, const char *name)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/* "PID (any) text) S PPID ...", field 22 the start. False: it is gone. */
static bool read_stat(pid_t pid, struct ws_process *p)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = open_file(pid, "stat");
	const char *at;
	int parent;
	unsigned long long start;

	if (fd < 0 || ws_read_fd(fd, STAT_MAX, &text) < 0)
		return false;
	at = strrchr(ws_buf_str(&text), ')');
	if (!at ||
	    sscanf(at + 1,
		   " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%*s %llu",
		   &p->state, &parent, &start) != 3)
		return false;
	p->pid = pid;
	p->parent = parent;
	p->start = start;
	return true;
}

static bool is_program(pid_t pid, const struct stat *program)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return stat(path, &st) == 0 && st.st_ino == program->st_ino &&
	       st.st_dev == program->st_dev;
}

static const struct ws_process *find(const struct ws_procs *all, pid_t pid)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].pid == pid)
			return &all->v[i];
	return NULL;
}

/* On its way in, a process still has its parent outside, and at first runs wsiso. */
static void mark_ours(struct ws_procs *all, pid_t init)
{
	struct stat inside = { 0 }, outside = { 0 };
	char path[32];
	bool known;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)init);
	known = stat(path, &inside) == 0 && stat("/proc/self/exe", &outside) == 0;
	for (size_t i = 0; i < all->n; i++) {
		struct ws_process *p = &all->v[i];

		if (p->pid == init || !known)
			p->ours = true;
		else if (p->parent == init || !find(all, p->parent))
			p->ours = is_program(p->pid, &inside) ||
				  is_program(p->pid, &outside);
	}
}

/* Up to one of ours; the way is no longer than there are processes. */
static pid_t shepherd_of(const struct ws_procs *all, const struct ws_process *p,
			 pid_t init)
{
	for (size_t steps = 0; p && !p->ours && steps < all->n; steps++)
		p = find(all, p->parent);
	return p && p->ours && p->pid != init ? p->pid : 0;
}

int ws_procs_list(const struct ws_sandbox *sb, struct ws_procs *ret, struct ws_err *err)
{
	WS_AUTO_FREE pid_t *pids = NULL;
	size_t n;

	*ret = WS_PROCS_INIT;
	if (ws_sandbox_pids(sb, &pids, &n, err) < 0)
		return -1;
	ret->v = ws_alloc((n + 1) * sizeof(*ret->v));
	for (size_t i = 0; i < n; i++)
		if (read_stat(pids[i], &ret->v[ret->n]))
			ret->n++;
	mark_ours(ret, sb->init.pid);
	for (size_t i = 0; i < ret->n; i++)
		ret->v[i].shepherd = shepherd_of(ret, &ret->v[i], sb->init.pid);
	return 0;
}

/* ---- signals ---- */

/* By a handle: between the look and the signal its number may have passed to another. */
static void signal_one(const struct ws_process *p, int sig)
{
	WS_AUTO_CLOSE int fd = ws_pidfd_open(p->pid);
	uint64_t start;

	if (fd >= 0 && ws_proc_start_time(p->pid, &start) == 0 && start == p->start)
		ws_pidfd_signal(fd, sig);
}

static size_t signal_all(const struct ws_procs *all, pid_t shepherd, int sig)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct ws_process *p = &all->v[i];

		if (p->ours || p->state == 'Z' || (shepherd && p->shepherd != shepherd))
			continue;
		signal_one(p, sig);
		n++;
	}
	return n;
}

int ws_procs_signal(const struct ws_sandbox *sb, const struct ws_proc_id *shepherd,
		    int sig, size_t *ret_n, struct ws_err *err)
{
	/* while this is open, the number is its own */
	WS_AUTO_CLOSE int fd = shepherd ? ws_proc_open(shepherd) : -1;
	uint64_t until = ws_clock_mono_ms() + KILL_TIMEOUT_MS;
	uint64_t pause_ms = 1;

	*ret_n = 0;
	if (shepherd && fd < 0)
		return errno == ESRCH ? 0 : ws_fail_errno(err, "find the command");
	for (bool first = true;; first = false) {
		WS_AUTO(ws_procs) struct ws_procs all = WS_PROCS_INIT;
		size_t n;

		if (ws_procs_list(sb, &all, err) < 0)
			return -1;
		n = signal_all(&all, shepherd ? shepherd->pid : 0, sig);
		if (first)
			*ret_n = n;
		if (sig != SIGKILL || n == 0)
			return 0;
		if (ws_clock_mono_ms() >= until)
			return ws_fail(err, WS_TIMEOUT, "%zu processes do not die", n);
		ws_clock_sleep_ms(pause_ms);
		pause_ms = pause_ms < 50 ? pause_ms * 2 : 50;
	}
}

/* ---- for people ---- */

uint64_t ws_process_began(const struct ws_process *p)
{
	uint64_t age_ms = ws_clock_boot_ms();
	uint64_t begun_ms = p->start * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);

	age_ms = age_ms > begun_ms ? age_ms - begun_ms : 0;
	return ws_clock_wall_ns() - age_ms * 1000000u;
}

static char *name_of(const struct ws_process *p)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = open_file(p->pid, "comm");

	if (fd < 0 || ws_read_fd(fd, STAT_MAX, &text) < 0 || text.len == 0)
		return ws_strdup("[?]");
	text.data[text.len - 1] = '\0';
	return ws_format("[%s]", text.data);
}

char *ws_process_command(const struct ws_process *p)
{
	WS_AUTO_CLOSE int fd = open_file(p->pid, "cmdline");
	char text[COMMAND_MAX + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, text, COMMAND_MAX);

	while (n > 0 && text[n - 1] == '\0')
		n--;
	if (n <= 0)
		return name_of(p);
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	return ws_strndup(text, (size_t)n);
}
