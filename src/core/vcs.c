/* SPDX-License-Identifier: Apache-2.0 */
#include "core/vcs.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "core/mounts.h"

static const struct ws_vcs_kind *const kinds[] = {
	&ws_vcs_git,
	&ws_vcs_svn,
	&ws_vcs_plain,
};

bool ws_vcs_is_url(const char *path)
{
	return strstr(path, "://") && *path != '/';
}

bool ws_vcs_has(const char *dir, const char *name)
{
	WS_AUTO_FREE char *entry = ws_format("%s/%s", dir, name);

	return faccessat(AT_FDCWD, entry, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int ws_vcs_above(const char *path, bool (*top)(const char *dir))
{
	WS_AUTO_FREE char *real = ws_realpath(path);
	WS_AUTO_FREE char *at = ws_strdup(real && real[1] ? real : "");
	int n = 0;

	for (char *end = at + strlen(at); end; end = strrchr(at, '/'), n++) {
		*end = '\0';
		if (top(at))
			return n;
	}
	return -1;
}

static const struct ws_vcs_kind *find_auto(const char *path)
{
	const struct ws_vcs_kind *found = &ws_vcs_plain;
	int least = INT_MAX;

	for (size_t i = 0; i < WS_ARRAY_SIZE(kinds); i++) {
		int depth = kinds[i]->is ? kinds[i]->is(path) : -1;

		if (depth >= 0 && depth < least) {
			least = depth;
			found = kinds[i];
		}
	}
	return found;
}

const struct ws_vcs_kind *ws_vcs_of(const struct ws_spec_repo *repo)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(kinds); i++)
		if (kinds[i]->vcs == repo->vcs)
			return kinds[i];
	return find_auto(repo->path);
}

static bool lies_in(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(path, folder, len) && (path[len] == '/' || path[len] == '\0');
}

/*
 * An overlay over a tree that holds its own upper, or other mounts, is no snapshot of it.
 */
int ws_vcs_check_place(const struct ws_root *root, const char *path, struct ws_err *err)
{
	WS_AUTO_FREE char *mount = NULL;
	int rc;

	if (lies_in(root->path, path)) {
		ws_fail(err, WS_REPO_UNUSABLE,
			"the state folder '%s' lies inside the repository '%s'",
			root->path, path);
		return ws_hint(
			err, "name a state folder outside of it by --root or WSISO_ROOT");
	}
	if (lies_in(path, root->path))
		return ws_fail(err, WS_REPO_UNUSABLE,
			       "the repository '%s' lies inside the state folder '%s'",
			       path, root->path);
	rc = ws_mounts_below(path, &mount, err);
	if (rc <= 0)
		return rc;
	ws_fail(err, WS_REPO_UNUSABLE, "'%s' is a mount point inside the repository '%s'",
		mount, path);
	return ws_hint(err, "unmount it, or name a clone of the repository without it");
}

int ws_vcs_obtain(const struct ws_vcs_call *call, struct ws_snapshot_maker *m,
		  struct ws_repo *r, struct ws_err *err)
{
	if (call->spec->snapshots.shared || !call->id)
		return ws_snapshot_obtain(call->root, m, &r->snapshot, &r->hold, err);
	return ws_snapshot_make_own(call->root, call->id, m, &r->snapshot, err);
}
