/* SPDX-License-Identifier: Apache-2.0 */
/* The table as a JSON schema (draft 2020-12). */
#include "core/spec.h"

#include <string.h>

#include "core/spec_fields.h"

static void write_properties(struct ws_jsonw *w, const char *prefix);

/* "type": TYPE, or [TYPE, "null"] where null is good too. */
static void write_type(struct ws_jsonw *w, const struct ws_spec_field *field,
		       const char *type)
{
	if (!ws_spec_field_nullable(field)) {
		ws_jsonw_str(w, "type", type);
		return;
	}
	ws_jsonw_array(w, "type");
	ws_jsonw_str(w, NULL, type);
	ws_jsonw_str(w, NULL, "null");
	ws_jsonw_end(w, ']');
}

static void write_rule(struct ws_jsonw *w, const struct ws_spec_rule *rule)
{
	ws_jsonw_u64(w, "minLength", 1);
	ws_jsonw_u64(w, "maxLength", rule->max);
	if (rule->pattern)
		ws_jsonw_str(w, "pattern", rule->pattern);
}

static void write_words(struct ws_jsonw *w, const struct ws_spec_field *field)
{
	ws_jsonw_array(w, "enum");
	for (size_t i = 0; i < WS_ARRAY_SIZE(field->words) && field->words[i]; i++)
		ws_jsonw_str(w, NULL, field->words[i]);
	ws_jsonw_end(w, ']');
}

static void write_item_type(struct ws_jsonw *w, const struct ws_spec_field *field)
{
	WS_AUTO_FREE char *prefix = ws_format("%s[]", field->key);

	ws_jsonw_u64(w, "maxItems", (uint64_t)field->max);
	ws_jsonw_object(w, "items");
	ws_jsonw_str(w, "type", "object");
	ws_jsonw_array(w, "required");
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		const char *name = ws_spec_field_name(f, prefix);

		if (name && (f->flags & WS_KEY_NEED))
			ws_jsonw_str(w, NULL, name);
	}
	ws_jsonw_end(w, ']');
	write_properties(w, prefix);
	ws_jsonw_end(w, '}');
}

static void write_profile_type(struct ws_jsonw *w)
{
	static const char *const parts[] = { "sandbox", "limits", "binds" };

	ws_jsonw_object(w, "propertyNames");
	write_rule(w, &WS_RULE_NAME);
	ws_jsonw_end(w, '}');
	ws_jsonw_object(w, "additionalProperties");
	ws_jsonw_str(w, "type", "object");
	ws_jsonw_object(w, "properties");
	for (size_t i = 0; i < WS_ARRAY_SIZE(parts); i++) {
		WS_AUTO_FREE char *ref = ws_format("#/properties/%s", parts[i]);

		ws_jsonw_object(w, parts[i]);
		ws_jsonw_str(w, "$ref", ref);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, '}');
	ws_jsonw_bool(w, "additionalProperties", false);
	ws_jsonw_end(w, '}');
}

/* What a value of this key is. */
static void write_constraint(struct ws_jsonw *w, const struct ws_spec_field *field)
{
	switch (field->type) {
	case WS_KEY_BOOL:
		write_type(w, field, "boolean");
		break;
	case WS_KEY_U64:
		write_type(w, field, "integer");
		ws_jsonw_u64(w, "minimum", (uint64_t)field->min);
		ws_jsonw_u64(w, "maximum", (uint64_t)field->max);
		break;
	case WS_KEY_DOUBLE:
		write_type(w, field, "number");
		ws_jsonw_double(w, "minimum", field->min);
		ws_jsonw_double(w, "maximum", field->max);
		break;
	case WS_KEY_ENUM:
		write_words(w, field);
		break;
	case WS_KEY_TEXT:
		write_type(w, field, "string");
		write_rule(w, field->rule);
		break;
	case WS_KEY_LIST:
		write_type(w, field, "array");
		ws_jsonw_u64(w, "maxItems", (uint64_t)field->max);
		ws_jsonw_object(w, "items");
		ws_jsonw_str(w, "type", "string");
		write_rule(w, field->rule);
		ws_jsonw_end(w, '}');
		break;
	case WS_KEY_ITEMS:
		write_type(w, field, "array");
		write_item_type(w, field);
		break;
	case WS_KEY_STRINGS:
		write_type(w, field, "object");
		ws_jsonw_object(w, "additionalProperties");
		ws_jsonw_str(w, "type", "string");
		ws_jsonw_end(w, '}');
		break;
	case WS_KEY_PROFILES:
		write_type(w, field, "object");
		write_profile_type(w);
		break;
	case WS_KEY_FLOOR:
		ws_jsonw_array(w, "anyOf");
		ws_jsonw_object(w, NULL);
		ws_jsonw_str(w, "$ref", "#");
		ws_jsonw_end(w, '}');
		ws_jsonw_object(w, NULL);
		ws_jsonw_str(w, "type", "null");
		ws_jsonw_end(w, '}');
		ws_jsonw_end(w, ']');
		break;
	case WS_KEY_SECTION:
		write_type(w, field, "object");
		write_properties(w, field->key);
		if (field->flags & WS_KEY_SECURITY)
			ws_jsonw_bool(w, "additionalProperties", false);
		break;
	}
}

static void write_properties(struct ws_jsonw *w, const char *prefix)
{
	ws_jsonw_object(w, "properties");
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
		const char *name = ws_spec_field_name(f, prefix);

		if (!name)
			continue;
		ws_buf_addf(&text, "%s.", f->help);
		ws_spec_field_notes(f, &text);
		ws_jsonw_object(w, name);
		ws_jsonw_str(w, "description", ws_buf_str(&text));
		write_constraint(w, f);
		if (f->def && !(f->flags & WS_KEY_NEED))
			ws_spec_text_write(w, "default", f->def);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, '}');
}

void ws_spec_schema(struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, out, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
	ws_jsonw_str(&w, "title", "wsiso: the spec of a session, and wsiso.json");
	ws_jsonw_str(
		&w, "description",
		"Made by wsiso spec --schema. An unknown key that looks like a protection is an "
		"error; any other is ignored with a warning.");
	ws_jsonw_str(&w, "type", "object");
	write_properties(&w, "");
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}
