/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/jsonw.h"
#include "core/fork.h"
#include "core/gate.h"
#include "core/spec_file.h"
#include "core/spec_tighten.h"

static void write_over(struct ws_jsonw *w, const char *key, const struct ws_json *over,
		       const struct ws_json *under)
{
	if (over->type != WS_JSON_OBJECT || !under || under->type != WS_JSON_OBJECT) {
		ws_jsonw_value(w, key, over);
		return;
	}
	ws_jsonw_object(w, key);
	for (const struct ws_json *m = under->child; m; m = m->next)
		if (!ws_json_get(over, m->key))
			ws_jsonw_value(w, m->key, m);
	for (const struct ws_json *m = over->child; m; m = m->next)
		write_over(w, m->key, m, ws_json_get(under, m->key));
	ws_jsonw_end(w, '}');
}

/* OVER laid over UNDER, object by object. */
static int lay_over(const struct ws_json *over, const struct ws_json *under,
		    const char *name, struct ws_json **ret, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &text, false);
	write_over(&w, NULL, over, under);
	ws_jsonw_done(&w);
	return ws_json_parse(name, text.data, text.len, ret, err);
}

static int read_parents(const struct ws_session *p, struct ws_json **ret,
			struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	if (ws_read_file(p->dir, "config.json", WS_JSON_MAX_SIZE, &text) < 0)
		return ws_fail_errno(err, "read '%s/config.json'", p->path);
	return ws_json_parse("config.json", text.data, text.len, ret, err);
}

/* What update said about the parent holds for the child, if that says nothing itself. */
static int check(const struct ws_session *p, const struct ws_json *added,
		 struct ws_spec *spec, struct ws_err *err)
{
	const struct ws_json *sandbox = added ? ws_json_get(added, "sandbox") : NULL;

	if (p->network && !(sandbox && ws_json_get(sandbox, "unshare_net")))
		spec->sandbox.unshare_net = p->spec.sandbox.unshare_net;
	if (ws_spec_same_base(&p->spec, spec, err) < 0 ||
	    ws_spec_tightens(&p->spec, spec, "", err) < 0)
		return ws_fail_within(err, "a child of '%s'", p->id);
	if (p->spec.subagent_isolation > spec->subagent_isolation)
		return ws_fail(
			err, WS_SPEC_INVALID,
			"a child of '%s': 'subagent_isolation' is \"shared\", but must "
			"be \"isolated\"",
			p->id);
	return ws_gate(spec, err);
}

int ws_fork_spec(const struct ws_fork *f, const char *path, struct ws_json **ret_doc,
		 struct ws_spec *ret, struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *parents = NULL;
	WS_AUTO_JSON struct ws_json *added = NULL;
	const char *name = path ? ws_spec_file_name(path) : "config.json";

	if (read_parents(&f->parent, &parents, err) < 0)
		return -1;
	if (path && ws_spec_file_read(path, &added, err) < 0)
		return -1;
	if (!added) {
		*ret_doc = parents;
		parents = NULL;
	} else if (lay_over(added, parents, name, ret_doc, err) < 0) {
		return -1;
	}
	if (ws_root_spec(f->root, *ret_doc, name, false, ret, err) < 0)
		return -1;
	return check(&f->parent, added, ret, err);
}
