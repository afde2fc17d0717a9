/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile.h"

#include <string.h>
#include <sys/resource.h>

#include "core/spec_tighten.h"

#define MIB (1ull << 20)
#define BOTH (WS_PROFILE_EXEC | WS_PROFILE_RUN)

#define RLIMIT(what, value)                                                 \
	{                                                                   \
		.resource = RLIMIT_##what, .soft = (value), .hard = (value) \
	}

/* For one process; the kernel counts processes per user namespace, the sandbox's own. */
static const struct ws_rlimit worker_rlimits[] = {
	RLIMIT(DATA, 2048 * MIB), /* what it may write to: node and java reserve more */
	RLIMIT(NPROC, 128),	    RLIMIT(CPU, 120),
	RLIMIT(MEMLOCK, 64 * 1024), RLIMIT(MSGQUEUE, 0),
};

static const struct ws_profile profiles[] = {
	{ .name = WS_PROFILE_DEFAULT, .help = "a model's shell command", .uses = BOTH },
	{ .name = "agent",
	  .help = "an external coding agent's program, which runs for long",
	  .uses = BOTH,
	  .over = "{\"limits\": {\"timeout_s\": null}}" },
	{ .name = "worker",
	  .help = "parsing one untrusted document",
	  .uses = WS_PROFILE_RUN,
	  .over = "{\"sandbox\": {\"unshare_net\": true, \"seccomp\": \"enforce\", "
		  "\"env_mode\": \"minimal\", \"inherit_env_vars\": []}}",
	  .most = { .file_size_max = 256 * MIB,
		    .open_files = 256,
		    .tmp_size = 256 * MIB,
		    .timeout_s = 120 },
	  .most_delegated = { .memory_max = 2048 * MIB, .pids_max = 128, .cpu_max = 2 },
	  .rlimits = worker_rlimits,
	  .nrlimits = WS_ARRAY_SIZE(worker_rlimits),
	  .writable_max = 1,
	  .fresh_home = true },
	{ .name = "mcp",
	  .help = "a local MCP server",
	  .uses = WS_PROFILE_RUN,
	  .below = "{\"sandbox\": {\"unshare_net\": false}}",
	  .over = "{\"limits\": {\"timeout_s\": null}}",
	  .serves = true,
	  .toolchains = true },
	/* what it makes is kept for all: it must not hang on one caller's environment */
	{ .name = WS_PROFILE_SETUP_NAME,
	  .help = "a project's setup script, run by wsiso itself",
	  .uses = WS_PROFILE_SETUP,
	  .over = "{\"sandbox\": {\"env_mode\": \"minimal\"}, "
		  "\"limits\": {\"timeout_s\": null}}" },
};

static const struct ws_profile *find(const char *name)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(profiles); i++)
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	return NULL;
}

const struct ws_profile *ws_profile_find(const char *name)
{
	const struct ws_profile *p = find(name);

	return p ? p : &profiles[0];
}

/* ---- laying one over a spec ---- */

static int parse(const char *text, struct ws_json **ret, struct ws_err *err)
{
	return ws_json_parse("profile", text, strlen(text), ret, err);
}

/* Binds are added to those that are there; all else is replaced. */
static int lay(struct ws_spec *spec, const struct ws_json *changes,
	       struct ws_strv *warnings, struct ws_err *err)
{
	struct ws_spec_bind *before = spec->binds;
	size_t n = spec->nbinds;
	int rc;

	spec->binds = NULL;
	spec->nbinds = 0;
	rc = ws_spec_decode(changes, "profile", WS_SPEC_SESSION, true, spec, warnings,
			    err);
	before = ws_grow(before, n + spec->nbinds + 1, sizeof(*before));
	if (spec->nbinds > 0)
		memcpy(before + n, spec->binds, spec->nbinds * sizeof(*before));
	ws_freep(&spec->binds);
	spec->binds = before;
	spec->nbinds += n;
	return rc;
}

static int lay_text(struct ws_spec *spec, const char *text, struct ws_strv *warnings,
		    struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;

	return parse(text, &doc, err) < 0 ? -1 : lay(spec, doc, warnings, err);
}

static void at_most(uint64_t *limit, uint64_t most)
{
	if (most && (!*limit || *limit > most))
		*limit = most;
}

void ws_profile_limit(struct ws_spec_limits *l, const struct ws_spec_limits *most)
{
	at_most(&l->memory_max, most->memory_max);
	at_most(&l->pids_max, most->pids_max);
	at_most(&l->file_size_max, most->file_size_max);
	at_most(&l->open_files, most->open_files);
	at_most(&l->tmp_size, most->tmp_size);
	if (most->cpu_max > 0 && (l->cpu_max <= 0 || l->cpu_max > most->cpu_max))
		l->cpu_max = most->cpu_max;
	if (most->timeout_s > 0 && (l->timeout_s <= 0 || l->timeout_s > most->timeout_s))
		l->timeout_s = most->timeout_s;
}

/* ---- which one ---- */

