/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "outcome.h"

static bool accepts(const char *session)
{
	struct outcome o;
	bool good;

	try_both(&o, NULL, session, false);
	good = o.rc == 0 && o.warnings.n == 0;
	if (!good)
		printf("# %s: %s %s\n", session, o.err.msg,
		       o.warnings.n ? o.warnings.v[0] : "");
	release(&o);
	return good;
}

/* Refused as a session's spec, with PART in the message or the hint. */
static bool refuses(const char *session, const char *part)
{
	struct outcome o;
	bool good;

	try_both(&o, NULL, session, false);
	good = o.rc < 0 && o.err.kind == WS_SPEC_INVALID &&
	       (strstr(o.err.msg, part) || strstr(o.err.hint, part));
	if (!good)
		printf("# %s: rc %d, %s (%s)\n", session, o.rc, o.err.msg, o.err.hint);
	release(&o);
	return good;
}

/* Accepted, with one warning that has PART. */
static bool warns(const char *session, const char *part)
{
	struct outcome o;
	bool good;

	try_both(&o, NULL, session, false);
	good = o.rc == 0 && o.warnings.n == 1 && strstr(o.warnings.v[0], part);
	if (!good)
		printf("# %s: rc %d, %zu warnings, %s\n", session, o.rc, o.warnings.n,
		       o.warnings.n ? o.warnings.v[0] : o.err.msg);
	release(&o);
	return good;
}

static bool built(const char *session)
{
	struct outcome o;
	bool good;

	try_both(&o, "{\"sandbox\": {\"seccomp\": \"off\"}}", session, false);
	good = o.rc == 0 && o.built == 0;
	if (!good)
		printf("# %s: %s\n", session, o.err.msg);
	release(&o);
	return good;
}

static void test_defaults(void)
{
	struct outcome o;

	try_both(&o, NULL, NULL, false);
	CHECK(o.rc == 0 && o.warnings.n == 0);
	CHECK(o.spec.enabled && !o.spec.strict && !o.spec.allow_root);
	CHECK(o.spec.mode == WS_MODE_OVERLAY);
	CHECK(o.spec.sandbox.unshare_net && !o.spec.sandbox.unshare_uts);
	CHECK(o.spec.sandbox.env_mode == WS_ENV_MINIMAL);
	CHECK(o.spec.sandbox.seccomp == WS_SECCOMP_DEFAULT);
	CHECK(o.spec.workspace_ttl == 86400 && o.spec.snapshots.upper_dir_ttl == 2592000);
	CHECK(o.spec.snapshots.min_free_gb == 5);
	CHECK(o.spec.project_setup.network == WS_NETWORK_ISOLATE);
	CHECK(o.spec.host_readonly.network == WS_NETWORK_ASK);
	CHECK(strcmp(o.spec.project_setup.script, ".codumentor/setup.sh") == 0);
	CHECK(o.spec.linger_s == 300 && o.spec.max_idle == 32);
	CHECK(o.spec.limits.memory_max == 0 && o.spec.limits.timeout_s == 0);
	CHECK(strcmp(o.spec.profiles, "{}") == 0 && !o.spec.floor);
	CHECK(o.built == 0);
	release(&o);
}

static void test_precedence(void)
{
	struct outcome o;

	try_both(
		&o,
		"{\"max_idle\": 3, \"persistent_home\": false, \"session_tmp\": false,"
		" \"sandbox\": {\"hostname\": \"a\", \"inherit_env_vars\": [\"A\"],"
		" \"deny_env_vars\": [\"D\"]}, \"annotations\": {\"k\": \"1\", \"l\": \"2\"}}",
		"{\"session_tmp\": true, \"sandbox\": {\"hostname\": null,"
		" \"allowed_env_vars\": [\"B\"]}, \"annotations\": {\"k\": \"3\"}}",
		false);
	CHECK(o.rc == 0);
	CHECK(o.spec.max_idle == 3 && !o.spec.persistent_home && o.spec.session_tmp);
	CHECK(!o.spec.sandbox.hostname && !o.spec.sandbox.unshare_uts);
	CHECK(o.spec.sandbox.inherit_env_vars.n == 1);
	CHECK(ws_strv_has(&o.spec.sandbox.inherit_env_vars, "B"));
	CHECK(ws_strv_has(&o.spec.sandbox.deny_env_vars, "D"));
	CHECK(strcmp(o.spec.annotations, "{\"k\":\"3\",\"l\":\"2\"}") == 0);
	release(&o);

	/* a profile that a session does not name stays, or its protection would go */
	try_both(
		&o,
		"{\"profiles\": {\"worker\": {\"sandbox\": {\"seccomp\": \"enforce\"}}}}",
		"{\"profiles\": {\"agent\": {}}}", false);
	CHECK(o.rc == 0);
	CHECK(strcmp(o.spec.profiles,
		     "{\"agent\":{},\"worker\":{\"sandbox\":{\"seccomp\":\"enforce\"}}}") ==
	      0);
	release(&o);

	try_both(&o, "{\"enabled\": false}", "{\"enabled\": true}", false);
	CHECK(o.rc == 0 && o.spec.enabled);
	release(&o);
}

