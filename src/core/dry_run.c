/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "core/binds.h"
#include "core/bwrap.h"
#include "core/host.h"
#include "core/hostview.h"
#include "core/plan.h"
#include "core/render.h"
#include "core/sandbox_start.h"
#include "init/protocol.h"

#define FIRST_DATA_FD 10

static const char *const kind_names[] = {
	[WS_MOUNT_RO_BIND] = "ro-bind",
	[WS_MOUNT_RO_BIND_TRY] = "ro-bind-try",
	[WS_MOUNT_BIND] = "bind",
	[WS_MOUNT_RO_BIND_FD] = "ro-bind-fd",
	[WS_MOUNT_BIND_FD] = "bind-fd",
	[WS_MOUNT_TMPFS] = "tmpfs",
	[WS_MOUNT_DIR] = "dir",
	[WS_MOUNT_SYMLINK] = "symlink",
	[WS_MOUNT_DATA] = "data",
	[WS_MOUNT_PROC] = "proc",
	[WS_MOUNT_DEV] = "dev",
	[WS_MOUNT_OVERLAY] = "overlay",
	[WS_MOUNT_REMOUNT_RO] = "remount-ro",
};

static void print_mount(struct ws_jsonw *w, const struct ws_mount *m)
{
	ws_jsonw_object(w, NULL);
	ws_jsonw_str(w, "kind", kind_names[m->kind]);
	ws_jsonw_str(w, "target", m->target);
	if (m->source)
		ws_jsonw_str(w, "source", m->source);
	if (m->lowers.n)
		ws_jsonw_strv(w, "lowers", &m->lowers);
	if (m->work)
		ws_jsonw_str(w, "work", m->work);
	if (m->data)
		ws_jsonw_str(w, "data", m->data);
	if (m->size)
		ws_jsonw_u64(w, "size", m->size);
	ws_jsonw_end(w, '}');
}

/* Where the bytes of the plan's filters are. */
static void filter_paths(const struct ws_plan *plan, struct ws_strv *ret)
{
	for (size_t i = 0; i < plan->filters.n; i++) {
		WS_AUTO_FREE char *file = ws_filter_file(plan->filters.v[i]);

		ws_strv_addf(ret, WS_FILTER_FOLDER "/%s", file ? file : "");
	}
}

static void print_json(const struct ws_plan *plan, const struct ws_bwrap *bwrap,
		       const struct ws_strv *args, const struct ws_strv *filters,
		       struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, out, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "bwrap", bwrap->path);
	ws_jsonw_str(&w, "bwrap_version", bwrap->version);
	ws_jsonw_strv(&w, "args", args);
	ws_jsonw_array(&w, "mounts");
	for (size_t i = 0; i < plan->nmounts; i++)
		print_mount(&w, &plan->mounts[i]);
	ws_jsonw_end(&w, ']');
	ws_jsonw_strv(&w, "writable", &plan->writable);
	ws_jsonw_strv(&w, "filters", filters);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}

/*
 * By hand a shell takes the place of wsiso-init. flock refuses beside a live sandbox:
 * two overlays on one upper would be undefined.
 */
static void print_shell(const struct ws_session *s, const struct ws_bwrap *bwrap,
			const struct ws_plan *plan, const struct ws_strv *args,
			const struct ws_strv *data, const struct ws_strv *filters,
			struct ws_buf *out)
{
	WS_AUTO_FREE char *use = ws_format("%s/use", s->path);

	ws_buf_addstr(out, "env -i ");
	if (s->dir >= 0) { /* a run that keeps nothing has nothing to be beside of */
		ws_buf_addstr(out, "flock --nonblock --exclusive ");
		ws_text_shell_quote(out, use);
		ws_buf_addch(out, ' ');
	}
	ws_text_shell_quote(out, bwrap->path);
	for (size_t i = 0; i < args->n; i++) {
		/* "--as-pid-1" is for wsiso-init, which knows how to be one */
		if (!strcmp(args->v[i], "--as-pid-1"))
			continue;
		ws_buf_addstr(out, ws_text_starts(args->v[i], "--") ? " \\\n\t" : " ");
		ws_text_shell_quote(out, args->v[i]);
	}
	ws_buf_addstr(out, " \\\n\t/bin/sh");
	for (size_t i = 0; i < data->n; i++) {
		bool bytes = ws_plan_fd_mount(plan, i)->kind == WS_MOUNT_DATA;

		ws_buf_addf(out, " \\\n\t%d< %s", FIRST_DATA_FD + (int)i,
			    bytes ? "<(printf %s " : "");
		ws_text_shell_quote(out, data->v[i]);
		ws_buf_addstr(out, bytes ? ")" : "");
	}
	for (size_t i = 0; i < filters->n; i++) {
		ws_buf_addf(out, " \\\n\t%d<", FIRST_DATA_FD + (int)(data->n + i));
		ws_text_shell_quote(out, filters->v[i]);
	}
	ws_buf_addch(out, '\n');
}

int ws_sandbox_dry_run(const struct ws_root *root, const struct ws_session *s, bool json,
		       struct ws_buf *out, struct ws_err *err)
{
	WS_AUTO(ws_host) struct ws_host host = WS_HOST_INIT;
	WS_AUTO(ws_hostview) struct ws_hostview view = { 0 };
	WS_AUTO(ws_plan) struct ws_plan plan = WS_PLAN_INIT;
	WS_AUTO(ws_binds) struct ws_binds binds = WS_BINDS_INIT;
	WS_AUTO(ws_plan_source) struct ws_plan_source src = WS_PLAN_SOURCE_INIT;
	WS_AUTO(ws_bwrap) struct ws_bwrap bwrap = { 0 };
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv data = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv filters = WS_STRV_INIT;

	if (ws_bwrap_find(root, &s->spec, &bwrap, err) < 0 ||
	    ws_host_look(&host, err) < 0)
		return -1;
	ws_host_source(root, s, &src);
	src.view = &view;
	if (s->spec.mode == WS_MODE_HOST_READONLY &&
	    ws_hostview_look(root, s, &view, err) < 0)
		return -1;
	ws_plan_make(&src, &host, &plan);
	if (ws_binds_open(root, &s->spec, &binds, err) < 0 ||
	    ws_binds_plan(&binds, &plan, err) < 0)
		return -1;
	ws_render_bwrap(&plan, FIRST_DATA_FD, &args, &data);
	filter_paths(&plan, &filters);
	if (json)
		print_json(&plan, &bwrap, &args, &filters, out);
	else
		print_shell(s, &bwrap, &plan, &args, &data, &filters, out);
	return 0;
}
