/* SPDX-License-Identifier: Apache-2.0 */
#include "core/execrec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/jsonw.h"
#include "base/text.h"

#define RECORD_VERSION 1
#define RECORD_MAX 65536
#define FOLDER "execs"
#define SUFFIX ".jsonl"
#define TRIES 20 /* for a record that is just being begun, 1 ms each */

#define PROC(member)                                                             \
	{ #member "_pid", WS_FIELD_INT, offsetof(struct ws_execrec, member.pid), \
	  false },                                                               \
	{                                                                        \
#member "_start", WS_FIELD_U64,                                  \
			offsetof(struct ws_execrec, member.start), false         \
	}

static const struct ws_json_field execrec_fields[] = {
	WS_FIELD(ws_execrec, version, U64, true),
	WS_FIELD(ws_execrec, id, STRING, true),
	WS_FIELD(ws_execrec, command, STRING, false),
	WS_FIELD(ws_execrec, state, STRING, true),
	PROC(supervisor),
	PROC(shepherd),
	PROC(process),
	WS_FIELD(ws_execrec, started, U64, false),
	WS_FIELD(ws_execrec, ended, U64, false),
	WS_FIELD(ws_execrec, status, U64, false),
	WS_FIELD(ws_execrec, cause, STRING, false),
	WS_FIELD(ws_execrec, tty, BOOL, false),
	WS_FIELD(ws_execrec, detached, BOOL, false),
	{ 0 },
};

void ws_execrec_release(struct ws_execrec *r)
{
	ws_json_release(execrec_fields, r);
}

int ws_execrec_check_id(const char *id, struct ws_err *err)
{
	if (ws_session_check_id(id, err) == 0)
		return 0;
	ws_fail(err, WS_USAGE, "'%.140s' is no exec id", id);
	return ws_hint(
		err,
		"an id is a letter or digit, then up to 127 letters, digits, '_', '.' "
		"or '-'");
}

static void render(const struct ws_execrec *r, struct ws_buf *line)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, line, false);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_fields(&w, execrec_fields, r);
	ws_jsonw_str(&w, "boot", ws_boot_id());
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}

/* The folder of the records, made with the first of them. */
static int open_folder(const struct ws_session *s, struct ws_err *err)
{
	int fd = ws_open_dir(s->dir, FOLDER);

	if (fd < 0 && errno == ENOENT && ws_mkdir(s->dir, FOLDER, 0700) == 0)
		fd = ws_open_dir(s->dir, FOLDER);
	if (fd < 0)
		ws_fail_errno(err, "open '%s/" FOLDER "'", s->path);
	return fd;
}

int ws_execrec_create(const struct ws_session *s, const struct ws_execrec *r, int *ret_fd,
		      struct ws_err *err)
{
	WS_AUTO_FREE char *name = ws_format("%s" SUFFIX, r->id);
	WS_AUTO_CLOSE int dir = open_folder(s, err);
	WS_AUTO_CLOSE int fd = -1;

	if (dir < 0)
		return -1;
	fd = openat(dir, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 && errno == EEXIST)
		return ws_fail(err, WS_USAGE, "session '%s' has an exec '%s' already",
			       s->id, r->id);
	if (fd < 0)
		return ws_fail_errno(err, "write the record of exec '%s'", r->id);
	if (ws_execrec_append(fd, r, err) < 0) {
		unlinkat(dir, name, 0);
		return -1;
	}
	*ret_fd = ws_steal_fd(&fd);
	return 0;
}

int ws_execrec_append(int fd, const struct ws_execrec *r, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf line = WS_BUF_INIT;

	render(r, &line);
	if (ws_write_all(fd, line.data, line.len) < 0)
		return ws_fail_errno(err, "write the record of exec '%s'", r->id);
	return 0;
}

