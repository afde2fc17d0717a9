/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plan.h"

#include <string.h>

/* Folders that a plan makes for what it puts in there; others may lie beside that. */
static const char *const shared[] = { "/", "/etc", "/var" };

static bool is_at_or_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	if (strcmp(top, "/") == 0)
		return true;
	return strncmp(path, top, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool is_shared(const char *path)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(shared); i++)
		if (strcmp(path, shared[i]) == 0)
			return true;
	return false;
}

/*
 * A mount point below what a command can write could be a planted link at the next
 * start; below a read-only bind it is a folder that has to be there.
 */
static bool may_hold(const struct ws_mount *m)
{
	return is_shared(m->target) || m->kind == WS_MOUNT_RO_BIND_FD;
}

static int check_target(const struct ws_plan *p, const char *target, struct ws_err *err)
{
	for (size_t i = 0; i < p->nmounts; i++) {
		const struct ws_mount *m = &p->mounts[i];
		bool covers = is_at_or_below(m->target, target);

		if (!covers && (may_hold(m) || !is_at_or_below(target, m->target)))
			continue;
		if (strcmp(m->target, target) == 0)
			ws_fail(err, WS_SPEC_INVALID,
				"nothing can be bound at '%s': that is taken", target);
		else
			ws_fail(err, WS_SPEC_INVALID,
				"nothing can be bound at '%s': it would %s '%s'", target,
				covers ? "cover" : "lie in", m->target);
		return ws_hint(err, "give it a place of its own inside, such as /mnt%s",
			       strrchr(target, '/'));
	}
	return 0;
}

/* The last mount makes "/" read-only: what comes after finds no room. */
int ws_plan_add_bind(struct ws_plan *p, const struct ws_plan_bind *bind,
		     struct ws_err *err)
{
	struct ws_mount *last;

	if (check_target(p, bind->target, err) < 0)
		return -1;
	p->mounts = ws_grow(p->mounts, p->nmounts + 1, sizeof(*p->mounts));
	last = &p->mounts[p->nmounts++ - 1];
	last[1] = last[0];
	last[0] = (struct ws_mount){
		.kind = bind->writable ? WS_MOUNT_BIND_FD : WS_MOUNT_RO_BIND_FD,
		.source = ws_strdup(bind->source),
		.target = ws_strdup(bind->target),
		.fd = bind->fd,
	};
	if (bind->writable)
		ws_strv_push(&p->writable, bind->target);
	return 0;
}

const struct ws_mount *ws_plan_fd_mount(const struct ws_plan *p, size_t n)
{
	for (size_t i = 0; i < p->nmounts; i++) {
		const struct ws_mount *m = &p->mounts[i];

		if (m->kind != WS_MOUNT_DATA && m->kind != WS_MOUNT_BIND_FD &&
		    m->kind != WS_MOUNT_RO_BIND_FD)
			continue;
		if (n-- == 0)
			return m;
	}
	return NULL;
}
