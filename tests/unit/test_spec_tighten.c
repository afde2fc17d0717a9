/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spec_tighten.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "check.h"
#include "core/spec_fields.h"
#include "outcome.h"

/* The effective spec of SESSION (may be NULL) under FLOOR, beside OTHER of wsiso.json. */
static void under(struct outcome *o, const char *floor, const char *other,
		  const char *session)
{
	WS_AUTO_FREE char *root = ws_format("{\"floor\": %s%s%s}", floor,
					    other ? ", " : "", other ? other : "");

	try_both(o, root, session, false);
	if (o->rc == 0)
		o->rc = ws_spec_floor_check(&o->spec, &o->err);
}

static bool allows(const char *floor, const char *session)
{
	struct outcome o;
	bool good;

	under(&o, floor, NULL, session);
	good = o.rc == 0;
	if (!good)
		printf("# %s under %s: %s\n", session, floor, o.err.msg);
	release(&o);
	return good;
}

/* Refused, with the key, both values and a remedy. */
static bool refuses(const char *floor, const char *session, const char *key,
		    const char *is, const char *must)
{
	WS_AUTO_FREE char *quoted = ws_format("'%s'", key);
	struct outcome o;
	bool good;

	under(&o, floor, NULL, session);
	good = o.rc < 0 && o.err.kind == WS_SPEC_INVALID && strstr(o.err.msg, quoted) &&
	       strstr(o.err.msg, is) && strstr(o.err.msg, must) &&
	       strstr(o.err.hint, quoted) && strstr(o.err.msg, "floor");
	if (!good)
		printf("# %s under %s: rc %d, %s (%s)\n", session, floor, o.rc, o.err.msg,
		       o.err.hint);
	release(&o);
	return good;
}

