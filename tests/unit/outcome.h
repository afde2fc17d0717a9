/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include <string.h>

#include "core/spec.h"

/* What became of one or two documents. */
struct outcome {
	int rc;	   /* of decode and finish */
	int built; /* of check_built, if rc is 0 */
	struct ws_spec spec;
	struct ws_strv warnings;
	struct ws_err err;
};

static void release(struct outcome *o)
{
	ws_spec_release(&o->spec);
	ws_strv_release(&o->warnings);
}

static int lay(struct outcome *o, const char *text, enum ws_spec_source source,
	       bool strict)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (ws_json_parse("t.json", text, strlen(text), &doc, &o->err) < 0)
		return -1;
	return ws_spec_decode(doc, "t.json", source, strict, &o->spec, &o->warnings,
			      &o->err);
}

/* ROOT and SESSION: documents, or NULL. */
static void try_both(struct outcome *o, const char *root, const char *session,
		     bool strict)
{
	*o = (struct outcome){ .err = WS_ERR_INIT };
	ws_spec_init(&o->spec);
	if (root && (o->rc = lay(o, root, WS_SPEC_ROOT_FILE, strict)) < 0)
		return;
	if (session && (o->rc = lay(o, session, WS_SPEC_SESSION, strict)) < 0)
		return;
	o->rc = ws_spec_finish(&o->spec, &o->warnings, &o->err);
	if (o->rc == 0)
		o->built = ws_spec_check_built(&o->spec, &o->err);
}

#endif
