/* SPDX-License-Identifier: Apache-2.0 */
#include "init/init.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * /proc may show the PIDs of another namespace than ours (a host's). So a number read
 * there is only ever used there: a process is signalled by its open /proc/N, which is
 * a handle like a pidfd, and not by N.
 */
#define PROCESSES_MAX 4096 /* at a time: dead ones count, and looking at them costs */
#define NAME_SIZE 32

struct process {
	pid_t pid, parent;
};

struct tree {
	int proc; /* /proc */
	struct process *v;
	size_t n;
};

/* Returns what follows the digits; 0 of them: S itself. */
static const char *parse_pid(const char *s, pid_t *ret)
{
	*ret = 0;
	while (*s >= '0' && *s <= '9')
		*ret = *ret * 10 + (*s++ - '0');
	return s;
}

static void format_pid(char *out, pid_t pid)
{
	char digits[NAME_SIZE];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + pid % 10);
		pid /= 10;
	} while (pid);
	while (n)
		*out++ = digits[--n];
	*out = '\0';
}

static int open_process(const struct tree *t, size_t i)
{
	char name[NAME_SIZE];

	format_pid(name, t->v[i].pid);
	return openat(t->proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The number is the last thing but two of "PID (any) text) S PPID ...". */
static pid_t parent_of(int process)
{
	char text[512];
	int fd = openat(process, "stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *at;
	pid_t parent = -1;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	at = strrchr(text, ')');
	if (at && strlen(at) > 4)
		parse_pid(at + 4, &parent);
	return parent;
}

static void add(struct tree *t, pid_t pid, pid_t parent)
{
	if (pid > 0 && t->n < PROCESSES_MAX)
		t->v[t->n++] = (struct process){ pid, parent };
}

/* "12 345 6789 ", perhaps in more than one piece. */
static void read_children(int fd, pid_t parent, struct tree *t)
{
	char text[4096];
	pid_t pid = 0;
	ssize_t n;

	while ((n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
			} else {
				add(t, pid, parent);
				pid = 0;
			}
		}
	add(t, pid, parent);
}

static void add_children_of_task(int tasks, const char *name, pid_t parent,
				 struct tree *t)
{
	int task = openat(tasks, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = task < 0 ? -1 : openat(task, "children", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		read_children(fd, parent, t);
		close(fd);
	}
	if (task >= 0)
		close(task);
}

/* Every thread has its own children. */
static void add_children(int process, pid_t parent, struct tree *t)
{
	_Alignas(struct dirent64) char entries[4096];
	int tasks = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n;

	if (tasks < 0)
		return;
	while ((n = getdents64(tasks, entries, sizeof(entries))) > 0)
		for (char *at = entries; at < entries + n;) {
			const struct dirent64 *e = (const void *)at;

			at += e->d_reclen;
			if (e->d_name[0] != '.')
				add_children_of_task(tasks, e->d_name, parent, t);
		}
	close(tasks);
}

/* The tree's first entry is this process itself. */
static int tree_init(struct tree *t)
{
	char name[NAME_SIZE] = "";
	pid_t self;

	t->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->proc < 0)
		return -1;
	t->v = mmap(NULL, PROCESSES_MAX * sizeof(*t->v), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->v == MAP_FAILED) {
		close(t->proc);
		return -1;
	}
	if (readlinkat(t->proc, "self", name, sizeof(name) - 1) > 0) {
		parse_pid(name, &self);
		add(t, self, 0);
	}
	return 0;
}

static void tree_release(struct tree *t)
{
	munmap(t->v, PROCESSES_MAX * sizeof(*t->v));
	close(t->proc);
}

static void list_children(struct tree *t, size_t i)
{
	int process = open_process(t, i);

	if (process < 0)
		return;
	add_children(process, t->v[i].pid, t);
	close(process);
}

/* The number may have been reused since it was read: it must still be in the tree. */
static void signal_process(const struct tree *t, size_t i, int sig)
{
	int process = open_process(t, i);
	pid_t parent = process < 0 ? -1 : parent_of(process);

	if (parent > 0 && (parent == t->v[i].parent || parent == t->v[0].pid)) {
		pidfd_send_signal(process, sig, NULL, 0);
		if (sig == SIGTERM)
			pidfd_send_signal(process, SIGCONT, NULL, 0);
	}
	if (process >= 0)
		close(process);
}

/* All are found before the first is signalled: the dead have no children any more. */
void ws_tree_term(void)
{
	struct tree t = { 0 };

	if (tree_init(&t) < 0)
		return;
	for (size_t i = 0; i < t.n; i++)
		list_children(&t, i);
	for (size_t i = 1; i < t.n; i++)
		signal_process(&t, i, SIGTERM);
	tree_release(&t);
}

/* At once, before the next can be born. What this misses is our child the next time. */
void ws_tree_kill(void)
{
	struct tree t = { 0 };

	if (tree_init(&t) < 0)
		return;
	for (size_t i = 0; i < t.n; i++) {
		size_t born = t.n;

		list_children(&t, i);
		while (born < t.n)
			signal_process(&t, born++, SIGKILL);
	}
	tree_release(&t);
}
