/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tree.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "scratch.h"

static int dir;
static struct ws_err err;

static bool there(const char *path)
{
	return faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int mode_of(const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -1
								: (int)st.st_mode & 07777;
}

static void make(const char *path)
{
	MUST(mkdirat(dir, path, 0700) == 0);
}

static int remove_tree(const char *name)
{
	int rc = ws_tree_remove(dir, name, NULL, &err);

	if (rc < 0)
		printf("# %s\n", err.msg);
	return rc;
}

static void facts_of_names(void)
{
	CHECK_INT(remove_tree("none"), 0);
	CHECK_INT(remove_tree("none/none"), 0);
	scratch_write(dir, "f", "x");
	CHECK_INT(remove_tree("f"), 0);
	CHECK(!there("f"));
	make("a");
	make("a/b");
	scratch_write(dir, "a/b/f", "x");
	CHECK_INT(remove_tree("a/b"), 0);
	CHECK(there("a") && !there("a/b"));
	CHECK_INT(remove_tree("a/"), -1);
	CHECK_INT(remove_tree("a/.."), -1);
	CHECK_INT(remove_tree("."), -1);
	CHECK_INT(remove_tree(""), -1);
	CHECK_INT(err.kind, WS_INTERNAL);
	CHECK_INT(remove_tree("../x"), -1);
	MUST(symlinkat("a", dir, "l") == 0);
	make("a/b");
	CHECK_INT(remove_tree("l/b"), -1);
	CHECK(there("a/b"));
	CHECK_INT(remove_tree("l"), 0);
	CHECK(!there("l") && there("a/b"));
	CHECK_INT(remove_tree("a"), 0);
}

static void facts_of_every_kind(void)
{
	make("t");
	make("t/empty");
	MUST(mkfifoat(dir, "t/fifo", 0) == 0);
	MUST(symlinkat("nowhere", dir, "t/dangling") == 0);
	scratch_write(dir, "t/read-only", "x");
	MUST(fchmodat(dir, "t/read-only", 0, 0) == 0);
	scratch_write(dir, "t/\n\033\xff", "x");
	make("t/-rf");
	if (mknodat(dir, "t/whiteout", S_IFCHR, 0) < 0)
		printf("# no whiteout here\n");
	CHECK_INT(remove_tree("t"), 0);
	CHECK(!there("t"));
}

/* Links lead out of the tree, to a folder that cannot be read: none of it is touched. */
static void facts_of_links(void)
{
	make("out");
	make("out/secret");
	scratch_write(dir, "out/f", "x");
	MUST(fchmodat(dir, "out/secret", 0, 0) == 0);
	make("t");
	MUST(symlinkat("../out", dir, "t/a") == 0);
	MUST(symlinkat("../out/secret", dir, "t/b") == 0);
	MUST(symlinkat("../out/f", dir, "t/c") == 0);
	CHECK_INT(remove_tree("t"), 0);
	CHECK(there("out/f") && mode_of("out/secret") == 0);
	CHECK_INT(remove_tree("out"), 0);
}

static void make_locked(void)
{
	make("t");
	make("t/none");
	make("t/none/in");
	scratch_write(dir, "t/none/in/f", "x");
	make("t/list");
	make("t/list/in");
	make("t/search");
	scratch_write(dir, "t/search/f", "x");
	make("t/write");
	scratch_write(dir, "t/write/f", "x");
	MUST(fchmodat(dir, "t/none/in", 0, 0) == 0);
	MUST(fchmodat(dir, "t/none", 0, 0) == 0);
	MUST(fchmodat(dir, "t/list", 0400, 0) == 0);
	MUST(fchmodat(dir, "t/search", 0100, 0) == 0);
	MUST(fchmodat(dir, "t/write", 0200, 0) == 0);
	MUST(fchmodat(dir, "t", 0, 0) == 0);
}

static void facts_of_modes(void)
{
	uint64_t bytes, entries;

	make_locked();
	CHECK_INT(ws_tree_usage(dir, "t", &bytes, &entries, &err), 0);
	CHECK_U64(entries, 10);
	CHECK_INT(mode_of("t"), 0);
	MUST(fchmodat(dir, "t", 0700, 0) == 0);
	CHECK_INT(mode_of("t/none"), 0);
	CHECK_INT(mode_of("t/list"), 0400);
	CHECK_INT(mode_of("t/search"), 0100);
	CHECK_INT(mode_of("t/write"), 0200);
	MUST(fchmodat(dir, "t/none", 0700, 0) == 0);
	CHECK_INT(mode_of("t/none/in"), 0);
	MUST(fchmodat(dir, "t/none", 0, 0) == 0 && fchmodat(dir, "t", 0, 0) == 0);
	CHECK_INT(remove_tree("t"), 0);
	CHECK(!there("t"));
}

static void facts_of_sizes(void)
{
	char block[65536];
	uint64_t bytes = 0, entries = 0, freed = 0;
	int fd;

	memset(block, 'x', sizeof(block));
	make("t");
	make("t/d");
	scratch_write(dir, "t/d/f", "");
	fd = openat(dir, "t/d/f", O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < 16; i++)
		MUST(write(fd, block, sizeof(block)) == sizeof(block));
	MUST(fsync(fd) == 0);
	close(fd);
	CHECK_INT(ws_tree_usage(dir, "t", &bytes, &entries, &err), 0);
	CHECK_U64(entries, 3);
	CHECK(bytes >= 1 << 20 && bytes < (1 << 20) + 65536);
	CHECK_INT(ws_tree_usage(dir, "t/d/f", &bytes, &entries, &err), 0);
	CHECK(entries == 1 && bytes >= 1 << 20);
	MUST(linkat(dir, "t/d/f", dir, "kept", 0) == 0);
	CHECK_INT(ws_tree_remove(dir, "t", &freed, &err), 0);
	CHECK(freed < 65536 && there("kept"));
	CHECK_INT(ws_tree_remove(dir, "kept", &freed, &err), 0);
	CHECK(freed >= 1 << 20);
	CHECK_INT(ws_tree_usage(dir, "t", &bytes, &entries, &err), -1);
	CHECK_STR(err.msg, "measure 't': No such file or directory");
	CHECK_INT(ws_tree_remove(dir, "t", &freed, &err), 0);
	CHECK_U64(freed, 0);
}

/* From NAME down a chain of N folders; each 20th gets a file and a sibling folder. */
static void make_deep(const char *name, int n, int len)
{
	char part[256];
	int at, next;

	memset(part, 'd', (size_t)len);
	part[len] = '\0';
	at = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 1; i < n; i++) {
		MUST(at >= 0 && mkdirat(at, part, 0700) == 0);
		if (i % 20 == 4) {
			MUST(mkdirat(at, "s", 0700) == 0);
			scratch_write(at, "f", "");
		}
		next = openat(at, part, O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	close(at);
}

static void *remove_deep(void *arg)
{
	uint64_t bytes, entries = 0;

	(void)arg;
	CHECK_INT(ws_tree_usage(dir, "deep", &bytes, &entries, &err), 0);
	CHECK_U64(entries, 10000 + 2 * 500);
	CHECK_INT(remove_tree("deep"), 0);
	CHECK(!there("deep"));
	return NULL;
}

/* 10,000 levels and 2 MB of path with 64 descriptors and 256 KiB of stack. */
static void facts_of_depth(void)
{
	struct rlimit was, few;
	pthread_attr_t small;
	pthread_t thread;

	make("deep");
	make_deep("deep", 10000, 200);
	MUST(getrlimit(RLIMIT_NOFILE, &was) == 0);
	few = was;
	few.rlim_cur = 64;
	MUST(setrlimit(RLIMIT_NOFILE, &few) == 0);
	MUST(pthread_attr_init(&small) == 0);
	MUST(pthread_attr_setstacksize(&small, 256 * 1024) == 0);
	MUST(pthread_create(&thread, &small, remove_deep, NULL) == 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&small);
	MUST(setrlimit(RLIMIT_NOFILE, &was) == 0);
}

/* More folders than names are kept, and more files than one read returns. */
static void facts_of_width(void)
{
	enum { N = 4500 };
	uint64_t bytes, entries;
	char name[32];
	int at;

	make("t");
	at = openat(dir, "t", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "folder-%d", i);
		MUST(mkdirat(at, name, 0700) == 0);
		snprintf(name, sizeof(name), "file-%d", i);
		scratch_write(at, name, "");
	}
	close(at);
	make("t/folder-77/deep");
	make_deep("t/folder-77/deep", 100, 10);
	CHECK_INT(ws_tree_usage(dir, "t", &bytes, &entries, &err), 0);
	CHECK_U64(entries, 1 + 2 * N + 100 + 2 * 5);
	CHECK_INT(remove_tree("t"), 0);
	CHECK(!there("t"));
}

/* The tree itself cannot go: all that is in it does. */
static void facts_of_failure(void)
{
	make("t");
	make("t/a");
	make("t/a/stay");
	make("t/b");
	scratch_write(dir, "t/b/f", "x");
	MUST(fchmodat(dir, ".", 0500, 0) == 0);
	CHECK_INT(remove_tree("t"), -1);
	CHECK_STR(err.msg, "remove 't': Permission denied");
	CHECK_INT(err.kind, WS_IO);
	MUST(fchmodat(dir, ".", 0700, 0) == 0);
	CHECK(there("t") && !there("t/a") && !there("t/b"));
	CHECK_INT(remove_tree("t"), 0);
}

static bool bind(const char *from, const char *to)
{
	char source[64], target[64];

	snprintf(source, sizeof(source), "/proc/self/fd/%d/%s", dir, from);
	snprintf(target, sizeof(target), "/proc/self/fd/%d/%s", dir, to);
	return mount(source, target, NULL, MS_BIND, NULL) == 0;
}

/* A bind mount has the device number of the tree, and is not entered all the same. */
static void in_namespace(int says)
{
	uint64_t bytes, entries;
	char answer[6];

	dir = open(scratch_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!bind("victim", "t/m") || !bind("victim", "at"))
		_exit(1);
	answer[0] = ws_tree_usage(dir, "t", &bytes, &entries, &err) < 0 ? 'y' : 'n';
	answer[1] = ws_tree_remove(dir, "t", NULL, &err) < 0 ? 'y' : 'n';
	answer[2] = strcmp(err.msg, "remove 't': 'm' is a mount point") == 0 ? 'y' : 'n';
	answer[3] = there("victim/f") ? 'y' : 'n';
	answer[4] = there("t/m/f") && !there("t/a") && !there("t/z") ? 'y' : 'n';
	answer[5] = 'n';
	if (ws_tree_remove(dir, "at", NULL, &err) < 0 && there("victim/f"))
		answer[5] = 'y';
	_exit(write(says, answer, sizeof(answer)) != sizeof(answer));
}

static void facts_of_mounts(void)
{
	char answer[8] = "";
	int ends[2];
	pid_t pid;

	make("victim");
	scratch_write(dir, "victim/f", "x");
	make("at");
	make("t");
	make("t/a");
	make("t/m");
	make("t/z");
	MUST(pipe(ends) == 0);
	fflush(stdout);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		if (own_mounts())
			in_namespace(ends[1]);
		_exit(1);
	}
	close(ends[1]);
	MUST(waitpid(pid, NULL, 0) == pid);
	if (read(ends[0], answer, 6) == 6)
		CHECK_STR(answer, "yyyyyy");
	else
		CHECK_SKIP("mounts are not entered", "no user namespaces here");
	close(ends[0]);
	CHECK_INT(remove_tree("t") + remove_tree("at") + remove_tree("victim"), 0);
}

