/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

const int WS_STATUS_PLAIN[WS_CLASS_COUNT] = {
	[WS_CLASS_FAILED] = 1,
	[WS_CLASS_USAGE] = 2,
	[WS_CLASS_REFUSED] = 3,
};

const int WS_STATUS_EXEC[WS_CLASS_COUNT] = {
	[WS_CLASS_FAILED] = 125,
	[WS_CLASS_USAGE] = 125,
	[WS_CLASS_REFUSED] = 125,
};

static void print_help(const struct ws_cmd *cmd, const struct ws_opt *opts)
{
	printf("usage: wsiso %s%s%s\n\n%s\n", cmd->name, cmd->args ? " " : "",
	       cmd->args ? cmd->args : "", cmd->help);
	if (opts->kind != WS_OPT_END) {
		printf("\noptions:\n");
		ws_opt_print(stdout, opts);
	}
	printf("\nwsiso-%s(1) says more.\n", cmd->name);
}

int ws_cmd_options(const struct ws_cmd *cmd, int argc, char **argv,
		   const struct ws_opt *opts, struct ws_strv *args, struct ws_err *err)
{
	int rc = ws_opt_parse(argc, argv, cmd->npos, opts, args, err);

	if (rc == 1)
		print_help(cmd, opts);
	if (rc < 0 && !err->hint[0])
		ws_hint(err, "see 'wsiso %s --help'", cmd->name);
	return rc;
}

int ws_cmd_count(const struct ws_cmd *cmd, const struct ws_strv *args, size_t min,
		 size_t max, struct ws_err *err)
{
	if (args->n >= min && args->n <= max)
		return 0;
	if (args->n > max)
		ws_fail(err, WS_USAGE, "unexpected argument '%s'", args->v[max]);
	else
		ws_fail(err, WS_USAGE, "%s",
			args->n ? "an argument is missing" : "arguments are missing");
	return ws_hint(err, "usage: wsiso %s %s", cmd->name, cmd->args ? cmd->args : "");
}

/* "list, remove or log" */
static void add_words(struct ws_buf *out, const struct ws_verb *verbs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ws_buf_addf(out, "%s%s",
			    i == 0	? ""
			    : i + 1 < n ? ", "
					: " or ",
			    verbs[i].word);
}

const struct ws_verb *ws_cmd_verb(const char *word, const struct ws_verb *verbs, size_t n,
				  struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf words = WS_BUF_INIT;
	const char *best = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(verbs[i].word, word))
			return &verbs[i];
		best = ws_text_nearer(word, best, verbs[i].word);
	}
	add_words(&words, verbs, n);
	ws_fail(err, WS_USAGE, "'%s' is not %s", word, ws_buf_str(&words));
	if (best)
		ws_hint(err, "did you mean '%s'?", best);
	return NULL;
}

int ws_cmd_format(const char *format, bool *json, struct ws_err *err)
{
	if (!strcmp(format, "json"))
		*json = true;
	else if (strcmp(format, "table") != 0)
		return ws_fail(err, WS_USAGE, "'%s' is no format: table or json", format);
	return 0;
}

bool ws_out_terminal(void)
{
	return isatty(STDOUT_FILENO);
}

bool ws_out_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return ws_out_terminal() && !(no && *no);
}

int ws_out_write(const struct ws_buf *buf, struct ws_err *err)
{
	fwrite(ws_buf_str(buf), 1, buf->len, stdout);
	return ws_out_flush(err);
}

int ws_out_flush(struct ws_err *err)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	ws_fail_errno(err, "write to standard output");
	err->kind = WS_IO; /* a full disk there is not the store's */
	return -1;
}

int ws_out_failed(const struct ws_err *err)
{
	if (err->sys == EPIPE && fputc('\n', stdout) == '\n')
		fflush(stdout);
	return -1;
}

void ws_table_release(struct ws_table *t)
{
	ws_strv_release(&t->cells);
}

void ws_table_head(struct ws_table *t, ...)
{
	const char *name;
	va_list ap;

	va_start(ap, t);
	while ((name = va_arg(ap, const char *)) != NULL)
		ws_table_cell(t, name);
	va_end(ap);
	t->ncols = t->cells.n;
}

void ws_table_cell(struct ws_table *t, const char *text)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;

	if (text && *text)
		ws_text_escape(&b, text, strlen(text));
	else
		ws_buf_addch(&b, '-');
	ws_strv_take(&t->cells, ws_buf_steal(&b));
}

void ws_table_cellf(struct ws_table *t, const char *fmt, ...)
{
	WS_AUTO_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = ws_vformat(fmt, ap);
	va_end(ap);
	ws_table_cell(t, text);
}

void ws_table_age(struct ws_table *t, uint64_t since)
{
	uint64_t now = ws_clock_wall_ns();
	char age[WS_TIME_LEN];

	ws_clock_age(now > since ? (now - since) / 1000000000u : 0, age);
	ws_table_cell(t, age);
}

void ws_table_size(struct ws_table *t, uint64_t bytes)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	ws_text_size(&text, bytes);
	ws_table_cell(t, ws_buf_str(&text));
}

/* Characters, as one column each. */
static size_t width_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static size_t column_width(const struct ws_table *t, size_t column)
{
	size_t width = 0;

	for (size_t i = column; i < t->cells.n; i += t->ncols) {
		size_t w = width_of(t->cells.v[i]);

		width = w > width ? w : width;
	}
	return width;
}

int ws_table_print(const struct ws_table *t, enum ws_table_form form, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	WS_AUTO_FREE size_t *widths = ws_alloc(t->ncols * sizeof(*widths));
	bool aligned = form == WS_TABLE_ALIGNED || ws_out_terminal();

	if (t->ncols == 0 || t->cells.n % t->ncols != 0)
		abort();
	for (size_t c = 0; c < t->ncols; c++)
		widths[c] = column_width(t, c);
	for (size_t i = aligned ? 0 : t->ncols; i < t->cells.n; i++) {
		size_t column = i % t->ncols;
		const char *text = t->cells.v[i];

		ws_buf_addstr(&out, text);
		if (column == t->ncols - 1)
			ws_buf_addch(&out, '\n');
		else if (aligned)
			ws_buf_addf(&out, "%*s",
				    (int)(widths[column] - width_of(text) + 2), "");
		else
			ws_buf_addch(&out, '\t');
	}
	return ws_out_write(&out, err);
}
