/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watcher STOPFILE WORDFILE: a hostile process inside a session. In a tight loop it looks
 * at every process and tries to trace and to read those that are not commands but wsiso's
 * own (on their way in, or looking after a command), until STOPFILE is there.
 *
 *   violation: ...   it got at something
 *   tries N processes M
 *
 * The lines of WORDFILE (a secret, a host path) may stand in no process's command line,
 * whoever it is; they are in a file so that they do not stand in its own. No exe may be a
 * host's file that is not bound into the sandbox, and none of wsiso's may be opened for
 * writing after its process has gone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PIDS 65536
#define ENOUGH 50

static unsigned char seen[MAX_PIDS];
static long tries, processes;
static char **words;

static void violation(int pid, const char *comm, const char *what)
{
	static int told;

	if (told++ >= 20)
		return;
	printf("violation: %s of %d (%s)\n", what, pid, comm);
	fflush(stdout);
}

static ssize_t slurp(int pid, const char *name, char *buf, size_t size, int flags)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size);
	close(fd);
	return n;
}

static bool get_comm(int pid, char comm[64])
{
	ssize_t n = slurp(pid, "comm", comm, 63, O_RDONLY);

	comm[n < 0 ? 0 : n] = 0;
	comm[strcspn(comm, "\n")] = 0;
	return n > 0;
}

/*
 * What wsiso's own processes are called: also a number, as the kernel calls for a moment
 * what is run from a descriptor. A command of the test has another name.
 */
static bool is_wsisos(int pid)
{
	char comm[64];

	return get_comm(pid, comm) &&
	       (strstr(comm, "wsiso") || strcmp(comm, "init") == 0 ||
		strspn(comm, "0123456789") == strlen(comm));
}

static void search_cmdline(int pid)
{
	static char buf[65536];
	ssize_t n = slurp(pid, "cmdline", buf, sizeof(buf), O_RDONLY);

	for (char **w = words; n > 0 && *w; w++)
		if (memmem(buf, n, *w, strlen(*w)))
			violation(pid, *w, "command line");
}

static bool try_ptrace(int pid)
{
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0)
		return false;
	if (!is_wsisos(pid)) { /* it became a command meanwhile: fair game */
		ptrace(PTRACE_INTERRUPT, pid, 0, 0);
		waitpid(pid, NULL, __WALL);
		ptrace(PTRACE_DETACH, pid, 0, 0);
		return false;
	}
	return true;
}

static bool try_open(int pid, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool try_read(int pid, const char *name)
{
	char buf[256];

	return slurp(pid, name, buf, sizeof(buf), O_RDONLY) > 0;
}

static bool try_link(int pid, const char *name)
{
	char path[64], buf[256];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return readlink(path, buf, sizeof(buf)) > 0;
}

static bool try_getfd(int pid)
{
	int got = -1, pidfd = syscall(SYS_pidfd_open, pid, 0);

	for (int fd = 0; pidfd >= 0 && got < 0 && fd < 16; fd++)
		got = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (got >= 0)
		close(got);
	if (pidfd >= 0)
		close(pidfd);
	return got >= 0;
}

/* Asked before and after: a process that became a command in between proves nothing. */
#define TRY(what, expression)                                         \
	do {                                                          \
		tries++;                                              \
		if (is_wsisos(pid) && (expression) && is_wsisos(pid)) \
			violation(pid, comm, what);                   \
	} while (0)

static void attack(int pid, const char *comm)
{
	char name[16];

	TRY("trace", try_ptrace(pid));
	TRY("memory", try_open(pid, "mem", O_RDWR));
	TRY("memory for reading", try_open(pid, "mem", O_RDONLY));
	TRY("environ", try_read(pid, "environ"));
	TRY("maps", try_read(pid, "maps"));
	TRY("auxv", try_read(pid, "auxv"));
	TRY("syscall", try_read(pid, "syscall"));
	for (int fd = 0; fd < 16; fd++) {
		snprintf(name, sizeof(name), "fd/%d", fd);
		TRY(name,
		    try_link(pid, name) || try_open(pid, name, O_RDONLY | O_NONBLOCK));
	}
	TRY("root", try_open(pid, "root", O_RDONLY));
	TRY("cwd", try_open(pid, "cwd", O_RDONLY));
	TRY("cwd's name", try_link(pid, "cwd"));
	TRY("exe", try_open(pid, "exe", O_RDONLY));
	TRY("exe's name", try_link(pid, "exe"));
	TRY("descriptor", try_getfd(pid));
}

/* The program that runs: it must be one of the sandbox's own tree. */
static void look_at_exe(int pid)
{
	static const char *const fine[] = { "/usr/",  "/tmp/", "/workspace/",
					    "/home/", "/bin/", "/run/wsiso/" };
	char path[64], name[512], again[64];
	ssize_t n;
	int fd, writer;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	n = readlink(again, name, sizeof(name) - 1);
	name[n < 0 ? 0 : n] = 0;
	for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++)
		if (strncmp(name, fine[i], strlen(fine[i])) == 0)
			n = -1;
	if (n >= 0)
		violation(pid, name, "a host program");
	writer = open(again, O_WRONLY | O_CLOEXEC);
	if (writer >= 0 && strncmp(name, "/run/", 5) == 0)
		violation(pid, name, "a writable program");
	if (writer >= 0)
		close(writer);
	close(fd);
}

/*
 * Who is new is tried many times, who stays not for ever: newcomers are to be met early.
 */
static void look_at(int pid)
{
	char comm[64];

	search_cmdline(pid);
	if (pid >= MAX_PIDS || seen[pid] >= ENOUGH)
		return;
	look_at_exe(pid);
	if (!is_wsisos(pid) || !get_comm(pid, comm))
		return;
	if (!seen[pid]++)
		processes += pid != 1;
	attack(pid, comm);
}

static void look_around(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	while (proc && (e = readdir(proc))) {
		int pid = (int)strtol(e->d_name, NULL, 10);

		if (pid > 0 && pid != getpid())
			look_at(pid);
	}
	if (proc)
		closedir(proc);
}

static char **read_words(const char *path)
{
	static char text[4096];
	static char *list[16];
	int fd = open(path, O_RDONLY | O_CLOEXEC), n = 0;
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *rest = text, *word;

	if (len <= 0)
		return NULL;
	while (n < 15 && (word = strsep(&rest, "\n")))
		if (*word)
			list[n++] = word;
	return list;
}

int main(int argc, char **argv)
{
	if (argc != 3 || !(words = read_words(argv[2])))
		return 2;
	printf("watching\n");
	fflush(stdout);
	while (access(argv[1], F_OK) < 0)
		look_around();
	printf("tries %ld processes %ld\n", tries, processes);
	return 0;
}
