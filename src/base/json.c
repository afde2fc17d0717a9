/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/text.h"

#define EXACT_MAX 9007199254740992.0 /* 2^53: whole numbers in a double are exact */

/* A container that is open, and where its next child goes. */
struct frame {
	struct ws_json *node;
	struct ws_json **tail;
};

struct parser {
	const char *name;
	const char *text;
	size_t len;
	yajl_handle yajl;
	size_t seen;	/* end of the last token that made an event */
	bool finishing; /* yajl counts from 0 again in its last chunk */
	size_t at;	/* line and col are those of text[at] */
	unsigned line, col;
	char *key; /* of the member whose value comes next */
	unsigned key_line, key_col;
	struct frame stack[WS_JSON_MAX_DEPTH + 1]; /* [0] holds the top value */
	unsigned depth;
	bool failed; /* by us, err is filled */
	struct ws_err *err;
};

/* Moves line and col on to POS; tokens come in order, so each byte is seen once. */
static void advance(struct parser *p, size_t pos)
{
	for (; p->at < pos; p->at++) {
		if (p->text[p->at] == '\n') {
			p->line++;
			p->col = 1;
		} else if (((unsigned char)p->text[p->at] & 0xc0) != 0x80) {
			p->col++;
		}
	}
}

/* Fails at POS of the text. Returns 0, which makes yajl stop. */
static int __attribute__((format(printf, 3, 4)))
fail_at(struct parser *p, size_t pos, const char *fmt, ...)
{
	WS_AUTO_FREE char *msg = NULL;
	va_list ap;

	va_start(ap, fmt);
	msg = ws_vformat(fmt, ap);
	va_end(ap);
	if (pos < p->at) { /* a key that was passed already */
		p->at = 0;
		p->line = p->col = 1;
	}
	advance(p, pos);
	ws_fail(p->err, WS_SPEC_INVALID, "%s:%u:%u: %s", p->name, p->line, p->col, msg);
	p->failed = true;
	return 0;
}

static size_t token_end(const struct parser *p)
{
	size_t end = p->finishing ? p->len : yajl_get_bytes_consumed(p->yajl);

	return end < p->len ? end : p->len;
}

/*
 * Where the token of this event begins: yajl tells only where it ended. All that makes
 * no event are blanks, commas and colons. To be asked once per event.
 */
static size_t token_start(struct parser *p)
{
	size_t end = token_end(p);
	size_t at = p->seen;

	while (at < end && strchr(" \t\r\n,:", p->text[at]))
		at++;
	p->seen = end;
	return at;
}

static struct ws_json *add(struct parser *p, enum ws_json_type type, size_t start)
{
	struct frame *f = &p->stack[p->depth];
	struct ws_json *node = ws_alloc(sizeof(*node));

	node->type = type;
	if (p->key) {
		node->line = p->key_line;
		node->col = p->key_col;
		node->key = ws_steal_ptr(&p->key);
	} else {
		advance(p, start);
		node->line = p->line;
		node->col = p->col;
	}
	*f->tail = node;
	f->tail = &node->next;
	return node;
}

static int on_null(void *ctx)
{
	add(ctx, WS_JSON_NULL, token_start(ctx));
	return 1;
}

static int on_boolean(void *ctx, int value)
{
	add(ctx, WS_JSON_BOOL, token_start(ctx))->boolean = value;
	return 1;
}

static bool is_integer(const char *text)
{
	return text[strspn(text, "-0123456789")] == '\0';
}

/* 86400.0 and 1e3 are whole numbers too, as long as a double holds them exactly. */
static void set_number(struct ws_json *node, const char *text, double value)
{
	node->d = value;
	if (is_integer(text)) {
		errno = 0;
		node->i = strtoll(text, NULL, 10);
		node->integral = errno == 0;
		errno = 0;
		node->u = text[0] == '-' ? 0 : strtoull(text, NULL, 10);
		node->natural = errno == 0 && (text[0] != '-' || value == 0);
	} else if (value >= -EXACT_MAX && value <= EXACT_MAX &&
		   value == (double)(int64_t)value) {
		node->i = (int64_t)value;
		node->integral = true;
		node->u = value >= 0 ? (uint64_t)value : 0;
		node->natural = value >= 0;
	}
}

static int on_number(void *ctx, const char *digits, size_t len)
{
	struct parser *p = ctx;
	WS_AUTO_FREE char *text = ws_strndup(digits, len);
	double value = strtod(text, NULL);
	size_t start = token_start(p);

	if (!isfinite(value))
		return fail_at(p, start, "number is out of range");
	set_number(add(p, WS_JSON_NUMBER, start), text, value);
	return 1;
}

