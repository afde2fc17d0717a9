/* SPDX-License-Identifier: Apache-2.0 */
/* The table as the option list of wsiso-spec(5), in mdoc(7). */
#include "core/spec.h"

#include <string.h>

#include "core/spec_fields.h"

#define MAN_WIDTH 78

static const char *when_text(const struct ws_spec_field *field)
{
	switch (field->when) {
	case WS_WHEN_CREATE:
		return "Fixed when the session is made.";
	case WS_WHEN_START:
		return "Read when the sandbox starts.";
	case WS_WHEN_USE:
		return "Read at each call.";
	case WS_WHEN_SHARED:
		return "About things that sessions share: wsiso.json decides, and where that is "
		       "silent the most careful of the living sessions.";
	}
	return "";
}

void ws_spec_field_notes(const struct ws_spec_field *field, struct ws_buf *out)
{
	const char *nothing = field->nothing[0] ? field->nothing[0] : field->def;

	if (field->flags & WS_KEY_ROOT_ONLY)
		ws_buf_addstr(out, " Only in wsiso.json.");
	if (field->flags & WS_KEY_DEPRECATED)
		ws_buf_addstr(out, " Deprecated.");
	if (field->flags & WS_KEY_FALLBACK)
		ws_buf_addf(out, " Any other word counts as %s, with a warning.",
			    field->def);
	if (!strchr(field->key, '['))
		ws_buf_addf(out, " %s", when_text(field));
	if (!field->later)
		return;
	ws_buf_addf(out, " Anything but %s", nothing);
	if (field->nothing[0] && field->nothing[1])
		ws_buf_addf(out, " or %s", field->nothing[1]);
	ws_buf_addf(out, " needs %s, which this build does not have: it is refused.",
		    field->later);
}

/* One word of a text line: what roff would take for its own is escaped. */
static void add_word(struct ws_buf *out, bool begins_line, const char *word, size_t len)
{
	if (begins_line && (word[0] == '.' || word[0] == '\''))
		ws_buf_addstr(out, "\\&");
	for (size_t i = 0; i < len; i++) {
		if (word[i] == '\\')
			ws_buf_addstr(out, "\\e");
		else if (word[i] == '-' && (i == 0 || word[i - 1] == '-'))
			ws_buf_addstr(out, "\\-");
		else
			ws_buf_addch(out, word[i]);
	}
}

/* TEXT in lines of at most MAN_WIDTH; each sentence begins one. */
static void add_text(struct ws_buf *out, const char *text)
{
	size_t col = 0;

	while (*(text += strspn(text, " "))) {
		size_t len = strcspn(text, " ");

		if (col > 0 && col + 1 + len > MAN_WIDTH) {
			ws_buf_addch(out, '\n');
			col = 0;
		}
		if (col > 0) {
			ws_buf_addch(out, ' ');
			col++;
		}
		add_word(out, col == 0, text, len);
		col += len;
		text += len;
		if (text[-1] == '.') {
			ws_buf_addch(out, '\n');
			col = 0;
		}
	}
	if (col > 0)
		ws_buf_addch(out, '\n');
}

static void add_option(const struct ws_spec_field *field, struct ws_buf *out)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	ws_buf_addf(out, ".It Va %s\n", field->key);
	ws_buf_addf(&text, "%s. ", field->help);
	if (field->type != WS_KEY_SECTION) {
		ws_buf_addstr(&text, "Must be ");
		ws_spec_field_expect(field, &text);
		if (field->flags & WS_KEY_NEED)
			ws_buf_addstr(&text, "; needed.");
		else
			ws_buf_addf(&text, "; default: %s.", field->def);
	}
	ws_spec_field_notes(field, &text);
	add_text(out, ws_buf_str(&text));
}

void ws_spec_man(struct ws_buf *out)
{
	ws_buf_addstr(out, ".Bl -tag -width Ds\n");
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++)
		add_option(f, out);
	ws_buf_addstr(out, ".El\n");
}
