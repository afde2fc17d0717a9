/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "scratch.h"

#define SH(script)                                                            \
	((char *[]){ (char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", \
		     (char *)(uintptr_t)(script), NULL })

static struct ws_err err;

/* What SCRIPT prints, with FDS; its status follows after '|'. */
static const char *output(const char *script, const struct ws_fdmap *fds, size_t nfds)
{
	static struct ws_buf out = WS_BUF_INIT;
	const struct ws_spawn s = { .argv = SH(script), .fds = fds, .nfds = nfds };
	int status = -1;

	ws_buf_clear(&out);
	if (ws_run_capture(&s, 100000, &out, NULL, &status, &err) < 0)
		return err.msg;
	ws_buf_addf(&out, "|%d", status);
	return ws_buf_str(&out);
}

static int status_of(const char *script)
{
	const struct ws_spawn s = { .argv = SH(script) };
	int status;

	return ws_run(&s, &status, &err) < 0 ? -1 : status;
}

static void facts_of_status(void)
{
	char *none[] = { (char *)(uintptr_t) "/none/there", NULL };
	char *bare[] = { (char *)(uintptr_t) "sh", NULL };
	struct ws_spawn s = { .argv = none };
	int status;

	CHECK_INT(status_of("exit 77"), 77);
	CHECK_INT(status_of("kill -9 $$"), 137);
	CHECK_INT(status_of("kill -TERM $$"), 143);
	CHECK_INT(ws_run(&s, &status, &err), -1);
	CHECK_STR(err.msg, "run '/none/there': No such file or directory");
	s.argv = bare;
	CHECK_INT(ws_run(&s, &status, &err), -1);
	CHECK_INT(err.kind, WS_INTERNAL);
	CHECK_INT(ws_wait(getpid(), &status), -1);
}

/* Only what is named is there: 0, 1, 2, and ls's own descriptor of the folder. */
static void facts_of_inheritance(void)
{
	int leak = open("/etc/passwd", O_RDONLY);
	int high = fcntl(leak, F_DUPFD, 200);
	struct ws_fdmap map[] = { { .from = leak, .to = 5 } };

	MUST(leak >= 0 && high >= 200);
	CHECK_STR(output("exec ls /proc/self/fd", NULL, 0), "0\n1\n2\n3\n|0");
	CHECK_STR(output("exec ls /proc/self/fd", map, 1), "0\n1\n2\n3\n5\n|0");
	CHECK_STR(output("readlink /proc/self/fd/0 /proc/self/fd/2 /proc/self/fd/5", map,
			 1),
		  "/dev/null\n/dev/null\n/etc/passwd\n|0");
	CHECK_STR(output("read x <&5; echo ${x%%:*}", map, 1), "root\n|0");
	CHECK_STR(output("/usr/bin/env | grep -v ^PWD | grep -v ^_; :", NULL, 0), "|0");
	map[0].from = 987654;
	CHECK_STR(output(":", map, 1),
		  "run '/bin/sh': copy descriptors: Bad file descriptor");
	CHECK(fcntl(leak, F_GETFD) == 0 && fcntl(high, F_GETFD) == 0);
	close(leak);
	close(high);
}

static int file_with(const char *text)
{
	FILE *f = tmpfile();
	int fd;

	MUST(f && fputs(text, f) >= 0 && fflush(f) == 0);
	fd = dup(fileno(f));
	MUST(fd >= 0 && lseek(fd, 0, SEEK_SET) == 0);
	fclose(f);
	return fd;
}

/* From and to overlap: a swap, a chain, one to itself, one to two, standard ones. */
static void facts_of_maps(void)
{
	int at[3];

	for (int i = 0; i < 3; i++) {
		char text[3] = { (char)('a' + i), '\n', '\0' };
		int fd = file_with(text);

		at[i] = dup2(fd, 10 + i);
		MUST(at[i] == 10 + i);
		close(fd);
	}
#define CAT "cat /proc/self/fd/10 /proc/self/fd/11 /proc/self/fd/12 | tr -d '\\n'"
	CHECK_STR(output(CAT, (struct ws_fdmap[]){ { 10, 11 }, { 11, 10 }, { 12, 12 } },
			 3),
		  "bac|0");
	CHECK_STR(output(CAT, (struct ws_fdmap[]){ { 10, 11 }, { 11, 12 }, { 12, 10 } },
			 3),
		  "cab|0");
	CHECK_STR(output(CAT, (struct ws_fdmap[]){ { 10, 11 }, { 10, 12 }, { 10, 10 } },
			 3),
		  "aaa|0");
	CHECK_STR(output("cat; cat <&3", (struct ws_fdmap[]){ { 10, 0 }, { 11, 3 } }, 2),
		  "a\nb\n|0");
	for (int i = 0; i < 3; i++)
		close(at[i]);
}

/* 32 and 33 are the C library's own: its posix_spawn leaves them ignored. */
static void facts_of_signals(void)
{
	struct sigaction was, ignore = { .sa_handler = SIG_IGN };
	sigset_t all;

	sigfillset(&all);
	sigaction(SIGPIPE, &ignore, &was);
	sigaction(SIGUSR1, &ignore, NULL);
	sigprocmask(SIG_SETMASK, &all, NULL);
	CHECK_STR(output("while read k v; do case $k in SigBlk:|SigIgn:) "
			 "echo $((0x$v & ~0x180000000));; esac; done </proc/self/status",
			 NULL, 0),
		  "0\n0\n|0");
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigaction(SIGPIPE, &was, NULL);
}

static void facts_of_sessions(void)
{
	struct ws_spawn s = { .argv = SH("exec sleep 100"), .new_session = true };
	pid_t pid;
	int status;

	MUST(ws_spawn(&s, &pid, &err) == 0);
	CHECK_INT(getsid(pid), pid);
	kill(pid, SIGKILL);
	CHECK_INT(ws_wait(pid, &status), 0);
	s.new_session = false;
	MUST(ws_spawn(&s, &pid, &err) == 0);
	CHECK_INT(getsid(pid), getsid(0));
	kill(pid, SIGKILL);
	CHECK_INT(ws_wait(pid, &status), 0);
	CHECK_INT(status, 137);
}

static void facts_of_timeouts(void)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_spawn s = { .argv = SH("echo x; exec sleep 100"), .timeout_ms = 200 };
	uint64_t start = ws_clock_mono_ms();
	int status;

	CHECK_INT(ws_run(&s, &status, &err), -1);
	CHECK_INT(err.kind, WS_TIMEOUT);
	CHECK_STR(err.msg, "'/bin/sh' did not end within 0.2 s");
	CHECK_INT(ws_run_capture(&s, 100, &out, NULL, &status, &err), -1);
	CHECK_INT(err.kind, WS_TIMEOUT);
	CHECK(ws_clock_mono_ms() - start >= 400 && ws_clock_mono_ms() - start < 5000);
	s.argv = SH("sleep 100 & sleep 100");
	s.new_session = true;
	CHECK_INT(ws_run(&s, &status, &err), -1);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	s.argv = SH("exit 3");
	s.timeout_ms = 60000;
	CHECK(ws_run(&s, &status, &err) == 0 && status == 3);
}

static void facts_of_capture(void)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_spawn s = {
		.argv = SH("head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2;"
			   "echo end; exit 4")
	};
	uint64_t start;
	int status;

	CHECK_INT(ws_run_capture(&s, 300004, &out, &text, &status, &err), 0);
	CHECK(out.len == 300004 && strcmp(out.data + 300000, "end\n") == 0);
	CHECK_INT((int64_t)text.len, 65536);
	CHECK_INT(status, 4);
	ws_buf_clear(&out);
	CHECK_INT(ws_run_capture(&s, 300003, &out, NULL, &status, &err), -1);
	CHECK_INT(err.kind, WS_IO);
	CHECK_INT((int64_t)out.len, 300003);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	/* a descendant that keeps the pipe open is not waited for */
	s.argv = SH("sleep 3 & echo done");
	ws_buf_clear(&out);
	start = ws_clock_mono_ms();
	CHECK_INT(ws_run_capture(&s, 100, &out, NULL, &status, &err), 0);
	CHECK_STR(out.data, "done\n");
	CHECK(ws_clock_mono_ms() - start < 2000);
	/* nor one that closes them early */
	s.argv = SH("exec >&- 2>&-; sleep 0.2; exit 5");
	CHECK(ws_run_capture(&s, 100, &out, &text, &status, &err) == 0 && status == 5);
	CHECK(ws_run_capture(&s, 100, NULL, NULL, &status, &err) == 0 && status == 5);
}

static void facts_of_identity(void)
{
	struct ws_proc_id id = { 0 }, other;
	uint64_t start;
	int status, fd;
	pid_t pid;

	CHECK_INT((int64_t)strlen(ws_boot_id()), 36);
	CHECK(ws_boot_id() == ws_boot_id());
	CHECK_INT(ws_proc_identify(getpid(), &id), 0);
	fd = ws_proc_open(&id);
	CHECK(fd >= 0 && !ws_pidfd_gone(fd, 0));
	close(fd);
	other = id;
	other.start++;
	CHECK(ws_proc_open(&other) == -1 && errno == ESRCH);
	other = id;
	other.boot[0] = other.boot[0] == 'a' ? 'b' : 'a';
	CHECK(ws_proc_open(&other) == -1 && errno == ESRCH);
	CHECK(ws_proc_open(&(struct ws_proc_id){ 0 }) == -1 && errno == ESRCH);
	CHECK(ws_proc_start_time(0x3fffff, &start) == -1 && errno == ESRCH);
	fflush(stdout);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	CHECK_INT(ws_proc_identify(pid, &id), 0);
	CHECK(id.start > 0);
	fd = ws_proc_open(&id);
	MUST(fd >= 0);
	CHECK(!ws_pidfd_gone(fd, 20));
	CHECK_INT(ws_pidfd_signal(fd, SIGKILL), 0);
	CHECK(ws_pidfd_gone(fd, 10000));
	CHECK(ws_proc_open(&id) == -1 && errno == ESRCH); /* a zombie */
	CHECK(ws_wait(pid, &status) == 0 && status == 137);
	CHECK(ws_pidfd_gone(fd, -1));
	CHECK(ws_pidfd_signal(fd, 0) == -1 && errno == ESRCH);
	CHECK(ws_pidfd_open(pid) == -1 && errno == ESRCH);
	close(fd);
}

/* A program may call itself ") R 1 2 3": the numbers after its name are still found. */
static void facts_of_names(void)
{
	const char *script =
		"cp /bin/sleep \"$PWD/) R 1 2 (3\" && exec './) R 1 2 (3' 100";
	struct ws_spawn s = { .argv = SH(script) };
	struct ws_proc_id self, id;
	int dir = scratch_make(), status;
	pid_t pid;

	MUST(fchdir(dir) == 0 && ws_spawn(&s, &pid, &err) == 0);
	for (int i = 0; i < 100; i++) {
		char path[64], comm[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		f = fopen(path, "r");
		if (f && fgets(comm, sizeof(comm), f) && comm[0] == ')')
			i = 100;
		if (f)
			fclose(f);
		ws_clock_sleep_ms(20);
	}
	CHECK(ws_proc_identify(pid, &id) == 0 && ws_proc_identify(getpid(), &self) == 0);
	CHECK(id.start >= self.start && id.start < self.start + 100000);
	kill(pid, SIGKILL);
	ws_wait(pid, &status);
	MUST(chdir("/") == 0);
	scratch_remove(dir);
}

static void facts_of_cloexec(void)
{
	int fd = open("/dev/null", O_RDONLY);
	int high = fcntl(fd, F_DUPFD, 300);

	MUST(fd >= 3 && high >= 300);
	errno = ENOENT;
	ws_fds_cloexec();
	CHECK_INT(errno, ENOENT);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC && fcntl(high, F_GETFD) == FD_CLOEXEC);
	CHECK_INT(fcntl(1, F_GETFD), 0);
	close(fd);
	close(high);
}

int main(void)
{
	int before;

	closefrom(3); /* the numbers below are ours */
	before = open_descriptors();
	facts_of_status();
	facts_of_inheritance();
	facts_of_maps();
	facts_of_signals();
	facts_of_sessions();
	facts_of_timeouts();
	facts_of_capture();
	facts_of_identity();
	facts_of_names();
	facts_of_cloexec();
	CHECK_INT(open_descriptors(), before);
	return CHECK_DONE();
}
