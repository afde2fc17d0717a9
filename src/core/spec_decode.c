/* SPDX-License-Identifier: Apache-2.0 */
/* From a document to a spec, by the table in spec_fields.c. */
#include "core/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "core/spec_fields.h"
#include "core/spec_tighten.h"

#define MOST_UNKNOWN 100
#define PLACE_LEN 256 /* a place ("binds[3].source") is cut there in messages */

struct decoder {
	const char *name;
	enum ws_spec_source source;
	bool strict;
	bool in_floor;
	unsigned unknown; /* keys so far */
	struct ws_strv *warnings;
	struct ws_err *err;
};

static int decode_object(struct decoder *d, const struct ws_json *object,
			 const char *prefix, const char *place, void *base);
static int decode_value(struct decoder *d, const struct ws_spec_field *field,
			const struct ws_json *v, const char *place, void *base);

/* TEXT as a message can show it: quoted, printable, not long. */
static char *shown(const char *text)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	size_t len = strlen(text);

	ws_text_escape(&b, text, len > 60 ? 60 : len);
	if (len > 60)
		ws_buf_addstr(&b, "...");
	return ws_buf_steal(&b);
}

static char *shown_value(const struct ws_json *v)
{
	WS_AUTO_FREE char *text = NULL;

	switch (v->type) {
	case WS_JSON_BOOL:
		return ws_strdup(v->boolean ? "true" : "false");
	case WS_JSON_NUMBER:
		if (v->integral)
			return ws_format("%lld", (long long)v->i);
		return ws_format("%.15g", v->d);
	case WS_JSON_STRING:
		text = shown(v->str);
		return ws_format("\"%s\"", text);
	case WS_JSON_NULL:
	case WS_JSON_ARRAY:
	case WS_JSON_OBJECT:
		break;
	}
	return ws_strdup(ws_json_type_name(v->type));
}

/* "config.json:3:14: "; of a long name the end. */
static char *position(const struct decoder *d, const struct ws_json *v)
{
	size_t len = strlen(d->name);
	const char *name = len > 120 ? d->name + len - 120 : d->name;

	return ws_format("%s:%u:%u: ", name, v->line, v->col);
}

static int __attribute__((format(printf, 3, 4)))
fail(struct decoder *d, const struct ws_json *v, const char *fmt, ...)
{
	WS_AUTO_FREE char *where = position(d, v);
	WS_AUTO_FREE char *msg = NULL;
	va_list ap;

	va_start(ap, fmt);
	msg = ws_vformat(fmt, ap);
	va_end(ap);
	return ws_fail(d->err, WS_SPEC_INVALID, "%s%s", where, msg);
}

static int fail_value(struct decoder *d, const struct ws_json *v, const char *place,
		      const char *expected)
{
	WS_AUTO_FREE char *value = shown_value(v);

	return fail(d, v, "'%s' must be %s, not %s", place, expected, value);
}

/* VALUE is of the wrong type, or out of range. */
static int fail_field(struct decoder *d, const struct ws_spec_field *field,
		      const struct ws_json *v, const char *place)
{
	WS_AUTO(ws_buf) struct ws_buf expected = WS_BUF_INIT;

	ws_spec_field_expect(field, &expected);
	return fail_value(d, v, place, ws_buf_str(&expected));
}

/* The place of KEY within PLACE. */
static void join(char out[PLACE_LEN], const char *place, const char *key)
{
	WS_AUTO_FREE char *text = shown(key);

	snprintf(out, PLACE_LEN, "%s%s%s", place, *place ? "." : "", text);
}

/*
 * Ignored with a warning, unless the writer may have meant a protection: a misspelling
 * may never mean a weaker sandbox.
 */
static int unknown_key(struct decoder *d, const struct ws_json *v, const char *prefix,
		       const char *place)
{
	const struct ws_spec_field *near = ws_spec_field_near(prefix, v->key);
	WS_AUTO_FREE char *where = position(d, v);
	char full[PLACE_LEN];

	join(full, place, v->key);
	if (++d->unknown > MOST_UNKNOWN)
		return fail(d, v, "more than %d unknown keys: this is no spec",
			    MOST_UNKNOWN);
	if (d->strict || (near && (near->flags & WS_KEY_SECURITY))) {
		fail(d, v, "unknown key '%s'", full);
		return near ? ws_hint(d->err, "did you mean '%s'?", near->key) : -1;
	}
	ws_strv_addf(d->warnings, "%sunknown key '%s' is ignored%s%s%s", where, full,
		     near ? "; did you mean '" : "", near ? near->key : "",
		     near ? "'?" : "");
	return 0;
}

