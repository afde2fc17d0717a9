/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spec_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

/* A writer that is silent for so long, or not done after so long, will never be. */
#define SILENCE_MS 5000
#define TOTAL_MS 30000

const char *ws_spec_file_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

static int fail_sys(const char *what, const char *name, struct ws_err *err)
{
	ws_fail_errno(err, "%s spec '%s'", what, name);
	err->kind = WS_SPEC_INVALID;
	return -1;
}

/* Waits for bytes, an end or an error; someone who types may take their time. */
static int wait_readable(int fd, uint64_t end, const char *name, struct ws_err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int timeout = isatty(fd) ? -1 : SILENCE_MS;
	int rc = 0;

	do {
		if (timeout < 0 || ws_clock_mono_ms() < end)
			rc = poll(&p, 1, timeout);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return fail_sys("wait for", name, err);
	if (rc == 0)
		return ws_fail(err, WS_SPEC_INVALID, "spec '%s' does not come to an end",
			       name);
	return 0;
}

static int read_all(int fd, const char *name, struct ws_buf *text, struct ws_err *err)
{
	uint64_t end = ws_clock_mono_ms() + TOTAL_MS;
	char chunk[16384];

	for (;;) {
		ssize_t n;

		if (wait_readable(fd, end, name, err) < 0)
			return -1;
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return fail_sys("read", name, err);
		if (n == 0)
			return 0;
		ws_buf_add(text, chunk, (size_t)n);
		if (text->len > WS_JSON_MAX_SIZE)
			return ws_fail(err, WS_SPEC_INVALID,
				       "spec '%s' is larger than %u bytes", name,
				       WS_JSON_MAX_SIZE);
	}
}

int ws_spec_file_read(const char *path, struct ws_json **ret, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_CLOSE int opened = -1;
	const char *name = ws_spec_file_name(path);
	int fd = STDIN_FILENO;
	struct stat st;

	if (strcmp(path, "-") != 0) {
		/* O_NONBLOCK: the open of a pipe that nobody writes to would hang */
		opened = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (opened < 0)
			return fail_sys("open", name, err);
		fd = opened;
	}
	if (fstat(fd, &st) < 0)
		return fail_sys("look at", name, err);
	if (S_ISDIR(st.st_mode))
		return ws_fail(err, WS_SPEC_INVALID, "spec '%s' is a folder", name);
	if (read_all(fd, name, &text, err) < 0)
		return -1;
	if (text.len == 0)
		return ws_fail(err, WS_SPEC_INVALID, "spec '%s' is empty", name);
	return ws_json_parse(name, ws_buf_str(&text), text.len, ret, err);
}