/* One row for each key: a floor, what it refuses, what it allows. */
static const struct {
	const char *key, *floor, *looser, *is, *must, *tighter;
} keys[] = {
	{ "strict", "{\"strict\": true}", "{\"strict\": false}", "false", "true",
	  "{\"strict\": true}" },
	{ "sandbox.unshare_net", "{\"sandbox\": {\"unshare_net\": true}}",
	  "{\"sandbox\": {\"unshare_net\": false}}", "false", "true",
	  "{\"sandbox\": {\"unshare_net\": true}}" },
	{ "sandbox.unshare_uts", "{\"sandbox\": {\"unshare_uts\": true}}",
	  "{\"sandbox\": {\"unshare_uts\": false}}", "false", "true",
	  "{\"sandbox\": {\"unshare_uts\": false, \"hostname\": \"a\"}}" },
	{ "sandbox.unshare_cgroup", "{\"sandbox\": {\"unshare_cgroup\": true}}",
	  "{\"sandbox\": {\"unshare_cgroup\": false}}", "false", "true",
	  "{\"sandbox\": {\"unshare_cgroup\": true}}" },
	{ "sandbox.hostname", "{\"sandbox\": {\"hostname\": \"a\"}}",
	  "{\"sandbox\": {\"hostname\": null}}", "null", "\"a\"",
	  "{\"sandbox\": {\"hostname\": \"b\"}}" },
	{ "sandbox.new_session", "{\"sandbox\": {\"new_session\": true}}",
	  "{\"sandbox\": {\"new_session\": false}}", "false", "true",
	  "{\"sandbox\": {\"new_session\": true}}" },
	{ "sandbox.seccomp", "{\"sandbox\": {\"seccomp\": \"log\"}}",
	  "{\"sandbox\": {\"seccomp\": \"off\"}}", "\"off\"", "\"log\"",
	  "{\"sandbox\": {\"seccomp\": \"default\"}}" },
	{ "sandbox.seccomp", "{\"sandbox\": {\"seccomp\": \"enforce\"}}",
	  "{\"sandbox\": {\"seccomp\": \"default\"}}", "\"default\"", "\"enforce\"",
	  "{\"sandbox\": {\"seccomp\": \"enforce\"}}" },
	{ "sandbox.env_mode", "{\"sandbox\": {\"env_mode\": \"minimal\"}}",
	  "{\"sandbox\": {\"env_mode\": \"inherit_all\"}}", "\"inherit_all\"",
	  "\"minimal\"", "{\"sandbox\": {\"env_mode\": \"minimal\"}}" },
	{ "sandbox.env_mode", "{\"sandbox\": {\"clearenv\": true}}",
	  "{\"sandbox\": {\"env_mode\": \"inherit_all\"}}", "\"inherit_all\"",
	  "\"minimal\"", "{\"sandbox\": {\"clearenv\": true}}" },
	{ "sandbox.inherit_env_vars", "{\"sandbox\": {\"inherit_env_vars\": [\"A\"]}}",
	  "{\"sandbox\": {\"inherit_env_vars\": [\"A\", \"B\"]}}", "[\"A\",\"B\"]",
	  "[\"A\"]", "{\"sandbox\": {\"inherit_env_vars\": []}}" },
	{ "sandbox.inherit_env_vars", "{\"sandbox\": {\"allowed_env_vars\": [\"A\"]}}",
	  "{\"sandbox\": {\"allowed_env_vars\": [\"B\"]}}", "[\"B\"]", "[\"A\"]",
	  "{\"sandbox\": {\"allowed_env_vars\": [\"A\"]}}" },
	{ "host_readonly.launch_dir", "{\"host_readonly\": {\"launch_dir\": \"/a\"}}",
	  "{\"host_readonly\": {\"launch_dir\": \"/b\"}}", "\"/b\"", "\"/a\"",
	  "{\"host_readonly\": {\"launch_dir\": \"/a\"}}" },
	{ "host_readonly.scratch_overlay",
	  "{\"host_readonly\": {\"scratch_overlay\": false}}",
	  "{\"host_readonly\": {\"scratch_overlay\": true}}", "true", "false",
	  "{\"host_readonly\": {\"scratch_overlay\": false}}" },
	{ "host_readonly.expose_host_tmp",
	  "{\"host_readonly\": {\"expose_host_tmp\": false}}",
	  "{\"host_readonly\": {\"expose_host_tmp\": true}}", "true", "false",
	  "{\"host_readonly\": {\"expose_host_tmp\": false}}" },
	{ "host_readonly.unshare_pid", "{\"host_readonly\": {\"unshare_pid\": true}}",
	  "{\"host_readonly\": {\"unshare_pid\": false}}", "false", "true",
	  "{\"host_readonly\": {\"unshare_pid\": true}}" },
	{ "host_readonly.network", "{\"host_readonly\": {\"network\": \"ask\"}}",
	  "{\"host_readonly\": {\"network\": \"share\"}}", "\"share\"", "\"ask\"",
	  "{\"host_readonly\": {\"network\": \"isolate\"}}" },
	{ "project_setup.network", "{\"project_setup\": {\"network\": \"isolate\"}}",
	  "{\"project_setup\": {\"network\": \"share\"}}", "\"share\"", "\"isolate\"",
	  "{\"project_setup\": {\"network\": \"isolate\"}}" },
	{ "limits.memory_max", "{\"limits\": {\"memory_max\": 1073741824}}",
	  "{\"limits\": {\"memory_max\": 1073741825}}", "1073741825", "1073741824",
	  "{\"limits\": {\"memory_max\": 1048576}}" },
	{ "limits.pids_max", "{\"limits\": {\"pids_max\": 10}}",
	  "{\"limits\": {\"pids_max\": null}}", "null", "10",
	  "{\"limits\": {\"pids_max\": 9}}" },
	{ "limits.cpu_max", "{\"limits\": {\"cpu_max\": 1.5}}",
	  "{\"limits\": {\"cpu_max\": 2}}", "is 2", "1.5",
	  "{\"limits\": {\"cpu_max\": 0.5}}" },
	{ "limits.file_size_max", "{\"limits\": {\"file_size_max\": 100}}",
	  "{\"limits\": {\"file_size_max\": 101}}", "101", "100",
	  "{\"limits\": {\"file_size_max\": 100}}" },
	{ "limits.open_files", "{\"limits\": {\"open_files\": 100}}",
	  "{\"limits\": {\"open_files\": null}}", "null", "100",
	  "{\"limits\": {\"open_files\": 99}}" },
	{ "limits.tmp_size", "{\"limits\": {\"tmp_size\": 100000}}",
	  "{\"limits\": {\"tmp_size\": 100001}}", "100001", "100000",
	  "{\"limits\": {\"tmp_size\": 65536}}" },
	{ "limits.timeout_s", "{\"limits\": {\"timeout_s\": 2.5}}",
	  "{\"limits\": {\"timeout_s\": 3}}", "is 3", "2.5",
	  "{\"limits\": {\"timeout_s\": 2}}" },
	{ "binds", "{\"binds\": [{\"source\": \"/a\", \"target\": \"/b\"}]}",
	  "{\"binds\": [{\"source\": \"/a\", \"target\": \"/c\"}]}", "/c", "/b",
	  "{\"binds\": [{\"source\": \"/a\", \"target\": \"/b\"}]}" },
	{ "binds", "{\"binds\": [{\"source\": \"/a\", \"target\": \"/b\"}]}",
	  "{\"binds\": [{\"source\": \"/a\", \"target\": \"/b\", \"writable\": true}]}",
	  "\"writable\":true", "\"writable\":false", "{\"binds\": []}" },
};

