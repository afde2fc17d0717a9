/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/spec_fields.h"
#include "core/spec_tighten.h"

/* What is fixed when a session is made, but says nothing of what it stands on. */
static const char *const own[] = { "annotations", "subagent_isolation" };

static bool is_own(const char *key)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(own); i++)
		if (!strcmp(own[i], key))
			return true;
	return false;
}

static void print(const struct ws_spec_field *f, const struct ws_spec *spec,
		  struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, out, false);
	ws_spec_field_write(f, &w, NULL, spec);
}

int ws_spec_same_base(const struct ws_spec *parent, const struct ws_spec *child,
		      struct ws_err *err)
{
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		WS_AUTO(ws_buf) struct ws_buf x = WS_BUF_INIT;
		WS_AUTO(ws_buf) struct ws_buf y = WS_BUF_INIT;

		if (f->when != WS_WHEN_CREATE || f->type == WS_KEY_SECTION ||
		    strchr(f->key, '[') || is_own(f->key))
			continue;
		print(f, parent, &x);
		print(f, child, &y);
		if (strcmp(ws_buf_str(&x), ws_buf_str(&y)) == 0)
			continue;
		ws_fail(err, WS_SPEC_INVALID, "'%s' is not its parent's", f->key);
		return ws_hint(err, "leave '%s' out: a child has it from its parent",
			       f->key);
	}
	return 0;
}