static int decode_enum(struct decoder *d, const struct ws_spec_field *field,
		       const struct ws_json *v, const char *place, void *base)
{
	const char *near = NULL;
	size_t i;

	if (v->type != WS_JSON_STRING)
		return fail_field(d, field, v, place);
	for (i = 0; i < WS_ARRAY_SIZE(field->words) && field->words[i]; i++) {
		if (strcmp(v->str, field->words[i]) == 0) {
			*(unsigned *)(void *)((char *)base + field->at) = (unsigned)i;
			return 0;
		}
		if (strlen(v->str) < 64 && ws_text_distance(v->str, field->words[i]) <= 2)
			near = field->words[i];
	}
	fail_field(d, field, v, place);
	if (!(field->flags & WS_KEY_FALLBACK) || d->in_floor)
		return near ? ws_hint(d->err, "did you mean \"%s\"?", near) : -1;
	ws_spec_field_reset(field, base);
	ws_strv_addf(d->warnings, "%s: using %s", d->err->msg, field->def);
	return 0;
}

static int decode_number(struct decoder *d, const struct ws_spec_field *field,
			 const struct ws_json *v, const char *place, void *base)
{
	void *at = (char *)base + field->at;

	if (v->type != WS_JSON_NUMBER || v->d < field->min || v->d > field->max)
		return fail_field(d, field, v, place);
	if (field->type == WS_KEY_DOUBLE) {
		*(double *)at = v->d;
		return 0;
	}
	if (!v->natural)
		return fail_field(d, field, v, place);
	*(uint64_t *)at = v->u;
	return 0;
}

static int decode_list(struct decoder *d, const struct ws_spec_field *field,
		       const struct ws_json *v, const char *place, void *base)
{
	struct ws_strv *list = (void *)((char *)base + field->at);
	char full[PLACE_LEN + 32];

	if (v->type != WS_JSON_ARRAY)
		return fail_field(d, field, v, place);
	ws_strv_clear(list);
	for (const struct ws_json *e = v->child; e; e = e->next) {
		if ((double)list->n >= field->max)
			return fail_field(d, field, v, place);
		snprintf(full, sizeof(full), "%s[%zu]", place, list->n);
		if (e->type != WS_JSON_STRING || !ws_spec_rule_holds(field->rule, e->str))
			return fail_value(d, e, full, field->rule->what);
		ws_strv_push(list, e->str);
	}
	return 0;
}

/* A repo without a name gets the last part of its path. Names are unique. */
static int settle_repo(struct decoder *d, const struct ws_json *v, const char *place,
		       struct ws_spec *spec)
{
	struct ws_spec_repo *repo = &spec->repos[spec->nrepos - 1];

	if (!repo->name) {
		size_t len = strlen(repo->path);
		const char *last;

		while (len > 0 && repo->path[len - 1] == '/')
			len--;
		repo->name = ws_strndup(repo->path, len);
		last = strrchr(repo->name, '/');
		if (last)
			memmove(repo->name, last + 1, strlen(last));
		if (!ws_spec_rule_holds(&WS_RULE_NAME, repo->name)) {
			WS_AUTO_FREE char *bad = shown(repo->name);

			fail(d, v, "'%s' has no name, and \"%s\" is not good as one",
			     place, bad);
			return ws_hint(d->err, "give it a \"name\": %s",
				       WS_RULE_NAME.what);
		}
	}
	for (size_t i = 0; i + 1 < spec->nrepos; i++) {
		if (strcmp(spec->repos[i].name, repo->name) != 0)
			continue;
		fail(d, v, "'%s' has the name \"%s\" of 'repos[%zu]'", place, repo->name,
		     i);
		return ws_hint(d->err, "give each repo a \"name\" of its own");
	}
	return 0;
}

static int settle_bind(struct decoder *d, const struct ws_json *v, const char *place,
		       struct ws_spec *spec)
{
	const struct ws_spec_bind *bind = &spec->binds[spec->nbinds - 1];

	for (size_t i = 0; i + 1 < spec->nbinds; i++)
		if (strcmp(spec->binds[i].target, bind->target) == 0)
			return fail(d, v, "'%s' has the target of 'binds[%zu]'", place,
				    i);
	return 0;
}

