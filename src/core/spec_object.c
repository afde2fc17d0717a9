/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that a spec keeps as text: equal ones are equal text. */
#include "core/spec_fields.h"

#include <stdlib.h>
#include <string.h>

static int by_key(const void *a, const void *b)
{
	const struct ws_json *const *x = a, *const *y = b;

	return strcmp((*x)->key, (*y)->key);
}

/* The members of OBJECT (NULL: none) by name; the array is the caller's. */
static const struct ws_json **sorted_members(const struct ws_json *object, size_t *ret_n)
{
	const struct ws_json **members;
	size_t n = 0;

	for (const struct ws_json *m = object ? object->child : NULL; m; m = m->next)
		n++;
	members = ws_grow(NULL, n + 1, sizeof(*members));
	n = 0;
	for (const struct ws_json *m = object ? object->child : NULL; m; m = m->next)
		members[n++] = m;
	qsort(members, n, sizeof(*members), by_key);
	*ret_n = n;
	return members;
}

static void write_value(struct ws_jsonw *w, const char *key, const struct ws_json *v)
{
	if (v->type == WS_JSON_OBJECT) {
		ws_spec_object_write(w, key, v, NULL);
		return;
	}
	if (v->type != WS_JSON_ARRAY) {
		ws_jsonw_value(w, key, v);
		return;
	}
	ws_jsonw_array(w, key);
	for (const struct ws_json *e = v->child; e; e = e->next)
		write_value(w, NULL, e);
	ws_jsonw_end(w, ']');
}

void ws_spec_object_write(struct ws_jsonw *w, const char *key,
			  const struct ws_json *object, const struct ws_json *under)
{
	size_t i = 0, j = 0, n, nunder;
	WS_AUTO_FREE const struct ws_json **over = sorted_members(object, &n);
	WS_AUTO_FREE const struct ws_json **below = sorted_members(under, &nunder);

	ws_jsonw_object(w, key);
	while (i < n || j < nunder) {
		int order = i == n	  ? 1
			    : j == nunder ? -1
					  : strcmp(over[i]->key, below[j]->key);
		const struct ws_json *m = order <= 0 ? over[i++] : below[j++];

		if (order == 0)
			j++;
		write_value(w, m->key, m);
	}
	ws_jsonw_end(w, '}');
}
