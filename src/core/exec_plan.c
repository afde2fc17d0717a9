/* SPDX-License-Identifier: Apache-2.0 */
#include "core/exec_plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "core/env.h"
#include "core/landlock.h"
#include "core/seccomp.h"
#include "core/tty.h"

#define WORKSPACE "/workspace"
#define TMPFS_SIZE (1ull << 30)
#define NRLIMITS 2 /* by keys of a spec */

/* Without ".", ".." and doubled slashes, as if there were no links. */
static char *normal_form(const char *path)
{
	WS_AUTO_FREE char *copy = ws_strdup(path);
	WS_AUTO(ws_strv) struct ws_strv parts = WS_STRV_INIT;
	struct ws_buf out = WS_BUF_INIT;
	char *save = NULL;

	for (char *p = strtok_r(copy, "/", &save); p; p = strtok_r(NULL, "/", &save)) {
		if (strcmp(p, "..") == 0 && parts.n > 0)
			ws_freep(&parts.v[--parts.n]);
		else if (strcmp(p, ".") != 0 && strcmp(p, "..") != 0)
			ws_strv_push(&parts, p);
	}
	for (size_t i = 0; i < parts.n; i++)
		ws_buf_addf(&out, "/%s", parts.v[i]);
	return ws_buf_steal(&out);
}

static char *usual_folder(const struct ws_session *s, const char *home)
{
	if (ws_session_is_run(s))
		return ws_strdup(home);
	if (s->launch_dir)
		return ws_strdup(s->launch_dir);
	return s->nrepos == 1 ? ws_format(WORKSPACE "/%s", s->repos[0].name)
			      : ws_strdup(WORKSPACE);
}

char *ws_exec_cwd(const struct ws_session *s, const char *home, const char *cwd,
		  struct ws_err *err)
{
	WS_AUTO_FREE char *base = usual_folder(s, home);
	WS_AUTO_FREE char *path = NULL;
	WS_AUTO_FREE char *normal = NULL;

	if (!cwd)
		return ws_steal_ptr(&base);
	if (!*cwd) {
		ws_fail(err, WS_USAGE, "the working folder has an empty name");
		return NULL;
	}
	path = cwd[0] == '/' ? ws_strdup(cwd) : ws_format("%s/%s", base, cwd);
	normal = normal_form(path);
	if (ws_text_starts(normal, "/proc/") || ws_text_starts(normal, "/dev/fd")) {
		ws_fail(err, WS_USAGE, "'%s' is no folder to work in", cwd);
		ws_hint(err,
			"what is there belongs to one process, and is another for each");
		return NULL;
	}
	return ws_steal_ptr(&path);
}

uint64_t ws_exec_timeout(const struct ws_spec *spec, const struct ws_exec_opts *opts)
{
	uint64_t limit = (uint64_t)(spec->limits.timeout_s * 1000);

	if (!limit || (opts->timeout_ms && opts->timeout_ms < limit))
		return opts->timeout_ms;
	return limit;
}

/* What cannot be raised is the tighter limit, and stays. */
static void add_rlimit(struct ws_enter_plan *plan, uint32_t resource, uint64_t value)
{
	struct rlimit now;

	if (getrlimit((enum __rlimit_resource)resource, &now) == 0 &&
	    now.rlim_max < value)
		value = now.rlim_max;
	plan->rlimits[plan->nrlimits++] =
		(struct ws_rlimit){ .resource = resource, .soft = value, .hard = value };
}

static void add_rlimits(struct ws_enter_plan *plan, const struct ws_exec_source *src)
{
	const struct ws_spec_limits *limits = &src->spec->limits;
	const struct ws_profile *row = src->row;

	plan->rlimits = ws_alloc((NRLIMITS + row->nrlimits) * sizeof(*plan->rlimits));
	if (limits->file_size_max)
		add_rlimit(plan, RLIMIT_FSIZE, limits->file_size_max);
	if (limits->open_files)
		add_rlimit(plan, RLIMIT_NOFILE, limits->open_files);
	for (size_t i = 0; i < row->nrlimits; i++)
		add_rlimit(plan, row->rlimits[i].resource, row->rlimits[i].hard);
}

static void warn_denied(const struct ws_spec *spec, const struct ws_strv *env)
{
	for (size_t i = 0; i < env->n; i++) {
		WS_AUTO_FREE char *name = ws_strndup(env->v[i], strcspn(env->v[i], "="));

		if (ws_strv_has(&spec->sandbox.deny_env_vars, name))
			ws_warn("variable '%s' is not passed on: the session's spec denies it",
				name);
	}
}

/*
 * HOME and /tmp are as the sandbox was made, in host_readonly the host's and its own;
 * Landlock is for who is alone in it.
 */
static uint32_t plan_flags(const struct ws_session *s, const struct ws_exec_opts *opts)
{
	bool scoped = ws_session_is_run(s) && ws_landlock_abi() >= WS_LANDLOCK_SCOPES;
	bool host = s->spec.mode == WS_MODE_HOST_READONLY;

	return (opts->tty ? WS_PLAN_TTY : 0) |
	       (s->spec.sandbox.new_session ? WS_PLAN_NEW_SESSION : 0) |
	       (host || s->spec.persistent_home ? 0 : WS_PLAN_PRIVATE_HOME) |
	       (host || s->spec.session_tmp ? 0 : WS_PLAN_PRIVATE_TMP) |
	       (scoped ? WS_PLAN_SCOPED : 0);
}

static const char *host_home(const struct ws_user *user)
{
	return user->host_home ? user->host_home : "/";
}

int ws_exec_plan(const struct ws_exec_source *src, const struct ws_exec_opts *opts,
		 struct ws_enter_plan *ret, struct ws_err *err)
{
	const struct ws_user *user = src->user;
	const struct ws_spec *spec = src->spec;
	const char *home =
		spec->mode == WS_MODE_HOST_READONLY ? host_home(user) : user->home;
	const struct ws_env_facts facts = {
		.user = user->name,
		.home = home,
		.term = opts->tty ? getenv("TERM") : NULL,
		.tz = getenv("TZ"),
	};
	struct ws_filter_list filters;

	ret->cwd = ws_exec_cwd(src->session, user->home, opts->cwd, err);
	if (!ret->cwd)
		return -1;
	ret->home = ws_strdup(home);
	ret->flags = plan_flags(src->session, opts);
	ret->kill_after_ms = opts->kill_after_ms < UINT32_MAX
				     ? (uint32_t)opts->kill_after_ms
				     : UINT32_MAX;
	ret->tmpfs_size = spec->limits.tmp_size ? spec->limits.tmp_size : TMPFS_SIZE;
	if (opts->tty)
		ret->size = ws_tty_size();
	add_rlimits(ret, src);
	ws_strv_extend(&ret->argv, &opts->argv);
	warn_denied(spec, &opts->env);
	ws_env_build(&spec->sandbox, &facts, environ, &opts->env, &ret->env);
	ws_filter_of_spec(spec, &filters);
	return ws_seccomp_load_list(&filters, ret->filters, err);
}
