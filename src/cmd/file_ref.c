/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/file_ref.h"

#include <stdio.h>
#include <sys/stat.h>

#include "core/diff.h"

void ws_place_release(struct ws_place *p)
{
	ws_file_ref_release(&p->ref);
	ws_session_release(&p->session);
	ws_root_release(&p->root);
}

int ws_place_open(const struct ws_global *global, const char *arg, bool rescue,
		  struct ws_place *ret, struct ws_err *err)
{
	ws_file_ref_parse(arg, &ret->ref);
	if (!ret->ref.id) {
		ws_fail(err, WS_USAGE, "'%s' names no file of a session", arg);
		return ws_hint(err, "a session's file is ID:PATH");
	}
	if (ws_root_open(global->root, true, &ret->root, err) < 0)
		return -1;
	if (rescue)
		return ws_session_open_record(&ret->root, ret->ref.id, &ret->session,
					      err);
	return ws_session_open(&ret->root, ret->ref.id, &ret->session, err);
}

void ws_file_info_json(struct ws_jsonw *w, const struct ws_file_info *info)
{
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", (unsigned)(info->mode & 07777));
	if (info->name && *info->name)
		ws_path_json(w, "name", info->name);
	ws_jsonw_str(w, "type", ws_change_type(info->mode));
	ws_jsonw_str(w, "mode", mode);
	ws_jsonw_u64(w, "size", info->size);
	ws_jsonw_time(w, "mtime", info->mtime_ns);
	if (info->target)
		ws_path_json(w, "target", info->target);
	if (info->sha256[0])
		ws_jsonw_str(w, "sha256", info->sha256);
}
