/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spec_rules.h"

#include "base/mem.h"
#include "check.h"

static void test_branches(void)
{
	static const char *const bad[] = { "-b",   "a b",  "a..b", "a@{1}", "a.lock",
					   "a/.b", ".a",   "a/",   "/a",    "a//b",
					   "a~1",  "a:b",  "a?",   "a*",    "a[b",
					   "@",	   "HEAD", "a.",   "" };

	for (size_t i = 0; i < WS_ARRAY_SIZE(bad); i++)
		CHECK(!ws_spec_rule_holds(&WS_RULE_BRANCH, bad[i]));
	CHECK(ws_spec_rule_holds(&WS_RULE_BRANCH, "feature/a.b_c-1"));
	CHECK(ws_spec_rule_holds(&WS_RULE_BRANCH, "gr\xc3\xbc\xc3\x9f"));
}

static void test_hostnames(void)
{
	WS_AUTO_FREE char *label = ws_format("%064d", 0);

	CHECK(ws_spec_rule_holds(&WS_RULE_HOSTNAME, "a-1.example"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_HOSTNAME, "a_1"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_HOSTNAME, "-a"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_HOSTNAME, "a-"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_HOSTNAME, "a..b"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_HOSTNAME, "a."));
	CHECK(!ws_spec_rule_holds(&WS_RULE_HOSTNAME, ""));
	CHECK(!ws_spec_rule_holds(&WS_RULE_HOSTNAME, label));
	CHECK(ws_spec_rule_holds(&WS_RULE_HOSTNAME, label + 1));
}

static void test_paths(void)
{
	CHECK(ws_spec_rule_holds(&WS_RULE_PATH, "/"));
	CHECK(ws_spec_rule_holds(&WS_RULE_PATH, "/a/../b/"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_PATH, "~/a"));
	CHECK(ws_spec_rule_holds(&WS_RULE_SOURCE, "/a/../b/"));
	CHECK(ws_spec_rule_holds(&WS_RULE_SOURCE, "svn+ssh://host/a b@1"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_SOURCE, "svn://"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_SOURCE, "://a"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_SOURCE, "--x=svn://a"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_SOURCE, "svn://a\nb"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_SOURCE, "a"));
	CHECK(ws_spec_rule_holds(&WS_RULE_CLEAN_PATH, "/a/.b/..c"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_CLEAN_PATH, "/"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_CLEAN_PATH, "a"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_CLEAN_PATH, "/a//b"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_CLEAN_PATH, "/a/./b"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_CLEAN_PATH, "/a/.."));
	CHECK(!ws_spec_rule_holds(&WS_RULE_CLEAN_PATH, "/a/"));
	CHECK(ws_spec_rule_holds(&WS_RULE_INSIDE, ".codumentor/setup.sh"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_INSIDE, "/a"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_INSIDE, "a/../../b"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_INSIDE, ""));
}

static void test_names(void)
{
	WS_AUTO_FREE char *name = ws_format("%0129d", 0);

	CHECK(!ws_spec_rule_holds(&WS_RULE_NAME, name));
	CHECK(ws_spec_rule_holds(&WS_RULE_NAME, name + 1));
	CHECK(ws_spec_rule_holds(&WS_RULE_NAME, "a-b_c.d"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_NAME, ""));
	CHECK(!ws_spec_rule_holds(&WS_RULE_NAME, ".a"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_NAME, "-a"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_NAME, "a/b"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_NAME, "a\n"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_NAME, "\xc3\xa9"));
	CHECK(ws_spec_rule_holds(&WS_RULE_ENV_NAME, "_A1"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_ENV_NAME, "A=B"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_ENV_NAME, "A*"));
	CHECK(!ws_spec_rule_holds(&WS_RULE_ENV_NAME, ""));
}

int main(void)
{
	test_branches();
	test_hostnames();
	test_paths();
	test_names();
	return CHECK_DONE();
}
