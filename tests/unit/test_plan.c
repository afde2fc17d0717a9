/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/plan.h"
#include "core/plan_parts.h"
#include "core/render.h"
#include "golden.h"

/*
 * A host and a session that never change: what is rendered from them is in tests/golden.
 */
static void fixed_host(struct ws_host *h)
{
	*h = (struct ws_host){ .uid = 1000,
			       .gid = 1000,
			       .user = ws_strdup("ann"),
			       .group = ws_strdup("ann"),
			       .home = ws_strdup("/home/ann"),
			       .hostname = ws_strdup("box"),
			       .resolv_conf = ws_strdup("/etc/resolv.conf") };
	h->dirs = ws_alloc(2 * sizeof(*h->dirs));
	h->dirs[h->ndirs++] =
		(struct ws_host_dir){ ws_strdup("bin"), ws_strdup("usr/bin") };
	h->dirs[h->ndirs++] = (struct ws_host_dir){ ws_strdup("lib32"), NULL };
}

static void render(const struct ws_spec *spec, const struct ws_strv *stack,
		   const char *repo, struct ws_strv *args, struct ws_strv *data,
		   struct ws_plan *plan)
{
	struct ws_plan_source src = { .spec = spec,
				      .root = "/root",
				      .folder = "/root/sessions/s",
				      .home = (char[]){ "/root/sessions/s/home" },
				      .init = "/libexec/init",
				      .stack = stack };
	WS_AUTO(ws_host) struct ws_host host = WS_HOST_INIT;

	fixed_host(&host);
	if (repo) {
		ws_strv_push(&src.repos, repo);
		ws_strv_push(&src.pools, "p.git");
	}
	ws_plan_make(&src, &host, plan);
	ws_render_bwrap(plan, 10, args, data);
	ws_strv_release(&src.repos);
	ws_strv_release(&src.pools);
}

/* Where does the run of words stand in ARGS? -1: nowhere. */
static int find(const struct ws_strv *args, const char *const *words)
{
	for (size_t i = 0; i < args->n; i++) {
		size_t k = 0;

		while (words[k] && i + k < args->n && !strcmp(args->v[i + k], words[k]))
			k++;
		if (!words[k])
			return (int)i;
	}
	return -1;
}

#define FIND(...) find(&args, (const char *const[]){ __VA_ARGS__, NULL })

static bool every_tmpfs_has_a_size(const struct ws_plan *plan)
{
	for (size_t i = 0; i < plan->nmounts; i++)
		if (plan->mounts[i].kind == WS_MOUNT_TMPFS && !plan->mounts[i].size)
			return false;
	return true;
}

static void print_args(const struct ws_strv *args, struct ws_buf *text)
{
	for (size_t i = 0; i < args->n; i++)
		ws_buf_addf(text, "%s%s",
			    i && !strncmp(args->v[i], "--", 2) ? "\n"
			    : i				       ? " "
							       : "",
			    args->v[i]);
	ws_buf_addch(text, '\n');
}

static void test_golden(void)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	WS_AUTO(ws_strv)
	struct ws_strv stack = WS_STRV_INIT, args = WS_STRV_INIT, data = WS_STRV_INIT;
	WS_AUTO(ws_plan) struct ws_plan plan = WS_PLAN_INIT;
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	ws_spec_init(&spec);
	ws_strv_add(&stack, "base-a", "git-a", NULL);
	render(&spec, &stack, "app", &args, &data, &plan);
	print_args(&args, &text);
	CHECK_GOLDEN("bwrap-overlay.args", ws_buf_str(&text));
}

/* Mode host_readonly, with one cover of each kind; LATE is over the launch folder. */
static void render_host(struct ws_spec *spec, struct ws_strv *args, struct ws_strv *data,
			struct ws_plan *plan)
{
	struct ws_strv stack = WS_STRV_INIT;
	struct ws_hostview view = { 0 };
	struct ws_plan_source src = { .spec = spec,
				      .root = "/root",
				      .folder = "/root/sessions/s",
				      .home = (char[]){ "/root/sessions/s/home" },
				      .init = "/libexec/init",
				      .stack = &stack,
				      .launch_dir = "/home/ann/project",
				      .view = &view };
	WS_AUTO(ws_host) struct ws_host host = WS_HOST_INIT;