static unsigned hex4(const char *s)
{
	char digits[5] = { s[0], s[1], s[2], s[3], '\0' };

	return (unsigned)strtoul(digits, NULL, 16);
}

/*
 * yajl turns half a surrogate pair into '?' or into bytes that are not UTF-8, and \u0000
 * into a NUL. yajl has checked the digits when this looks at the raw token.
 */
static int check_escapes(struct parser *p, size_t start, size_t end)
{
	for (size_t i = start; i + 1 < end; i++) {
		unsigned code;

		if (p->text[i] != '\\')
			continue;
		i++;
		if (p->text[i] != 'u' || i + 4 >= end)
			continue;
		code = hex4(p->text + i + 1);
		if (code == 0)
			return fail_at(p, i - 1, "NUL in a string");
		if (code >= 0xd800 && code <= 0xdbff && i + 10 < end &&
		    p->text[i + 5] == '\\' && p->text[i + 6] == 'u') {
			unsigned low = hex4(p->text + i + 7);

			if (low >= 0xdc00 && low <= 0xdfff) {
				i += 10;
				continue;
			}
		}
		if (code >= 0xd800 && code <= 0xdfff)
			return fail_at(p, i - 1, "half of a surrogate pair in a string");
		i += 4;
	}
	return 1;
}

static int on_string(void *ctx, const unsigned char *s, size_t len)
{
	struct parser *p = ctx;
	size_t start = token_start(p);

	if (!check_escapes(p, start, token_end(p)))
		return 0;
	add(p, WS_JSON_STRING, start)->str = ws_strndup((const char *)s, len);
	return 1;
}

static int on_key(void *ctx, const unsigned char *s, size_t len)
{
	struct parser *p = ctx;
	size_t start = token_start(p);

	if (!check_escapes(p, start, token_end(p)))
		return 0;
	advance(p, start);
	p->key = ws_strndup((const char *)s, len);
	p->key_line = p->line;
	p->key_col = p->col;
	return 1;
}

static int open_container(struct parser *p, enum ws_json_type type)
{
	size_t start = token_start(p);
	struct ws_json *node;

	if (p->depth == WS_JSON_MAX_DEPTH)
		return fail_at(p, start, "more than %d levels deep", WS_JSON_MAX_DEPTH);
	node = add(p, type, start);
	p->stack[++p->depth] = (struct frame){ .node = node, .tail = &node->child };
	return 1;
}

static int on_start_map(void *ctx)
{
	return open_container(ctx, WS_JSON_OBJECT);
}

static int on_start_array(void *ctx)
{
	return open_container(ctx, WS_JSON_ARRAY);
}

static int by_key(const void *a, const void *b)
{
	const struct ws_json *x = *(struct ws_json *const *)a;
	const struct ws_json *y = *(struct ws_json *const *)b;
	int order = strcmp(x->key, y->key);

	if (order != 0)
		return order;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->col < y->col ? -1 : 1;
}

/* The first member whose key stood before; by sorting: an object may have 100,000 keys.
 */
static const struct ws_json *find_duplicate(const struct ws_json *object)
{
	WS_AUTO_FREE const struct ws_json **members = NULL;
	const struct ws_json *found = NULL;
	size_t n = 0;

	for (const struct ws_json *m = object->child; m; m = m->next)
		n++;
	members = ws_grow(NULL, n, sizeof(*members));
	n = 0;
	for (const struct ws_json *m = object->child; m; m = m->next)
		members[n++] = m;
	qsort(members, n, sizeof(*members), by_key);
	for (size_t i = 1; i < n; i++) {
		const struct ws_json *m = members[i];

		if (strcmp(members[i - 1]->key, m->key) != 0)
			continue;
		if (!found || m->line < found->line ||
		    (m->line == found->line && m->col < found->col))
			found = m;
	}
	return found;
}

static int on_end_map(void *ctx)
{
	struct parser *p = ctx;
	const struct ws_json *twice = find_duplicate(p->stack[p->depth].node);

	token_start(p);
	p->depth--;
	if (!twice)
		return 1;
	p->failed = true;
	ws_fail(p->err, WS_SPEC_INVALID, "%s:%u:%u: duplicate key '%s'", p->name,
		twice->line, twice->col, twice->key);
	return 0;
}

static int on_end_array(void *ctx)
{
	struct parser *p = ctx;

	token_start(p);
	p->depth--;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_start_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end_map,
	.yajl_start_array = on_start_array,
	.yajl_end_array = on_end_array,
};

