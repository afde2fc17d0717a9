/* SPDX-License-Identifier: Apache-2.0 */
/* The values that the table's rows stand for: defaults, release, items, what is allowed.
 */
#include "core/spec_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

bool ws_spec_field_nullable(const struct ws_spec_field *field)
{
	return !(field->flags & WS_KEY_NEED) && field->def &&
	       strcmp(field->def, "null") == 0;
}

/* The index of the default, a JSON string, in the field's words. */
static unsigned default_word(const struct ws_spec_field *field)
{
	size_t len = strlen(field->def) - 2;

	for (unsigned i = 0; i < WS_ARRAY_SIZE(field->words) && field->words[i]; i++)
		if (strlen(field->words[i]) == len &&
		    memcmp(field->def + 1, field->words[i], len) == 0)
			return i;
	abort();
}

void ws_spec_field_reset(const struct ws_spec_field *field, void *base)
{
	void *at = (char *)base + field->at;
	const char *def = field->def;
	bool null;

	ws_spec_field_release(field, base);
	if (!def) /* a section */
		return;
	null = strcmp(def, "null") == 0;
	switch (field->type) {
	case WS_KEY_BOOL:
		*(bool *)at = def[0] == 't';
		break;
	case WS_KEY_U64:
		*(uint64_t *)at = null ? 0 : strtoull(def, NULL, 10);
		break;
	case WS_KEY_DOUBLE:
		*(double *)at = null ? 0 : strtod(def, NULL);
		break;
	case WS_KEY_ENUM:
		*(unsigned *)at = default_word(field);
		break;
	case WS_KEY_TEXT:
		*(char **)at = null ? NULL : ws_strndup(def + 1, strlen(def) - 2);
		break;
	case WS_KEY_STRINGS:
	case WS_KEY_PROFILES:
	case WS_KEY_FLOOR:
		*(char **)at = null ? NULL : ws_strdup(def);
		break;
	case WS_KEY_SECTION:
	case WS_KEY_LIST:
	case WS_KEY_ITEMS:
		break; /* empty by now */
	}
}

void ws_spec_field_release(const struct ws_spec_field *field, void *base)
{
	void *at = (char *)base + field->at;
	size_t *count = (void *)((char *)base + field->count);
	char *items; /* copied: its type differs from row to row */

	switch (field->type) {
	case WS_KEY_TEXT:
	case WS_KEY_STRINGS:
	case WS_KEY_PROFILES:
	case WS_KEY_FLOOR:
		free(*(char **)at);
		*(char **)at = NULL;
		break;
	case WS_KEY_LIST:
		ws_strv_release(at);
		break;
	case WS_KEY_ITEMS:
		memcpy(&items, at, sizeof(items));
		while (*count > 0)
			ws_spec_item_release(field, items + --*count * field->size);
		free(items);
		memset(at, 0, sizeof(items));
		break;
	case WS_KEY_SECTION:
	case WS_KEY_BOOL:
	case WS_KEY_U64:
	case WS_KEY_DOUBLE:
	case WS_KEY_ENUM:
		break;
	}
}

static bool is_member(const struct ws_spec_field *field,
		      const struct ws_spec_field *items)
{
	size_t len = strlen(items->key);

	return strncmp(field->key, items->key, len) == 0 &&
	       ws_text_starts(field->key + len, "[].");
}

void ws_spec_item_release(const struct ws_spec_field *items, void *item)
{
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++)
		if (is_member(f, items))
			ws_spec_field_release(f, item);
}

void *ws_spec_item_add(const struct ws_spec_field *items, void *base)
{
	size_t *count = (void *)((char *)base + items->count);
	void *at = (char *)base + items->at;
	char *all, *item;

	memcpy(&all, at, sizeof(all));
	all = ws_grow(all, *count + 1, items->size);
	memcpy(at, &all, sizeof(all));
	item = all + *count * items->size;
	memset(item, 0, items->size);
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++)
		if (is_member(f, items))
			ws_spec_field_reset(f, item);
	++*count;
	return item;
}

void ws_spec_field_expect(const struct ws_spec_field *field, struct ws_buf *out)
{
	switch (field->type) {
	case WS_KEY_BOOL:
		ws_buf_addstr(out, "true or false");
		break;
	case WS_KEY_U64:
		ws_buf_addf(out, "a whole number from %.0f to %.0f", field->min,
			    field->max);
		break;
	case WS_KEY_DOUBLE:
		ws_buf_addf(out, "a number from %.10g to %.10g", field->min, field->max);
		break;
	case WS_KEY_ENUM:
		ws_buf_addstr(out, "one of");
		for (size_t i = 0; i < WS_ARRAY_SIZE(field->words) && field->words[i];
		     i++)
			ws_buf_addf(out, "%s \"%s\"", i ? "," : "", field->words[i]);
		break;
	case WS_KEY_TEXT:
		ws_buf_addstr(out, field->rule->what);
		break;
	case WS_KEY_LIST:
		ws_buf_addf(out, "an array of at most %.0f strings, each %s", field->max,
			    field->rule->what);
		break;
	case WS_KEY_ITEMS:
		ws_buf_addf(out, "an array of at most %.0f objects", field->max);
		break;
	case WS_KEY_STRINGS:
		ws_buf_addstr(out, "an object whose values are strings");
		break;
	case WS_KEY_PROFILES:
		ws_buf_addstr(out, "an object whose values are objects");
		break;
	case WS_KEY_SECTION:
	case WS_KEY_FLOOR:
		ws_buf_addstr(out, "an object");
		break;
	}
	if (ws_spec_field_nullable(field))
		ws_buf_addstr(out, " or null");
}
