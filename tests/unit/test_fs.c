/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fs.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "scratch.h"

static int dir;

static int errno_of(int rc)
{
	int saved = errno;

	if (rc >= 0) {
		close(rc);
		return 0;
	}
	return saved;
}

static int open_errno(const char *path)
{
	return errno_of(ws_open_beneath(dir, path, O_RDONLY, 0));
}

static void facts_of_opening(void)
{
	int fd;

	MUST(mkdirat(dir, "d", 0700) == 0);
	scratch_write(dir, "d/f", "hello");
	MUST(symlinkat("d", dir, "ld") == 0 && symlinkat("/etc/passwd", dir, "lp") == 0);
	CHECK_INT(open_errno("d/f"), 0);
	CHECK_INT(open_errno("d/../d/f"), 0);
	CHECK_INT(open_errno("ld/f"), ELOOP);
	CHECK_INT(open_errno("lp"), ELOOP);
	CHECK_INT(open_errno("../"), EXDEV);
	CHECK_INT(open_errno("d/../../x"), EXDEV);
	CHECK_INT(open_errno("/etc/passwd"), EXDEV);
	CHECK_INT(open_errno("none"), ENOENT);
	CHECK_INT(errno_of(ws_open_dir(dir, "d")), 0);
	CHECK_INT(errno_of(ws_open_dir(dir, "d/f")), ENOTDIR);
	CHECK_INT(errno_of(ws_open_dir(dir, "ld")), ELOOP);
	fd = ws_open_beneath(dir, "d/new", O_RDWR | O_CREAT | O_EXCL, 0640);
	CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
	CHECK_INT(errno_of(fd), 0);
	CHECK_INT(errno_of(
			  ws_open_beneath(dir, "d/new", O_RDWR | O_CREAT | O_EXCL, 0640)),
		  EEXIST);
}

static int read_errno(const char *path, size_t max)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;

	return errno_of(ws_read_file(dir, path, max, &b));
}

static void facts_of_reading(void)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int sock, proc;

	ws_buf_addstr(&b, "> ");
	CHECK_INT(ws_read_file(dir, "d/f", 5, &b), 0);
	CHECK_STR(b.data, "> hello");
	CHECK_INT(read_errno("d/f", 4), EFBIG);
	CHECK_INT(read_errno("d", 4), EINVAL);
	CHECK_INT(read_errno("lp", 1 << 20), ELOOP);
	MUST(mkfifoat(dir, "fifo", 0600) == 0);
	CHECK_INT(read_errno("fifo", 4), EINVAL);
	snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/sock", dir);
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	MUST(sock >= 0 && bind(sock, (struct sockaddr *)&name, sizeof(name)) == 0);
	CHECK(read_errno("sock", 4) != 0);
	close(sock);
	scratch_write(dir, "empty", "");
	ws_buf_clear(&b);
	CHECK_INT(ws_read_file(dir, "empty", 0, &b), 0);
	CHECK_STR(ws_buf_str(&b), "");
	proc = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(ws_read_file(proc, "status", 1 << 16, &b), 0); /* its size is 0 */
	CHECK(b.len > 100);
	CHECK_INT(errno_of(ws_read_file(proc, "status", 10, &b)), EFBIG);
	close(proc);
}

static void *write_slowly(void *arg)
{
	int fd = *(int *)arg;
	char block[1000];

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 200; i++)
		if (ws_write_all(fd, block, sizeof(block)) < 0)
			break;
	close(fd);
	return NULL;
}

static void facts_of_pipes(void)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	pthread_t writer;
	int ends[2];

	CHECK_INT(ws_pipe(&ends[0], &ends[1]), 0);
	CHECK(fcntl(ends[0], F_GETFD) & fcntl(ends[1], F_GETFD) & FD_CLOEXEC);
	MUST(pthread_create(&writer, NULL, write_slowly, &ends[1]) == 0);
	CHECK_INT(ws_read_fd(ends[0], 200000, &b), 0);
	CHECK_INT((int64_t)b.len, 200000);
	pthread_join(writer, NULL);
	close(ends[0]);
}