static int require_members(struct decoder *d, const struct ws_json *v, const char *prefix,
			   const char *place)
{
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		const char *name = ws_spec_field_name(f, prefix);

		if (name && (f->flags & WS_KEY_NEED) && !ws_json_get(v, name))
			return fail(d, v, "'%s' has no \"%s\"", place, name);
	}
	return 0;
}

static int decode_items(struct decoder *d, const struct ws_spec_field *field,
			const struct ws_json *v, const char *place, void *base)
{
	bool repos = field->at == offsetof(struct ws_spec, repos);
	char prefix[32], full[PLACE_LEN + 32];
	size_t n = 0;

	if (v->type != WS_JSON_ARRAY)
		return fail_field(d, field, v, place);
	snprintf(prefix, sizeof(prefix), "%s[]", field->key);
	ws_spec_field_reset(field, base);
	for (const struct ws_json *e = v->child; e; e = e->next, n++) {
		if ((double)n >= field->max)
			return fail_field(d, field, v, place);
		snprintf(full, sizeof(full), "%s[%zu]", place, n);
		if (e->type != WS_JSON_OBJECT)
			return fail_value(d, e, full, "an object");
		if (decode_object(d, e, prefix, full, ws_spec_item_add(field, base)) < 0)
			return -1;
		if (require_members(d, e, prefix, full) < 0)
			return -1;
		if ((repos ? settle_repo : settle_bind)(d, e, full, base) < 0)
			return -1;
	}
	return 0;
}

/* Keeps OBJECT as text; MERGE: laid over the text that is there, member by member. */
static int keep_object(struct decoder *d, const struct ws_json *object, bool merge,
		       char **text)
{
	WS_AUTO_JSON struct ws_json *under = NULL;
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	if (merge && *text &&
	    ws_json_parse(d->name, *text, strlen(*text), &under, d->err) < 0)
		return -1;
	ws_jsonw_init(&w, &out, false);
	ws_spec_object_write(&w, NULL, object, under);
	if (out.len > WS_JSON_MAX_SIZE) /* escapes make it longer than it was */
		return fail(d, object, "'%s' is larger than %u bytes", object->key,
			    WS_JSON_MAX_SIZE);
	free(*text);
	*text = ws_buf_steal(&out);
	return 0;
}

/* A profile says, in the form of a spec, what it changes of three parts. */
static int check_profile(struct decoder *d, const struct ws_json *profile,
			 const char *place)
{
	WS_AUTO(ws_spec) struct ws_spec scratch = { 0 };
	char full[PLACE_LEN];

	if (profile->type != WS_JSON_OBJECT)
		return fail_value(d, profile, place, "an object");
	ws_spec_init(&scratch);
	for (const struct ws_json *m = profile->child; m; m = m->next) {
		const struct ws_spec_field *field = ws_spec_field_find("", m->key);

		join(full, place, m->key);
		if (!field ||
		    (strcmp(m->key, "sandbox") != 0 && strcmp(m->key, "limits") != 0 &&
		     strcmp(m->key, "binds") != 0)) {
			fail(d, m, "unknown key '%s'", full);
			return ws_hint(d->err, "a profile has sandbox, limits and binds");
		}
		if (decode_value(d, field, m, full, &scratch) < 0)
			return -1;
	}
	return 0;
}

static int decode_map(struct decoder *d, const struct ws_spec_field *field,
		      const struct ws_json *v, const char *place, void *base)
{
	char **text = (void *)((char *)base + field->at);
	char full[PLACE_LEN];

	if (v->type != WS_JSON_OBJECT)
		return fail_field(d, field, v, place);
	if (field->type == WS_KEY_FLOOR) {
		WS_AUTO(ws_spec) struct ws_spec scratch = { 0 };
		struct decoder inner = *d;

		inner.in_floor = true;
		ws_spec_init(&scratch);
		if (decode_object(&inner, v, "", place, &scratch) < 0)
			return -1;
		return keep_object(d, v, false, text);
	}
	for (const struct ws_json *m = v->child; m; m = m->next) {
		join(full, place, m->key);
		if (field->type == WS_KEY_STRINGS && m->type != WS_JSON_STRING)
			return fail_value(d, m, full, "a string");
		if (field->type == WS_KEY_PROFILES &&
		    !ws_spec_rule_holds(&WS_RULE_NAME, m->key))
			return fail(d, m, "'%s' is not named by %s", full,
				    WS_RULE_NAME.what);
		if (field->type == WS_KEY_PROFILES && check_profile(d, m, full) < 0)
			return -1;
	}
	return keep_object(d, v, true, text);
}