	fixed_host(&host);
	ws_freep(&host.resolv_conf);
	host.resolv_conf = ws_strdup("/run/resolve/resolv.conf");
	host.ps = ws_strdup("/usr/bin/ps");
	spec->mode = WS_MODE_HOST_READONLY;
	ws_plan_tmpfs(&view.covers, "/home/ann", 0750, WS_PLAN_SMALL_TMPFS);
	ws_plan_add(&view.covers, WS_MOUNT_RO_BIND_TRY, "/home/ann/project",
		    "/home/ann/project");
	ws_plan_add(&view.covers, WS_MOUNT_SYMLINK, "project", "/home/ann/link");
	ws_plan_add(&view.covers, WS_MOUNT_REMOUNT_RO, NULL, "/home/ann");
	ws_plan_data(&view.late, "/home/ann/project/.env", "");
	ws_plan_make(&src, &host, plan);
	ws_render_bwrap(plan, 10, args, data);
	ws_plan_release(&view.covers);
	ws_plan_release(&view.late);
}

static void test_host(void)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT, data = WS_STRV_INIT;
	WS_AUTO(ws_plan) struct ws_plan plan = WS_PLAN_INIT;
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	ws_spec_init(&spec);
	render_host(&spec, &args, &data, &plan);
	print_args(&args, &text);
	CHECK_GOLDEN("bwrap-host.args", ws_buf_str(&text));
	CHECK(every_tmpfs_has_a_size(&plan));
	CHECK(FIND("--proc") < 0); /* the host's is there already */
	CHECK(FIND("--overlay") > FIND("--remount-ro", "/home/ann"));
	CHECK(FIND("/home/ann/project/.env") > FIND("--overlay"));
	CHECK(ws_strv_has(&plan.writable, "/home/ann/project"));
	CHECK(!ws_strv_has(&plan.writable, "/proc"));
	CHECK(plan.filters.n == 2 && plan.filters.v[1] == WS_FILTER_HOST);
}

static void test_host_options(void)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT, data = WS_STRV_INIT;
	WS_AUTO(ws_plan) struct ws_plan plan = WS_PLAN_INIT;

	ws_spec_init(&spec);
	spec.host_readonly.unshare_pid = true;
	spec.host_readonly.scratch_overlay = false;
	spec.host_readonly.expose_host_tmp = false;
	spec.sandbox.seccomp = WS_SECCOMP_OFF;
	render_host(&spec, &args, &data, &plan);
	CHECK(FIND("--proc", "/proc") > FIND("--ro-bind", "/", "/"));
	CHECK(FIND("--overlay") < 0);
	CHECK(FIND("/tmp/host") < 0);
	CHECK(FIND("/usr/bin/ps") < 0);
	CHECK(!ws_strv_has(&plan.writable, "/home/ann/project"));
	CHECK(plan.filters.n == 1 && plan.filters.v[0] == WS_FILTER_HOST);
}

static void test_every_sandbox(void)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	WS_AUTO(ws_strv)
	struct ws_strv stack = WS_STRV_INIT, args = WS_STRV_INIT, data = WS_STRV_INIT;
	WS_AUTO(ws_plan) struct ws_plan plan = WS_PLAN_INIT;

	ws_spec_init(&spec);
	render(&spec, &stack, NULL, &args, &data, &plan);
	CHECK(FIND("--unshare-user") >= 0);
	CHECK(FIND("--unshare-net") >= 0);
	CHECK(FIND("--cap-drop", "ALL") >= 0);
	CHECK(FIND("--as-pid-1") >= 0);
	/*
	 * nothing is mounted below what an agent writes, and /run is closed after it is
	 * filled
	 */
	CHECK(FIND("--remount-ro", "/run") > FIND("--ro-bind", "/libexec/init"));
	CHECK(FIND("--remount-ro", "/") >
	      FIND("--bind", "/root/sessions/s/upper", "/workspace"));
	CHECK(FIND("--overlay") < 0); /* no layer: the upper alone */
	CHECK(ws_strv_has(&plan.writable, "/workspace"));
	CHECK(!ws_strv_has(&plan.writable, "/run"));
	CHECK(FIND("--ro-bind", "/proc/sys", "/proc/sys") < 0);
	CHECK(every_tmpfs_has_a_size(&plan));
}