/* What yajl would let pass: form feeds between tokens, and UTF-8 that is nearly so. */
static int check_bytes(struct parser *p)
{
	if (p->len > WS_JSON_MAX_SIZE)
		return ws_fail(p->err, WS_SPEC_INVALID, "%s: larger than %u bytes",
			       p->name, WS_JSON_MAX_SIZE);
	for (size_t i = 0, n; i < p->len; i += n) {
		unsigned char c = (unsigned char)p->text[i];

		n = ws_text_utf8_char(p->text + i, p->len - i);
		if (n == 0) {
			fail_at(p, i, "not valid UTF-8");
			return -1;
		}
		if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') {
			fail_at(p, i, "control byte 0x%02x", c);
			return -1;
		}
	}
	return 0;
}

static size_t token_length(const struct parser *p, size_t start)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789+-.";
	size_t i = start;

	if (p->text[i] == '"') {
		for (i++; i < p->len && p->text[i] != '"'; i++)
			if (p->text[i] == '\\')
				i++;
		return i + 1 - start;
	}
	while (i < p->len && strchr(word, p->text[i]))
		i++;
	return i > start ? i - start : 1;
}

/* The last token that begins at or before POS; for errors, as yajl is vague about them.
 */
static size_t token_at(const struct parser *p, size_t pos)
{
	size_t found = p->seen;

	for (size_t i = p->seen; i < p->len && i <= pos;) {
		if (strchr(" \t\r\n", p->text[i])) {
			i++;
			continue;
		}
		found = i;
		i += token_length(p, i);
	}
	return found;
}

/*
 * "parse error: premature EOF\n" to "premature EOF". yajl has passed the wrong token,
 * except where it says what it expected: there it has gone back to its beginning.
 */
static void fail_by_yajl(struct parser *p, yajl_status status)
{
	const unsigned char *text = (const unsigned char *)p->text;
	unsigned char *said = yajl_get_error(p->yajl, 0, text, p->len);
	const char *msg = said ? (const char *)said : yajl_status_to_string(status);
	const char *colon = strchr(msg, ':');
	size_t pos = token_end(p);

	if (colon)
		msg = colon + 1 + strspn(colon + 1, " ");
	if (!ws_text_starts(msg, "premature EOF")) {
		if (pos > 0 && !strstr(msg, "expect"))
			pos--;
		pos = token_at(p, pos);
	}
	fail_at(p, pos, "%.*s", (int)strcspn(msg, ".\n"), msg);
	if (said)
		yajl_free_error(p->yajl, said);
}

/* yajl takes a string that is opened after the value, and never closed, for its end. */
static bool ends_well(struct parser *p)
{
	while (p->seen < p->len && strchr(" \t\r\n", p->text[p->seen]))
		p->seen++;
	if (p->seen < p->len)
		fail_at(p, p->seen, "trailing garbage");
	return p->seen == p->len;
}

int ws_json_parse(const char *name, const char *text, size_t len, struct ws_json **ret,
		  struct ws_err *err)
{
	struct parser p = {
		.name = name,
		.text = text,
		.len = len,
		.line = 1,
		.col = 1,
		.err = err,
	};
	struct ws_json top = { .type = WS_JSON_ARRAY };
	yajl_status status;

	if (check_bytes(&p) < 0)
		return -1;
	p.at = 0;
	p.line = p.col = 1;
	p.stack[0] = (struct frame){ .node = &top, .tail = &top.child };
	p.yajl = yajl_alloc(&callbacks, NULL, &p);
	if (!p.yajl)
		return ws_fail(err, WS_INTERNAL, "%s: no memory for the parser", name);
	status = yajl_parse(p.yajl, (const unsigned char *)text, len);
	if (status == yajl_status_ok) {
		p.finishing = true;
		status = yajl_complete_parse(p.yajl);
	}
	if (status != yajl_status_ok && !p.failed)
		fail_by_yajl(&p, status);
	if (status == yajl_status_ok && !ends_well(&p))
		status = yajl_status_error;
	yajl_free(p.yajl);
	free(p.key);
	if (status != yajl_status_ok) {
		ws_json_free(top.child);
		return -1;
	}
	*ret = top.child;
	return 0;
}

void ws_json_free(struct ws_json *doc)
{
	while (doc) {
		struct ws_json *next = doc->next;

		ws_json_free(doc->child);
		free(doc->key);
		free(doc->str);
		free(doc);
		doc = next;
	}
}

void ws_json_freep(struct ws_json **doc)
{
	ws_json_free(*doc);
	*doc = NULL;
}
