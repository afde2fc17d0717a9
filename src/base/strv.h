/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_STRV_H
#define WS_BASE_STRV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

/* A vector of owned strings. v is NULL-terminated once something was added. */
struct ws_strv {
	char **v;
	size_t n;
	size_t cap;
};

#define WS_STRV_INIT ((struct ws_strv){ 0 })

void ws_strv_release(struct ws_strv *sv);
void ws_strv_clear(struct ws_strv *sv);
void ws_strv_push(struct ws_strv *sv, const char *s); /* copies */
void ws_strv_take(struct ws_strv *sv, char *s);	      /* owns S from now on */
void ws_strv_add(struct ws_strv *sv, ...)
	__attribute__((sentinel)); /* copies, NULL ends */
void ws_strv_addf(struct ws_strv *sv, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void ws_strv_extend(struct ws_strv *sv, const struct ws_strv *from);
bool ws_strv_has(const struct ws_strv *sv, const char *s);
bool ws_strv_equal(const struct ws_strv *a, const struct ws_strv *b);
void ws_strv_sort(struct ws_strv *sv);				  /* byte by byte */
bool ws_strv_has_sorted(const struct ws_strv *sv, const char *s); /* SV is sorted */
void ws_strv_sort_once(struct ws_strv *sv); /* and what is there twice goes once */
/* argv for exec: never NULL, NULL-terminated, stays the vector's */
char **ws_strv_argv(struct ws_strv *sv);

/* An environment is a strv of NAME=VALUE. */
const char *ws_env_get(const struct ws_strv *env, const char *name);
void ws_env_set(struct ws_strv *env, const char *name, const char *value); /* replaces */
void ws_env_unset(struct ws_strv *env, const char *name);

#endif
