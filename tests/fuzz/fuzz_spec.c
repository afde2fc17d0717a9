/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any document as wsiso.json: no crash, no leak; and what is accepted means the same
 * after it was printed and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Prints the spec that TEXT makes to OUT; -1 if it is refused. */
static int through(const char *text, size_t len, struct ws_buf *out)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	WS_AUTO(ws_strv) struct ws_strv warnings = WS_STRV_INIT;
	struct ws_err err = WS_ERR_INIT;

	if (ws_json_parse("fuzz", text, len, &doc, &err) < 0)
		return -1;
	ws_spec_init(&spec);
	if (ws_spec_decode(doc, "fuzz", WS_SPEC_ROOT_FILE, false, &spec, &warnings,
			   &err) < 0)
		return -1;
	if (ws_spec_finish(&spec, &warnings, &err) < 0)
		return -1;
	ws_spec_check_built(&spec, &err);
	ws_spec_policy(&spec, out);
	ws_buf_clear(out);
	ws_spec_print(&spec, true, out);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	WS_AUTO(ws_buf) struct ws_buf first = WS_BUF_INIT, second = WS_BUF_INIT;

	if (through((const char *)data, size, &first) < 0)
		return 0;
	/* escapes and indentation may take it over the limit of size */
	if (first.len > WS_JSON_MAX_SIZE)
		return 0;
	if (through(ws_buf_str(&first), first.len, &second) < 0)
		abort();
	if (strcmp(ws_buf_str(&first), ws_buf_str(&second)) != 0)
		abort();
	return 0;
}