static void test_every_key(void)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(keys); i++) {
		CHECK(refuses(keys[i].floor, keys[i].looser, keys[i].key, keys[i].is,
			      keys[i].must));
		CHECK(allows(keys[i].floor, keys[i].tighter));
		CHECK(allows(keys[i].floor, "{}"));
		CHECK(allows("{}", keys[i].looser));
	}
}

static bool is_tested(const char *key)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].key, key) == 0)
			return true;
	return false;
}

/* A new key that protects has a direction, and a row above. */
static void test_table(void)
{
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		bool protects = (f->flags & WS_KEY_SECURITY) &&
				!(f->flags & WS_KEY_ROOT_ONLY) &&
				f->type != WS_KEY_SECTION && !strchr(f->key, '[');
		bool lists = f->tighter == WS_TIGHTER_MORE ||
			     f->tighter == WS_TIGHTER_PROFILES;

		if (f->instead)
			CHECK(ws_spec_field_find("sandbox", strchr(f->instead, '.') + 1));
		else
			CHECK(protects == (f->tighter != WS_TIGHTER_NONE));
		CHECK(!f->tighter || lists || is_tested(f->key));
	}
}

/* What nobody has asked for is raised, and a list of what is kept out is added to. */
static void test_raised(void)
{
	struct outcome o;

	under(&o,
	      "{\"sandbox\": {\"seccomp\": \"enforce\", \"hostname\": \"box\", "
	      "\"inherit_env_vars\": [\"A\", \"B\"], \"deny_env_vars\": [\"S\"]}, "
	      "\"limits\": {\"pids_max\": 10, \"cpu_max\": 2}, \"binds\": []}",
	      "\"sandbox\": {\"inherit_env_vars\": [\"B\", \"C\"]}, \"limits\": "
	      "{\"pids_max\": 20, \"cpu_max\": 1}, \"binds\": [{\"source\": \"/a\", "
	      "\"target\": \"/a\"}]",
	      "{\"sandbox\": {\"deny_env_vars\": [\"T\"]}}");
	CHECK(o.rc == 0 && o.spec.sandbox.seccomp == WS_SECCOMP_ENFORCE);
	CHECK(o.spec.sandbox.unshare_uts && strcmp(o.spec.sandbox.hostname, "box") == 0);
	CHECK(o.spec.sandbox.inherit_env_vars.n == 1 &&
	      ws_strv_has(&o.spec.sandbox.inherit_env_vars, "B"));
	CHECK(o.spec.sandbox.deny_env_vars.n == 2 &&
	      ws_strv_has(&o.spec.sandbox.deny_env_vars, "S"));
	CHECK(o.spec.limits.pids_max == 10 && o.spec.limits.cpu_max == 1);
	CHECK(o.spec.nbinds == 0);
	release(&o);
	under(&o, "{\"host_readonly\": {\"mask\": [\"/a\"]}}", NULL,
	      "{\"host_readonly\": {\"mask\": [\"/b\"]}}");
	CHECK(o.rc == 0 && o.spec.host_readonly.mask.n == 2);
	release(&o);
}

static void test_policy(void)
{
	char with[WS_SHA256_HEX], without[WS_SHA256_HEX];
	struct outcome o;

	try_both(&o, "{}", "{}", false);
	ws_spec_policy_digest(&o.spec, without);
	release(&o);
	under(&o, "{\"sandbox\": {\"unshare_net\": true}}", NULL, "{}");
	ws_spec_policy_digest(&o.spec, with);
	release(&o);
	CHECK(strcmp(with, without) == 0); /* it changes nothing */
	under(&o, "{\"sandbox\": {\"new_session\": true}}", NULL, "{}");
	ws_spec_policy_digest(&o.spec, with);
	release(&o);
	CHECK(strcmp(with, without) != 0);
}

