/* SPDX-License-Identifier: Apache-2.0 */
/*
 * self [--env]: what a process finds itself to be, a line each, in a fixed order: so that
 * the first, the hundredth, a background and a pty command can be compared by diff. With
 * --env the names in its environment too.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void print_status(void)
{
	static const char *const keys[] = {
		"Uid:",	   "Gid:",    "CapInh:",     "CapPrm:",	  "CapEff:",
		"CapBnd:", "CapAmb:", "NoNewPrivs:", "Seccomp:",  "Seccomp_filters:",
		"SigBlk:", "SigIgn:", "SigCgt:",     "TracerPid:"
	};
	char line[4096];
	FILE *f = fopen("/proc/self/status", "r");

	if (!f)
		exit(3);
	while (fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0)
				fputs(line, stdout);
	fclose(f);
}

/* By asking each number, not by a folder that could hide some. */
static void print_fds(void)
{
	printf("fds:");
	for (int fd = 0; fd < 65536; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf(" %d", fd);
	printf("\n");
}

static void print_limits(void)
{
	static const int which[] = { RLIMIT_CORE,  RLIMIT_NOFILE, RLIMIT_NPROC,
				     RLIMIT_FSIZE, RLIMIT_STACK,  RLIMIT_MEMLOCK,
				     RLIMIT_NICE,  RLIMIT_RTPRIO };
	struct rlimit r;

	for (size_t i = 0; i < sizeof(which) / sizeof(*which); i++) {
		getrlimit(which[i], &r);
		printf("rlimit %d: %lld %lld\n", which[i], (long long)r.rlim_cur,
		       (long long)r.rlim_max);
	}
}

static void print_file(const char *name, const char *path)
{
	char buf[512];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	buf[n < 0 ? 0 : n] = 0;
	buf[strcspn(buf, "\n")] = 0;
	printf("%s: %s\n", name, n < 0 ? "?" : buf);
	if (fd >= 0)
		close(fd);
}

static void print_link(const char *name, const char *path)
{
	char buf[4096];
	ssize_t n = readlink(path, buf, sizeof(buf) - 1);

	buf[n < 0 ? 0 : n] = 0;
	printf("%s: %s\n", name, buf);
}

static void print_namespaces(void)
{
	static const char *const names[] = { "user", "mnt", "pid",   "ipc",
					     "net",  "uts", "cgroup" };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		print_link(names[i], path);
	}
}

int main(int argc, char **argv)
{
	extern char **environ;
	mode_t mask = umask(022);

	print_status();
	print_fds();
	print_limits();
	print_namespaces();
	print_link("cwd", "/proc/self/cwd");
	print_link("root", "/proc/self/root");
	print_file("oom_score_adj", "/proc/self/oom_score_adj");
	print_file("label", "/proc/self/attr/current");
	printf("umask: %03o\n", (unsigned)mask);
	printf("nice: %d\n", getpriority(PRIO_PROCESS, 0));
	printf("personality: %lx\n", (unsigned long)personality(0xffffffff));
	printf("dumpable: %d\n", prctl(PR_GET_DUMPABLE));
	printf("no_new_privs: %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	if (argc > 1 && strcmp(argv[1], "--env") == 0)
		for (char **e = environ; *e; e++)
			printf("env: %.*s\n", (int)strcspn(*e, "="), *e);
	return 0;
}
