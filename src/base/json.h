/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_JSON_H
#define WS_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

/*
 * Strict JSON: one value, no comments, no duplicate keys, no NUL in a string,
 * UTF-8 only, depth at most 64, size at most 1 MiB. Read as events of yajl into a
 * tree; nothing else knows yajl.
 */
#define WS_JSON_MAX_SIZE (1u << 20)
#define WS_JSON_MAX_DEPTH 64

enum ws_json_type {
	WS_JSON_NULL,
	WS_JSON_BOOL,
	WS_JSON_NUMBER,
	WS_JSON_STRING,
	WS_JSON_ARRAY,
	WS_JSON_OBJECT,
};

struct ws_json {
	enum ws_json_type type;
	unsigned line, col; /* where the value (or its key) begins, from 1; characters */
	char *key;	    /* member name, or NULL */
	bool boolean;
	bool integral; /* number: I holds it exactly */
	bool natural;  /* number: U holds it exactly */
	int64_t i;
	uint64_t u;
	double d;
	char *str;
	struct ws_json *child; /* first element or member */
	struct ws_json *next;  /* the following one */
};

/*
 * NAME is for messages ("config.json:3:14: ..."). The error is spec-invalid; who
 * reads a state file changes the kind. *ret is the caller's: ws_json_free().
 */
int ws_json_parse(const char *name, const char *text, size_t len, struct ws_json **ret,
		  struct ws_err *err);
void ws_json_free(struct ws_json *doc);
void ws_json_freep(struct ws_json **doc);
#define WS_AUTO_JSON __attribute__((cleanup(ws_json_freep)))

const char *ws_json_type_name(enum ws_json_type type);
const struct ws_json *ws_json_get(const struct ws_json *object, const char *key);
/* Absent or of another type: the fallback. */
const char *ws_json_str(const struct ws_json *object, const char *key,
			const char *fallback);
int64_t ws_json_int(const struct ws_json *object, const char *key, int64_t fallback);
bool ws_json_bool(const struct ws_json *object, const char *key, bool fallback);
/* The strings of an array member are added to OUT; absent: nothing. */
void ws_json_strv(const struct ws_json *object, const char *key, struct ws_strv *out);

/*
 * Decoding by table, for records that wsiso wrote itself. Kinds name the C type at
 * OFFSET: STRING char * (owned), U64 uint64_t, INT int, BOOL bool, STRV struct ws_strv.
 * A member that is absent keeps its value, unless NEED. Unknown members are ignored.
 */
enum ws_json_kind {
	WS_FIELD_STRING,
	WS_FIELD_U64,
	WS_FIELD_INT,
	WS_FIELD_BOOL,
	WS_FIELD_STRV
};

struct ws_json_field {
	const char *key;
	enum ws_json_kind kind;
	size_t offset;
	bool need;
};

/* clang-format off */
#define WS_FIELD(type, name, kind, need) \
	{ #name, WS_FIELD_##kind, offsetof(struct type, name), need }
/* clang-format on */

/* FIELDS ends with a row whose key is NULL. The error is state-corrupt. */
int ws_json_decode(const struct ws_json *doc, const struct ws_json_field *fields,
		   void *out, struct ws_err *err);
/* Frees what the table says is owned: strings, which are NULL then, and vectors. */
void ws_json_release(const struct ws_json_field *fields, void *record);
/* TO, which owns nothing yet, gets all that the table names of FROM. */
void ws_json_copy(const struct ws_json_field *fields, const void *from, void *to);

#endif