static void test_types_and_ranges(void)
{
	CHECK(refuses(
		"{\"sandbox\": {\"unshare_net\": \"false\"}}",
		"t.json:1:14: 'sandbox.unshare_net' must be true or false, not \"false\""));
	CHECK(refuses("{\n \"sandbox\": {\n  \"unshare_net\": null}}", "t.json:3:3: "));
	CHECK(refuses("{\"enabled\": 1}", "not 1"));
	CHECK(refuses("{\"repos\": {}}", "'repos' must be an array"));
	CHECK(refuses("{\"repos\": [1]}", "'repos[0]' must be an object, not 1"));
	CHECK(refuses("{\"sandbox\": []}", "must be an object, not an array"));
	CHECK(refuses("{\"sandbox\": null}", "must be an object, not null"));
	CHECK(refuses("[]", "a spec must be an object, not an array"));
	CHECK(refuses("{\"workspace_ttl\": -1}", "from 1 to"));
	CHECK(refuses("{\"workspace_ttl\": 1.5}", "whole number"));
	CHECK(refuses("{\"workspace_ttl\": 1e30}", "not 1e+30"));
	CHECK(refuses("{\"workspace_ttl\": 18446744073709551616}", "whole number"));
	CHECK(refuses("{\"workspace_ttl\": \"86400\"}", "not \"86400\""));
	CHECK(refuses("{\"limits\": {\"pids_max\": 0}}", "from 1 to 4194304 or null"));
	CHECK(refuses("{\"limits\": {\"pids_max\": 4194305}}", "not 4194305"));
	CHECK(refuses("{\"limits\": {\"cpu_max\": 65536.5}}", "not 65536.5"));
	CHECK(refuses("{\"limits\": {\"timeout_s\": 0}}", "a number from 0.001"));
	CHECK(refuses("{\"snapshots\": {\"min_free_gb\": -0.5}}", "not -0.5"));
	CHECK(refuses("{\"strict\": \"yes\"}", "'strict'"));
	CHECK(accepts("{\"limits\": {\"timeout_s\": 1.5, \"memory_max\": null}}"));
	CHECK(accepts("{\"limits\": {\"file_size_max\": 1152921504606846976}}"));
	CHECK(accepts(
		"{\"snapshots\": {\"min_free_gb\": 0.25, \"cleanup_interval\": 0}}"));
	CHECK(accepts("{}"));
}

static void test_words(void)
{
	CHECK(refuses("{\"sandbox\": {\"seccomp\": \"enforced\"}}",
		      "did you mean \"enforce\"?"));
	CHECK(refuses("{\"sandbox\": {\"env_mode\": \"MINIMAL\"}}",
		      "did you mean \"minimal\"?"));
	CHECK(refuses("{\"sandbox\": {\"seccomp\": true}}", "one of \"default\""));
	CHECK(refuses("{\"snapshots\": {\"copy\": \"link\"}}", "'snapshots.copy'"));
	CHECK(refuses("{\"project_setup\": {\"network\": \"ask\"}}",
		      "'project_setup.network'"));
	CHECK(refuses("{\"repos\": [{\"path\": \"/a\", \"vcs\": \"hg\"}]}",
		      "'repos[0].vcs'"));
	CHECK(warns("{\"mode\": \"host-readonly\"}", "using \"overlay\""));
	CHECK(warns("{\"subagent_isolation\": \"Isolated\"}", "using \"shared\""));
	CHECK(warns("{\"host_readonly\": {\"network\": \"none\"}}", "using \"ask\""));
	CHECK(refuses("{\"mode\": 1}", "'mode' must be"));
	CHECK(refuses("{\"mode\": null}", "'mode' must be"));
}

