/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strv.h"

#include <stdlib.h>
#include <string.h>

void ws_strv_release(struct ws_strv *sv)
{
	ws_strv_clear(sv);
	ws_freep(&sv->v);
	sv->cap = 0;
}

void ws_strv_clear(struct ws_strv *sv)
{
	for (size_t i = 0; i < sv->n; i++)
		ws_freep(&sv->v[i]);
	sv->n = 0;
}

/* Room for one more and the NULL. */
static void reserve(struct ws_strv *sv)
{
	if (sv->n + 2 <= sv->cap)
		return;
	sv->cap = sv->cap ? sv->cap * 2 : 16;
	sv->v = ws_grow(sv->v, sv->cap, sizeof(*sv->v));
}

void ws_strv_push(struct ws_strv *sv, const char *s)
{
	ws_strv_take(sv, ws_strdup(s));
}

void ws_strv_take(struct ws_strv *sv, char *s)
{
	reserve(sv);
	sv->v[sv->n++] = s;
	sv->v[sv->n] = NULL;
}

void ws_strv_add(struct ws_strv *sv, ...)
{
	const char *s;
	va_list ap;

	va_start(ap, sv);
	while ((s = va_arg(ap, const char *)) != NULL)
		ws_strv_push(sv, s);
	va_end(ap);
}

void ws_strv_addf(struct ws_strv *sv, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ws_strv_take(sv, ws_vformat(fmt, ap));
	va_end(ap);
}

void ws_strv_extend(struct ws_strv *sv, const struct ws_strv *from)
{
	size_t n = from->n; /* FROM may be SV itself */

	for (size_t i = 0; i < n; i++)
		ws_strv_push(sv, from->v[i]);
}

bool ws_strv_has(const struct ws_strv *sv, const char *s)
{
	for (size_t i = 0; i < sv->n; i++)
		if (strcmp(sv->v[i], s) == 0)
			return true;
	return false;
}

bool ws_strv_equal(const struct ws_strv *a, const struct ws_strv *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void ws_strv_sort(struct ws_strv *sv)
{
	if (sv->n)
		qsort(sv->v, sv->n, sizeof(*sv->v), compare);
}

bool ws_strv_has_sorted(const struct ws_strv *sv, const char *s)
{
	return sv->n && bsearch(&s, sv->v, sv->n, sizeof(*sv->v), compare);
}

void ws_strv_sort_once(struct ws_strv *sv)
{
	size_t kept = 0;

	ws_strv_sort(sv);
	for (size_t i = 0; i < sv->n; i++) {
		char *s = ws_steal_ptr(&sv->v[i]);

		if (kept && !strcmp(sv->v[kept - 1], s))
			ws_freep(&s);
		else
			sv->v[kept++] = s;
	}
	sv->n = kept;
}

char **ws_strv_argv(struct ws_strv *sv)
{
	reserve(sv);
	sv->v[sv->n] = NULL;
	return sv->v;
}

/* The index of NAME=..., or env->n. */
static size_t env_find(const struct ws_strv *env, const char *name)
{
	size_t len = strlen(name);
	size_t i;

	for (i = 0; i < env->n; i++)
		if (strncmp(env->v[i], name, len) == 0 && env->v[i][len] == '=')
			break;
	return i;
}

const char *ws_env_get(const struct ws_strv *env, const char *name)
{
	size_t i = env_find(env, name);

	return i < env->n ? env->v[i] + strlen(name) + 1 : NULL;
}

void ws_env_set(struct ws_strv *env, const char *name, const char *value)
{
	char *entry = ws_format("%s=%s", name, value);
	size_t i = env_find(env, name);

	if (i == env->n) {
		ws_strv_take(env, entry);
		return;
	}
	free(env->v[i]);
	env->v[i] = entry;
}

void ws_env_unset(struct ws_strv *env, const char *name)
{
	size_t i;

	while ((i = env_find(env, name)) < env->n) {
		free(env->v[i]);
		memmove(&env->v[i], &env->v[i + 1], (env->n - i) * sizeof(*env->v));
		env->n--;
	}
}
