/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run_spec.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "core/binds.h"
#include "core/cgroup.h"
#include "core/gate.h"
#include "core/spec_file.h"
#include "core/spec_tighten.h"

/* Where hosts have toolchains that are not in /usr. */
static const char *const toolchains[] = { "/opt", "/nix" };

static void log_all(const struct ws_strv *warnings)
{
	for (size_t i = 0; i < warnings->n; i++)
		ws_warn("%s", warnings->v[i]);
}

static int read_spec(const struct ws_root *root, const char *path,
		     const struct ws_profile *row, struct ws_spec *ret,
		     struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (path && ws_spec_file_read(path, &doc, err) < 0)
		return -1;
	return ws_root_spec_on(root, row->below, doc,
			       path ? ws_spec_file_name(path) : NULL, false, ret, err);
}

static int check_spec(const struct ws_spec *spec, struct ws_err *err)
{
	if (spec->mode != WS_MODE_OVERLAY) {
		ws_fail(err, WS_SPEC_INVALID,
			"'mode' \"host_readonly\" is for sessions: run shows the host's "
			"system folders and what --ro and --rw name");
		return ws_hint(err, "wsiso create and exec");
	}
	if (spec->nrepos > 0) {
		ws_fail(err, WS_SPEC_INVALID,
			"'repos' is for sessions: run has no workspace");
		return ws_hint(err, "wsiso create and exec; or show it by --ro");
	}
	return 0;
}

static int apply_profile(struct ws_spec *spec, const char *profile, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv warnings = WS_STRV_INIT;
	int rc = ws_spec_floor_check(spec, err);

	if (rc == 0)
		rc = ws_profile_apply(spec, profile, WS_PROFILE_RUN, &warnings, err);
	log_all(&warnings);
	return rc;
}

/* Nobody has asked for these: they hold where they can be set. */
static void limit_whole(struct ws_spec *spec, const struct ws_profile *row)
{
	WS_AUTO_FREE char *base = NULL;
	struct ws_err why = WS_ERR_INIT;

	if (!ws_cgroup_wanted(&row->most_delegated))
		return;
	if (ws_cgroup_try(&row->most_delegated, &base, &why) == 0)
		ws_profile_limit(&spec->limits, &row->most_delegated);
	else
		ws_debug("profile '%s': %s", row->name, why.msg);
}

/* A flag may tighten only. */
static int apply_network(struct ws_spec *spec, const char *network, struct ws_err *err)
{
	if (!network)
		return 0;
	if (strcmp(network, "isolate") == 0) {
		spec->sandbox.unshare_net = true;
		return 0;
	}
	if (strcmp(network, "share") != 0)
		return ws_fail(err, WS_USAGE, "'%s' is no network: share or isolate",
			       network);
	if (!spec->sandbox.unshare_net)
		return 0;
	ws_fail(err, WS_USAGE, "--network share: spec and profile isolate it");
	return ws_hint(err,
		       "set \"sandbox\": {\"unshare_net\": false} in the spec, or in "
		       "its profiles");
}

/* ---- --ro and --rw ---- */

/*
 * Absolute, without ".", doubled slashes and one at the end; ".." stays, to be refused.
 * NULL: it is relative to a folder that is gone.
 */
static char *clean(const char *path)
{
	WS_AUTO_FREE char *cwd = path[0] == '/' ? ws_strdup("") : getcwd(NULL, 0);
	WS_AUTO_FREE char *full = NULL;
	struct ws_buf out = WS_BUF_INIT;
	char *save = NULL;

	if (!cwd)
		return NULL;
	full = ws_format("%s/%s", cwd, path);
	for (char *p = strtok_r(full, "/", &save); p; p = strtok_r(NULL, "/", &save))
		if (strcmp(p, ".") != 0)
			ws_buf_addf(&out, "/%s", p);
	if (out.len == 0)
		ws_buf_addch(&out, '/');
	return ws_buf_steal(&out);
}

static bool has_parent_part(const char *path)
{
	const char *at = path;

	while ((at = strstr(at, "/.."))) {
		if (at[3] == '/' || at[3] == '\0')
			return true;
		at += 3;
	}
	return false;
}

static void add(struct ws_spec *spec, char *source, char *target, bool writable)
{
	spec->binds = ws_grow(spec->binds, spec->nbinds + 1, sizeof(*spec->binds));
	spec->binds[spec->nbinds++] = (struct ws_spec_bind){ .source = source,
							     .target = target,
							     .writable = writable };
}

