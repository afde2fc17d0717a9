/* SPDX-License-Identifier: Apache-2.0 */
#include "core/refs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void ws_refs_release(struct ws_refs *r)
{
	for (size_t i = 0; i < r->n; i++)
		ws_freep(&r->v[i].name);
	ws_freep(&r->v);
	*r = WS_REFS_INIT;
}

void ws_refs_add(struct ws_refs *r, const char *name)
{
	if (r->n == r->room) {
		r->room = r->room ? r->room * 2 : 64;
		r->v = ws_grow(r->v, r->room, sizeof(*r->v));
	}
	r->v[r->n++] = (struct ws_ref){ ws_strdup(name), 1 };
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct ws_ref *)a)->name, ((const struct ws_ref *)b)->name);
}

void ws_refs_settle(struct ws_refs *r)
{
	size_t kept = 0;

	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), compare);
	for (size_t i = 0; i < r->n; i++) {
		if (kept && !strcmp(r->v[kept - 1].name, r->v[i].name)) {
			r->v[kept - 1].n += r->v[i].n;
			ws_freep(&r->v[i].name);
			continue;
		}
		r->v[kept++] = r->v[i];
	}
	r->n = kept;
}

static struct ws_ref *find(const struct ws_refs *r, const char *name)
{
	const struct ws_ref key = { (char *)name, 0 };

	return r->n ? bsearch(&key, r->v, r->n, sizeof(*r->v), compare) : NULL;
}

size_t ws_refs_count(const struct ws_refs *r, const char *name)
{
	const struct ws_ref *found = find(r, name);

	return found ? found->n : 0;
}

size_t ws_refs_drop(struct ws_refs *r, const char *name)
{
	struct ws_ref *found = find(r, name);

	if (!found || found->n == 0)
		return 0;
	return --found->n;
}