/* A live folder is the lower of an overlay of its own, in a /workspace that is closed. */
static void test_live(void)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	WS_AUTO(ws_strv)
	struct ws_strv stack = WS_STRV_INIT, args = WS_STRV_INIT, data = WS_STRV_INIT;
	WS_AUTO(ws_plan) struct ws_plan plan = WS_PLAN_INIT;
	WS_AUTO(ws_host) struct ws_host host = WS_HOST_INIT;
	struct ws_plan_source src = { .spec = &spec,
				      .root = "/root",
				      .folder = "/root/sessions/s",
				      .home = (char[]){ "/root/sessions/s/home" },
				      .init = "/libexec/init",
				      .stack = &stack };

	ws_spec_init(&spec);
	fixed_host(&host);
	ws_strv_add(&src.lives, "a", "b", NULL);
	ws_strv_add(&src.live_paths, "/srv/a", "/srv/b", NULL);
	ws_plan_make(&src, &host, &plan);
	ws_render_bwrap(&plan, 10, &args, &data);
	CHECK(FIND("--dir", "/workspace") >= 0);
	CHECK(FIND("--overlay-src", "/srv/a", "--overlay", "/root/sessions/s/upper/a",
		   "/root/sessions/s/work/a",
		   "/workspace/a") > FIND("--dir", "/workspace"));
	CHECK(FIND("--remount-ro", "/") > FIND("--overlay-src", "/srv/b"));
	CHECK(!ws_strv_has(&plan.writable, "/workspace"));
	CHECK(ws_strv_has(&plan.writable, "/workspace/a"));
	CHECK(ws_strv_has(&plan.writable, "/workspace/b"));
	ws_strv_release(&src.lives);
	ws_strv_release(&src.live_paths);
}

static void test_options(void)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	WS_AUTO(ws_strv)
	struct ws_strv stack = WS_STRV_INIT, args = WS_STRV_INIT, data = WS_STRV_INIT;
	WS_AUTO(ws_plan) struct ws_plan plan = WS_PLAN_INIT;

	ws_spec_init(&spec);
	spec.sandbox.unshare_net = false;
	spec.sandbox.unshare_cgroup = true;
	spec.sandbox.hostname = ws_strdup("inside");
	spec.persistent_home = false;
	spec.session_tmp = false;
	render(&spec, &stack, NULL, &args, &data, &plan);
	CHECK(FIND("--unshare-net") < 0);
	CHECK(!(plan.nsflags & CLONE_NEWNET));
	CHECK(FIND("--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf") >= 0);
	CHECK(FIND("--unshare-cgroup") >= 0);
	CHECK(FIND("--unshare-uts") >= 0);
	CHECK(FIND("--hostname", "inside") >= 0);
	CHECK(FIND("--dir", "/home/ann") >= 0);
	CHECK(FIND("--dir", "/tmp") >= 0);
	CHECK(!ws_strv_has(&plan.writable, "/tmp"));
}

/* A run has no workspace, and with fresh HOME and /tmp nothing of the state folder. */
static void test_run(void)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT, data = WS_STRV_INIT;
	WS_AUTO(ws_plan) struct ws_plan plan = WS_PLAN_INIT;

	ws_spec_init(&spec);
	spec.persistent_home = false;
	spec.session_tmp = false;
	render(&spec, NULL, NULL, &args, &data, &plan);
	CHECK(!ws_strv_has(&plan.writable, "/workspace"));
	for (size_t i = 0; i < args.n; i++)
		if (strstr(args.v[i], "/root/") || !strcmp(args.v[i], "/workspace"))
			CHECK(!"nothing of the state folder");
	CHECK(FIND("--dir", "/home/ann") >= 0);
}

