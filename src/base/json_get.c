/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a document: members by name, records by table. The parser is in json.c. */
#include "base/json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const char *ws_json_type_name(enum ws_json_type type)
{
	static const char *const names[] = { "null",	 "a boolean", "a number",
					     "a string", "an array",  "an object" };

	return (unsigned)type < WS_ARRAY_SIZE(names) ? names[type] : "nothing";
}

const struct ws_json *ws_json_get(const struct ws_json *object, const char *key)
{
	if (!object || object->type != WS_JSON_OBJECT)
		return NULL;
	for (const struct ws_json *m = object->child; m; m = m->next)
		if (strcmp(m->key, key) == 0)
			return m;
	return NULL;
}

static const struct ws_json *get_typed(const struct ws_json *object, const char *key,
				       enum ws_json_type type)
{
	const struct ws_json *m = ws_json_get(object, key);

	return m && m->type == type ? m : NULL;
}

const char *ws_json_str(const struct ws_json *object, const char *key,
			const char *fallback)
{
	const struct ws_json *m = get_typed(object, key, WS_JSON_STRING);

	return m ? m->str : fallback;
}

int64_t ws_json_int(const struct ws_json *object, const char *key, int64_t fallback)
{
	const struct ws_json *m = get_typed(object, key, WS_JSON_NUMBER);

	return m && m->integral ? m->i : fallback;
}

bool ws_json_bool(const struct ws_json *object, const char *key, bool fallback)
{
	const struct ws_json *m = get_typed(object, key, WS_JSON_BOOL);

	return m ? m->boolean : fallback;
}

static void add_strings(const struct ws_json *array, struct ws_strv *out)
{
	for (const struct ws_json *e = array->child; e; e = e->next)
		if (e->type == WS_JSON_STRING)
			ws_strv_push(out, e->str);
}

void ws_json_strv(const struct ws_json *object, const char *key, struct ws_strv *out)
{
	const struct ws_json *m = get_typed(object, key, WS_JSON_ARRAY);

	if (m)
		add_strings(m, out);
}

static bool all_strings(const struct ws_json *array)
{
	for (const struct ws_json *e = array->child; e; e = e->next)
		if (e->type != WS_JSON_STRING)
			return false;
	return true;
}

/* Returns false, and leaves AT alone, if M does not fit. */
static bool store(const struct ws_json *m, enum ws_json_kind kind, void *at)
{
	switch (kind) {
	case WS_FIELD_STRING:
		if (m->type != WS_JSON_STRING)
			return false;
		free(*(char **)at);
		*(char **)at = ws_strdup(m->str);
		return true;
	case WS_FIELD_U64:
		if (m->type != WS_JSON_NUMBER || !m->natural)
			return false;
		*(uint64_t *)at = m->u;
		return true;
	case WS_FIELD_INT:
		if (m->type != WS_JSON_NUMBER || !m->integral || m->i < INT_MIN ||
		    m->i > INT_MAX)
			return false;
		*(int *)at = (int)m->i;
		return true;
	case WS_FIELD_BOOL:
		if (m->type != WS_JSON_BOOL)
			return false;
		*(bool *)at = m->boolean;
		return true;
	case WS_FIELD_STRV:
		if (m->type != WS_JSON_ARRAY || !all_strings(m))
			return false;
		ws_strv_clear(at);
		add_strings(m, at);
		return true;
	}
	return false;
}

int ws_json_decode(const struct ws_json *doc, const struct ws_json_field *fields,
		   void *out, struct ws_err *err)
{
	if (doc->type != WS_JSON_OBJECT)
		return ws_fail(err, WS_STATE_CORRUPT, "%s where an object belongs",
			       ws_json_type_name(doc->type));
	for (const struct ws_json_field *f = fields; f->key; f++) {
		const struct ws_json *m = ws_json_get(doc, f->key);

		if (!m && f->need)
			return ws_fail(err, WS_STATE_CORRUPT, "key '%s' is missing",
				       f->key);
		if (m && !store(m, f->kind, (char *)out + f->offset))
			return ws_fail(err, WS_STATE_CORRUPT,
				       "%u:%u: bad value of key '%s'", m->line, m->col,
				       f->key);
	}
	return 0;
}

void ws_json_release(const struct ws_json_field *fields, void *record)
{
	for (const struct ws_json_field *f = fields; f->key; f++) {
		void *at = (char *)record + f->offset;

		if (f->kind == WS_FIELD_STRING)
			ws_freep(at);
		else if (f->kind == WS_FIELD_STRV)
			ws_strv_release(at);
	}
}

static void copy_field(enum ws_json_kind kind, const void *from, void *to)
{
	switch (kind) {
	case WS_FIELD_STRING:
		*(char **)to = ws_strdup(*(char *const *)from);
		return;
	case WS_FIELD_U64:
		*(uint64_t *)to = *(const uint64_t *)from;
		return;
	case WS_FIELD_INT:
		*(int *)to = *(const int *)from;
		return;
	case WS_FIELD_BOOL:
		*(bool *)to = *(const bool *)from;
		return;
	case WS_FIELD_STRV:
		ws_strv_extend(to, from);
		return;
	}
}

void ws_json_copy(const struct ws_json_field *fields, const void *from, void *to)
{
	for (const struct ws_json_field *f = fields; f->key; f++)
		copy_field(f->kind, (const char *)from + f->offset,
			   (char *)to + f->offset);
}
