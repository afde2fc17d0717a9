/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>

#include "check.h"

static struct ws_err err;

/* "ok", or the message. */
static const char *said_len(const char *text, size_t len)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;

	err = WS_ERR_INIT;
	if (ws_json_parse("f", text, len, &doc, &err) == 0)
		return doc ? "ok" : "no document";
	return doc ? "a document and an error" : err.msg;
}

static const char *said(const char *text)
{
	return said_len(text, strlen(text));
}

/* Does parsing TEXT fail at "f:LINE:COL:"? */
static bool fails_at(const char *text, const char *where)
{
	const char *msg = said(text);
	size_t len = strlen(where);

	if (strncmp(msg, "f:", 2) == 0 && strncmp(msg + 2, where, len) == 0 &&
	    msg[2 + len] == ':')
		return true;
	printf("# %s\n", msg);
	return false;
}

static struct ws_json *parsed(const char *text)
{
	struct ws_json *doc = NULL;

	err = WS_ERR_INIT;
	MUST(ws_json_parse("f", text, strlen(text), &doc, &err) == 0);
	return doc;
}

static void facts_of_values(void)
{
	WS_AUTO_JSON struct ws_json *doc = parsed(
		"{\"s\": \"a\\u00fc\\n\\ud83d\\ude00\\\"\", \"n\": null, \"t\": true,\n"
		" \"a\": [\"x\", 1, \"y\"], \"o\": {\"i\": -5}, \"\": 0, \"f\": false}");
	WS_AUTO(ws_strv) struct ws_strv list = WS_STRV_INIT;

	CHECK_INT(doc->type, WS_JSON_OBJECT);
	CHECK(doc->key == NULL && doc->next == NULL);
	CHECK_STR(ws_json_str(doc, "s", "-"), "a\xc3\xbc\n\xf0\x9f\x98\x80\"");
	CHECK_STR(ws_json_str(doc, "t", "-"), "-");
	CHECK_STR(ws_json_str(doc, "none", "-"), "-");
	CHECK(ws_json_bool(doc, "t", false) && !ws_json_bool(doc, "f", true));
	CHECK(ws_json_bool(doc, "s", true));
	CHECK_INT(ws_json_int(ws_json_get(doc, "o"), "i", 1), -5);
	CHECK_INT(ws_json_int(doc, "", 1), 0);
	CHECK_INT(ws_json_get(doc, "n")->type, WS_JSON_NULL);
	ws_json_strv(doc, "a", &list);
	ws_json_strv(doc, "none", &list);
	CHECK(list.n == 2 && strcmp(list.v[1], "y") == 0);
	CHECK(ws_json_get(NULL, "s") == NULL);
	CHECK(ws_json_get(ws_json_get(doc, "a"), "s") == NULL);
	CHECK_STR(ws_json_type_name(WS_JSON_ARRAY), "an array");
}

static const struct ws_json *number(const char *text)
{
	static struct ws_json *doc;

	ws_json_freep(&doc);
	if (text)
		doc = parsed(text);
	return doc;
}

static void facts_of_numbers(void)
{
	CHECK(number("9223372036854775807")->integral);
	CHECK_INT(number("9223372036854775807")->i, INT64_MAX);
	CHECK_INT(number("-9223372036854775808")->i, INT64_MIN);
	CHECK(!number("-9223372036854775808")->natural);
	CHECK(!number("9223372036854775808")->integral);
	CHECK(number("9223372036854775808")->natural);
	CHECK_U64(number("18446744073709551615")->u, UINT64_MAX);
	CHECK(!number("18446744073709551616")->natural);
	CHECK(number("18446744073709551616")->d == 18446744073709551616.0);
	CHECK(!number("-9223372036854775809")->integral);
	CHECK(number("86400.0")->integral && number("86400.0")->i == 86400);
	CHECK(number("1e3")->natural && number("1e3")->u == 1000);
	CHECK(!number("1.5")->integral && number("1.5")->d == 1.5);
	CHECK(number("-2.0")->integral && !number("-2.0")->natural);
	CHECK(!number("1e300")->integral);
	CHECK(number("-0")->integral && number("-0")->natural &&
	      signbit(number("-0")->d));
	CHECK(number("1e-999")->d == 0);
	CHECK_STR(said("1e999"), "f:1:1: number is out of range");
	CHECK(fails_at("[1,\n -1e400]", "2:2"));
	CHECK(fails_at("01", "1:2"));
	CHECK(strcmp(said("+1"), "ok") != 0 && strcmp(said(".5"), "ok") != 0);
	CHECK(strcmp(said("1."), "ok") != 0 && strcmp(said("-"), "ok") != 0);
	CHECK(strcmp(said("NaN"), "ok") != 0 && strcmp(said("Infinity"), "ok") != 0);
	number(NULL);
}

