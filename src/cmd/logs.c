/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/text.h"
#include "cmd/common.h"
#include "core/execlog.h"
#include "core/execrec.h"
#include "core/hits.h"
#include "core/root.h"
#include "core/session.h"

#define CHUNK 65536
#define LOOK_MS 50

/*
 * For a terminal: control bytes come out as text, lines and tabs stay. A character that
 * is cut off at the end stays in TEXT for the next time, unless it is the LAST.
 */
static void escape(struct ws_buf *text, bool last, struct ws_buf *out)
{
	size_t i = 0;

	while (i < text->len) {
		const char *s = text->data + i;
		size_t left = text->len - i;
		size_t n = ws_text_utf8_char(s, left);

		if (n == 0 && left < 4 && !last && ((unsigned char)*s & 0xc0) == 0xc0)
			break;
		n = n ? n : 1;
		if (*s == '\n' || *s == '\t')
			ws_buf_addch(out, *s);
		else if (!(*s == '\r' && left > 1 && s[1] == '\n'))
			ws_text_escape(out, s, n);
		i += n;
	}
	text->len -= i;
	memmove(text->data, text->data + i, text->len);
}

struct reader {
	int log;	    /* -1: nothing was logged as yet */
	struct ws_buf rest; /* read, not yet out */
};

static void reader_release(struct reader *r)
{
	ws_closep(&r->log);
	ws_buf_release(&r->rest);
}

/* All that is in the file by now. */
static int copy(struct reader *r, bool last, struct ws_err *err)
{
	bool terminal = ws_out_terminal();

	for (;;) {
		WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
		struct ws_buf *to = terminal ? &r->rest : &out;
		ssize_t n;

		ws_buf_reserve(to, CHUNK);
		n = read(r->log, to->data + to->len, CHUNK);
		if (n < 0)
			return ws_fail_errno(err, "read the log");
		to->len += (size_t)n;
		if (terminal)
			escape(&r->rest, last && n == 0, &out);
		if (ws_out_write(&out, err) < 0)
			return -1;
		if (n == 0)
			return 0;
	}
}

/* Will more be written? Ask before reading: then nothing is missed. */
static int is_live(const struct ws_session *s, const char *exec_id,
		   const struct reader *r, struct ws_err *err)
{
	WS_AUTO(ws_execrec) struct ws_execrec rec = WS_EXECREC_INIT;

	if (ws_execrec_load(s, exec_id, &rec, err) < 0)
		return -1;
	return !ws_execrec_ended(&rec) || ws_execrec_alive(&rec) ||
	       (r->log >= 0 && ws_execlog_is_live(r->log));
}

/* False: nobody reads what we print. */
static bool pause_for_more(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	return poll(&p, 1, LOOK_MS) <= 0 || !(p.revents & (POLLERR | POLLHUP | POLLNVAL));
}

static int print_log(const struct ws_session *s, const char *exec_id, bool follow,
		     struct ws_err *err)
{
	__attribute__((cleanup(reader_release))) struct reader r = { .log = -1 };
	int live;

	do {
		live = is_live(s, exec_id, &r, err);
		if (live < 0)
			return -1;
		if (r.log < 0) {
			r.log = ws_execlog_read(s, exec_id);
			if (r.log < 0 && errno != ENOENT)
				return ws_fail_errno(err, "open the log of exec '%s'",
						     exec_id);
		}
		if (r.log >= 0 && copy(&r, !live || !follow, err) < 0)
			return -1;
	} while (follow && live && pause_for_more());
	return 0;
}

/* ---- what the system call filter has met ---- */

static int print_hits_json(const struct ws_hits *hits, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &out, true);
	ws_jsonw_array(&w, NULL);
	for (size_t i = 0; i < hits->n; i++) {
		const struct ws_hit *h = &hits->v[i];
		char time[WS_TIME_LEN], number[16];

		ws_clock_rfc3339(h->time, time);
		ws_jsonw_object(&w, NULL);
		ws_jsonw_str(&w, "time", time);
		ws_jsonw_int(&w, "pid", h->pid);
		ws_jsonw_str(&w, "exec", h->exec[0] ? h->exec : NULL);
		ws_jsonw_str(&w, "call", ws_hit_call(h, number));
		ws_jsonw_str(&w, "abi", ws_hit_abi(h));
		ws_jsonw_str(&w, "action", ws_hit_action(h));
		ws_jsonw_str(&w, "command", h->comm);
		ws_jsonw_end(&w, '}');
	}
	ws_jsonw_end(&w, ']');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static int print_hits_table(const struct ws_hits *hits, struct ws_err *err)
{
	WS_AUTO(ws_table) struct ws_table table = WS_TABLE_INIT;

	ws_table_head(&table, "TIME", "PID", "EXEC", "CALL", "ABI", "ACTION", "COMMAND",
		      NULL);
	for (size_t i = 0; i < hits->n; i++) {
		const struct ws_hit *h = &hits->v[i];
		char time[WS_TIME_LEN], number[16];

		ws_clock_rfc3339(h->time, time);
		ws_table_cellf(&table, "%.23sZ", time);
		ws_table_cellf(&table, "%d", (int)h->pid);
		ws_table_cell(&table, h->exec);
		ws_table_cell(&table, ws_hit_call(h, number));
		ws_table_cell(&table, ws_hit_abi(h));
		ws_table_cell(&table, ws_hit_action(h));
		ws_table_cell(&table, h->comm);
	}
	return ws_table_print(&table, WS_TABLE_AUTO, err);
}

static int print_hits(const struct ws_root *root, const struct ws_session *s,
		      const char *from, bool json, struct ws_err *err)
{
	WS_AUTO(ws_hits) struct ws_hits hits = WS_HITS_INIT;

	if (ws_hits_read(root, s, from, &hits, err) < 0)
		return -1;
	return json ? print_hits_json(&hits, err) : print_hits_table(&hits, err);
}

static int logs_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		    char **argv, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	bool follow = false, seccomp = false, json = false;
	const char *from = NULL;
	const struct ws_opt opts[] = {
		{ 'f', "follow", WS_OPT_FLAG, &follow, NULL,
		  "go on until nothing of the exec is left" },
		{ 0, "seccomp", WS_OPT_FLAG, &seccomp, NULL,
		  "what the system call filter has met, from the kernel's log" },
		{ 0, "from", WS_OPT_STR, &from, "FILE",
		  "with --seccomp: another log, - for stdin" },
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "with --seccomp: print JSON" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (seccomp ? follow : from || json)
		return ws_fail(err, WS_USAGE,
			       "--seccomp excludes --follow; --from and --json need it");
	if (ws_cmd_count(cmd, &args, seccomp ? 1 : 2, seccomp ? 1 : 2, err) < 0 ||
	    ws_root_open(global->root, true, &root, err) < 0 ||
	    ws_session_open_record(&root, args.v[0], &s, err) < 0)
		return -1;
	if (seccomp)
		return print_hits(&root, &s, from, json, err);
	return print_log(&s, args.v[1], follow, err);
}

const struct ws_cmd ws_cmd_logs = {
	.name = "logs",
	.args = "ID EXEC [-f] | ID --seccomp",
	.help = "print the output of a command in the background",
	.npos = -1,
	.run = logs_run,
	.status_of = WS_STATUS_PLAIN,
};
