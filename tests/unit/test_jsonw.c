/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsonw.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void facts_of_shape(void)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	WS_AUTO(ws_strv) struct ws_strv list = WS_STRV_INIT;
	struct ws_jsonw w;

	ws_strv_add(&list, "x", "[", NULL);
	for (int pretty = 0; pretty < 2; pretty++) {
		ws_jsonw_init(&w, &b, pretty);
		ws_jsonw_object(&w, NULL);
		ws_jsonw_str(&w, "s", "{");
		ws_jsonw_str(&w, "n", NULL);
		ws_jsonw_object(&w, "e");
		ws_jsonw_end(&w, '}');
		ws_jsonw_strv(&w, "l", &list);
		ws_jsonw_array(&w, "a");
		ws_jsonw_bool(&w, NULL, true);
		ws_jsonw_null(&w, NULL);
		ws_jsonw_array(&w, NULL);
		ws_jsonw_end(&w, ']');
		ws_jsonw_end(&w, ']');
		ws_jsonw_end(&w, '}');
		ws_jsonw_done(&w);
	}
	CHECK_STR(b.data, "{\"s\":\"{\",\"n\":null,\"e\":{},\"l\":[\"x\",\"[\"],"
			  "\"a\":[true,null,[]]}\n"
			  "{\n  \"s\": \"{\",\n  \"n\": null,\n  \"e\": {},\n"
			  "  \"l\": [\n    \"x\",\n    \"[\"\n  ],\n"
			  "  \"a\": [\n    true,\n    null,\n    []\n  ]\n}\n");
}

static const char *string(const char *value)
{
	static struct ws_buf b = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_buf_clear(&b);
	ws_jsonw_init(&w, &b, false);
	ws_jsonw_str(&w, NULL, value);
	return b.data;
}

static const char *number(double value)
{
	static struct ws_buf b = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_buf_clear(&b);
	ws_jsonw_init(&w, &b, false);
	ws_jsonw_double(&w, NULL, value);
	return b.data;
}

static void facts_of_scalars(void)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	struct ws_jsonw w;

	CHECK_STR(string("a\"\\/\n\t\r\001\x7f"),
		  "\"a\\\"\\\\/\\n\\t\\u000d\\u0001\\u007f\"");
	CHECK_STR(string("gr\xc3\xbcn"), "\"gr\xc3\xbcn\"");
	CHECK_STR(string("\xc2\x9b"), "\"\\u009b\"");
	CHECK_STR(string("a\xff\xc3z"), "\"a\xef\xbf\xbd\xef\xbf\xbdz\"");
	CHECK_STR(string("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	CHECK_STR(number(0.1), "0.1");
	CHECK_STR(number(5), "5");
	CHECK_STR(number(1.0 / 3), "0.3333333333333333");
	CHECK_STR(number(HUGE_VAL), "null");
	CHECK_STR(number(NAN), "null");
	CHECK_STR(number(1e300), "1e+300");
	ws_jsonw_init(&w, &b, false);
	ws_jsonw_array(&w, NULL);
	ws_jsonw_u64(&w, NULL, UINT64_MAX);
	ws_jsonw_int(&w, NULL, INT64_MIN);
	ws_jsonw_end(&w, ']');
	CHECK_STR(b.data, "[18446744073709551615,-9223372036854775808]");
}

/* What was read is written as it was. */
static void facts_of_round_trips(void)
{
	static const char text[] = "{\"a\":[1,-2,18446744073709551615,1.5,null,true,{}],"
				   "\"\xc3\xbc\\n\":{\"x\":\"y\",\"z\":[]}}";
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;
	struct ws_err err;
	struct ws_jsonw w;
	char deep[129];

	MUST(ws_json_parse("f", text, strlen(text), &doc, &err) == 0);
	ws_jsonw_init(&w, &b, false);
	ws_jsonw_value(&w, NULL, doc);
	CHECK_STR(b.data, text);
	ws_json_freep(&doc);
	memset(deep, '[', 64);
	memset(deep + 64, ']', 64);
	deep[128] = '\0';
	MUST(ws_json_parse("f", deep, 128, &doc, &err) == 0);
	ws_buf_clear(&b);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_value(&w, "deep", doc);
	ws_jsonw_end(&w, '}');
	CHECK(b.len == 128 + strlen("{\"deep\":}"));
}

struct record {
	char *name, *none;
	uint64_t big;
	int small;
	bool flag;
	struct ws_strv list;
};

static const struct ws_json_field fields[] = {
	WS_FIELD(record, name, STRING, true),
	WS_FIELD(record, none, STRING, false),
	WS_FIELD(record, big, U64, false),
	WS_FIELD(record, small, INT, false),
	WS_FIELD(record, flag, BOOL, false),
	WS_FIELD(record, list, STRV, false),
	{ 0 },
};

static void facts_of_records(void)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	char name[] = "n";
	struct record r = { .name = name, .big = 1, .small = -2, .flag = true };
	struct ws_jsonw w;

	ws_strv_push(&r.list, "a");
	ws_jsonw_init(&w, &b, false);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_fields(&w, fields, &r);
	ws_jsonw_end(&w, '}');
	CHECK_STR(
		b.data,
		"{\"name\":\"n\",\"big\":1,\"small\":-2,\"flag\":true,\"list\":[\"a\"]}");
	ws_strv_release(&r.list);
}

/* Unbalanced: the process dies rather than to write it. */
static void facts_of_balance(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		struct ws_buf b = WS_BUF_INIT;
		struct ws_jsonw w;

		signal(SIGABRT, SIG_DFL);
		ws_jsonw_init(&w, &b, false);
		ws_jsonw_object(&w, NULL);
		ws_jsonw_done(&w);
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
	facts_of_shape();
	facts_of_scalars();
	facts_of_round_trips();
	facts_of_records();
	facts_of_balance();
	return CHECK_DONE();
}
