/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "core/execrec.h"
#include "core/procs.h"
#include "core/sandbox.h"

#define CHUNK 65536 /* a record of /dev/kmsg comes as a whole, or not at all */
#define LINE_LONG (1u << 20)
#define MS 1000000ull /* the log's times are cut to this */

static const char *const logs[] = { "/var/log/audit/audit.log", "/dev/kmsg" };

void ws_hits_release(struct ws_hits *h)
{
	ws_freep(&h->v);
	h->n = 0;
}

/* ---- whose is it? ---- */

struct owner {
	char *exec; /* NULL: of another session */
	pid_t process, shepherd;
	uint64_t began, ended; /* ENDED: UINT64_MAX while anything of it is left */
};

struct owners {
	struct owner *v;
	size_t n;
	struct ws_procs procs; /* those that live */
};

static void owners_release(struct owners *o)
{
	for (size_t i = 0; i < o->n; i++)
		ws_freep(&o->v[i].exec);
	ws_freep(&o->v);
	ws_procs_release(&o->procs);
}

/* A record that cannot be read owns nothing. */
static void add_owners(const struct ws_session *s, bool ours, struct owners *o)
{
	WS_AUTO(ws_strv) struct ws_strv ids = WS_STRV_INIT;
	struct ws_err ignored = WS_ERR_INIT;

	if (ws_execrec_list(s, &ids, &ignored) < 0)
		return;
	o->v = ws_grow(o->v, o->n + ids.n + 1, sizeof(*o->v));
	for (size_t i = 0; i < ids.n; i++) {
		WS_AUTO(ws_execrec) struct ws_execrec r = WS_EXECREC_INIT;

		if (ws_execrec_load(s, ids.v[i], &r, &ignored) < 0)
			continue;
		o->v[o->n++] = (struct owner){
			.exec = ours ? ws_strdup(r.id) : NULL,
			.process = r.process.pid,
			.shepherd = r.shepherd.pid,
			.began = r.started,
			.ended = !r.ended || ws_execrec_alive(&r) ? UINT64_MAX : r.ended,
		};
	}
}

static void add_others(const struct ws_root *root, const struct ws_session *s,
		       struct owners *o)
{
	WS_AUTO(ws_strv) struct ws_strv ids = WS_STRV_INIT;
	struct ws_err ignored = WS_ERR_INIT;

	if (ws_session_list(root, false, &ids, &ignored) < 0)
		return;
	for (size_t i = 0; i < ids.n; i++) {
		WS_AUTO(ws_session) struct ws_session other = WS_SESSION_INIT;

		if (strcmp(ids.v[i], s->id) != 0 &&
		    ws_session_open_name(root, ids.v[i], &other, &ignored) == 0)
			add_owners(&other, false, o);
	}
}

static bool covers(const struct owner *o, uint64_t time)
{
	return o->began <= time + MS && (o->ended == UINT64_MAX || time <= o->ended);
}

/* By the shepherd above a process that still lives. */
static const struct owner *owner_of_living(const struct owners *o, const struct ws_hit *h)
{
	for (size_t i = 0; i < o->procs.n; i++) {
		const struct ws_process *p = &o->procs.v[i];

		if (p->pid != h->pid || ws_process_began(p) > h->time + MS)
			continue;
		for (size_t k = 0; k < o->n; k++)
			if (o->v[k].exec && o->v[k].shepherd == p->shepherd &&
			    covers(&o->v[k], h->time))
				return &o->v[k];
	}
	return NULL;
}

/*
 * Its own command, or a living process: for sure. A child that is gone: its user and time
 * speak for this session, and maybe for others.
 */
static bool is_ours(const struct owners *o, struct ws_hit *hit)
{
	const struct owner *sure = owner_of_living(o, hit);
	bool maybe = false;

	for (size_t i = 0; i < o->n && !sure; i++) {
		const struct owner *w = &o->v[i];

		if (!covers(w, hit->time))
			continue;
		if (w->process == hit->pid)
			sure = w;
		maybe = maybe || w->exec;
	}
	if (sure && !sure->exec)
		return false;
	if (sure)
		snprintf(hit->exec, sizeof(hit->exec), "%s", sure->exec);
	return sure || maybe;
}

/* ---- the log ---- */

static int open_log(const char *from, struct ws_err *err)
{
	int fd;

	if (from && !strcmp(from, "-"))
		return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (from) {
		fd = open(from, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		return fd < 0 ? ws_fail_errno(err, "open '%s'", from) : fd;
	}
	for (size_t i = 0; i < WS_ARRAY_SIZE(logs); i++) {
		fd = open(logs[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0)
			return fd;
	}
	ws_fail(err, WS_HOST_UNSUPPORTED, "the kernel's log is not ours to read");
	return ws_hint(err,
		       "pipe it in: dmesg (or auditd's log) as root, into wsiso logs "
		       "ID --seccomp --from -");
}

/* All whole lines of TEXT; what is left is the beginning of the next. */
static void take_lines(struct ws_buf *text, const struct owners *owners,
		       struct ws_hits *ret)
{
	char *at = text->data, *end;
	size_t left = text->len;

	while ((end = memchr(at, '\n', left))) {
		struct ws_hit hit;

		if (ws_hit_parse(at, (size_t)(end - at), &hit) && hit.uid == geteuid() &&
		    is_ours(owners, &hit)) {
			ret->v = ws_grow(ret->v, ret->n + 1, sizeof(*ret->v));
			ret->v[ret->n++] = hit;
		}
		left -= (size_t)(end + 1 - at);
		at = end + 1;
	}
	if (left > LINE_LONG) /* no line of a log */
		left = 0;
	memmove(text->data, at, left);
	text->len = left;
}

static int read_log(int fd, const struct owners *owners, struct ws_hits *ret,
		    struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	for (;;) {
		ssize_t n;

		ws_buf_reserve(&text, CHUNK + 1);
		n = read(fd, text.data + text.len, CHUNK);
		if (n < 0 && (errno == EINTR || errno == EPIPE)) /* some were dropped */
			continue;
		if (n < 0 && errno != EAGAIN)
			return ws_fail_errno(err, "read the kernel's log");
		if (n <= 0) { /* the last line may lack its end */
			ws_buf_addch(&text, '\n');
			take_lines(&text, owners, ret);
			return 0;
		}
		text.len += (size_t)n;
		take_lines(&text, owners, ret);
	}
}

int ws_hits_read(const struct ws_root *root, const struct ws_session *s, const char *from,
		 struct ws_hits *ret, struct ws_err *err)
{
	__attribute__((cleanup(owners_release))) struct owners owners = { 0 };
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	WS_AUTO_CLOSE int fd = open_log(from, err);
	int live;

	if (fd < 0)
		return -1;
	live = ws_sandbox_peek(s, &sb, err);
	if (live < 0 || (live && ws_procs_list(&sb, &owners.procs, err) < 0))
		return -1;
	add_owners(s, true, &owners);
	add_others(root, s, &owners);
	return read_log(fd, &owners, ret, err);
}
