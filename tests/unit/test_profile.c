/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile.h"

#include <string.h>

#include "check.h"
#include "outcome.h"

/* What became of a profile on the spec that a document makes. */
struct applied {
	struct outcome o;
	int rc;
};

static void apply(struct applied *a, const char *doc, const char *name,
		  enum ws_profile_use use)
{
	try_both(&a->o, NULL, doc, false);
	a->o.err = WS_ERR_INIT;
	a->rc = ws_profile_apply(&a->o.spec, name, use, &a->o.warnings, &a->o.err);
}

static bool refuses(const char *doc, const char *name, enum ws_profile_use use,
		    const char *words)
{
	struct applied a;
	bool good;

	apply(&a, doc, name, use);
	good = a.rc < 0 && a.o.err.kind == WS_USAGE && strstr(a.o.err.msg, words);
	if (!good)
		printf("# rc %d: %s\n", a.rc, a.o.err.msg);
	release(&a.o);
	return good;
}

static bool fits(const char *doc, const char *name)
{
	struct applied a;

	apply(&a, doc, name, WS_PROFILE_EXEC);
	if (a.rc < 0)
		printf("# %s\n", a.o.err.msg);
	release(&a.o);
	return a.rc == 0;
}

static void test_which(void)
{
	CHECK(refuses("{}", "nosuch", WS_PROFILE_EXEC, "there is no profile 'nosuch'"));
	CHECK(refuses("{}", "worker", WS_PROFILE_EXEC, "needs a sandbox of its own"));
	CHECK(refuses("{}", "mcp", WS_PROFILE_EXEC, "needs a sandbox of its own"));
	CHECK(refuses("{}", "setup", WS_PROFILE_EXEC, "run by wsiso itself"));
	CHECK(refuses("{}", "setup", WS_PROFILE_RUN, "run by wsiso itself"));
	CHECK(fits("{}", "tool"));
	CHECK(fits("{}", "agent"));
	CHECK(fits("{\"profiles\": {\"own\": {}}}", "own"));
	CHECK(refuses("{\"profiles\": {\"worker\": {}}}", "worker", WS_PROFILE_EXEC,
		      "needs a sandbox of its own"));
}

/* What a profile may change with exec, and what it may not. */
static void test_exec(void)
{
	CHECK(fits("{\"profiles\": {\"p\": {\"sandbox\": {\"env_mode\": \"inherit_all\", "
		   "\"inherit_env_vars\": [\"A\"], \"deny_env_vars\": [\"B\"], "
		   "\"new_session\": true}, \"limits\": {\"file_size_max\": 1, "
		   "\"open_files\": 8, \"timeout_s\": 1}, "
		   "\"binds\": [{\"source\": \"/a\", \"target\": \"/b\"}]}}}",
		   "p"));
	CHECK(refuses("{\"profiles\": {\"p\": {\"sandbox\": {\"unshare_net\": false}}}}",
		      "p", WS_PROFILE_EXEC, "'sandbox.unshare_net'"));
	CHECK(refuses("{\"profiles\": {\"p\": {\"sandbox\": {\"hostname\": \"h\"}}}}",
		      "p", WS_PROFILE_EXEC, "'sandbox.unshare_uts'"));
	CHECK(refuses("{\"profiles\": {\"p\": {\"limits\": {\"pids_max\": 1}}}}", "p",
		      WS_PROFILE_EXEC, "'limits.pids_max'"));
	CHECK(refuses("{\"profiles\": {\"p\": {\"limits\": {\"tmp_size\": 65536}}}}", "p",
		      WS_PROFILE_EXEC, "'limits.tmp_size'"));
	/* a filter may become stricter, never weaker */
	CHECK(fits("{\"profiles\": {\"p\": {\"sandbox\": {\"seccomp\": \"enforce\"}}}}",
		   "p"));
	CHECK(fits("{\"sandbox\": {\"seccomp\": \"off\"}, "
		   "\"profiles\": {\"p\": {\"sandbox\": {\"seccomp\": \"log\"}}}}",
		   "p"));
	CHECK(refuses("{\"profiles\": {\"p\": {\"sandbox\": {\"seccomp\": \"off\"}}}}",
		      "p", WS_PROFILE_EXEC, "'sandbox.seccomp'"));
	CHECK(refuses("{\"sandbox\": {\"seccomp\": \"enforce\"}, "
		      "\"profiles\": {\"p\": {\"sandbox\": {\"seccomp\": \"log\"}}}}",
		      "p", WS_PROFILE_EXEC, "'sandbox.seccomp'"));
	/* one that is the default has its changes without being named */
	CHECK(refuses("{\"profiles\": {\"tool\": {\"sandbox\": {\"unshare_net\": "
		      "false}}}}",
		      "tool", WS_PROFILE_EXEC, "'sandbox.unshare_net'"));
}

