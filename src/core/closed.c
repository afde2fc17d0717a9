/* SPDX-License-Identifier: Apache-2.0 */
#include "core/closed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/mount_table.h"
#include "core/plan_parts.h"

#define HOST_TMP "/tmp/host"

/* As it is seen on the host; PATH inside is that of a folder. */
static bool is_closed(const char *path)
{
	const char *rest = ws_path_below(path, HOST_TMP);
	WS_AUTO_FREE char *outside = rest ? ws_format("/tmp/%s", rest) : ws_strdup(path);

	return faccessat(AT_FDCWD, outside, R_OK, AT_EACCESS) < 0 && errno == EACCES;
}

/* Is it, by a mount of P or in /tmp, a folder of the sandbox's own? */
static bool is_own(const struct ws_plan *p, const char *path)
{
	if (ws_path_below(path, "/tmp") && !ws_path_below(path, HOST_TMP))
		return true;
	for (size_t i = 0; i < p->nmounts; i++)
		if (p->mounts[i].kind == WS_MOUNT_TMPFS &&
		    ws_path_below(path, p->mounts[i].target))
			return true;
	return false;
}

/* The first closed folder on the way from below FROM to TARGET, or NULL. */
static char *find_closed(const struct ws_plan *p, const char *from, const char *target)
{
	const char *rest =
		ws_path_below(target, ws_path_below(target, HOST_TMP) ? HOST_TMP : from);
	const char *at = rest ? strchr(rest, '/') : NULL;

	for (; at; at = strchr(at + 1, '/')) {
		WS_AUTO_FREE char *path = ws_strndup(target, (size_t)(at - target));

		if (is_own(p, path))
			return NULL;
		if (is_closed(path))
			return ws_steal_ptr(&path);
	}
	return NULL;
}

/* Of all mounts of P; those that are beside each other have one way. */
static void find_all(const struct ws_plan *p, const char *from, struct ws_strv *ret)
{
	size_t len = 0;
	const char *last = "";

	for (size_t i = 0; i < p->nmounts; i++) {
		const char *target = p->mounts[i].target;
		WS_AUTO_FREE char *closed = NULL;

		if (strncmp(target, last, len) == 0 && len && !strchr(target + len, '/'))
			continue;
		last = target;
		len = (size_t)(strrchr(target, '/') + 1 - target);
		closed = find_closed(p, from, target);
		if (closed && !ws_strv_has(ret, closed))
			ws_strv_push(ret, closed);
	}
}

/* Empty folders at CLOSED, what is to be seen in them, and then what P has. */
static void lay(struct ws_plan *p, const struct ws_strv *closed, const char *shown)
{
	struct ws_plan all = WS_PLAN_INIT;

	for (size_t i = 0; i < closed->n; i++) {
		ws_debug("'%s' cannot be listed: inside there is nothing in it but the "
			 "way to what is needed",
			 closed->v[i]);
		ws_plan_tmpfs(&all, closed->v[i], 0755, WS_PLAN_SMALL_TMPFS);
	}
	if (shown) /* below what hides a part of it */
		ws_plan_add(&all, WS_MOUNT_RO_BIND, shown, shown);
	ws_plan_append(&all, p);
	for (size_t i = 0; i < closed->n; i++)
		ws_plan_add(&all, WS_MOUNT_REMOUNT_RO, NULL, closed->v[i]);
	ws_plan_release(p);
	*p = all;
}

int ws_closed_cover(const char *launch, bool over, struct ws_plan *covers,
		    struct ws_plan *late, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv closed = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv within = WS_STRV_INIT;
	WS_AUTO_FREE char *way = find_closed(covers, "/", launch);
	bool shown = !is_own(covers, launch);

	if (late->nmounts && is_closed(launch)) {
		ws_fail(err, WS_SPEC_INVALID,
			"'%s' cannot be the launch folder: it cannot be listed, and "
			"'%s' in it is to be hidden",
			launch, late->mounts[0].target);
		return ws_hint(err, "name another as host_readonly.launch_dir, or set "
				    "host_readonly.scratch_overlay to false");
	}
	find_all(covers, "/", &closed);
	if (way && !ws_strv_has(&closed, way))
		ws_strv_push(&closed, way);
	if (closed.n)
		lay(covers, &closed, way && shown ? launch : NULL);
	if (over)
		find_all(late, launch, &within);
	if (within.n)
		lay(late, &within, NULL);
	return 0;
}
