/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/jsonw.h"

/* A line is written by one write: those of several wsiso do not mix. */
static void put(const struct ws_buf *line)
{
	if (ws_write_all(STDERR_FILENO, line->data, line->len) < 0)
		return; /* nobody reads it: the work goes on */
}

static void tell_text(void *arg, const struct ws_progress_event *e)
{
	WS_AUTO(ws_buf) struct ws_buf line = WS_BUF_INIT;

	(void)arg;
	ws_buf_addf(&line, "%s of '%s': %s", e->work, e->repo, e->event);
	if (e->ms)
		ws_buf_addf(&line, " after %.1f s", (double)e->ms / 1e3);
	else
		ws_buf_addf(&line, " (%s)", e->key);
	ws_buf_addch(&line, '\n');
	put(&line);
}

static void tell_json(void *arg, const struct ws_progress_event *e)
{
	WS_AUTO(ws_buf) struct ws_buf line = WS_BUF_INIT;
	struct ws_jsonw w;

	(void)arg;
	ws_jsonw_init(&w, &line, false);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "type", "progress");
	ws_jsonw_time(&w, "time", ws_clock_wall_ns());
	ws_jsonw_str(&w, "work", e->work);
	ws_jsonw_str(&w, "event", e->event);
	ws_jsonw_str(&w, "repo", e->repo);
	ws_jsonw_str(&w, "key", e->key);
	ws_jsonw_u64(&w, "ms", e->ms);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	put(&line);
}

static const struct {
	const char *word;
	void (*tell)(void *arg, const struct ws_progress_event *e);
} forms[] = {
	{ "text", tell_text },
	{ "json", tell_json },
	{ "none", NULL },
};

int ws_progress_open(const char *form, struct ws_progress *ret, struct ws_err *err)
{
	*ret = (struct ws_progress){ 0 };
	if (!form)
		form = isatty(STDERR_FILENO) ? "text" : "none";
	for (size_t i = 0; i < WS_ARRAY_SIZE(forms); i++) {
		if (strcmp(forms[i].word, form) != 0)
			continue;
		ret->tell = forms[i].tell;
		return 0;
	}
	return ws_fail(err, WS_USAGE, "'%s' is no form of progress: text, json or none",
		       form);
}
