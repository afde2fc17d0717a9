/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strv.h"

#include <string.h>

#include "check.h"

static void facts_of_a_vector(void)
{
	WS_AUTO(ws_strv) struct ws_strv sv = WS_STRV_INIT;
	char **argv = ws_strv_argv(&sv);

	CHECK(argv != NULL && argv[0] == NULL);
	CHECK(!ws_strv_has(&sv, "a"));
	ws_strv_add(&sv, "a", "b", NULL);
	ws_strv_addf(&sv, "%d", 3);
	ws_strv_take(&sv, ws_strdup("d"));
	CHECK_INT((int64_t)sv.n, 4);
	CHECK_STR(sv.v[2], "3");
	CHECK_STR(sv.v[3], "d");
	CHECK(sv.v[4] == NULL);
	CHECK(ws_strv_has(&sv, "b") && !ws_strv_has(&sv, "bb"));
	ws_strv_extend(&sv, &sv);
	CHECK_INT((int64_t)sv.n, 8);
	CHECK_STR(sv.v[7], "d");
	ws_strv_clear(&sv);
	CHECK_INT((int64_t)sv.n, 0);
	CHECK(ws_strv_argv(&sv)[0] == NULL);
}

static void facts_of_many(void)
{
	WS_AUTO(ws_strv) struct ws_strv sv = WS_STRV_INIT;

	for (int i = 0; i < 1000; i++) {
		ws_strv_addf(&sv, "%d", i);
		MUST(sv.v[sv.n] == NULL);
	}
	CHECK_STR(sv.v[999], "999");
}

static void facts_of_order(void)
{
	WS_AUTO(ws_strv) struct ws_strv a = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv b = WS_STRV_INIT;

	ws_strv_sort(&a);
	CHECK(ws_strv_equal(&a, &b));
	ws_strv_add(&a, "b", "\xff", "a", "B", "a", NULL);
	ws_strv_add(&b, "B", "a", "a", "b", NULL);
	CHECK(!ws_strv_equal(&a, &b));
	ws_strv_push(&b, "\xff");
	CHECK(!ws_strv_equal(&a, &b));
	ws_strv_sort(&a);
	CHECK(ws_strv_equal(&a, &b));
	CHECK(ws_strv_argv(&a)[5] == NULL);
	CHECK(ws_strv_has_sorted(&a, "\xff"));
	CHECK(!ws_strv_has_sorted(&a, "c"));
	ws_strv_sort_once(&a);
	CHECK(a.n == 4 && !strcmp(a.v[1], "a") && !strcmp(a.v[2], "b"));
	CHECK(ws_strv_argv(&a)[4] == NULL);
	ws_strv_clear(&a);
	ws_strv_sort_once(&a);
	CHECK(a.n == 0 && !ws_strv_has_sorted(&a, "a"));
}

static void facts_of_an_environment(void)
{
	WS_AUTO(ws_strv) struct ws_strv env = WS_STRV_INIT;

	ws_env_set(&env, "HOME", "/root");
	ws_env_set(&env, "HOMER", "x");
	ws_env_set(&env, "EMPTY", "");
	CHECK_STR(ws_env_get(&env, "HOME"), "/root");
	CHECK_STR(ws_env_get(&env, "EMPTY"), "");
	CHECK(ws_env_get(&env, "HOM") == NULL);
	ws_env_set(&env, "HOME", "/a=b");
	CHECK_STR(ws_env_get(&env, "HOME"), "/a=b");
	CHECK_INT((int64_t)env.n, 3);
	ws_strv_push(&env, "HOME=twice");
	ws_env_unset(&env, "HOME");
	CHECK(ws_env_get(&env, "HOME") == NULL);
	CHECK_STR(ws_env_get(&env, "HOMER"), "x");
	ws_env_unset(&env, "NONE");
	CHECK_INT((int64_t)env.n, 2);
	CHECK(ws_strv_argv(&env)[2] == NULL);
}

int main(void)
{
	facts_of_a_vector();
	facts_of_many();
	facts_of_order();
	facts_of_an_environment();
	return CHECK_DONE();
}
