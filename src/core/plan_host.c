/* SPDX-License-Identifier: Apache-2.0 */
/* Mode host_readonly: the host as it is, read-only, less what is covered. */
#include <string.h>

#include "base/buf.h"
#include "core/plan_parts.h"
#include "init/protocol.h"

#define TMP_SIZE (1ull << 30)

/* Of /run, which goes as a whole with all its sockets, what tools read. */
static const char *const run_shown[] = {
	"/run/log/journal", /* journalctl, where the journal is not on disk */
	"/run/mount",	    /* findmnt, umount: utab */
	"/run/udev/data",   /* lsblk */
	"/run/utmp",	    /* who */
};

void ws_plan_append(struct ws_plan *p, const struct ws_plan *from)
{
	for (size_t i = 0; i < from->nmounts; i++) {
		const struct ws_mount *m = &from->mounts[i];
		struct ws_mount *to = ws_plan_add(p, m->kind, m->source, m->target);

		to->data = ws_strdup(m->data);
		to->mode = m->mode;
		to->size = m->size;
	}
}

/* Where /proc is the host's, ps needs help: see init/ps.c. */
static bool is_ps_replaced(const struct ws_plan_source *src, const struct ws_host *host)
{
	return host->ps && !src->spec->host_readonly.unshare_pid;
}

/* Made anew, since the host's /run is read-only and could not hold wsiso-init. */
static void plan_run(struct ws_plan *p, const struct ws_plan_source *src,
		     const struct ws_host *host)
{
	ws_plan_tmpfs(p, "/run", 0755, WS_PLAN_SMALL_TMPFS);
	ws_plan_add(p, WS_MOUNT_RO_BIND, src->init, WS_INIT_PATH);
	if (is_ps_replaced(src, host))
		ws_plan_add(p, WS_MOUNT_RO_BIND, host->ps, WS_PS_PATH);
	for (size_t i = 0; i < WS_ARRAY_SIZE(run_shown); i++)
		ws_plan_add(p, WS_MOUNT_RO_BIND_TRY, run_shown[i], run_shown[i]);
	if (host->resolv_conf && !strncmp(host->resolv_conf, "/run/", 5))
		ws_plan_add(p, WS_MOUNT_RO_BIND_TRY, host->resolv_conf,
			    host->resolv_conf);
	ws_plan_add(p, WS_MOUNT_REMOUNT_RO, NULL, "/run");
}

/*
 * A tmpfs, that lasts as long as the sandbox: where a payload's files outlived it, a
 * planted link could stand where /tmp/host is to be.
 */
static void plan_tmp(struct ws_plan *p, const struct ws_spec *spec)
{
	ws_plan_tmpfs(p, "/tmp", 01777,
		      spec->limits.tmp_size ? spec->limits.tmp_size : TMP_SIZE);
	ws_strv_push(&p->writable, "/tmp");
	if (spec->host_readonly.expose_host_tmp)
		ws_plan_add(p, WS_MOUNT_RO_BIND, "/tmp", "/tmp/host");
}

static void plan_launch_dir(struct ws_plan *p, const struct ws_plan_source *src)
{
	struct ws_mount *m;

	if (!src->spec->host_readonly.scratch_overlay) {
		if (!strncmp(src->launch_dir, "/tmp/", 5))
			ws_plan_add(p, WS_MOUNT_RO_BIND, src->launch_dir,
				    src->launch_dir);
		return;
	}
	m = ws_plan_add(p, WS_MOUNT_OVERLAY, NULL, src->launch_dir);
	m->source = ws_format("%s/upper", src->folder);
	m->work = ws_format("%s/work", src->folder);
	ws_strv_push(&m->lowers, src->launch_dir);
	ws_strv_push(&p->writable, src->launch_dir);
}

void ws_plan_host(struct ws_plan *p, const struct ws_plan_source *src,
		  const struct ws_host *host)
{
	ws_plan_add(p, WS_MOUNT_RO_BIND, "/", "/");
	if (src->spec->host_readonly.unshare_pid)
		ws_plan_proc(p, host);
	else
		ws_plan_hide_keys(p); /* the host's processes, whom no signal reaches */
	ws_plan_dev(p, src->spec->limits.tmp_size);
	plan_run(p, src, host);
	plan_tmp(p, src->spec);
	if (is_ps_replaced(src, host))
		ws_plan_add(p, WS_MOUNT_RO_BIND, src->init, host->ps);
	ws_plan_append(p, &src->view->covers);
	plan_launch_dir(p, src);
	ws_plan_append(p, &src->view->late);
}
