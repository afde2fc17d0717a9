/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes: no crash, no leak, an error that has a message and a place. What is
 * accepted is valid UTF-8, and written and read again it is the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void write_value(const struct ws_json *doc, struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, out, false);
	ws_jsonw_value(&w, NULL, doc);
	ws_jsonw_done(&w);
}

/* The second text equals the first; escapes may have made it too large to be read. */
static void check_round_trip(const struct ws_json *doc)
{
	WS_AUTO(ws_buf) struct ws_buf once = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf twice = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *again = NULL;
	struct ws_err err = WS_ERR_INIT;

	write_value(doc, &once);
	must(ws_text_utf8(once.data, once.len));
	if (once.len > WS_JSON_MAX_SIZE)
		return;
	must(ws_json_parse("again", once.data, once.len, &again, &err) == 0);
	write_value(again, &twice);
	must(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;
	struct ws_err err = WS_ERR_INIT;

	if (ws_json_parse("f", (const char *)data, size, &doc, &err) == 0) {
		must(doc && ws_text_utf8((const char *)data, size));
		check_round_trip(doc);
		return 0;
	}
	must(!doc && err.kind == WS_SPEC_INVALID && strncmp(err.msg, "f:", 2) == 0);
	return 0;
}