static void facts_of_places(void)
{
	WS_AUTO_JSON struct ws_json *doc = parsed(
		"{\n\t\"gr\xc3\xbcn\": 1, \"b\\\"\\\\\" : [true,\n  -1.5e3, \"s\"]\n}");
	const struct ws_json *a = doc->child, *b = a->next;

	CHECK(doc->line == 1 && doc->col == 1);
	CHECK(a->line == 2 && a->col == 2);
	CHECK(b->line == 2 && b->col == 13); /* characters, not bytes */
	CHECK_STR(b->key, "b\"\\");
	CHECK(b->child->line == 2 && b->child->col == 24);
	CHECK(b->child->next->line == 3 && b->child->next->col == 3);
	CHECK(b->child->next->next->line == 3 && b->child->next->next->col == 11);
	CHECK(parsed != NULL && number("\n  12")->line == 2 &&
	      number("\n  12")->col == 3);
	number(NULL);
	CHECK(fails_at("{\n \"a\" 1}", "2:6"));
	CHECK(fails_at("{\"a\":1,\n}", "2:1"));
	CHECK(fails_at("[1,]", "1:4"));
	CHECK(fails_at("[tru]", "1:2"));
	CHECK(fails_at("{\"a\": \"b\" \"ccc\"}", "1:11"));
	CHECK(fails_at("[1] x", "1:5"));
	CHECK(fails_at("[1] [2]", "1:5"));
	CHECK(fails_at("[\n1", "2:2"));
}

static void facts_of_strictness(void)
{
	CHECK_STR(said("{\"a\":1,\"b\":2,\n\"a\":3,\"b\":4}"),
		  "f:2:1: duplicate key 'a'");
	CHECK_INT(err.kind, WS_SPEC_INVALID);
	CHECK_STR(said("{\"a\":1,\"\\u0061\":2}"), "f:1:8: duplicate key 'a'");
	CHECK_STR(said("[{\"a\":{\"a\":1}},{\"a\":2}]"), "ok");
	CHECK_STR(said("{\"a\": \"x\\u0000y\"}"), "f:1:9: NUL in a string");
	CHECK_STR(said("{\"a\\u0000\": 1}"), "f:1:4: NUL in a string");
	CHECK_STR(said("\"\\\\u0000\""), "ok");
	CHECK_STR(said("\"\\ud800\""), "f:1:2: half of a surrogate pair in a string");
	CHECK_STR(said("\"\\udc00\""), "f:1:2: half of a surrogate pair in a string");
	CHECK_STR(said("\"\\ud800\\ud800\""),
		  "f:1:2: half of a surrogate pair in a string");
	CHECK_STR(said("\"\\ud83dx\""), "f:1:2: half of a surrogate pair in a string");
	CHECK_STR(said("\"\\ud83d\\ude00\""), "ok");
	CHECK_STR(said("\"a\xff\""), "f:1:3: not valid UTF-8");
	CHECK_STR(said("\"\xed\xa0\x80\""), "f:1:2: not valid UTF-8");
	CHECK_STR(said("\"\xc0\x80\""), "f:1:2: not valid UTF-8");
	CHECK(strcmp(said("\"a\nb\""), "ok") != 0);
	CHECK(strcmp(said("\"a\tb\""), "ok") != 0);
	CHECK_STR(said("[1,\f2]"), "f:1:4: control byte 0x0c");
	CHECK_STR(said_len("[1\0]", 4), "f:1:3: control byte 0x00");
	CHECK(strcmp(said("// c\n1"), "ok") != 0 && strcmp(said("/* c */1"), "ok") != 0);
	CHECK(strcmp(said("{a:1}"), "ok") != 0 && strcmp(said("{'a':1}"), "ok") != 0);
	CHECK(strcmp(said("\"\\x\""), "ok") != 0 && strcmp(said("\"\\u12\""), "ok") != 0);
	CHECK(strcmp(said("\xef\xbb\xbf{}"), "ok") != 0);
	CHECK(strcmp(said(""), "ok") != 0 && strcmp(said("  \n"), "ok") != 0);
	CHECK(strcmp(said("\"open"), "ok") != 0 && strcmp(said("{\"a\""), "ok") != 0);
	CHECK_STR(said("{}\n\"x"), "f:2:1: trailing garbage");
	CHECK_STR(said("12\""), "f:1:3: trailing garbage");
	CHECK_STR(said("\"\"\""), "f:1:3: trailing garbage");
	CHECK_STR(said(" \t\r\n{ } \n"), "ok");
}

/* N opening brackets and as many closing ones. */
static const char *nested(size_t n, bool closed)
{
	char *text = malloc(2 * n + 1);
	const char *result;

	MUST(text);
	memset(text, '[', n);
	memset(text + n, ']', n);
	result = said_len(text, closed ? 2 * n : n);
	free(text);
	return result;
}