static size_t entries(int at)
{
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fdopendir(fd);
	size_t n = 0;

	MUST(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static atomic_bool stop;
static atomic_int torn;

/* Sees the old bytes or the new ones: all 'a' or all 'b', and a whole file. */
static void *read_always(void *arg)
{
	(void)arg;
	while (!stop) {
		WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;

		if (ws_read_file(dir, "w/f", 1 << 20, &b) < 0 || b.len != 50000 ||
		    strspn(b.data, b.data[0] == 'a' ? "a" : "b") != b.len)
			torn++;
	}
	return NULL;
}

static void facts_of_replacing(void)
{
	struct ws_buf b[2] = { WS_BUF_INIT, WS_BUF_INIT };
	WS_AUTO_CLOSE int w = -1;
	struct ws_err err = WS_ERR_INIT;
	struct stat st;
	pthread_t reader;
	bool all = true;

	MUST(mkdirat(dir, "w", 0700) == 0);
	w = openat(dir, "w", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 50000; i++) {
		ws_buf_addch(&b[0], 'a');
		ws_buf_addch(&b[1], 'b');
	}
	CHECK_INT(ws_write_atomic(w, "f", &b[0], true, &err), 0);
	MUST(pthread_create(&reader, NULL, read_always, NULL) == 0);
	for (int i = 0; i < 300; i++)
		all = all && ws_write_atomic(w, "f", &b[i % 2], false, &err) == 0;
	stop = true;
	pthread_join(reader, NULL);
	CHECK(all);
	CHECK_INT(torn, 0);
	CHECK(fstatat(w, "f", &st, 0) == 0 && (st.st_mode & 07777) == 0600);
	CHECK_INT((int64_t)entries(w), 1);
	MUST(mkdirat(w, "sub", 0700) == 0);
	CHECK_INT(ws_write_atomic(w, "sub", &b[0], false, &err), -1);
	CHECK_STR(err.msg, "write 'sub': Is a directory");
	CHECK_INT(ws_write_atomic(w, "no/f", &b[0], false, &err), -1);
	CHECK_INT((int64_t)entries(w), 2);
	ws_buf_release(&b[0]);
	ws_buf_release(&b[1]);
}

static void facts_of_folders(void)
{
	struct stat st;

	umask(077);
	CHECK_INT(ws_mkdir(dir, "m", 0700), 0);
	CHECK_INT(ws_mkdir(dir, "m", 0700), 0);
	CHECK_INT(errno_of(ws_mkdir(dir, "empty", 0700)), ENOTDIR);
	CHECK_INT(errno_of(ws_mkdir(dir, "ld", 0700)), ENOTDIR);
	CHECK_INT(ws_mkdirs(dir, "m/a//./b/", 0700), 0);
	CHECK_INT(ws_mkdirs(dir, "m/a/b", 0700), 0);
	CHECK(fstatat(dir, "m/a/b", &st, 0) == 0 && (st.st_mode & 07777) == 0700);
	CHECK_INT(ws_mkdirs(dir, "", 0700), 0);
	CHECK_INT(errno_of(ws_mkdirs(dir, "ld/x", 0700)), ENOTDIR);
	CHECK_INT(errno_of(ws_mkdirs(dir, "empty/x", 0700)), ENOTDIR);
	CHECK_INT(errno_of(ws_mkdirs(dir, "m/../x", 0700)), EXDEV);
	CHECK_INT(errno_of(ws_mkdirs(dir, "/x", 0700)), EXDEV);
	CHECK_INT(faccessat(dir, "d/x", F_OK, 0), -1);
}

static void facts_of_the_rest(void)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	WS_AUTO_FREE char *real = ws_realpath("/proc/../proc/./sys");
	uint64_t free_bytes = 0;
	char type[32];
	int fd;

	CHECK_STR(real, "/proc/sys");
	CHECK(ws_realpath("/none/there") == NULL);
	CHECK(ws_fs_free(dir, &free_bytes) == 0 && free_bytes > 0);
	fd = open("/proc", O_PATH | O_CLOEXEC);
	CHECK_STR(ws_fs_type(fd, type), "proc");
	close(fd);
	CHECK_STR(ws_fs_type(-1, type), "unknown");
	fd = ws_memfd("x", "bytes", 5);
	CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
	CHECK(ws_read_fd(fd, 5, &b) == 0 && strcmp(b.data, "bytes") == 0);
	close(fd);
}

int main(void)
{
	int before = open_descriptors();

	dir = scratch_make();
	facts_of_opening();
	facts_of_reading();
	facts_of_pipes();
	facts_of_replacing();
	facts_of_folders();
	facts_of_the_rest();
	scratch_remove(dir);
	CHECK_INT(open_descriptors(), before);
	return CHECK_DONE();
}
