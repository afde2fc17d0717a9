/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spec.h"

#include <string.h>

#include "check.h"
#include "core/spec_fields.h"
#include "outcome.h"

/* What was printed means the same when it is read again. */
static void test_print_and_read(void)
{
	static const char *const docs[] = {
		"{}",
		"{\"mode\": \"host_readonly\"}",
		"{\"limits\": {\"cpu_max\": 0.1, \"tmp_size\": 1152921504606846976}}",
		"{\"repos\": [{\"path\": \"/a\"}, {\"path\": \"/b\", \"branch\": \"c\"}]}",
		"{\"sandbox\": {\"clearenv\": false, \"allowed_env_vars\": [\"A\"]}}",
		"{\"profiles\": {\"b\": {}, \"a\": {\"limits\": {\"pids_max\": 1}}}}",
		"{\"annotations\": {\"z\": \"\\u0001\\\"\\u00e9\", \"a\": \"\"}}",
		"{\"allow_root\": true, \"floor\": {\"limits\": {}}, \"workspace_base\": \"/w\"}"
	};

	for (size_t i = 0; i < WS_ARRAY_SIZE(docs); i++) {
		WS_AUTO(ws_buf) struct ws_buf first = WS_BUF_INIT, second = WS_BUF_INIT;
		struct outcome o;

		try_both(&o, docs[i], NULL, false);
		CHECK(o.rc == 0);
		ws_spec_print(&o.spec, i % 2, &first);
		release(&o);
		try_both(&o, ws_buf_str(&first), NULL, true);
		CHECK(o.rc == 0);
		ws_spec_print(&o.spec, i % 2, &second);
		CHECK(strcmp(ws_buf_str(&first), ws_buf_str(&second)) == 0);
		release(&o);
	}
}

static bool same_policy(const char *a, const char *b)
{
	struct outcome x, y;
	char left[WS_SHA256_HEX], right[WS_SHA256_HEX];

	try_both(&x, NULL, a, false);
	try_both(&y, NULL, b, false);
	ws_spec_policy_digest(&x.spec, left);
	ws_spec_policy_digest(&y.spec, right);
	release(&x);
	release(&y);
	return strcmp(left, right) == 0;
}

static void test_policy(void)
{
	CHECK(same_policy("{}",
			  "{\"annotations\": {\"a\": \"b\"}, \"workspace_ttl\": 5}"));
	CHECK(same_policy(
		"{}",
		"{\"repos\": [{\"path\": \"/a\"}], \"host_readonly\": {\"mask\": []}}"));
	CHECK(same_policy("{}", "{\"host_readonly\": {\"unshare_pid\": true}}"));
	CHECK(same_policy("{\"sandbox\": {\"hostname\": \"h\"}}",
			  "{\"sandbox\": {\"hostname\": \"h\", \"unshare_uts\": true}}"));
	CHECK(same_policy("{\"sandbox\": {\"clearenv\": false}}",
			  "{\"sandbox\": {\"env_mode\": \"inherit_all\"}}"));
	CHECK(same_policy("{\"profiles\": {\"a\": {}, \"b\": {}}}",
			  "{\"profiles\": {\"b\": {}, \"a\": {}}}"));
	CHECK(same_policy("{\"profiles\": {\"a\": {\"binds\": ["
			  "{\"source\": \"/a\", \"target\": \"/b\"}]}}}",
			  "{\"profiles\": {\"a\": {\"binds\": ["
			  "{\"target\": \"/b\", \"source\": \"/a\"}]}}}"));
	CHECK(!same_policy("{}", "{\"sandbox\": {\"unshare_net\": false}}"));
	CHECK(!same_policy("{}", "{\"sandbox\": {\"seccomp\": \"log\"}}"));
	CHECK(!same_policy("{}", "{\"limits\": {\"open_files\": 99}}"));
	CHECK(!same_policy("{}",
			   "{\"binds\": [{\"source\": \"/a\", \"target\": \"/b\"}]}"));
	CHECK(!same_policy("{}", "{\"persistent_home\": false}"));
	CHECK(!same_policy("{}", "{\"session_tmp\": false}"));
	CHECK(!same_policy("{}", "{\"profiles\": {\"a\": {}}}"));
	CHECK(!same_policy(
		"{\"mode\": \"host_readonly\"}",
		"{\"mode\": \"host_readonly\", \"host_readonly\": {\"unshare_pid\": true}}"));
}

/* Every row can be found, says something, and its default is good. */
static void test_table(void)
{
	WS_AUTO(ws_buf) struct ws_buf man = WS_BUF_INIT;

	ws_spec_man(&man);
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		WS_AUTO_FREE char *item = ws_format(".It Va %s\n", f->key);
		const char *help_end = f->help + strlen(f->help) - 1;

		CHECK(strstr(ws_buf_str(&man), item));
		CHECK(*f->help && *help_end != '.');
		CHECK(f->type == WS_KEY_SECTION || f->def);
		CHECK((f->type == WS_KEY_LIST || f->type == WS_KEY_TEXT) == !!f->rule);
		CHECK((f->type == WS_KEY_ENUM) == !!f->words[0]);
		CHECK(!f->nothing[0] || f->later);
	}
}

int main(void)
{
	test_print_and_read();
	test_policy();
	test_table();
	return CHECK_DONE();
}
