/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "check.h"

static void facts_of_a_buffer(void)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	char *stolen;

	CHECK_STR(ws_buf_str(&b), "");
	ws_buf_add(&b, NULL, 0);
	CHECK_STR(b.data, "");
	ws_buf_addstr(&b, "ab");
	ws_buf_addch(&b, 'c');
	ws_buf_add(&b, "d\0e", 3);
	CHECK_INT((int64_t)b.len, 6);
	CHECK(memcmp(b.data, "abcd\0e", 7) == 0);
	ws_buf_clear(&b);
	CHECK_STR(ws_buf_str(&b), "");
	CHECK(b.cap > 0);
	ws_buf_addf(&b, "%d-%s", 7, "x");
	CHECK_STR(b.data, "7-x");
	stolen = ws_buf_steal(&b);
	CHECK_STR(stolen, "7-x");
	CHECK(b.data == NULL && b.len == 0 && b.cap == 0);
	free(stolen);
	stolen = ws_buf_steal(&b);
	CHECK_STR(stolen, "");
	free(stolen);
}

/* Formats around the room that is left: nothing may be cut. */
static void facts_of_growth(void)
{
	bool whole = true;

	for (int n = 0; n < 300; n++) {
		WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;

		ws_buf_addstr(&b, "0123456789");
		ws_buf_addf(&b, "%0*d|", n, 0);
		whole = whole && b.len == 10 + (size_t)(n ? n : 1) + 1 &&
			b.data[b.len - 1] == '|' && strlen(b.data) == b.len;
	}
	CHECK(whole);
}

/* Runs FN in a child; its exit status. */
static int status_of(void (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		fn();
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void overflow_product(void)
{
	ws_grow(NULL, SIZE_MAX / 2, 3);
}

static void overflow_buffer(void)
{
	struct ws_buf b = WS_BUF_INIT;

	ws_buf_addch(&b, 'x');
	ws_buf_reserve(&b, SIZE_MAX - 1);
}

static void facts_of_memory(void)
{
	WS_AUTO_FREE char *cut = ws_strndup("abcdef", 3);
	WS_AUTO_FREE char *less = ws_strndup("ab", 30);
	WS_AUTO_FREE char *made = ws_format("%s/%d", "a", 1);
	WS_AUTO_FREE char *zero = ws_alloc(16);
	char *taken;
	int fd = 7;

	CHECK_STR(cut, "abc");
	CHECK_STR(less, "ab");
	CHECK_STR(made, "a/1");
	CHECK(zero[0] == 0 && zero[15] == 0);
	CHECK(ws_strdup(NULL) == NULL);
	taken = ws_steal_ptr(&made);
	CHECK(made == NULL && taken != NULL);
	free(taken);
	CHECK_INT(ws_steal_fd(&fd), 7);
	CHECK_INT(fd, -1);
	errno = EXDEV;
	fd = INT_MAX;
	ws_closep(&fd);
	CHECK_INT(errno, EXDEV);
	CHECK_INT(fd, -1);
	CHECK_INT(status_of(overflow_product), 125);
	CHECK_INT(status_of(overflow_buffer), 125);
}

int main(void)
{
	facts_of_a_buffer();
	facts_of_growth();
	facts_of_memory();
	return CHECK_DONE();
}