static void test_worker(void)
{
	struct applied a;

	apply(&a,
	      "{\"sandbox\": {\"unshare_net\": false, \"seccomp\": \"off\", "
	      "\"env_mode\": \"inherit_all\", \"inherit_env_vars\": [\"TOKEN\"]}, "
	      "\"limits\": {\"open_files\": 4096, \"timeout_s\": 5}}",
	      "worker", WS_PROFILE_RUN);
	CHECK(a.rc == 0);
	CHECK(a.o.spec.sandbox.unshare_net);
	CHECK(a.o.spec.sandbox.seccomp == WS_SECCOMP_ENFORCE);
	CHECK(a.o.spec.sandbox.env_mode == WS_ENV_MINIMAL);
	CHECK(a.o.spec.sandbox.inherit_env_vars.n == 0);
	/* of two limits the tighter one */
	CHECK(a.o.spec.limits.open_files == 256);
	CHECK(a.o.spec.limits.timeout_s > 4 && a.o.spec.limits.timeout_s < 6);
	CHECK(a.o.spec.limits.tmp_size > 0 && a.o.spec.limits.file_size_max > 0);
	release(&a.o);
	/* the spec's own words about the profile come last */
	apply(&a,
	      "{\"profiles\": {\"worker\": {\"limits\": {\"open_files\": 1000, "
	      "\"timeout_s\": null}}}}",
	      "worker", WS_PROFILE_RUN);
	CHECK(a.rc == 0 && a.o.spec.limits.open_files == 1000);
	CHECK(!(a.o.spec.limits.timeout_s > 0));
	CHECK(a.o.spec.sandbox.seccomp == WS_SECCOMP_ENFORCE);
	release(&a.o);
}

static void test_long_lived(void)
{
	struct applied a;

	apply(&a, "{\"limits\": {\"timeout_s\": 5}}", "agent", WS_PROFILE_EXEC);
	CHECK(a.rc == 0 && !(a.o.spec.limits.timeout_s > 0));
	CHECK(a.o.spec.sandbox.unshare_net); /* it has the session's network */
	release(&a.o);
}

static void test_binds(void)
{
	struct applied a;
	struct ws_spec all = { 0 };

	apply(&a,
	      "{\"binds\": [{\"source\": \"/a\", \"target\": \"/t/a\"}], "
	      "\"profiles\": {\"p\": {\"binds\": [{\"source\": \"/b\", \"target\": "
	      "\"/t/b\"}]}, \"q\": {\"binds\": [{\"source\": \"/a\", \"target\": "
	      "\"/t/a\"}]}}}",
	      "p", WS_PROFILE_RUN);
	CHECK(a.rc == 0 && a.o.spec.nbinds == 2);
	CHECK(!strcmp(a.o.spec.binds[0].target, "/t/a"));
	CHECK(!strcmp(a.o.spec.binds[1].target, "/t/b"));
	release(&a.o);
	/* a session has those of all its profiles */
	try_both(&a.o, NULL,
		 "{\"binds\": [{\"source\": \"/a\", \"target\": \"/t/a\"}], "
		 "\"profiles\": {\"p\": {\"binds\": [{\"source\": \"/b\", \"target\": "
		 "\"/t/b\"}]}, \"q\": {\"binds\": [{\"source\": \"/a\", \"target\": "
		 "\"/t/a\"}]}}}",
		 false);
	CHECK(ws_profile_binds(&a.o.spec, &all, &a.o.err) == 0 && all.nbinds == 2);
	ws_spec_release(&all);
	release(&a.o);
	try_both(&a.o, NULL,
		 "{\"binds\": [{\"source\": \"/a\", \"target\": \"/t\"}], "
		 "\"profiles\": {\"p\": {\"binds\": [{\"source\": \"/a\", \"target\": "
		 "\"/t\", \"writable\": true}]}}}",
		 false);
	CHECK(ws_profile_binds(&a.o.spec, &all, &a.o.err) < 0);
	CHECK(strstr(a.o.err.msg, "two binds have the target '/t'") != NULL);
	release(&a.o);
}

/* A copy wants the very same sandbox. */
static void test_copy(void)
{
	struct outcome o;
	struct ws_spec copy = { 0 };
	WS_AUTO(ws_buf) struct ws_buf before = WS_BUF_INIT, after = WS_BUF_INIT;

	try_both(&o,
		 "{\"allow_root\": true, \"linger_s\": 3, \"floor\": {\"limits\": {}}, "
		 "\"bwrap\": {\"path\": \"/b\"}}",
		 "{\"sandbox\": {\"clearenv\": false, \"allowed_env_vars\": [\"A\"]}, "
		 "\"repos\": [{\"path\": \"/r\"}], \"annotations\": {\"a\": \"b\"}, "
		 "\"profiles\": {\"x\": {\"limits\": {\"cpu_max\": 0.5}}}}",
		 false);
	CHECK(o.rc == 0 && ws_spec_copy(&o.spec, &copy, &o.err) == 0);
	ws_spec_print(&o.spec, false, &before);
	ws_spec_print(&copy, false, &after);
	CHECK(!strcmp(ws_buf_str(&before), ws_buf_str(&after)));
	CHECK(!ws_spec_misfit(&o.spec, &copy));
	ws_spec_release(&copy);
	release(&o);
}

int main(void)
{
	test_which();
	test_exec();
	test_worker();
	test_long_lived();
	test_binds();
	test_copy();
	return CHECK_DONE();
}
