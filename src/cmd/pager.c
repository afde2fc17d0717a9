/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/pager.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"
#include "cmd/common.h"

static size_t count_lines(const struct ws_buf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] == '\n';
	return n;
}

static bool fits(const struct ws_buf *text)
{
	struct winsize size = { 0 };

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row ||
	       count_lines(text) < size.ws_row;
}

/* The program as an absolute path, or NULL. */
static char *find_program(const char *name)
{
	WS_AUTO_FREE char *path = ws_strdup(getenv("PATH"));
	char *save = NULL;

	if (strchr(name, '/'))
		return faccessat(AT_FDCWD, name, X_OK, 0) == 0 ? ws_strdup(name) : NULL;
	if (!path)
		return NULL;
	for (char *d = strtok_r(path, ":", &save); d; d = strtok_r(NULL, ":", &save)) {
		WS_AUTO_FREE char *full = ws_format("%s/%s", d, name);

		if (d[0] == '/' && faccessat(AT_FDCWD, full, X_OK, 0) == 0)
			return ws_steal_ptr(&full);
	}
	return NULL;
}

static char *find_pager(void)
{
	const char *name = getenv("WSISO_PAGER");

	if (!name)
		name = getenv("PAGER");
	if (!name)
		name = "less";
	return *name && strcmp(name, "cat") != 0 ? find_program(name) : NULL;
}

static int page(char *program, const struct ws_buf *text, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv env = WS_STRV_INIT;
	WS_AUTO_CLOSE int in = -1;
	WS_AUTO_CLOSE int out = -1;
	char *argv[] = { program, NULL };
	struct ws_spawn s = { .argv = argv, .nfds = 3 };
	pid_t pid;
	int status;

	for (char **e = environ; *e; e++)
		ws_strv_push(&env, *e);
	if (!ws_env_get(&env, "LESS"))
		ws_env_set(&env, "LESS", "FRX");
	if (ws_pipe(&in, &out) < 0)
		return ws_fail_errno(err, "make a pipe");
	s.env = ws_strv_argv(&env);
	s.fds = (const struct ws_fdmap[]){ { in, 0 }, { 1, 1 }, { 2, 2 } };
	if (ws_spawn(&s, &pid, err) < 0)
		return -1;
	ws_closep(&in);
	/* whoever leaves the pager early has seen enough */
	if (ws_write_all(out, ws_buf_str(text), text->len) < 0 && errno != EPIPE)
		ws_fail_errno(err, "write to the pager");
	ws_closep(&out);
	if (ws_wait(pid, &status) < 0)
		return ws_fail_errno(err, "wait for the pager");
	return 0;
}

int ws_pager_show(const struct ws_buf *text, struct ws_err *err)
{
	WS_AUTO_FREE char *program = NULL;

	if (ws_out_terminal() && !fits(text))
		program = find_pager();
	return program ? page(program, text, err) : ws_out_write(text, err);
}