static atomic_bool stop;
static atomic_int swaps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool go; /* under the lock: the swapper works */

/* All renames across folders of a filesystem wait for each other: leave room for others.
 */
static void rest(void)
{
	usleep(20);
}

static void set_go(bool value)
{
	pthread_mutex_lock(&lock);
	go = value;
	pthread_mutex_unlock(&lock);
}

static bool swap(const char *from, const char *to, unsigned flags)
{
	bool done;

	pthread_mutex_lock(&lock);
	done = go && renameat2(dir, from, dir, to, flags) == 0;
	pthread_mutex_unlock(&lock);
	rest();
	return done;
}

/* Swaps a folder of the tree with a link to the victim, and back, over and over. */
static void *swap_link(void *arg)
{
	char name[] = "t/a0";

	(void)arg;
	while (!stop) {
		name[3] = name[3] == '7' ? '0' : (char)(name[3] + 1);
		if (swap(name, "link", RENAME_EXCHANGE) &&
		    swap(name, "link", RENAME_EXCHANGE))
			swaps++;
	}
	return NULL;
}

/* Moves a folder from deep in the tree to a place beside the victim's files, and back. */
static void *move_away(void *arg)
{
	(void)arg;
	while (!stop) {
		if (swap("t/d/d/d/d", "victim/moved", 0))
			swaps++;
		swap("victim/moved", "t/d/d/d/d", 0);
	}
	return NULL;
}

