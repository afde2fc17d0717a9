/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_JSONW_H
#define WS_BASE_JSONW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/strv.h"

/*
 * Writes JSON into a buffer. KEY is NULL inside arrays and at the top. Strings may
 * hold any bytes: what is not UTF-8 becomes U+FFFD. Opening and closing must
 * match (asserted by ws_jsonw_done).
 */
struct ws_jsonw {
	struct ws_buf *out;
	bool pretty; /* two spaces and newlines; else one line */
	unsigned depth;
};

void ws_jsonw_init(struct ws_jsonw *w, struct ws_buf *out, bool pretty);
void ws_jsonw_object(struct ws_jsonw *w, const char *key);
void ws_jsonw_array(struct ws_jsonw *w, const char *key);
void ws_jsonw_end(struct ws_jsonw *w, char bracket); /* '}' or ']' */
void ws_jsonw_str(struct ws_jsonw *w, const char *key,
		  const char *value); /* NULL: null */
void ws_jsonw_u64(struct ws_jsonw *w, const char *key, uint64_t value);
void ws_jsonw_int(struct ws_jsonw *w, const char *key, int64_t value);
void ws_jsonw_double(struct ws_jsonw *w, const char *key, double value);
void ws_jsonw_bool(struct ws_jsonw *w, const char *key, bool value);
void ws_jsonw_time(struct ws_jsonw *w, const char *key, uint64_t ns); /* since 1970 */
void ws_jsonw_null(struct ws_jsonw *w, const char *key);
void ws_jsonw_strv(struct ws_jsonw *w, const char *key, const struct ws_strv *values);
void ws_jsonw_value(struct ws_jsonw *w, const char *key, const struct ws_json *value);
/* Values of the table's struct, in its order; a NULL string is left out. */
void ws_jsonw_fields(struct ws_jsonw *w, const struct ws_json_field *fields,
		     const void *in);
void ws_jsonw_done(struct ws_jsonw *w); /* ends the line */

#endif
