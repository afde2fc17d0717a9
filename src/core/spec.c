/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spec.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/spec_fields.h"
#include "core/spec_tighten.h"

void ws_spec_init(struct ws_spec *spec)
{
	memset(spec, 0, sizeof(*spec));
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++)
		if (!strchr(f->key, '['))
			ws_spec_field_reset(f, spec);
	spec->sandbox.env_mode = WS_ENV_UNSET; /* for clearenv to decide */
}

void ws_spec_release(struct ws_spec *spec)
{
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++)
		if (!strchr(f->key, '['))
			ws_spec_field_release(f, spec);
}

int ws_spec_set_mode(struct ws_spec *spec, const char *mode, struct ws_err *err)
{
	const struct ws_spec_field *field = ws_spec_field_find("", "mode");

	for (size_t i = 0; i < WS_ARRAY_SIZE(field->words) && field->words[i]; i++) {
		if (strcmp(field->words[i], mode) != 0)
			continue;
		spec->mode = (enum ws_mode)i;
		return 0;
	}
	ws_fail(err, WS_USAGE, "'%s' is no mode", mode);
	return ws_hint(err, "modes are %s and %s", field->words[0], field->words[1]);
}

static void settle_environment(struct ws_spec_sandbox *s, struct ws_strv *warnings)
{
	if (s->env_mode == WS_ENV_UNSET)
		s->env_mode = s->clearenv ? WS_ENV_MINIMAL : WS_ENV_INHERIT_ALL;
	else if (!s->clearenv && s->env_mode == WS_ENV_MINIMAL)
		ws_strv_push(
			warnings,
			"'sandbox.clearenv' false is ignored: 'sandbox.env_mode' is \"minimal\"");
	s->clearenv = s->env_mode == WS_ENV_MINIMAL;
	if (s->env_mode == WS_ENV_INHERIT_ALL)
		ws_strv_push(warnings,
			     "commands get the caller's whole environment, its secrets "
			     "too: 'sandbox.env_mode' is \"inherit_all\"");
	if (s->allowed_env_vars.n > 0)
		ws_strv_push(warnings, "'sandbox.allowed_env_vars' is an old name: use "
				       "'sandbox.inherit_env_vars'");
	for (size_t i = 0; i < s->allowed_env_vars.n; i++)
		if (!ws_strv_has(&s->inherit_env_vars, s->allowed_env_vars.v[i]))
			ws_strv_push(&s->inherit_env_vars, s->allowed_env_vars.v[i]);
	ws_strv_clear(&s->allowed_env_vars);
}

/* There is no workspace: nothing to freeze, to set up or to bring back. */
static void settle_host_readonly(struct ws_spec *spec, struct ws_strv *warnings)
{
	if (spec->nrepos > 0) {
		ws_strv_push(warnings, "'repos' is ignored: 'mode' is \"host_readonly\"");
		ws_spec_field_reset(ws_spec_field_find("", "repos"), spec);
	}
	if (spec->subagent_isolation == WS_ISOLATION_ISOLATED) {
		ws_strv_push(warnings, "'subagent_isolation' is \"shared\": 'mode' is "
				       "\"host_readonly\"");
		spec->subagent_isolation = WS_ISOLATION_SHARED;
	}
	spec->snapshots.enabled = spec->snapshots.shared = false;
	spec->project_setup.enabled = spec->project_setup.auto_build = false;
	spec->integration.enabled = spec->integration.auto_commit = false;
	spec->integration.ai_merge = false;
}

int ws_spec_finish(struct ws_spec *spec, struct ws_strv *warnings, struct ws_err *err)
{
	settle_environment(&spec->sandbox, warnings);
	if (spec->sandbox.hostname)
		spec->sandbox.unshare_uts = true;
	if (spec->mode == WS_MODE_HOST_READONLY)
		settle_host_readonly(spec, warnings);
	return ws_spec_floor_add(spec, err);
}

static void render(const struct ws_spec_field *field, const void *base,
		   struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_buf_clear(out);
	ws_jsonw_init(&w, out, false);
	ws_spec_field_write(field, &w, NULL, base);
}

static bool is_one_of(const char *value, const struct ws_spec_field *field)
{
	if (!field->nothing[0])
		return strcmp(value, field->def) == 0;
	for (size_t i = 0; i < WS_ARRAY_SIZE(field->nothing) && field->nothing[i]; i++)
		if (strcmp(value, field->nothing[i]) == 0)
			return true;
	return false;
}

/* PLACE: the key as the message names it. */
static int check_field(const struct ws_spec_field *field, const char *place,
		       const void *base, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf value = WS_BUF_INIT;
	bool list;

	render(field, base, &value);
	if (is_one_of(ws_buf_str(&value), field))
		return 0;
	list = value.len > 60;
	ws_fail(err, WS_SPEC_INVALID,
		"'%s'%s%s needs %s, which this build does not have yet", place,
		list ? "" : " ", list ? "" : ws_buf_str(&value), field->later);
	return ws_hint(err, "until then it must be %s",
		       field->nothing[0] ? field->nothing[0] : field->def);
}

static int check_repos(const struct ws_spec *spec, struct ws_err *err)
{
	char place[64];

	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		const char *name = ws_spec_field_name(f, "repos[]");

		for (size_t i = 0; name && f->later && i < spec->nrepos; i++) {
			snprintf(place, sizeof(place), "repos[%zu].%s", i, name);
			if (check_field(f, place, &spec->repos[i], err) < 0)
				return -1;
		}
	}
	return 0;
}

/* In host_readonly there are no snapshots, and so none that cannot be made. */
static bool matters(const struct ws_spec_field *field, const struct ws_spec *spec)
{
	return spec->mode != WS_MODE_HOST_READONLY ||
	       !ws_text_starts(field->key, "snapshots.");
}

int ws_spec_check_built(const struct ws_spec *spec, struct ws_err *err)
{
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++)
		if (f->later && !strchr(f->key, '[') && matters(f, spec) &&
		    check_field(f, f->key, spec, err) < 0)
			return -1;
	return check_repos(spec, err);
}