static int unknown(const struct ws_json *own, const char *name, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf names = WS_BUF_INIT;

	for (size_t i = 0; i < WS_ARRAY_SIZE(profiles); i++)
		ws_buf_addf(&names, "%s%s", i ? ", " : "", profiles[i].name);
	for (const struct ws_json *m = own->child; m; m = m->next)
		if (!find(m->key))
			ws_buf_addf(&names, ", %s", m->key);
	ws_fail(err, WS_USAGE, "there is no profile '%s'", name);
	return ws_hint(err, "there are %s; a spec's profiles can have more",
		       ws_buf_str(&names));
}

static int check_use(const struct ws_profile *row, enum ws_profile_use use,
		     struct ws_err *err)
{
	if (row->uses & use)
		return 0;
	if (!(row->uses & BOTH))
		return ws_fail(err, WS_USAGE, "profile '%s' is for %s", row->name,
			       row->help);
	ws_fail(err, WS_USAGE,
		"profile '%s' is for %s, and needs a sandbox of its own: a session's "
		"commands are no boundary against each other",
		row->name, row->help);
	return ws_hint(err, "wsiso run --profile %s ...", row->name);
}

static int check_fit(const struct ws_spec *session, const struct ws_spec *spec,
		     const char *name, struct ws_err *err)
{
	const char *key = ws_spec_misfit(session, spec);

	if (!key)
		return 0;
	ws_fail(err, WS_USAGE,
		"profile '%s' changes '%s', which all commands of a session have in "
		"common",
		name, key);
	return ws_hint(err,
		       "with exec a profile may change the environment, rlimits and "
		       "timeout, and make the filter stricter: give it a session of its "
		       "own, or wsiso run --profile %s",
		       name);
}

/* What a row loosens nobody has asked for: the floor counts before it. */
static int change(struct ws_spec *spec, const struct ws_profile *row, const char *name,
		  const struct ws_json *own, struct ws_strv *warnings, struct ws_err *err)
{
	if (row->over && lay_text(spec, row->over, warnings, err) < 0)
		return -1;
	ws_profile_limit(&spec->limits, &row->most);
	if (ws_spec_floor_raise(spec, name, err) < 0)
		return -1;
	if (own && lay(spec, own, warnings, err) < 0)
		return -1;
	return ws_spec_finish(spec, warnings, err);
}

int ws_profile_apply(struct ws_spec *spec, const char *name, enum ws_profile_use use,
		     struct ws_strv *warnings, struct ws_err *err)
{
	WS_AUTO(ws_spec) struct ws_spec before = { 0 };
	WS_AUTO_JSON struct ws_json *all = NULL;
	const struct ws_profile *row = find(name);
	const struct ws_json *own;

	if (parse(spec->profiles, &all, err) < 0)
		return -1;
	own = ws_json_get(all, name);
	if (!row && !own)
		return unknown(all, name, err);
	row = ws_profile_find(name);
	if (check_use(row, use, err) < 0)
		return -1;
	if (use != WS_PROFILE_EXEC)
		return change(spec, row, name, own, warnings, err);
	if (ws_spec_copy(spec, &before, err) < 0 ||
	    change(spec, row, name, own, warnings, err) < 0)
		return -1;
	return check_fit(&before, spec, name, err);
}

bool ws_profile_changes(const struct ws_spec *spec, const char *name)
{
	return strcmp(name, WS_PROFILE_DEFAULT) != 0 || strcmp(spec->profiles, "{}") != 0;
}

/* ---- what is mounted for all of them ---- */

static int add_bind(struct ws_spec *to, const struct ws_spec_bind *b, struct ws_err *err)
{
	for (size_t i = 0; i < to->nbinds; i++) {
		const struct ws_spec_bind *other = &to->binds[i];

		if (strcmp(other->target, b->target) != 0)
			continue;
		if (strcmp(other->source, b->source) == 0 &&
		    other->writable == b->writable)
			return 0;
		ws_fail(err, WS_SPEC_INVALID, "two binds have the target '%s'",
			b->target);
		return ws_hint(err, "those of all profiles are mounted when a session's "
				    "sandbox starts: give each a target of its own");
	}
	to->binds = ws_grow(to->binds, to->nbinds + 1, sizeof(*to->binds));
	to->binds[to->nbinds++] = (struct ws_spec_bind){ .source = ws_strdup(b->source),
							 .target = ws_strdup(b->target),
							 .writable = b->writable };
	return 0;
}

static int add_binds(struct ws_spec *to, const struct ws_spec *from, struct ws_err *err)
{
	for (size_t i = 0; i < from->nbinds; i++)
		if (add_bind(to, &from->binds[i], err) < 0)
			return -1;
	return 0;
}

int ws_profile_binds(const struct ws_spec *spec, struct ws_spec *ret, struct ws_err *err)
{
	WS_AUTO(ws_spec) struct ws_spec all = { 0 };
	WS_AUTO(ws_strv) struct ws_strv warnings = WS_STRV_INIT;
	WS_AUTO_JSON struct ws_json *own = NULL;

	ws_spec_init(&all);
	if (add_binds(&all, spec, err) < 0 || parse(spec->profiles, &own, err) < 0)
		return -1;
	for (const struct ws_json *m = own->child; m; m = m->next) {
		WS_AUTO(ws_spec) struct ws_spec one = { 0 };

		ws_spec_init(&one);
		if (lay(&one, m, &warnings, err) < 0 || add_binds(&all, &one, err) < 0)
			return -1;
	}
	*ret = all;
	all = (struct ws_spec){ 0 };
	return 0;
}