static void test_fallback_is_the_default(void)
{
	struct outcome o;

	try_both(&o, "{\"mode\": \"host_readonly\"}", "{\"mode\": \"overlya\"}", false);
	CHECK(o.rc == 0 && o.spec.mode == WS_MODE_OVERLAY && o.warnings.n == 1);
	release(&o);
}

static void test_unknown_keys(void)
{
	struct outcome o;

	CHECK(warns("{\"persistant_home\": true}", "did you mean 'persistent_home'?"));
	CHECK(warns("{\"colour\": 1}", "t.json:1:2: unknown key 'colour' is ignored"));
	CHECK(warns("{\"sandbox\": {\"colour\": 1}}", "'sandbox.colour'"));
	CHECK(warns("{\"repos\": [{\"path\": \"/a\", \"brnch\": \"b\"}]}",
		    "repos[].branch"));
	CHECK(refuses("{\"sandbox\": {\"unshare_nett\": true}}",
		      "did you mean 'sandbox.unshare_net'?"));
	CHECK(refuses("{\"sandbox\": {\"Unshare_Net\": true}}", "sandbox.unshare_net"));
	CHECK(refuses("{\"sandbox\": {\"unshare_network\": true}}",
		      "sandbox.unshare_net"));
	CHECK(refuses("{\"limits\": {\"memory\": 1}}", "limits.memory_max"));
	CHECK(refuses("{\"host_readonly\": {\"masks\": []}}", "host_readonly.mask"));
	CHECK(refuses("{\"profiles\": {\"x\": {\"limit\": {}}}}", "'profiles.x.limit'"));
	CHECK(refuses(
		"{\"binds\": [{\"source\": \"/a\", \"target\": \"/b\", \"writeable\": true}]}",
		"binds[].writable"));
	/* a protection in the wrong place, or in a section with the wrong name */
	CHECK(refuses("{\"seccomp\": \"enforce\"}", "did you mean 'sandbox.seccomp'?"));
	CHECK(refuses("{\"sandbx\": {\"unshare_net\": true}}",
		      "did you mean 'sandbox'?"));
	CHECK(refuses("{\"strict\": true, \"colour\": 1}", "unknown key 'colour'"));
	try_both(&o, NULL, "{\"colour\": 1}", true);
	CHECK(o.rc < 0 && strstr(o.err.msg, "unknown key 'colour'"));
	release(&o);
	try_both(&o, "{\"strict\": true}", "{\"colour\": 1}", false);
	CHECK(o.rc < 0);
	release(&o);
}

static void test_many_unknown_keys(void)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	ws_buf_addstr(&text, "{\"k\": 0");
	for (int i = 0; i < 60000; i++)
		ws_buf_addf(&text, ", \"key-%d\": 0", i);
	ws_buf_addch(&text, '}');
	CHECK(refuses(ws_buf_str(&text), "more than 100 unknown keys"));
}

static void test_places(void)
{
	static const char *const only_root[] = {
		"\"allow_root\": true",
		"\"linger_s\": 1",
		"\"max_idle\": 1",
		"\"bwrap\": {\"path\": \"/usr/bin/bwrap\"}",
		"\"workspace_base\": \"/srv/w\"",
		"\"floor\": {\"sandbox\": {}}",
		"\"allow_root\": false"
	};

	for (size_t i = 0; i < WS_ARRAY_SIZE(only_root); i++) {
		WS_AUTO_FREE char *text = ws_format("{%s}", only_root[i]);
		struct outcome o;

		CHECK(refuses(text, "wsiso.json"));
		try_both(&o, text, "{}", false);
		CHECK(o.rc == 0 && o.warnings.n == 0);
		release(&o);
	}
	CHECK(accepts("{\"enabled\": false}"));
}

