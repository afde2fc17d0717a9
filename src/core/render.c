/* SPDX-License-Identifier: Apache-2.0 */
#include "core/render.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

static const struct {
	uint64_t flag;
	const char *option;
} namespace_options[] = {
	{ CLONE_NEWUSER, "--unshare-user" }, { CLONE_NEWPID, "--unshare-pid" },
	{ CLONE_NEWIPC, "--unshare-ipc" },   { CLONE_NEWNET, "--unshare-net" },
	{ CLONE_NEWUTS, "--unshare-uts" },   { CLONE_NEWCGROUP, "--unshare-cgroup" },
};

static const char *const simple_options[] = {
	[WS_MOUNT_RO_BIND] = "--ro-bind",
	[WS_MOUNT_RO_BIND_TRY] = "--ro-bind-try",
	[WS_MOUNT_BIND] = "--bind",
	[WS_MOUNT_RO_BIND_FD] = "--ro-bind-fd",
	[WS_MOUNT_BIND_FD] = "--bind-fd",
	[WS_MOUNT_SYMLINK] = "--symlink",
	[WS_MOUNT_PROC] = "--proc",
	[WS_MOUNT_DEV] = "--dev",
	[WS_MOUNT_REMOUNT_RO] = "--remount-ro",
};

static void render_mode(const struct ws_mount *m, struct ws_strv *args)
{
	ws_strv_add(args, "--perms", NULL);
	ws_strv_addf(args, "%04o", m->mode ? m->mode : 0755);
}

static void render_overlay(const struct ws_mount *m, struct ws_strv *args)
{
	for (size_t i = 0; i < m->lowers.n; i++)
		ws_strv_add(args, "--overlay-src", m->lowers.v[i], NULL);
	ws_strv_add(args, "--overlay", m->source, m->work, m->target, NULL);
}

static void render_mount(const struct ws_mount *m, int first_fd, struct ws_strv *args,
			 struct ws_strv *data)
{
	switch (m->kind) {
	case WS_MOUNT_TMPFS:
		render_mode(m, args);
		ws_strv_add(args, "--size", NULL);
		ws_strv_addf(args, "%" PRIu64, m->size);
		ws_strv_add(args, "--tmpfs", m->target, NULL);
		break;
	case WS_MOUNT_DIR:
		render_mode(m, args);
		ws_strv_add(args, "--dir", m->target, NULL);
		break;
	case WS_MOUNT_DATA:
		ws_strv_add(args, "--perms", "0444", "--ro-bind-data", NULL);
		ws_strv_addf(args, "%d", first_fd + (int)data->n);
		ws_strv_push(args, m->target);
		ws_strv_push(data, m->data);
		break;
	case WS_MOUNT_RO_BIND_FD:
	case WS_MOUNT_BIND_FD:
		ws_strv_push(args, simple_options[m->kind]);
		ws_strv_addf(args, "%d", first_fd + (int)data->n);
		ws_strv_push(args, m->target);
		ws_strv_push(data, m->source);
		break;
	case WS_MOUNT_OVERLAY:
		render_overlay(m, args);
		break;
	default:
		ws_strv_push(args, simple_options[m->kind]);
		if (m->source)
			ws_strv_push(args, m->source);
		ws_strv_push(args, m->target);
	}
}

void ws_render_bwrap(const struct ws_plan *plan, int first_fd, struct ws_strv *args,
		     struct ws_strv *data)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(namespace_options); i++)
		if (plan->nsflags & namespace_options[i].flag)
			ws_strv_push(args, namespace_options[i].option);
	ws_strv_add(args, "--cap-drop", "ALL", "--as-pid-1", "--clearenv", NULL);
	if (plan->hostname)
		ws_strv_add(args, "--hostname", plan->hostname, NULL);
	for (size_t i = 0; i < plan->nmounts; i++)
		render_mount(&plan->mounts[i], first_fd, args, data);
	for (size_t i = 0; i < plan->filters.n; i++) {
		ws_strv_push(args, "--add-seccomp-fd");
		ws_strv_addf(args, "%d", first_fd + (int)(data->n + i));
	}
	ws_strv_add(args, "--chdir", "/", NULL);
}