static void test_profiles(void)
{
	static const char floor[] =
		"{\"sandbox\": {\"unshare_net\": true}, \"profiles\": {\"mcp\": "
		"{\"limits\": {\"pids_max\": 5}}}}";
	struct outcome o;

	CHECK(refuses(floor,
		      "{\"profiles\": {\"x\": {\"sandbox\": {\"unshare_net\": false}}}}",
		      "profiles.x.sandbox.unshare_net", "false", "true"));
	CHECK(refuses(
		floor,
		"{\"profiles\": {\"mcp\": {\"sandbox\": {\"unshare_net\": false}}}}",
		"profiles.mcp.sandbox.unshare_net", "false", "true"));
	CHECK(refuses(floor, "{\"profiles\": {\"mcp\": {\"limits\": {\"pids_max\": 6}}}}",
		      "profiles.mcp.limits.pids_max", "6", "5"));
	CHECK(refuses("{\"sandbox\": {\"env_mode\": \"minimal\"}}",
		      "{\"profiles\": {\"x\": {\"sandbox\": {\"clearenv\": false}}}}",
		      "profiles.x.sandbox.env_mode", "\"inherit_all\"", "\"minimal\""));
	CHECK(allows(floor, "{\"profiles\": {\"x\": {\"limits\": {\"pids_max\": 6}}}}"));
	under(&o, floor, NULL, "{}");
	o.spec.sandbox.unshare_net = false;
	CHECK(ws_spec_floor_raise(&o.spec, "x", &o.err) == 0);
	CHECK(o.spec.sandbox.unshare_net && o.spec.limits.pids_max == 0);
	CHECK(ws_spec_floor_raise(&o.spec, "mcp", &o.err) == 0);
	CHECK(o.spec.limits.pids_max == 5);
	release(&o);
}

static void test_whole_specs(void)
{
	struct outcome parent, child;
	struct ws_err err = WS_ERR_INIT;

	try_both(&parent, NULL,
		 "{\"limits\": {\"pids_max\": 10}, \"profiles\": {\"a\": {\"sandbox\": "
		 "{\"seccomp\": \"off\"}}}}",
		 false);
	try_both(&child, NULL,
		 "{\"limits\": {\"pids_max\": 10, \"cpu_max\": 1}, \"sandbox\": "
		 "{\"seccomp\": \"enforce\"}, \"profiles\": {\"a\": {\"sandbox\": "
		 "{\"seccomp\": \"off\"}}}}",
		 false);
	CHECK(ws_spec_tightens(&parent.spec, &parent.spec, "", &err) == 0);
	CHECK(ws_spec_tightens(&parent.spec, &child.spec, "", &err) == 0);
	CHECK(ws_spec_tightens(&child.spec, &parent.spec, "the-", &err) < 0);
	CHECK(strstr(err.msg, "'the-sandbox.seccomp' is \"default\""));
	child.spec.limits.pids_max = 0;
	CHECK(ws_spec_tightens(&parent.spec, &child.spec, "", &err) < 0);
	CHECK(strstr(err.msg, "'limits.pids_max' is null, but must be at most 10"));
	release(&parent);
	release(&child);
}

static bool floor_refused(const char *floor, const char *key)
{
	struct outcome o;
	bool good;

	under(&o, floor, NULL, NULL);
	good = o.rc < 0 && strstr(o.err.msg, key);
	release(&o);
	return good;
}

/* A floor that would bind nothing is a mistake, and told. */
static void test_bad_floors(void)
{
	CHECK(floor_refused("{\"enabled\": false}", "'floor.enabled'"));
	CHECK(floor_refused("{\"linger_s\": 1}", "'floor.linger_s'"));
	CHECK(floor_refused("{\"floor\": {}}", "'floor.floor'"));
	CHECK(floor_refused("{\"snapshots\": {\"enabled\": true}}",
			    "'floor.snapshots.enabled'"));
	CHECK(floor_refused("{\"sandbox\": {\"seccomp\": \"enforced\"}}",
			    "'floor.sandbox.seccomp'"));
}

int main(void)
{
	test_every_key();
	test_table();
	test_raised();
	test_policy();
	test_profiles();
	test_whole_specs();
	test_bad_floors();
	return CHECK_DONE();
}
