/* SPDX-License-Identifier: Apache-2.0 */
#include "core/idle.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "core/sandbox.h"

struct candidate {
	char *id;
	uint64_t used;
};

struct candidates {
	struct candidate *v;
	size_t n;
};

static void candidates_release(struct candidates *c)
{
	for (size_t i = 0; i < c->n; i++)
		ws_freep(&c->v[i].id);
	ws_freep(&c->v);
}

static int by_use(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (x->used > y->used) - (x->used < y->used);
}

/* 1 idle, 0 in use, -1 no sandbox (any more). */
static int look(const struct ws_root *root, const char *id, uint64_t *ret_used)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	struct ws_err err = WS_ERR_INIT;

	if (ws_session_open_record(root, id, &s, &err) < 0 ||
	    ws_sandbox_peek(&s, &sb, &err) <= 0)
		return -1;
	*ret_used = ws_session_last_use(&s);
	return ws_sandbox_idle(&sb);
}

/*
 * init itself knows whether it is idle and nobody on his way in: SIGUSR1 ends its linger.
 */
static void end_idle(const struct ws_root *root, const char *id)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	struct ws_err err = WS_ERR_INIT;

	if (ws_session_open_record(root, id, &s, &err) < 0 ||
	    ws_sandbox_peek(&s, &sb, &err) <= 0)
		return;
	ws_debug("ending the idle sandbox of session '%s'", id);
	ws_pidfd_signal(sb.pidfd, SIGUSR1);
}

static void collect(const struct ws_root *root, DIR *d, const char *self,
		    struct candidates *c)
{
	const struct dirent *e;

	while ((e = readdir(d))) {
		uint64_t used = 0;
		int idle;

		if (e->d_name[0] == '.' || !strcmp(e->d_name, self))
			continue;
		idle = look(root, e->d_name, &used);
		if (idle < 0)
			unlinkat(dirfd(d), e->d_name, 0);
		if (idle <= 0)
			continue;
		c->v = ws_grow(c->v, c->n + 1, sizeof(*c->v));
		c->v[c->n++] = (struct candidate){ ws_strdup(e->d_name), used };
	}
}

static size_t count(DIR *d)
{
	size_t n = 0;
	const struct dirent *e;

	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	rewinddir(d);
	return n;
}

void ws_idle_note(const struct ws_root *root, const struct ws_session *s, uint64_t max)
{
	__attribute__((cleanup(candidates_release))) struct candidates c = { 0 };
	struct ws_err err = WS_ERR_INIT;
	int dir = ws_root_dir(root, "live", &err);
	DIR *d = dir < 0 ? NULL : fdopendir(dir);
	WS_AUTO_CLOSE int mark = -1;

	if (!d) {
		ws_closep(&dir);
		return;
	}
	mark = openat(dir, s->id, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* Few marks cannot be too many idle sandboxes: the usual start ends here. */
	if (count(d) > max + 1)
		collect(root, d, s->id, &c);
	if (c.n)
		qsort(c.v, c.n, sizeof(*c.v), by_use);
	for (size_t i = 0; c.n > max && i < c.n - max; i++)
		end_idle(root, c.v[i].id);
	closedir(d);
}