/* It has names that the tree has too. */
static void make_victim(void)
{
	make("victim");
	make("victim/s");
	scratch_write(dir, "victim/f", "x");
	scratch_write(dir, "victim/s/f", "x");
}

static bool victim_is_whole(void)
{
	return there("victim/f") && there("victim/s/f");
}

/* Until the swapper is at it. */
static void start_swapping(void)
{
	int before = swaps;

	set_go(true);
	for (int i = 0; i < 1000 && swaps == before; i++)
		rest();
}

/* 60 levels, more than hold a descriptor, and many files at the bottom: it takes a while.
 */
static void make_target(void)
{
	char name[160];
	int at;

	make("t");
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "t/a%d", i);
		make(name);
	}
	make_deep("t", 60, 1);
	snprintf(name, sizeof(name), "t");
	for (int i = 1; i < 60; i++)
		strcat(name, "/d");
	at = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	MUST(at >= 0);
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "%d", i);
		scratch_write(at, name, "");
	}
	close(at);
}

static void facts_of_swapping(void *(*swapper)(void *), int rounds)
{
	pthread_t thread;
	bool unharmed = true;
	int removed = 0;

	make_victim();
	stop = false;
	swaps = 0;
	MUST(pthread_create(&thread, NULL, swapper, NULL) == 0);
	for (int i = 0; i < rounds && !there("t"); i++) {
		MUST(ws_tree_remove(dir, "link", NULL, &err) == 0);
		MUST(ws_tree_remove(dir, "victim/moved", NULL, &err) == 0);
		MUST(symlinkat("../victim", dir, "link") == 0);
		make_target();
		start_swapping();
		for (int tries = 0; tries < 20 && there("t"); tries++)
			removed += ws_tree_remove(dir, "t", NULL, &err) == 0;
		set_go(false);
		unharmed = unharmed && victim_is_whole();
	}
	stop = true;
	pthread_join(thread, NULL);
	printf("# %d swaps, %d removals\n", swaps, removed);
	CHECK(unharmed && victim_is_whole());
	CHECK(removed >= rounds);
	CHECK(swaps >= rounds);
	CHECK_INT(remove_tree("t") + remove_tree("victim") + remove_tree("link"), 0);
}

int main(void)
{
	int before = open_descriptors();

	become_nobody();
	umask(0);
	dir = scratch_make();
	facts_of_names();
	facts_of_every_kind();
	facts_of_links();
	facts_of_modes();
	facts_of_sizes();
	facts_of_depth();
	facts_of_width();
	facts_of_failure();
	facts_of_mounts();
	facts_of_swapping(swap_link, getenv("WSISO_LONG") ? 300 : 10);
	facts_of_swapping(move_away, getenv("WSISO_LONG") ? 300 : 10);
	scratch_remove(dir);
	CHECK_INT(open_descriptors(), before);
	return CHECK_DONE();
}