static int decode_value(struct decoder *d, const struct ws_spec_field *field,
			const struct ws_json *v, const char *place, void *base)
{
	void *at = (char *)base + field->at;

	if (v->type == WS_JSON_NULL && ws_spec_field_nullable(field)) {
		ws_spec_field_reset(field, base);
		return 0;
	}
	switch (field->type) {
	case WS_KEY_SECTION:
		if (v->type != WS_JSON_OBJECT)
			return fail_field(d, field, v, place);
		return decode_object(d, v, field->key, place, base);
	case WS_KEY_BOOL:
		if (v->type != WS_JSON_BOOL)
			return fail_field(d, field, v, place);
		*(bool *)at = v->boolean;
		return 0;
	case WS_KEY_U64:
	case WS_KEY_DOUBLE:
		return decode_number(d, field, v, place, base);
	case WS_KEY_ENUM:
		return decode_enum(d, field, v, place, base);
	case WS_KEY_TEXT:
		if (v->type != WS_JSON_STRING || !ws_spec_rule_holds(field->rule, v->str))
			return fail_field(d, field, v, place);
		free(*(char **)at);
		*(char **)at = ws_strdup(v->str);
		return 0;
	case WS_KEY_LIST:
		return decode_list(d, field, v, place, base);
	case WS_KEY_ITEMS:
		return decode_items(d, field, v, place, base);
	case WS_KEY_STRINGS:
	case WS_KEY_PROFILES:
	case WS_KEY_FLOOR:
		break;
	}
	return decode_map(d, field, v, place, base);
}

/* Some keys would let a session decide about the host, or about other sessions. */
static int check_place(struct decoder *d, const struct ws_spec_field *field,
		       const struct ws_json *v, const char *place)
{
	if (d->in_floor && field->type != WS_KEY_SECTION && !field->instead &&
	    !field->tighter && !strchr(field->key, '['))
		return fail(d, v, "'%s' is nothing that a session could tighten", place);
	if (!(field->flags & WS_KEY_ROOT_ONLY) || d->source == WS_SPEC_ROOT_FILE)
		return 0;
	fail(d, v, "'%s' is good only in wsiso.json", place);
	return ws_hint(d->err,
		       "move it to the file wsiso.json in the state folder (--root)");
}

static int decode_object(struct decoder *d, const struct ws_json *object,
			 const char *prefix, const char *place, void *base)
{
	char full[PLACE_LEN];

	for (const struct ws_json *m = object->child; m; m = m->next) {
		const struct ws_spec_field *field = ws_spec_field_find(prefix, m->key);

		if (!field) {
			if (unknown_key(d, m, prefix, place) < 0)
				return -1;
			continue;
		}
		join(full, place, m->key);
		if (check_place(d, field, m, full) < 0)
			return -1;
		if (decode_value(d, field, m, full, base) < 0)
			return -1;
	}
	return 0;
}

/* One list has two names: a document that gives it by either replaces all of it. */
static void drop_other_name(const struct ws_json *doc, struct ws_spec_sandbox *sandbox)
{
	const struct ws_json *given = ws_json_get(doc, "sandbox");

	if (!ws_json_get(given, "inherit_env_vars") &&
	    !ws_json_get(given, "allowed_env_vars"))
		return;
	ws_strv_clear(&sandbox->inherit_env_vars);
	ws_strv_clear(&sandbox->allowed_env_vars);
}

int ws_spec_decode(const struct ws_json *doc, const char *name,
		   enum ws_spec_source source, bool strict, struct ws_spec *spec,
		   struct ws_strv *warnings, struct ws_err *err)
{
	struct decoder d = {
		.name = name, .source = source, .warnings = warnings, .err = err
	};

	if (doc->type != WS_JSON_OBJECT)
		return fail(&d, doc, "a spec must be an object, not %s",
			    ws_json_type_name(doc->type));
	d.strict = strict || ws_json_bool(doc, "strict", spec->strict);
	drop_other_name(doc, &spec->sandbox);
	if (decode_object(&d, doc, "", "", spec) < 0)
		return -1;
	/* what a session does not say is not looser for that; what it says is its own */
	return source == WS_SPEC_ROOT_FILE ? ws_spec_floor_raise(spec, NULL, err) : 0;
}
