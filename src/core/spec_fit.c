/* SPDX-License-Identifier: Apache-2.0 */
/* Two specs side by side: what a command may want of a sandbox that another one made. */
#include "core/spec.h"

#include <string.h>

#include "core/spec_fields.h"

int ws_spec_copy(const struct ws_spec *from, struct ws_spec *ret, struct ws_err *err)
{
	WS_AUTO(ws_spec) struct ws_spec copy = { 0 };
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO(ws_strv) struct ws_strv warnings = WS_STRV_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;

	ws_spec_print(from, false, &text);
	ws_spec_init(&copy);
	if (ws_json_parse("spec", text.data, text.len, &doc, err) < 0 ||
	    ws_spec_decode(doc, "spec", WS_SPEC_ROOT_FILE, false, &copy, &warnings, err) <
		    0)
		return -1;
	*ret = copy;
	copy = (struct ws_spec){ 0 };
	return 0;
}

static bool same(const struct ws_spec_field *field, const struct ws_spec *a,
		 const struct ws_spec *b)
{
	WS_AUTO(ws_buf) struct ws_buf left = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf right = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &left, false);
	ws_spec_field_write(field, &w, NULL, a);
	ws_jsonw_init(&w, &right, false);
	ws_spec_field_write(field, &w, NULL, b);
	return strcmp(ws_buf_str(&left), ws_buf_str(&right)) == 0;
}

static int strength(enum ws_seccomp mode)
{
	static const int strengths[] = { [WS_SECCOMP_OFF] = 0,
					 [WS_SECCOMP_LOG] = 1,
					 [WS_SECCOMP_DEFAULT] = 1,
					 [WS_SECCOMP_ENFORCE] = 2 };

	return strengths[mode];
}

/* Is FIELD about the sandbox, and about one value? */
static bool is_compared(const struct ws_spec_field *field)
{
	return field->when == WS_WHEN_START && field->type != WS_KEY_SECTION &&
	       field->type != WS_KEY_ITEMS && !strchr(field->key, '[') &&
	       !(field->flags & WS_KEY_COMMAND);
}

const char *ws_spec_misfit(const struct ws_spec *from, const struct ws_spec *to)
{
	const struct ws_spec_field *filter = ws_spec_field_find("sandbox", "seccomp");

	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++)
		if (f != filter && is_compared(f) && !same(f, from, to))
			return f->key;
	if (strength(to->sandbox.seccomp) < strength(from->sandbox.seccomp))
		return filter->key;
	return NULL;
}