static int decode(const struct ws_json *doc, struct ws_execrec *r, struct ws_err *err)
{
	struct ws_proc_id *procs[] = { &r->supervisor, &r->shepherd, &r->process };
	const char *boot = ws_json_str(doc, "boot", "");

	if (ws_json_int(doc, "version", 0) > RECORD_VERSION)
		return ws_fail(err, WS_STATE_VERSION, "it was written by a newer wsiso");
	if (ws_json_decode(doc, execrec_fields, r, err) < 0)
		return -1;
	for (size_t i = 0; i < WS_ARRAY_SIZE(procs); i++)
		snprintf(procs[i]->boot, sizeof(procs[i]->boot), "%s", boot);
	if (!r->cause)
		r->cause = ws_strdup("");
	return 0;
}

/* The last whole line of the text, NUL-terminated; NULL if there is none. */
static const char *last_line(struct ws_buf *text)
{
	char *end = text->len ? memrchr(text->data, '\n', text->len) : NULL;
	char *before;

	if (!end)
		return NULL;
	*end = '\0';
	before = memrchr(text->data, '\n', (size_t)(end - text->data));
	return before ? before + 1 : text->data;
}

static void set_lost(struct ws_execrec *r)
{
	ws_freep(&r->state);
	ws_freep(&r->cause);
	r->state = ws_strdup("exited");
	r->cause = ws_strdup("sandbox-lost");
	r->status = 137;
}

static int read_file(const struct ws_session *s, const char *id, struct ws_buf *text,
		     struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format(FOLDER "/%s" SUFFIX, id);

	ws_buf_clear(text);
	if (ws_read_file(s->dir, path, RECORD_MAX, text) == 0)
		return 0;
	if (errno != ENOENT)
		return ws_fail_errno(err, "read the record of exec '%s'", id);
	ws_fail(err, WS_EXEC_MISSING, "session '%s' has no exec '%s'", s->id, id);
	return ws_hint(err, "wsiso state %s shows its last ones", s->id);
}

/* Of one whose writer was killed before its first line, nothing is known. */
static int read_record(const struct ws_session *s, const char *id, struct ws_execrec *r,
		       struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;
	const char *line = NULL;

	for (int tries = 0; !line && tries < TRIES; tries++) {
		if (tries > 0)
			ws_clock_sleep_ms(1);
		if (read_file(s, id, &text, err) < 0)
			return -1;
		line = last_line(&text);
	}
	if (!line) {
		r->id = ws_strdup(id);
		set_lost(r);
		return 0;
	}
	if (ws_json_parse(id, line, strlen(line), &doc, err) < 0) {
		err->kind = WS_STATE_CORRUPT;
		return ws_fail_within(err, "session '%s': record of exec", s->id);
	}
	if (decode(doc, r, err) < 0)
		return ws_fail_within(err, "record of exec '%s'", id);
	return 0;
}

static bool is_live(const struct ws_proc_id *id)
{
	WS_AUTO_CLOSE int fd = ws_proc_open(id);

	return fd >= 0 || errno != ESRCH; /* who cannot be looked at is not dead */
}

bool ws_execrec_alive(const struct ws_execrec *r)
{
	return is_live(&r->shepherd);
}

bool ws_execrec_ended(const struct ws_execrec *r)
{
	return strcmp(r->state, "exited") == 0 || strcmp(r->state, "failed") == 0;
}

static bool is_abandoned(const struct ws_execrec *r)
{
	return !ws_execrec_ended(r) && !is_live(&r->supervisor) && !is_live(&r->process);
}

int ws_execrec_load(const struct ws_session *s, const char *id, struct ws_execrec *ret,
		    struct ws_err *err)
{
	WS_AUTO(ws_execrec) struct ws_execrec r = WS_EXECREC_INIT;

	if (ws_execrec_check_id(id, err) < 0 || read_record(s, id, &r, err) < 0)
		return -1;
	if (is_abandoned(&r)) {
		/* unless it was just about to say so */
		ws_execrec_release(&r);
		r = WS_EXECREC_INIT;
		if (read_record(s, id, &r, err) < 0)
			return -1;
		if (!ws_execrec_ended(&r))
			set_lost(&r);
	}
	*ret = r;
	r = WS_EXECREC_INIT;
	return 0;
}

