/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "core/env.h"

static char *const host[] = {
	(char *)"PATH=/opt/bin", (char *)"HOME=/root",	   (char *)"SECRET=s3cr3t",
	(char *)"LC_ALL=de_DE",	 (char *)"PWD=/root/work", (char *)"TERM=xterm",
	(char *)"WSISO_ROOT=/r", (char *)"TMPDIR=/root/t", (char *)"EMPTY=",
	(char *)"noequals",	 (char *)"_=/usr/bin/x",   NULL,
};

static const struct ws_env_facts facts = { .user = "ada", .home = "/home/ada" };

static void facts_of_minimal(void)
{
	WS_AUTO(ws_strv) struct ws_strv env = WS_STRV_INIT;
	struct ws_spec_sandbox spec = { .env_mode = WS_ENV_MINIMAL };

	ws_env_build(&spec, &facts, host, NULL, &env);
	CHECK_INT((int64_t)env.n, 8);
	CHECK_STR(ws_env_get(&env, "PATH"),
		  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	CHECK_STR(ws_env_get(&env, "HOME"), "/home/ada");
	CHECK_STR(ws_env_get(&env, "USER"), "ada");
	CHECK_STR(ws_env_get(&env, "LOGNAME"), "ada");
	CHECK_STR(ws_env_get(&env, "SHELL"), "/bin/bash");
	CHECK_STR(ws_env_get(&env, "LANG"), "C.UTF-8");
	CHECK_STR(ws_env_get(&env, "TERM"), "dumb");
	CHECK_STR(ws_env_get(&env, "TMPDIR"), "/tmp");
	for (size_t i = 0; i < env.n; i++) {
		WS_AUTO_FREE char *name = ws_strndup(env.v[i], strcspn(env.v[i], "="));

		CHECK(ws_env_is_own(name));
	}
}

static void facts_of_the_caller(void)
{
	WS_AUTO(ws_strv) struct ws_strv env = WS_STRV_INIT;
	struct ws_spec_sandbox spec = { .env_mode = WS_ENV_MINIMAL };
	struct ws_env_facts more = facts;

	more.term = "xterm-256color";
	more.tz = "Europe/Berlin";
	ws_env_build(&spec, &more, NULL, NULL, &env);
	CHECK_INT((int64_t)env.n, 9);
	CHECK_STR(ws_env_get(&env, "TERM"), "xterm-256color");
	CHECK_STR(ws_env_get(&env, "TZ"), "Europe/Berlin");
}

static void facts_of_inherited(void)
{
	WS_AUTO(ws_strv) struct ws_strv env = WS_STRV_INIT;
	struct ws_spec_sandbox spec = { .env_mode = WS_ENV_MINIMAL };

	ws_strv_add(&spec.inherit_env_vars, "SECRET", "HOME", "EMPTY", "ABSENT", NULL);
	ws_strv_add(&spec.allowed_env_vars, "PATH", NULL);
	ws_env_build(&spec, &facts, host, NULL, &env);
	CHECK_STR(ws_env_get(&env, "SECRET"), "s3cr3t");
	CHECK_STR(ws_env_get(&env, "EMPTY"), "");
	CHECK_STR(ws_env_get(&env, "PATH"), "/opt/bin");
	CHECK_STR(ws_env_get(&env, "HOME"), "/home/ada");
	CHECK(ws_env_get(&env, "ABSENT") == NULL);
	CHECK(ws_env_get(&env, "LC_ALL") == NULL);
	ws_strv_release(&spec.inherit_env_vars);
	ws_strv_release(&spec.allowed_env_vars);
}

static void facts_of_all(void)
{
	WS_AUTO(ws_strv) struct ws_strv env = WS_STRV_INIT;
	struct ws_spec_sandbox spec = { .env_mode = WS_ENV_INHERIT_ALL };

	ws_strv_add(&spec.deny_env_vars, "SECRET", NULL);
	ws_env_build(&spec, &facts, host, NULL, &env);
	CHECK_STR(ws_env_get(&env, "PATH"), "/opt/bin");
	CHECK_STR(ws_env_get(&env, "LC_ALL"), "de_DE");
	CHECK_STR(ws_env_get(&env, "TERM"), "xterm");
	CHECK_STR(ws_env_get(&env, "HOME"), "/home/ada");
	CHECK_STR(ws_env_get(&env, "TMPDIR"), "/tmp");
	CHECK(ws_env_get(&env, "SECRET") == NULL);
	CHECK(ws_env_get(&env, "PWD") == NULL);
	CHECK(ws_env_get(&env, "_") == NULL);
	CHECK(ws_env_get(&env, "WSISO_ROOT") == NULL);
	ws_strv_release(&spec.deny_env_vars);
}

static void facts_of_extra(void)
{
	WS_AUTO(ws_strv) struct ws_strv env = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv extra = WS_STRV_INIT;
	struct ws_spec_sandbox spec = { .env_mode = WS_ENV_MINIMAL };
	struct ws_env_facts more = facts;

	more.term = "xterm";
	more.tz = "UTC";
	ws_strv_add(&spec.deny_env_vars, "TOKEN", "TZ", "TERM", NULL);
	ws_strv_add(&extra, "A=1", "A=2=3", "HOME=/tmp", "TOKEN=x", NULL);
	ws_env_build(&spec, &more, host, &extra, &env);
	CHECK_STR(ws_env_get(&env, "A"), "2=3");
	CHECK_STR(ws_env_get(&env, "HOME"), "/tmp");
	CHECK(ws_env_get(&env, "TOKEN") == NULL);
	CHECK(ws_env_get(&env, "TZ") == NULL);
	CHECK_STR(ws_env_get(&env, "TERM"), "dumb");
	ws_strv_release(&spec.deny_env_vars);
}

int main(void)
{
	facts_of_minimal();
	facts_of_the_caller();
	facts_of_inherited();
	facts_of_all();
	facts_of_extra();
	return CHECK_DONE();
}
