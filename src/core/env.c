/* SPDX-License-Identifier: Apache-2.0 */
#include "core/env.h"

#include <string.h>

#include "base/text.h"

#define PATH_INSIDE "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Of the caller's, these mean nothing inside, and are never passed on. */
static const char *const host_only[] = {
	"PWD", "OLDPWD", "SHLVL", "_", "HOME", "USER", "LOGNAME", "TMPDIR",
};

static bool is_host_only(const char *name)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(host_only); i++)
		if (strcmp(name, host_only[i]) == 0)
			return true;
	return ws_text_starts(name, "WSISO_");
}

/* What env_mode minimal gives. */
static const char *const own[] = {
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR",
};

bool ws_env_is_own(const char *name)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(own); i++)
		if (strcmp(name, own[i]) == 0)
			return true;
	return false;
}

static void set_own(const struct ws_env_facts *facts, struct ws_strv *env)
{
	ws_env_set(env, "PATH", PATH_INSIDE);
	ws_env_set(env, "HOME", facts->home);
	ws_env_set(env, "USER", facts->user);
	ws_env_set(env, "LOGNAME", facts->user);
	ws_env_set(env, "SHELL", "/bin/bash");
	ws_env_set(env, "LANG", "C.UTF-8");
	ws_env_set(env, "TERM", facts->term ? facts->term : "dumb");
	if (facts->tz)
		ws_env_set(env, "TZ", facts->tz);
	ws_env_set(env, "TMPDIR", "/tmp");
}

/* Does the spec let this one of the caller's variables in? */
static bool is_passed(const struct ws_spec_sandbox *spec, const char *name)
{
	if (is_host_only(name) || ws_strv_has(&spec->deny_env_vars, name))
		return false;
	if (ws_strv_has(&spec->inherit_env_vars, name) ||
	    ws_strv_has(&spec->allowed_env_vars, name))
		return true;
	return spec->env_mode == WS_ENV_INHERIT_ALL;
}

void ws_env_build(const struct ws_spec_sandbox *spec, const struct ws_env_facts *facts,
		  char *const *host, const struct ws_strv *extra, struct ws_strv *ret)
{
	struct ws_env_facts let = *facts;

	if (ws_strv_has(&spec->deny_env_vars, "TERM"))
		let.term = NULL;
	if (ws_strv_has(&spec->deny_env_vars, "TZ"))
		let.tz = NULL;
	set_own(&let, ret);
	for (; host && *host; host++) {
		const char *eq = strchr(*host, '=');
		WS_AUTO_FREE char *name =
			eq ? ws_strndup(*host, (size_t)(eq - *host)) : NULL;

		if (name && name[0] && is_passed(spec, name))
			ws_env_set(ret, name, eq + 1);
	}
	for (size_t i = 0; extra && i < extra->n; i++) {
		const char *eq = strchr(extra->v[i], '=');
		WS_AUTO_FREE char *name =
			eq ? ws_strndup(extra->v[i], (size_t)(eq - extra->v[i])) : NULL;

		if (name && name[0] && !ws_strv_has(&spec->deny_env_vars, name))
			ws_env_set(ret, name, eq + 1);
	}
}
