/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killer TAG SEED MS STOPFILE: at random moments up to MS apart, SIGKILL to one of
 * wsiso's processes that carry the mark TAG (their limit of message queue bytes): the
 * program itself, a sandbox's PID 1, a shepherd, or bwrap. When STOPFILE is there it says
 * how many of each.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KINDS 4

static const char *const kinds[KINDS] = { "wsiso", "wsiso-init", "wsiso-shepherd",
					  "bwrap" };

static int slurp(const char *pid, const char *name, char *buf, size_t size)
{
	char path[300];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, buf, size - 1);
		close(fd);
	}
	buf[n < 0 ? 0 : n] = 0;
	return n > 0;
}

static int is_ours(const char *pid, const char *comm, const char *tag)
{
	char text[4096], word[64];
	const char *at;

	if (!slurp(pid, "comm", text, sizeof(text)))
		return 0;
	text[strcspn(text, "\n")] = 0;
	if (strcmp(text, comm) != 0 || !slurp(pid, "limits", text, sizeof(text)))
		return 0;
	at = strstr(text, "Max msgqueue size");
	return at && sscanf(at, "Max msgqueue size %63s", word) == 1 &&
	       strcmp(word, tag) == 0;
}

/* One of them by chance, or 0. */
static int choose(const char *comm, const char *tag)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int chosen = 0, n = 0;

	while (proc && (e = readdir(proc)))
		if (isdigit((unsigned char)e->d_name[0]) && is_ours(e->d_name, comm, tag))
			if (rand() % ++n == 0)
				chosen = (int)strtol(e->d_name, NULL, 10);
	if (proc)
		closedir(proc);
	return chosen;
}

int main(int argc, char **argv)
{
	int count[KINDS] = { 0 };

	if (argc != 5)
		return 2;
	srand((unsigned)strtoul(argv[2], NULL, 10));
	while (access(argv[4], F_OK) < 0) {
		int kind = rand() % KINDS;
		int pid;

		usleep((useconds_t)(rand() % (strtol(argv[3], NULL, 10) * 1000 + 1)));
		pid = choose(kinds[kind], argv[1]);
		if (pid > 1 && kill(pid, SIGKILL) == 0)
			count[kind]++;
	}
	for (int i = 0; i < KINDS; i++)
		printf("%s %d\n", kinds[i], count[i]);
	return 0;
}