static void facts_of_limits(void)
{
	size_t max = WS_JSON_MAX_SIZE;
	char *text = malloc(max + 1);

	MUST(text);
	CHECK_STR(nested(64, true), "ok");
	CHECK_STR(nested(65, true), "f:1:65: more than 64 levels deep");
	CHECK_STR(nested(1000000, false), "f:1:65: more than 64 levels deep");
	memset(text, 'x', max + 1);
	text[0] = text[max - 1] = '"';
	CHECK_STR(said_len(text, max), "ok");
	text[max - 1] = 'x';
	text[max] = '"';
	CHECK_STR(said_len(text, max + 1), "f: larger than 1048576 bytes");
	memset(text, '\\', max);
	text[0] = text[max - 1] = '"';
	CHECK_STR(said_len(text, max), "ok");
	free(text);
}

/* An object of 100,000 keys takes no more than a moment; the last one stood before. */
static void facts_of_many_keys(void)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;

	ws_buf_addch(&b, '{');
	for (int i = 0; i < 80000; i++)
		ws_buf_addf(&b, "\"%d\":1,", i);
	ws_buf_addstr(&b, "\n\"77\":2}");
	CHECK(b.len < WS_JSON_MAX_SIZE);
	CHECK_STR(said_len(b.data, b.len), "f:2:1: duplicate key '77'");
}

struct record {
	char *name;
	uint64_t big;
	int small;
	bool flag;
	struct ws_strv list;
};

static const struct ws_json_field fields[] = {
	WS_FIELD(record, name, STRING, true), WS_FIELD(record, big, U64, false),
	WS_FIELD(record, small, INT, false),  WS_FIELD(record, flag, BOOL, false),
	WS_FIELD(record, list, STRV, false),  { 0 },
};

static const char *decoded(const char *text, struct record *r)
{
	WS_AUTO_JSON struct ws_json *doc = parsed(text);

	return ws_json_decode(doc, fields, r, &err) < 0 ? err.msg : "ok";
}

static void facts_of_decoding(void)
{
	struct record r = { .small = 9 };

	CHECK_STR(decoded("{\"name\":\"n\",\"big\":18446744073709551615,\"flag\":true,"
			  "\"list\":[\"a\",\"b\"],\"more\":[]}",
			  &r),
		  "ok");
	CHECK_STR(r.name, "n");
	CHECK_U64(r.big, UINT64_MAX);
	CHECK(r.flag && r.list.n == 2 && r.small == 9);
	CHECK_STR(decoded("{\"name\":\"m\",\"list\":[]}", &r), "ok");
	CHECK_STR(r.name, "m");
	CHECK_INT((int64_t)r.list.n, 0);
	CHECK_STR(decoded("{}", &r), "key 'name' is missing");
	CHECK_INT(err.kind, WS_STATE_CORRUPT);
	CHECK_STR(decoded("{\"name\":1}", &r), "1:2: bad value of key 'name'");
	CHECK_STR(decoded("{\"name\":null}", &r), "1:2: bad value of key 'name'");
	CHECK_STR(decoded("{\"name\":\"\",\n\"big\":-1}", &r),
		  "2:1: bad value of key 'big'");
	CHECK_STR(decoded("{\"name\":\"\",\"small\":2147483648}", &r),
		  "1:12: bad value of key 'small'");
	CHECK_STR(decoded("{\"name\":\"\",\"small\":1.5}", &r),
		  "1:12: bad value of key 'small'");
	CHECK_STR(decoded("{\"name\":\"\",\"flag\":0}", &r),
		  "1:12: bad value of key 'flag'");
	CHECK_STR(decoded("{\"name\":\"\",\"list\":[1]}", &r),
		  "1:12: bad value of key 'list'");
	CHECK_STR(decoded("[]", &r), "an array where an object belongs");
	ws_json_release(fields, &r);
	CHECK(r.name == NULL);
}

static void facts_of_copying(void)
{
	struct record from = { .big = 5, .small = -1, .flag = true };
	struct record to = { 0 };

	from.name = ws_strdup("n");
	ws_strv_add(&from.list, "a", "b", NULL);
	ws_json_copy(fields, &from, &to);
	ws_json_release(fields, &from);
	CHECK_STR(to.name, "n");
	CHECK(to.big == 5 && to.small == -1 && to.flag && to.list.n == 2);
	CHECK_STR(to.list.v[1], "b");
	ws_json_release(fields, &to);
	ws_json_copy(fields, &from, &to);
	CHECK(to.name == NULL && to.list.n == 0);
}

int main(void)
{
	facts_of_values();
	facts_of_numbers();
	facts_of_places();
	facts_of_strictness();
	facts_of_limits();
	facts_of_many_keys();
	facts_of_decoding();
	facts_of_copying();
	return CHECK_DONE();
}