/* ---- all of them ---- */

struct entry {
	char *id;
	uint64_t time;
};

struct entries {
	struct entry *v;
	size_t n;
};

static void entries_release(struct entries *all)
{
	for (size_t i = 0; i < all->n; i++)
		ws_freep(&all->v[i].id);
	ws_freep(&all->v);
}

static int read_entries(const struct ws_session *s, struct entries *all,
			struct ws_err *err)
{
	int fd = ws_open_dir(s->dir, FOLDER);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		if (errno == ENOENT)
			return 0;
		ws_fail_errno(err, "read '%s/" FOLDER "'", s->path);
		ws_closep(&fd);
		return -1;
	}
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || !ws_text_ends(e->d_name, SUFFIX))
			continue;
		all->v = ws_grow(all->v, all->n + 1, sizeof(*all->v));
		all->v[all->n++] = (struct entry){
			.id = ws_strndup(e->d_name, strlen(e->d_name) - strlen(SUFFIX)),
		};
	}
	closedir(d);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return strcmp(x->id, y->id);
}

/* A record is begun with its exec; where files have no birth time, it has to be read. */
static uint64_t begun(const struct ws_session *s, const struct entry *e)
{
	WS_AUTO_FREE char *path = ws_format(FOLDER "/%s" SUFFIX, e->id);
	WS_AUTO(ws_execrec) struct ws_execrec r = WS_EXECREC_INIT;
	struct ws_err ignored = WS_ERR_INIT;
	struct statx st;

	if (statx(s->dir, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) == 0 &&
	    st.stx_mask & STATX_BTIME)
		return (uint64_t)st.stx_btime.tv_sec * 1000000000u + st.stx_btime.tv_nsec;
	return ws_execrec_load(s, e->id, &r, &ignored) == 0 ? r.started : 0;
}

static void sort_by_start(const struct ws_session *s, struct entries *all)
{
	for (size_t i = 0; i < all->n; i++)
		all->v[i].time = begun(s, &all->v[i]);
	if (all->n)
		qsort(all->v, all->n, sizeof(*all->v), by_time);
}

int ws_execrec_list(const struct ws_session *s, struct ws_strv *ret, struct ws_err *err)
{
	__attribute__((cleanup(entries_release))) struct entries all = { 0 };

	if (read_entries(s, &all, err) < 0)
		return -1;
	sort_by_start(s, &all);
	for (size_t i = 0; i < all.n; i++)
		ws_strv_push(ret, all.v[i].id);
	return 0;
}

static void drop(const struct ws_session *s, const char *id)
{
	WS_AUTO_FREE char *record = ws_format(FOLDER "/%s" SUFFIX, id);
	WS_AUTO_FREE char *log = ws_format(FOLDER "/%s.log", id);

	unlinkat(s->dir, log, 0);
	unlinkat(s->dir, record, 0);
}

void ws_execrec_prune(const struct ws_session *s)
{
	__attribute__((cleanup(entries_release))) struct entries all = { 0 };
	struct ws_err ignored = WS_ERR_INIT;
	size_t extra;

	if (read_entries(s, &all, &ignored) < 0 || all.n <= WS_EXECREC_KEEP)
		return;
	sort_by_start(s, &all);
	extra = all.n - WS_EXECREC_KEEP;
	for (size_t i = 0; i < all.n && extra > 0; i++) {
		WS_AUTO(ws_execrec) struct ws_execrec r = WS_EXECREC_INIT;

		if (ws_execrec_load(s, all.v[i].id, &r, &ignored) == 0 &&
		    (!ws_execrec_ended(&r) || ws_execrec_alive(&r)))
			continue;
		drop(s, all.v[i].id);
		extra--;
	}
}