/* SRC:DST, where DST begins with a slash; else all of it is SRC, at its own path. */
static int add_option(struct ws_spec *spec, const char *text, bool writable,
		      struct ws_err *err)
{
	const char *option = writable ? "--rw" : "--ro";
	const char *colon = strrchr(text, ':');
	WS_AUTO_FREE char *left = NULL;
	WS_AUTO_FREE char *source = NULL;
	WS_AUTO_FREE char *target = NULL;

	if (colon && colon[1] != '/')
		colon = NULL;
	left = ws_strndup(text, colon ? (size_t)(colon - text) : strlen(text));
	if (!*left)
		return ws_fail(err, WS_USAGE, "%s '%s' names no source", option, text);
	source = clean(left);
	if (!source)
		return ws_fail_errno(err, "find '%s'", left);
	target = clean(colon ? colon + 1 : source);
	if (has_parent_part(source) || has_parent_part(target)) {
		ws_fail(err, WS_USAGE, "%s '%s': no '..' in a path", option, text);
		return ws_hint(err, "name the place itself");
	}
	if (strcmp(target, "/") == 0)
		return ws_fail(err, WS_USAGE, "%s '%s' would cover everything inside",
			       option, text);
	add(spec, ws_steal_ptr(&source), ws_steal_ptr(&target), writable);
	return 0;
}

static int add_options(struct ws_spec *spec, const struct ws_run_opts *o,
		       struct ws_err *err)
{
	for (size_t i = 0; i < o->ro.n; i++)
		if (add_option(spec, o->ro.v[i], false, err) < 0)
			return -1;
	for (size_t i = 0; i < o->rw.n; i++)
		if (add_option(spec, o->rw.v[i], true, err) < 0)
			return -1;
	return 0;
}

static int check_writable(const struct ws_spec *spec, const struct ws_profile *row,
			  struct ws_err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < spec->nbinds; i++)
		n += spec->binds[i].writable;
	if (!row->writable_max || n <= row->writable_max)
		return 0;
	return ws_fail(err, WS_USAGE, "profile '%s' has one output folder, not %zu",
		       row->name, n);
}

static bool is_used(const struct ws_spec *spec, const char *place)
{
	size_t len = strlen(place);

	for (size_t i = 0; i < spec->nbinds; i++) {
		const char *target = spec->binds[i].target;

		if (strncmp(target, place, len) == 0 &&
		    (!target[len] || target[len] == '/'))
			return true;
	}
	return false;
}

/* What is there, may be seen, and leaves the binds that somebody asked for alone. */
static void add_toolchains(const struct ws_root *root, struct ws_spec *spec)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(toolchains); i++) {
		struct ws_err why = WS_ERR_INIT;
		struct stat st;

		if (lstat(toolchains[i], &st) < 0 || !S_ISDIR(st.st_mode) ||
		    is_used(spec, toolchains[i]))
			continue;
		add(spec, ws_strdup(toolchains[i]), ws_strdup(toolchains[i]), false);
		if (ws_binds_check(root, spec, &why) == 0)
			continue;
		ws_debug("toolchains in '%s' are not shown: %s", toolchains[i], why.msg);
		spec->nbinds--;
		ws_freep(&spec->binds[spec->nbinds].source);
		ws_freep(&spec->binds[spec->nbinds].target);
	}
}

int ws_run_spec(const struct ws_root *root, const struct ws_run_opts *opts,
		const char *profile, struct ws_spec *ret, struct ws_err *err)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	const struct ws_profile *row = ws_profile_find(profile);

	/* as it was given, and once more as it has become */
	if (read_spec(root, opts->spec, row, &spec, err) < 0 ||
	    check_spec(&spec, err) < 0 || ws_gate(&spec, err) < 0 ||
	    apply_profile(&spec, profile, err) < 0 ||
	    apply_network(&spec, opts->network, err) < 0 ||
	    add_options(&spec, opts, err) < 0 || check_writable(&spec, row, err) < 0)
		return -1;
	/* those of the one profile are among its own by now */
	ws_freep(&spec.profiles);
	spec.profiles = ws_strdup("{}");
	spec.persistent_home = spec.persistent_home && opts->id && !row->fresh_home;
	spec.session_tmp = false;
	limit_whole(&spec, row);
	if (ws_gate(&spec, err) < 0 || ws_binds_check(root, &spec, err) < 0)
		return -1;
	if (row->toolchains)
		add_toolchains(root, &spec);
	*ret = spec;
	spec = (struct ws_spec){ 0 };
	return 0;
}
