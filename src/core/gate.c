/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate.h"

#include <string.h>
#include <unistd.h>

#include "core/spec_tighten.h"

int ws_gate(const struct ws_spec *spec, struct ws_err *err)
{
	if (!spec->enabled) {
		ws_fail(err, WS_DISABLED, "workspaces are switched off");
		return ws_hint(err,
			       "set \"enabled\": true in the session's config.json or in "
			       "wsiso.json; nothing is ever run on the host instead");
	}
	if (geteuid() == 0 && !spec->allow_root) {
		ws_fail(err, WS_HOST_UNSUPPORTED, "uid 0 may not run sandboxes");
		return ws_hint(
			err,
			"run wsiso as an ordinary user; only in a container that has "
			"none, set \"allow_root\": true in wsiso.json");
	}
	return ws_spec_floor_check(spec, err) < 0 ? -1 : ws_spec_check_built(spec, err);
}

int ws_gate_session(const struct ws_session *s, struct ws_err *err)
{
	if (ws_session_check_workspace(s, err) < 0 || ws_gate(&s->spec, err) < 0)
		return -1;
	if (strcmp(s->status, "blocked") != 0)
		return 0;
	ws_fail(err, WS_SESSION_BLOCKED, "session '%s' is blocked: %s", s->id,
		s->cause ? s->cause : "its creation failed");
	return ws_hint(err, "wsiso create %s --retry goes on with it", s->id);
}
