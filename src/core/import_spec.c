/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/jsonw.h"
#include "base/log.h"
#include "core/gate.h"
#include "core/import.h"
#include "core/spec_file.h"
#include "core/spec_tighten.h"

/*
 * Of an archive's spec. All else is about the host: what it shows of itself, which
 * programs it runs, how it makes room, whose session it says that it is.
 */
static const char *const taken[] = {
	"limits", "persistent_home",   "sandbox", "session_tmp", "strict",
	"mode",	  "subagent_isolation"
};

static bool is_taken(const char *key)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(taken); i++)
		if (!strcmp(taken[i], key))
			return true;
	return false;
}

static void write_repos(struct ws_jsonw *w, const struct ws_session_archive *a)
{
	ws_jsonw_array(w, "repos");
	for (size_t i = 0; i < a->nrepos; i++) {
		WS_AUTO_FREE char *path = ws_import_path(a->repos[i].name);

		ws_jsonw_object(w, NULL);
		ws_jsonw_str(w, "name", a->repos[i].name);
		ws_jsonw_str(w, "path", path);
		ws_jsonw_str(w, "vcs", a->repos[i].vcs);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, ']');
}

/* DOC's members with the archive's repos; GIVEN: it is this host's, and all counts. */
static int compose(const struct ws_import *im, const struct ws_json *doc, bool given,
		   struct ws_json **ret, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &text, false);
	ws_jsonw_object(&w, NULL);
	write_repos(&w, &im->about);
	for (const struct ws_json *m = doc->child; m; m = m->next) {
		if (!strcmp(m->key, "repos"))
			continue;
		if (given || is_taken(m->key))
			ws_jsonw_value(&w, m->key, m);
		else
			ws_warn("'%s' of the archive's spec is not taken: it is about "
				"the host that it comes from",
				m->key);
	}
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_json_parse("config.json", text.data, text.len, ret, err);
}

static bool has_repo(const struct ws_session_archive *a, const char *name)
{
	for (size_t i = 0; i < a->nrepos; i++)
		if (!strcmp(a->repos[i].name, name))
			return true;
	return false;
}

/* A spec of this host may leave the repos out; those that it names are the archive's. */
static int check_repos(const struct ws_import *im, const struct ws_spec *spec,
		       struct ws_err *err)
{
	for (size_t i = 0; i < spec->nrepos; i++)
		if (!has_repo(&im->about, spec->repos[i].name)) {
			ws_fail(err, WS_SPEC_INVALID, "the archive has no repo '%s'",
				spec->repos[i].name);
			return ws_hint(err, "leave 'repos' out: they are the archive's");
		}
	return 0;
}

static int check(const struct ws_import *im, const struct ws_spec *spec, bool given,
		 struct ws_err *err)
{
	WS_AUTO(ws_spec) struct ws_spec ours = { 0 };

	if (spec->mode != WS_MODE_OVERLAY)
		return ws_fail(
			err, WS_SPEC_INVALID,
			"'mode' must be \"overlay\" for a session from an archive");
	if (given)
		return ws_gate(spec, err);
	if (ws_root_spec(im->root, NULL, "", false, &ours, err) < 0)
		return -1;
	if (ws_spec_tightens(&ours, spec, "", err) < 0) {
		ws_fail_within(err, "the archive's spec");
		return ws_hint(err,
			       "--spec FILE says what this host lets the session do");
	}
	return ws_gate(spec, err);
}

int ws_import_spec(struct ws_import *im, const char *path, struct ws_json **ret_doc,
		   struct ws_spec *ret, struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *given = NULL;
	const char *name = path ? ws_spec_file_name(path) : "the archive's config.json";

	if (path) {
		WS_AUTO(ws_spec) struct ws_spec spec = { 0 };

		if (ws_spec_file_read(path, &given, err) < 0 ||
		    ws_root_spec(im->root, given, name, false, &spec, err) < 0 ||
		    check_repos(im, &spec, err) < 0)
			return -1;
	}
	if (compose(im, given ? given : im->spec, given, ret_doc, err) < 0 ||
	    ws_root_spec(im->root, *ret_doc, name, false, ret, err) < 0)
		return -1;
	return check(im, ret, given, err);
}
