/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsonw.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

void ws_jsonw_init(struct ws_jsonw *w, struct ws_buf *out, bool pretty)
{
	*w = (struct ws_jsonw){ .out = out, .pretty = pretty };
}

/* The last byte says what is needed: nothing else ends in an opening bracket. */
static bool just_opened(const struct ws_jsonw *w)
{
	char last = w->out->len ? w->out->data[w->out->len - 1] : '\0';

	return last == '{' || last == '[';
}

static void newline(struct ws_jsonw *w)
{
	if (w->pretty)
		ws_buf_addf(w->out, "\n%*s", (int)(2 * w->depth), "");
}

/* \u00NN for control characters, DEL and C1 too: a terminal may show this. */
static void add_string(struct ws_buf *out, const char *s)
{
	size_t len = strlen(s);

	ws_buf_addch(out, '"');
	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = ws_text_utf8_char(s + i, len - i);
		if (n == 0)
			ws_buf_addstr(out, "\xef\xbf\xbd");
		else if (s[i] == '"' || s[i] == '\\')
			ws_buf_addf(out, "\\%c", s[i]);
		else if (s[i] == '\n')
			ws_buf_addstr(out, "\\n");
		else if (s[i] == '\t')
			ws_buf_addstr(out, "\\t");
		else if (ws_text_is_control(s + i, n))
			ws_buf_addf(out, "\\u%04x", (unsigned char)s[i + n - 1]);
		else
			ws_buf_add(out, s + i, n);
	}
	ws_buf_addch(out, '"');
}

/* What stands before a value: comma, line, key. */
static void begin(struct ws_jsonw *w, const char *key)
{
	if (w->depth > 0) {
		if (!just_opened(w))
			ws_buf_addch(w->out, ',');
		newline(w);
	}
	if (!key)
		return;
	add_string(w->out, key);
	ws_buf_addstr(w->out, w->pretty ? ": " : ":");
}

void ws_jsonw_object(struct ws_jsonw *w, const char *key)
{
	begin(w, key);
	ws_buf_addch(w->out, '{');
	w->depth++;
}

void ws_jsonw_array(struct ws_jsonw *w, const char *key)
{
	begin(w, key);
	ws_buf_addch(w->out, '[');
	w->depth++;
}

void ws_jsonw_end(struct ws_jsonw *w, char bracket)
{
	bool empty = just_opened(w);

	if (w->depth == 0)
		abort();
	w->depth--;
	if (!empty)
		newline(w);
	ws_buf_addch(w->out, bracket);
}

void ws_jsonw_str(struct ws_jsonw *w, const char *key, const char *value)
{
	if (!value) {
		ws_jsonw_null(w, key);
		return;
	}
	begin(w, key);
	add_string(w->out, value);
}

void ws_jsonw_u64(struct ws_jsonw *w, const char *key, uint64_t value)
{
	begin(w, key);
	ws_buf_addf(w->out, "%" PRIu64, value);
}

void ws_jsonw_int(struct ws_jsonw *w, const char *key, int64_t value)
{
	begin(w, key);
	ws_buf_addf(w->out, "%" PRId64, value);
}

/* The shortest form that reads back as the same number; JSON has no infinity. */
void ws_jsonw_double(struct ws_jsonw *w, const char *key, double value)
{
	char text[32];

	if (!isfinite(value)) {
		ws_jsonw_null(w, key);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	begin(w, key);
	ws_buf_addstr(w->out, text);
}

void ws_jsonw_bool(struct ws_jsonw *w, const char *key, bool value)
{
	begin(w, key);
	ws_buf_addstr(w->out, value ? "true" : "false");
}

void ws_jsonw_time(struct ws_jsonw *w, const char *key, uint64_t ns)
{
	char text[WS_TIME_LEN];

	ws_clock_rfc3339(ns, text);
	ws_jsonw_str(w, key, text);
}

void ws_jsonw_null(struct ws_jsonw *w, const char *key)
{
	begin(w, key);
	ws_buf_addstr(w->out, "null");
}

void ws_jsonw_strv(struct ws_jsonw *w, const char *key, const struct ws_strv *values)
{
	ws_jsonw_array(w, key);
	for (size_t i = 0; i < values->n; i++)
		ws_jsonw_str(w, NULL, values->v[i]);
	ws_jsonw_end(w, ']');
}

static void number(struct ws_jsonw *w, const char *key, const struct ws_json *value)
{
	if (value->integral)
		ws_jsonw_int(w, key, value->i);
	else if (value->natural)
		ws_jsonw_u64(w, key, value->u);
	else
		ws_jsonw_double(w, key, value->d);
}

/* Recursion is as deep as the document: at most WS_JSON_MAX_DEPTH. */
void ws_jsonw_value(struct ws_jsonw *w, const char *key, const struct ws_json *value)
{
	bool object = value->type == WS_JSON_OBJECT;

	switch (value->type) {
	case WS_JSON_NULL:
		ws_jsonw_null(w, key);
		return;
	case WS_JSON_BOOL:
		ws_jsonw_bool(w, key, value->boolean);
		return;
	case WS_JSON_NUMBER:
		number(w, key, value);
		return;
	case WS_JSON_STRING:
		ws_jsonw_str(w, key, value->str);
		return;
	case WS_JSON_OBJECT:
		ws_jsonw_object(w, key);
		break;
	case WS_JSON_ARRAY:
		ws_jsonw_array(w, key);
		break;
	}
	for (const struct ws_json *c = value->child; c; c = c->next)
		ws_jsonw_value(w, object ? c->key : NULL, c);
	ws_jsonw_end(w, object ? '}' : ']');
}

void ws_jsonw_fields(struct ws_jsonw *w, const struct ws_json_field *fields,
		     const void *in)
{
	for (const struct ws_json_field *f = fields; f->key; f++) {
		const void *at = (const char *)in + f->offset;

		switch (f->kind) {
		case WS_FIELD_STRING:
			if (*(char *const *)at)
				ws_jsonw_str(w, f->key, *(char *const *)at);
			break;
		case WS_FIELD_U64:
			ws_jsonw_u64(w, f->key, *(const uint64_t *)at);
			break;
		case WS_FIELD_INT:
			ws_jsonw_int(w, f->key, *(const int *)at);
			break;
		case WS_FIELD_BOOL:
			ws_jsonw_bool(w, f->key, *(const bool *)at);
			break;
		case WS_FIELD_STRV:
			ws_jsonw_strv(w, f->key, at);
			break;
		}
	}
}

/* An unbalanced document is a fault of the program, not of its input. */
void ws_jsonw_done(struct ws_jsonw *w)
{
	if (w->depth != 0)
		abort();
	ws_buf_addch(w->out, '\n');
}