static void test_repos(void)
{
	struct outcome o;

	try_both(
		&o, NULL,
		"{\"repos\": [{\"path\": \"/srv/app/\"}, {\"name\": \"b\", \"path\": \"/srv/app\","
		" \"vcs\": \"git\", \"revision\": \"v1~2\", \"branch\": \"fix/a-1\"}]}",
		true);
	CHECK(o.rc == 0 && o.spec.nrepos == 2);
	CHECK(strcmp(o.spec.repos[0].name, "app") == 0 && !o.spec.repos[0].branch);
	CHECK(strcmp(o.spec.repos[0].path, "/srv/app/") == 0);
	CHECK(o.spec.repos[1].vcs == WS_VCS_GIT);
	CHECK(strcmp(o.spec.repos[1].branch, "fix/a-1") == 0);
	release(&o);
	CHECK(refuses("{\"repos\": [{\"path\": \"/\"}]}", "has no name"));
	CHECK(refuses("{\"repos\": [{\"path\": \"/a/my app\"}]}", "give it a \"name\""));
	CHECK(refuses("{\"repos\": [{\"path\": \"/a/..\"}]}", "\"..\" is not good"));
	CHECK(refuses("{\"repos\": [{\"path\": \"/a/x\"}, {\"path\": \"/b/x\"}]}",
		      "repos[0]"));
	CHECK(refuses("{\"repos\": [{\"path\": \"app\"}]}",
		      "an absolute path or a URL, not \"app\""));
	CHECK(refuses("{\"repos\": [{\"path\": null}]}",
		      "an absolute path or a URL, not null"));
	CHECK(refuses("{\"repos\": [{\"name\": \"x\"}]}", "'repos[0]' has no \"path\""));
	CHECK(refuses("{\"repos\": [{\"path\": \"/a\", \"name\": \"../x\"}]}",
		      "'repos[0].name'"));
	CHECK(refuses("{\"repos\": [{\"path\": \"/a\", \"name\": \"\"}]}",
		      "'repos[0].name'"));
	CHECK(refuses("{\"repos\": [{\"path\": \"/a\", \"revision\": \"-x\"}]}",
		      "revision"));
	CHECK(refuses("{\"repos\": [{\"path\": \"/a\", \"revision\": \"a\\nb\"}]}",
		      "\"a\\x0ab\""));
	CHECK(refuses("{\"repos\": [{\"path\": \"/a\", \"revision\": \"\"}]}",
		      "revision"));
}

static void test_strings(void)
{
	CHECK(refuses("{\"sandbox\": {\"deny_env_vars\": [\"A\", \"B=1\"]}}",
		      "'sandbox.deny_env_vars[1]'"));
	CHECK(refuses("{\"sandbox\": {\"inherit_env_vars\": [\"1A\"]}}", "\"1A\""));
	CHECK(refuses("{\"sandbox\": {\"inherit_env_vars\": [null]}}", "not null"));
	CHECK(refuses("{\"project_setup\": {\"script\": \"../x\"}}", "relative path"));
	CHECK(refuses("{\"project_setup\": {\"inputs\": [\"/etc/passwd\"]}}",
		      "inputs[0]"));
	CHECK(refuses("{\"host_readonly\": {\"mask\": [\"/a/../b\"]}}", "mask[0]"));
	CHECK(refuses("{\"binds\": [{\"source\": \"/a/\", \"target\": \"/b\"}]}",
		      "source"));
	CHECK(refuses("{\"binds\": [{\"source\": \"/a\", \"target\": \"/\"}]}",
		      "target"));
	CHECK(refuses("{\"binds\": [{\"source\": \"/a\"}]}", "no \"target\""));
	CHECK(refuses("{\"binds\": [{\"source\": \"/a\", \"target\": \"/t\"},"
		      " {\"source\": \"/b\", \"target\": \"/t\"}]}",
		      "has the target of 'binds[0]'"));
	CHECK(refuses("{\"annotations\": {\"a\": 1}}",
		      "'annotations.a' must be a string, not 1"));
}

static void test_profiles_and_floor(void)
{
	struct outcome o;

	CHECK(refuses("{\"profiles\": {\"a/b\": {}}}", "'profiles.a/b'"));
	CHECK(refuses("{\"profiles\": {\"a\": 1}}", "'profiles.a' must be an object"));
	CHECK(refuses("{\"profiles\": {\"a\": {\"mode\": \"overlay\"}}}",
		      "sandbox, limits and"));
	CHECK(refuses("{\"profiles\": {\"a\": {\"sandbox\": {\"seccomp\": \"on\"}}}}",
		      "'profiles.a.sandbox.seccomp'"));
	CHECK(refuses("{\"profiles\": {\"a\": {\"binds\": [{\"source\": \"x\"}]}}}",
		      "'profiles.a.binds[0].source'"));
	try_both(&o, "{\"floor\": {\"sandbox\": {\"unshare_net\": 1}}}", NULL, false);
	CHECK(o.rc < 0 && strstr(o.err.msg, "'floor.sandbox.unshare_net'"));
	release(&o);
	try_both(&o, "{\"floor\": {\"mode\": \"overlya\"}}", NULL, false);
	CHECK(o.rc < 0);
	release(&o);
	try_both(&o, "{\"floor\": {\"allow_root\": true}}", NULL, false);
	CHECK(o.rc < 0 && strstr(o.err.msg, "'floor.allow_root'"));
	release(&o);
}

