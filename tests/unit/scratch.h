/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_TESTS_UNIT_SCRATCH_H
#define WS_TESTS_UNIT_SCRATCH_H

/* What tests with files need: a folder, how many descriptors are open, who one is. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/tree.h"
#include "check.h"

static char scratch_path[4096];

/* Opens it; the caller gives the descriptor to scratch_remove(). */
static inline int scratch_make(void)
{
	const char *tmp = getenv("TMPDIR");
	int dir;

	snprintf(scratch_path, sizeof(scratch_path), "%s/wsiso-unit-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	MUST(mkdtemp(scratch_path));
	dir = open(scratch_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(dir >= 0);
	return dir;
}

static inline void scratch_remove(int dir)
{
	struct ws_err err = WS_ERR_INIT;
	char *name = strrchr(scratch_path, '/');
	int above;

	close(dir);
	*name++ = '\0';
	above = open(scratch_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(above >= 0);
	MUST(ws_tree_remove(above, name, NULL, &err) == 0);
	close(above);
}

static inline void scratch_write(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	MUST(fd >= 0);
	MUST(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static inline int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	MUST(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Modes mean nothing to root. */
static inline void become_nobody(void)
{
	if (geteuid() != 0)
		return;
	MUST(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0);
	MUST(setresuid(65534, 65534, 65534) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
}

/* A user and mount namespace; false where that is forbidden. */
static inline bool own_mounts(void)
{
	char text[64];
	bool ok;
	int fd;

	snprintf(text, sizeof(text), "0 %d 1", (int)geteuid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, strlen(text)) > 0;
	close(fd);
	return ok && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

#endif
