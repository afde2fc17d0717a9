/* SPDX-License-Identifier: Apache-2.0 */
/* A spec as JSON: all of it, or the part that a live sandbox was started with. */
#include "core/spec.h"

#include <string.h>

#include "base/sha256.h"
#include "base/text.h"
#include "core/filter.h"
#include "core/spec_fields.h"

/* Which rows right below the top, and in sections, are written. */
typedef bool row_filter(const struct ws_spec_field *field, const struct ws_spec *spec);

static bool any(const struct ws_spec_field *field, const struct ws_spec *spec)
{
	(void)field;
	(void)spec;
	return true;
}

static bool for_session(const struct ws_spec_field *field, const struct ws_spec *spec)
{
	(void)spec;
	return !(field->flags & WS_KEY_ROOT_ONLY);
}

static bool for_policy(const struct ws_spec_field *field, const struct ws_spec *spec)
{
	bool other_mode = spec->mode != WS_MODE_HOST_READONLY &&
			  ws_text_starts(field->key, "host_readonly");

	return field->when == WS_WHEN_START && !other_mode;
}

/* The rows right below PREFIX. SPEC is for the filter, BASE is where the offsets count
 * from. */
static void write_rows(struct ws_jsonw *w, const char *prefix, row_filter *filter,
		       const struct ws_spec *spec, const void *base)
{
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		const char *name = ws_spec_field_name(f, prefix);

		if (!name || !filter(f, spec))
			continue;
		if (f->type != WS_KEY_SECTION) {
			ws_spec_field_write(f, w, name, base);
			continue;
		}
		ws_jsonw_object(w, name);
		write_rows(w, f->key, filter, spec, base);
		ws_jsonw_end(w, '}');
	}
}

static void write_items(const struct ws_spec_field *field, struct ws_jsonw *w,
			const char *key, const void *base)
{
	size_t n = *(const size_t *)(const void *)((const char *)base + field->count);
	WS_AUTO_FREE char *prefix = ws_format("%s[]", field->key);
	const char *items;

	memcpy(&items, (const char *)base + field->at, sizeof(items));
	ws_jsonw_array(w, key);
	for (size_t i = 0; i < n; i++) {
		ws_jsonw_object(w, NULL);
		write_rows(w, prefix, any, NULL, items + i * field->size);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, ']');
}

void ws_spec_text_write(struct ws_jsonw *w, const char *key, const char *text)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;
	struct ws_err err = WS_ERR_INIT;

	if (text && ws_json_parse(key ? key : "", text, strlen(text), &doc, &err) == 0)
		ws_jsonw_value(w, key, doc);
	else
		ws_jsonw_null(w, key);
}

void ws_spec_field_write(const struct ws_spec_field *field, struct ws_jsonw *w,
			 const char *key, const void *base)
{
	const void *at = (const char *)base + field->at;
	bool null = ws_spec_field_nullable(field);
	unsigned word;

	switch (field->type) {
	case WS_KEY_BOOL:
		ws_jsonw_bool(w, key, *(const bool *)at);
		break;
	case WS_KEY_U64:
		if (null && *(const uint64_t *)at == 0)
			ws_jsonw_null(w, key);
		else
			ws_jsonw_u64(w, key, *(const uint64_t *)at);
		break;
	case WS_KEY_DOUBLE:
		if (null && *(const double *)at == 0)
			ws_jsonw_null(w, key);
		else
			ws_jsonw_double(w, key, *(const double *)at);
		break;
	case WS_KEY_ENUM:
		word = *(const unsigned *)at;
		if (word < WS_ARRAY_SIZE(field->words) && field->words[word])
			ws_jsonw_str(w, key, field->words[word]);
		else /* env_mode that nobody has settled yet */
			ws_spec_text_write(w, key, field->def);
		break;
	case WS_KEY_TEXT:
		ws_jsonw_str(w, key, *(char *const *)at);
		break;
	case WS_KEY_LIST:
		ws_jsonw_strv(w, key, at);
		break;
	case WS_KEY_ITEMS:
		write_items(field, w, key, base);
		break;
	case WS_KEY_STRINGS:
	case WS_KEY_PROFILES:
	case WS_KEY_FLOOR:
		ws_spec_text_write(w, key, *(char *const *)at);
		break;
	case WS_KEY_SECTION:
		break;
	}
}

static void print(const struct ws_spec *spec, row_filter *filter, bool pretty,
		  struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, out, pretty);
	ws_jsonw_object(&w, NULL);
	write_rows(&w, "", filter, spec, spec);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}

void ws_spec_print_for(const struct ws_spec *spec, enum ws_spec_source source,
		       bool pretty, struct ws_buf *out)
{
	print(spec, source == WS_SPEC_SESSION ? for_session : any, pretty, out);
}

void ws_spec_print(const struct ws_spec *spec, bool pretty, struct ws_buf *out)
{
	print(spec, any, pretty, out);
}

/* Not only the mode: another build's filter of that name may refuse less. */
static void write_filters(const struct ws_spec *spec, struct ws_jsonw *w)
{
	struct ws_filter_list filters;

	ws_filter_of_spec(spec, &filters);
	ws_jsonw_array(w, "filters");
	for (size_t i = 0; i < filters.n; i++)
		ws_jsonw_str(w, NULL, ws_filter_sum(filters.v[i]));
	ws_jsonw_end(w, ']');
}

void ws_spec_policy(const struct ws_spec *spec, struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, out, false);
	ws_jsonw_object(&w, NULL);
	write_rows(&w, "", for_policy, spec, spec);
	write_filters(spec, &w);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}

void ws_spec_policy_digest(const struct ws_spec *spec, char out[WS_SHA256_HEX])
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_sha256 sha;

	ws_spec_policy(spec, &text);
	ws_sha256_init(&sha);
	ws_sha256_update(&sha, text.data, text.len);
	ws_sha256_hex(&sha, out);
}
