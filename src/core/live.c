/* SPDX-License-Identifier: Apache-2.0 */
#include "core/live.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "core/plain_tree.h"

static int check_spec(const struct ws_repo *r, struct ws_err *err)
{
	if (r->spec->revision || r->spec->branch) {
		ws_fail(err, WS_REPO_UNUSABLE,
			"with snapshots.enabled false '%s' is shown as it is, and not at a "
			"revision or branch",
			r->spec->path);
		return ws_hint(err,
			       "leave out 'revision' and 'branch', or let wsiso make a "
			       "snapshot");
	}
	if (ws_vcs_is_url(r->spec->path))
		return ws_fail(err, WS_REPO_UNUSABLE,
			       "with snapshots.enabled false '%s' has no folder to show",
			       r->spec->path);
	return 0;
}

static void warn_of(struct ws_repo *r, size_t foreign)
{
	WS_AUTO_FREE char *git = ws_format("%s/.git", r->path);
	struct stat st;

	ws_strv_addf(
		&r->warnings,
		"repo '%s': the live folder '%s' shows through, with all that is in it; "
		"what edits on the host do to the session from now on is undefined",
		r->spec->name, r->path);
	if (foreign)
		ws_strv_addf(
			&r->warnings,
			"repo '%s': %zu of its files and folders belong to another user "
			"or group: they cannot be changed inside",
			r->spec->name, foreign);
	if (lstat(git, &st) == 0 && !S_ISDIR(st.st_mode))
		ws_strv_addf(
			&r->warnings,
			"repo '%s': its '.git' leads out of it, so git does not work "
			"inside",
			r->spec->name);
}

int ws_live_resolve(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err)
{
	WS_AUTO(ws_plain_tree) struct ws_plain_tree t = WS_PLAIN_TREE_INIT;
	size_t foreign = 0;
	struct stat st;

	if (check_spec(r, err) < 0)
		return -1;
	r->path = ws_realpath(r->spec->path);
	if (!r->path)
		return ws_fail(err, WS_REPO_UNUSABLE, "there is no folder '%s': %m",
			       r->spec->path);
	if (ws_vcs_check_place(call->root, r->path, err) < 0 ||
	    ws_plain_tree_look(r->path, -1, call->root->fd, WS_COPY_COPY, &t, err) < 0)
		return -1;
	for (size_t i = 0; i < t.n; i++)
		foreign += t.v[i].uid != geteuid() || t.v[i].gid != getegid();
	r->has_setup = fstatat(t.fd, call->spec->project_setup.script, &st, 0) == 0;
	warn_of(r, foreign);
	return 0;
}
