/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "scratch.h"

static int dir;

static int try_errno(int fd, bool exclusive)
{
	return ws_lock_try(fd, exclusive) < 0 ? errno : 0;
}

static void facts_of_two_descriptions(void)
{
	WS_AUTO_CLOSE int a = ws_lock_open(dir, "l");
	WS_AUTO_CLOSE int b = ws_lock_open(dir, "l");
	WS_AUTO_CLOSE int copy = -1;
	struct stat st;

	CHECK(a >= 0 && (fcntl(a, F_GETFD) & FD_CLOEXEC));
	CHECK(fstat(a, &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK_INT(try_errno(a, true), 0);
	CHECK_INT(try_errno(b, true), EWOULDBLOCK);
	CHECK_INT(try_errno(b, false), EWOULDBLOCK);
	ws_lock_drop(a);
	CHECK_INT(try_errno(b, false), 0);
	CHECK_INT(try_errno(a, false), 0);
	CHECK_INT(try_errno(a, true), EWOULDBLOCK);
	CHECK_INT(try_errno(b, true), 0); /* the failed conversion of a lost its lock */
	copy = fcntl(b, F_DUPFD_CLOEXEC, 0);
	ws_closep(&b);
	CHECK_INT(try_errno(a, true), EWOULDBLOCK);
	ws_closep(&copy);
	CHECK_INT(try_errno(a, true), 0);
}

static void facts_of_hostile_names(void)
{
	MUST(mkfifoat(dir, "fifo", 0600) == 0 && symlinkat("l", dir, "link") == 0);
	MUST(mkdirat(dir, "folder", 0700) == 0);
	CHECK(ws_lock_open(dir, "fifo") == -1 && errno == EINVAL);
	CHECK(ws_lock_open(dir, "link") == -1 && errno == ELOOP);
	CHECK(ws_lock_open(dir, "folder") == -1 && errno == EISDIR);
}

/* A process that holds the lock for MS. */
static pid_t hold(bool exclusive, unsigned ms)
{
	int ready[2];
	char byte;
	pid_t pid;

	MUST(pipe(ready) == 0);
	fflush(stdout);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		int fd = ws_lock_open(dir, "l");

		if (ws_lock_try(fd, exclusive) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		ws_clock_sleep_ms(ms);
		_exit(0);
	}
	close(ready[1]);
	MUST(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	return pid;
}

static void facts_of_waiting(void)
{
	WS_AUTO_CLOSE int fd = ws_lock_open(dir, "l");
	struct ws_err err = WS_ERR_INIT;
	uint64_t start;
	pid_t pid;

	pid = hold(true, 300);
	start = ws_clock_mono_ms();
	CHECK_INT(ws_lock_wait(fd, false, 0, "session 'x'", &err), -1);
	CHECK_INT(ws_lock_wait(fd, true, 50, "session 'x'", &err), -1);
	CHECK(ws_clock_mono_ms() - start >= 50 && ws_clock_mono_ms() - start < 250);
	CHECK_INT(err.kind, WS_SESSION_BUSY);
	CHECK_STR(err.msg, "session 'x' is in use");
	CHECK_INT(ws_lock_wait(fd, true, 10000, "session 'x'", &err), 0);
	CHECK(ws_clock_mono_ms() - start >= 250 && ws_clock_mono_ms() - start < 2000);
	ws_lock_drop(fd);
	MUST(waitpid(pid, NULL, 0) == pid);
	pid = hold(false, 100);
	CHECK_INT(ws_lock_wait(fd, false, 0, "session 'x'", &err), 0);
	MUST(waitpid(pid, NULL, 0) == pid);
	CHECK_INT(ws_lock_wait(-1, false, 0, "session 'x'", &err), -1);
	CHECK_INT(err.kind, WS_IO);
}

/* Increments that are not atomic, in 8 processes: none gets lost. */
static void facts_of_exclusion(void)
{
	enum { PROCESSES = 8, ROUNDS = 50 };
	int value = 0, counter;

	counter = openat(dir, "counter", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	MUST(counter >= 0 && pwrite(counter, &value, sizeof(value), 0) == sizeof(value));
	fflush(stdout);
	for (int p = 0; p < PROCESSES; p++) {
		pid_t pid = fork();

		MUST(pid >= 0);
		if (pid > 0)
			continue;
		for (int i = 0; i < ROUNDS; i++) {
			struct ws_err err;
			int fd = ws_lock_open(dir, "l");

			if (ws_lock_wait(fd, true, 60000, "it", &err) < 0 ||
			    pread(counter, &value, sizeof(value), 0) != sizeof(value))
				_exit(1);
			value++;
			if (pwrite(counter, &value, sizeof(value), 0) != sizeof(value))
				_exit(1);
			close(fd);
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		continue;
	MUST(pread(counter, &value, sizeof(value), 0) == sizeof(value));
	CHECK_INT(value, PROCESSES * ROUNDS);
	close(counter);
}

int main(void)
{
	int before = open_descriptors();

	dir = scratch_make();
	facts_of_two_descriptions();
	facts_of_hostile_names();
	facts_of_waiting();
	facts_of_exclusion();
	scratch_remove(dir);
	CHECK_INT(open_descriptors(), before);
	return CHECK_DONE();
}
