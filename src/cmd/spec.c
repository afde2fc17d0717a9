/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spec.h"

#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cmd/common.h"
#include "core/root.h"
#include "core/spec_file.h"
#include "core/spec_tighten.h"

struct spec_opts {
	const char *mode;
	const char *check;
	bool strict;
	bool defaults;
	bool schema;
	bool man;
	bool json; /* what is printed is JSON anyway */
};

static void warn_all(const struct ws_strv *warnings)
{
	for (size_t i = 0; i < warnings->n; i++)
		ws_warn("%s", warnings->v[i]);
}

/* As ws_root_spec, for one document without the defaults of a state folder. */
static int lay_alone(const struct spec_opts *o, enum ws_spec_source source,
		     const struct ws_json *doc, struct ws_spec *ret, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv warnings = WS_STRV_INIT;
	const char *name = ws_spec_file_name(o->check);
	int rc;

	ws_spec_init(ret);
	rc = ws_spec_decode(doc, name, source, o->strict, ret, &warnings, err);
	if (rc == 0)
		rc = ws_spec_finish(ret, &warnings, err);
	warn_all(&warnings);
	return rc;
}

static int lay(const struct spec_opts *o, const struct ws_global *global,
	       const struct ws_json *doc, struct ws_spec *ret, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;

	if (o->defaults || strcmp(ws_text_basename(o->check), "wsiso.json") == 0)
		return lay_alone(o, WS_SPEC_ROOT_FILE, doc, ret, err);
	if (ws_root_open(global->root, false, &root, err) < 0) {
		if (err->sys != ENOENT)
			return -1;
		return lay_alone(o, WS_SPEC_SESSION, doc, ret, err);
	}
	return ws_root_spec(&root, doc, ws_spec_file_name(o->check), o->strict, ret, err);
}

static int check(const struct spec_opts *o, const struct ws_global *global,
		 struct ws_err *err)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (ws_spec_file_read(o->check, &doc, err) < 0)
		return -1;
	if (lay(o, global, doc, &spec, err) < 0)
		return -1;
	if (ws_spec_floor_check(&spec, err) < 0 || ws_spec_check_built(&spec, err) < 0)
		return ws_fail_within(err, "%s", ws_spec_file_name(o->check));
	return 0;
}

static int print(const struct spec_opts *o, struct ws_err *err)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;

	ws_spec_init(&spec);
	if (o->mode && ws_spec_set_mode(&spec, o->mode, err) < 0)
		return -1;
	if (o->schema)
		ws_spec_schema(&out);
	else if (o->man)
		ws_spec_man(&out);
	else
		ws_spec_print_for(&spec,
				  o->defaults ? WS_SPEC_ROOT_FILE : WS_SPEC_SESSION, true,
				  &out);
	return ws_out_write(&out, err);
}

static int check_usage(const struct spec_opts *o, struct ws_err *err)
{
	if (!!o->check + o->schema + o->man + !!o->mode > 1)
		return ws_fail(err, WS_USAGE,
			       "--check, --mode, --schema and --man exclude each other");
	if (o->strict && !o->check)
		return ws_fail(err, WS_USAGE, "--strict is for --check");
	if (o->defaults && (o->schema || o->man))
		return ws_fail(err, WS_USAGE, "--defaults is not for --schema or --man");
	return 0;
}

static int spec_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		    char **argv, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	struct spec_opts o = { 0 };
	const struct ws_opt opts[] = {
		{ 0, "mode", WS_OPT_STR, &o.mode, "MODE",
		  "overlay (default) or host_readonly" },
		{ 0, "defaults", WS_OPT_FLAG, &o.defaults, NULL,
		  "print or check the form for wsiso.json" },
		{ 0, "check", WS_OPT_STR, &o.check, "FILE",
		  "say what is wrong with a spec" },
		{ 0, "strict", WS_OPT_FLAG, &o.strict, NULL, "unknown keys are errors" },
		{ 0, "schema", WS_OPT_FLAG, &o.schema, NULL, "print the JSON schema" },
		{ 0, "man", WS_OPT_FLAG, &o.man, NULL,
		  "print the option list of wsiso-spec(5)" },
		{ 0, "json", WS_OPT_FLAG, &o.json, NULL, "as it is without" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 0, 0, err) < 0 || check_usage(&o, err) < 0)
		return -1;
	return o.check ? check(&o, global, err) : print(&o, err);
}

const struct ws_cmd ws_cmd_spec = {
	.name = "spec",
	.args = "[--mode MODE | --check FILE [--strict] | --schema | --man] [--defaults]",
	.help = "print a complete spec, or check one",
	.npos = -1,
	.run = spec_run,
	.status_of = WS_STATUS_PLAIN,
};