static void test_consequences(void)
{
	struct outcome o;

	CHECK(warns("{\"sandbox\": {\"clearenv\": false}}", "inherit_all"));
	CHECK(warns("{\"sandbox\": {\"env_mode\": \"inherit_all\"}}", "inherit_all"));
	CHECK(warns("{\"sandbox\": {\"allowed_env_vars\": [\"A\"]}}", "old name"));
	CHECK(warns("{\"sandbox\": {\"env_mode\": \"minimal\", \"clearenv\": false}}",
		    "ignored"));
	try_both(
		&o, NULL,
		"{\"sandbox\": {\"clearenv\": false, \"hostname\": \"h\","
		" \"inherit_env_vars\": [\"A\", \"B\"], \"allowed_env_vars\": [\"B\", \"C\"]}}",
		false);
	CHECK(o.rc == 0 && o.spec.sandbox.env_mode == WS_ENV_INHERIT_ALL);
	CHECK(o.spec.sandbox.unshare_uts && o.spec.sandbox.inherit_env_vars.n == 3);
	release(&o);
	try_both(&o, NULL,
		 "{\"mode\": \"host_readonly\", \"repos\": [{\"path\": \"/a\"}],"
		 " \"subagent_isolation\": \"isolated\"}",
		 false);
	CHECK(o.rc == 0 && o.warnings.n == 2 && o.spec.nrepos == 0);
	CHECK(o.spec.subagent_isolation == WS_ISOLATION_SHARED);
	CHECK(!o.spec.snapshots.enabled && !o.spec.project_setup.enabled);
	CHECK(!o.spec.integration.enabled);
	CHECK(o.built == 0); /* no snapshots, so none that cannot be made */
	release(&o);
}

static void test_not_built(void)
{
	CHECK(built("{\"subagent_isolation\": \"isolated\"}"));
	CHECK(built("{\"snapshots\": {\"enabled\": false, \"shared\": false}}"));
	CHECK(built("{\"snapshots\": {\"upper_dir_ttl\": 1, \"cleanup_interval\": 0},"
		    " \"workspace_ttl\": 1}"));
	CHECK(built("{\"integration\": {\"resolver\": [\"/bin/r\"]}}"));
	CHECK(built("{\"repos\": [{\"path\": \"/a\"}, {\"path\": \"svn://h/b\","
		    " \"vcs\": \"svn\"}, {\"path\": \"/c\", \"vcs\": \"none\"}]}"));
	CHECK(built("{\"repos\": [{\"path\": \"/a\", \"vcs\": \"git\"}]}"));
	CHECK(built(
		"{\"workspace_ttl\": 86400, \"snapshots\": {\"cleanup_interval\": 3600}}"));
	CHECK(built("{\"persistent_home\": false, \"session_tmp\": false}"));
	CHECK(built("{\"binds\": [{\"source\": \"/a\", \"target\": \"/b\"}]}"));
	CHECK(built("{\"profiles\": {\"tool\": {}}}"));
	CHECK(built(
		"{\"sandbox\": {\"unshare_net\": false, \"unshare_uts\": true,"
		" \"unshare_cgroup\": true, \"hostname\": \"h\", \"new_session\": true}}"));
	CHECK(built("{\"limits\": {\"file_size_max\": 1, \"open_files\": 64,"
		    " \"tmp_size\": 65536, \"timeout_s\": 1}}"));
	CHECK(built(
		"{\"project_setup\": {\"enabled\": false, \"network\": \"share\"},"
		" \"integration\": {\"enabled\": false}, \"snapshots\": {\"copy\": \"copy\"},"
		" \"host_readonly\": {\"unshare_pid\": true}, \"annotations\": {\"a\": \"b\"}}"));
}

static void test_mode(void)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	struct ws_err err = WS_ERR_INIT;

	ws_spec_init(&spec);
	CHECK(ws_spec_set_mode(&spec, "host_readonly", &err) == 0);
	CHECK(spec.mode == WS_MODE_HOST_READONLY);
	CHECK(ws_spec_set_mode(&spec, "host-readonly", &err) < 0 && err.kind == WS_USAGE);
}

int main(void)
{
	test_defaults();
	test_precedence();
	test_types_and_ranges();
	test_words();
	test_fallback_is_the_default();
	test_unknown_keys();
	test_many_unknown_keys();
	test_places();
	test_repos();
	test_strings();
	test_profiles_and_floor();
	test_consequences();
	test_not_built();
	test_mode();
	return CHECK_DONE();
}