static int bind_at(struct ws_plan *plan, char *target, bool writable, struct ws_err *err)
{
	char source[] = "/src";
	const struct ws_plan_bind bind = {
		.source = source, .target = target, .fd = 7, .writable = writable
	};

	return ws_plan_add_bind(plan, &bind, err);
}

static void test_binds(void)
{
	static const char *const taken[] = {
		"/workspace",  "/workspace/app", "/tmp",	"/tmp/x",
		"/var/tmp",    "/var/tmp/x",	 "/home",	"/home/ann",
		"/home/ann/x", "/proc",		 "/proc/self",	"/dev",
		"/dev/shm/x",  "/usr",		 "/usr/bin",	"/bin",
		"/bin/sh",     "/lib32",	 "/run",	"/run/wsiso",
		"/run/x",      "/etc",		 "/etc/passwd", "/etc/ssl/x",
		"/var",
	};
	static const char *const places[] = { "/mnt/a", "/srv", "/etc/app", "/var/data" };
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	WS_AUTO(ws_strv)
	struct ws_strv stack = WS_STRV_INIT, args = WS_STRV_INIT, data = WS_STRV_INIT;
	WS_AUTO(ws_plan) struct ws_plan plan = WS_PLAN_INIT;
	struct ws_err err = WS_ERR_INIT;
	char target[64];
	size_t before;

	ws_spec_init(&spec);
	spec.persistent_home = false; /* an empty folder then, and still a command's */
	render(&spec, &stack, NULL, &args, &data, &plan);
	before = data.n;
	for (size_t i = 0; i < WS_ARRAY_SIZE(taken); i++) {
		snprintf(target, sizeof(target), "%s", taken[i]);
		if (!CHECK(bind_at(&plan, target, false, &err) < 0))
			printf("# %s\n", target);
		CHECK(err.kind == WS_SPEC_INVALID && strstr(err.msg, target));
	}
	for (size_t i = 0; i < WS_ARRAY_SIZE(places); i++) {
		snprintf(target, sizeof(target), "%s", places[i]);
		if (!CHECK(bind_at(&plan, target, i == 1, &err) == 0))
			printf("# %s\n", err.msg);
	}
	/* below one that is only read there may be another; below the other none */
	snprintf(target, sizeof(target), "/mnt/a/b");
	CHECK(bind_at(&plan, target, true, &err) == 0);
	snprintf(target, sizeof(target), "/srv/b");
	CHECK(bind_at(&plan, target, false, &err) < 0);
	snprintf(target, sizeof(target), "/mnt");
	CHECK(bind_at(&plan, target, false, &err) < 0);
	ws_strv_clear(&args);
	ws_strv_clear(&data);
	ws_render_bwrap(&plan, 10, &args, &data);
	CHECK(data.n == before + 5);
	snprintf(target, sizeof(target), "%zu", 10 + before);
	CHECK(FIND("--ro-bind-fd", target, "/mnt/a") >= 0);
	snprintf(target, sizeof(target), "%zu", 10 + before + 1);
	CHECK(FIND("--bind-fd", target, "/srv") >= 0);
	CHECK(FIND("--remount-ro", "/") > FIND("--bind-fd"));
	CHECK(ws_plan_fd_mount(&plan, before + 1)->fd == 7);
	CHECK(ws_plan_fd_mount(&plan, before - 1)->kind == WS_MOUNT_DATA);
	CHECK(!ws_plan_fd_mount(&plan, before + 5));
	CHECK(ws_strv_has(&plan.writable, "/srv"));
	CHECK(!ws_strv_has(&plan.writable, "/mnt/a"));
}

int main(void)
{
	test_golden();
	test_binds();
	test_every_sandbox();
	test_live();
	test_options();
	test_run();
	test_host();
	test_host_options();
	return CHECK_DONE();
}
