/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "core/env.h"
#include "core/exec_plan.h"
#include "core/sandbox_start.h"

#define REDACTED "<redacted>"

/* A variable as it may be shown: only what wsiso itself puts there has its value. */
static char *shown(const char *variable)
{
	WS_AUTO_FREE char *name = ws_strndup(variable, strcspn(variable, "="));

	return ws_env_is_own(name) ? ws_strdup(variable)
				   : ws_format("%s=" REDACTED, name);
}

static void print_json(const struct ws_enter_plan *plan, struct ws_jsonw *w)
{
	ws_jsonw_object(w, "enter");
	ws_jsonw_strv(w, "args", &plan->argv);
	ws_jsonw_str(w, "cwd", plan->cwd);
	ws_jsonw_array(w, "env");
	for (size_t i = 0; i < plan->env.n; i++) {
		WS_AUTO_FREE char *variable = shown(plan->env.v[i]);

		ws_jsonw_str(w, NULL, variable);
	}
	ws_jsonw_end(w, ']');
	ws_jsonw_bool(w, "terminal", plan->flags & WS_PLAN_TTY);
	ws_jsonw_bool(w, "private_home", plan->flags & WS_PLAN_PRIVATE_HOME);
	ws_jsonw_bool(w, "private_tmp", plan->flags & WS_PLAN_PRIVATE_TMP);
	ws_jsonw_array(w, "rlimits");
	for (size_t i = 0; i < plan->nrlimits; i++) {
		ws_jsonw_object(w, NULL);
		ws_jsonw_u64(w, "resource", plan->rlimits[i].resource);
		ws_jsonw_u64(w, "soft", plan->rlimits[i].soft);
		ws_jsonw_u64(w, "hard", plan->rlimits[i].hard);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, ']');
	ws_jsonw_end(w, '}');
}

/* As comments, so that the whole still is a script. */
static void print_text(const struct ws_enter_plan *plan, struct ws_buf *out)
{
	ws_buf_addstr(
		out,
		"\n# wsiso-init parks there; each command joins all its namespaces, takes "
		"its session\n# keyring and label, drops every capability, sets "
		"no_new_privs and becomes:\n#\tcd ");
	ws_text_shell_quote(out, plan->cwd);
	ws_buf_addstr(out, "\n#\tenv -i");
	for (size_t i = 0; i < plan->env.n; i++) {
		WS_AUTO_FREE char *variable = shown(plan->env.v[i]);

		ws_buf_addch(out, ' ');
		ws_text_shell_quote(out, variable);
	}
	ws_buf_addstr(out, "\n#\t");
	for (size_t i = 0; i < plan->argv.n; i++) {
		ws_buf_addstr(out, i ? " " : "");
		ws_text_shell_quote(out, plan->argv.v[i]);
	}
	ws_buf_addch(out, '\n');
}

/* What a quoted word has of line breaks must not end the comment. */
static void add_comment(struct ws_buf *out, const struct ws_buf *text)
{
	for (size_t i = 0; i < text->len; i++) {
		ws_buf_addch(out, text->data[i]);
		if (text->data[i] == '\n' && i > 0 && i + 1 < text->len &&
		    text->data[i + 1] != '#')
			ws_buf_addstr(out, "# ");
	}
}

int ws_exec_dry_run(const struct ws_root *root, const struct ws_session *s,
		    const struct ws_enter_plan *plan, bool json, struct ws_buf *out,
		    struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *sandbox = NULL;
	struct ws_jsonw w;

	if (ws_sandbox_dry_run(root, s, json, &text, err) < 0)
		return -1;
	if (!json) {
		ws_buf_add(out, text.data, text.len);
		ws_buf_clear(&text);
		print_text(plan, &text);
		add_comment(out, &text);
		return 0;
	}
	if (ws_json_parse("plan", text.data, text.len, &sandbox, err) < 0)
		return -1;
	ws_jsonw_init(&w, out, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_value(&w, "sandbox", sandbox);
	print_json(plan, &w);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return 0;
}
