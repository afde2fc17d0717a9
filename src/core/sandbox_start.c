/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sandbox_start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/text.h"
#include "core/binds.h"
#include "core/bwrap.h"
#include "core/cgroup.h"
#include "core/enter.h"
#include "core/host.h"
#include "core/hostview.h"
#include "core/keyring.h"
#include "core/mounts.h"
#include "core/plan.h"
#include "core/render.h"
#include "core/sandbox_record.h"
#include "core/seccomp.h"
#include "init/protocol.h"

#define FIRST_DATA_FD 10
#define ARGS_FD 6
#define READY_TIMEOUT_MS 10000 /* check waits longer: it must see the end of this */
#define STDERR_MAX 4096
#define ORPHAN_GRACE_MS 5000 /* of a run whose wsiso was killed */

/* All that a start holds on to until init has its GO. */
struct start {
	struct ws_host host;
	struct ws_hostview view;
	struct ws_plan plan;
	struct ws_binds binds;
	struct ws_bwrap bwrap;
	struct ws_strv args, data;
	struct ws_buf filters[WS_PLAN_FILTERS_MAX];
	int args_fd;
	char keyring[WS_KEYRING_NAME_MAX];
	int *data_fds; /* what bwrap reads: DATA, then the filters */
	size_t ndata;
	int control, control_inside;
	int lock_inside; /* the mutex by a description of init's own */
	int errors;	 /* what bwrap says: shown, never parsed */
	pid_t monitor;
	struct ws_cgroup cgroup;
};

#define START_INIT                                                                     \
	{                                                                              \
		.args_fd = -1, .control = -1, .control_inside = -1, .lock_inside = -1, \
		.errors = -1, .monitor = -1, .cgroup = WS_CGROUP_INIT                  \
	}

static void start_release(struct start *st)
{
	for (size_t i = 0; st->data_fds && i < st->ndata; i++)
		ws_closep(&st->data_fds[i]);
	for (size_t i = 0; i < WS_PLAN_FILTERS_MAX; i++)
		ws_buf_release(&st->filters[i]);
	ws_freep(&st->data_fds);
	ws_strv_release(&st->args);
	ws_strv_release(&st->data);
	ws_closep(&st->args_fd);
	ws_closep(&st->control);
	ws_closep(&st->control_inside);
	ws_closep(&st->lock_inside);
	ws_closep(&st->errors);
	ws_bwrap_release(&st->bwrap);
	ws_plan_release(&st->plan);
	ws_binds_release(&st->binds);
	ws_hostview_release(&st->view);
	ws_host_release(&st->host);
	ws_cgroup_release(&st->cgroup);
}

static int make_plan(const struct ws_root *root, const struct ws_session *s,
		     struct start *st, struct ws_err *err)
{
	WS_AUTO(ws_plan_source) struct ws_plan_source src = WS_PLAN_SOURCE_INIT;

	if (faccessat(AT_FDCWD, PKGLIBEXECDIR "/wsiso-init", R_OK | X_OK, AT_EACCESS) <
	    0) {
		ws_fail(err, WS_HELPER_MISSING, "'" PKGLIBEXECDIR "/wsiso-init': %s",
			strerror(errno));
		return ws_hint(err, "install wsiso anew");
	}
	if (ws_bwrap_find(root, &s->spec, &st->bwrap, err) < 0 ||
	    ws_host_look(&st->host, err) < 0)
		return -1;
	ws_host_source(root, s, &src);
	src.view = &st->view;
	if (s->spec.mode == WS_MODE_HOST_READONLY &&
	    ws_hostview_look(root, s, &st->view, err) < 0)
		return -1;
	ws_plan_make(&src, &st->host, &st->plan);
	if (ws_binds_open(root, &s->spec, &st->binds, err) < 0 ||
	    ws_binds_plan(&st->binds, &st->plan, err) < 0)
		return -1;
	ws_render_bwrap(&st->plan, FIRST_DATA_FD, &st->args, &st->data);
	return ws_seccomp_load_list(&st->plan.filters, st->filters, err);
}

/* The Nth thing that bwrap gets by a descriptor. */
static int open_data(const struct start *st, size_t n)
{
	const struct ws_mount *m = ws_plan_fd_mount(&st->plan, n);
	const char *text = st->data.v[n];

	if (m && m->kind != WS_MOUNT_DATA)
		return fcntl(m->fd, F_DUPFD_CLOEXEC, 3);
	return ws_memfd("data", text, strlen(text));
}

static void make_data(struct start *st)
{
	st->data_fds = ws_alloc((st->data.n + st->plan.filters.n + 1) * sizeof(int));
	for (size_t i = 0; i < st->data.n; i++)
		st->data_fds[st->ndata++] = open_data(st, i);
	for (size_t i = 0; i < st->plan.filters.n; i++)
		st->data_fds[st->ndata++] =
			ws_memfd("filter", st->filters[i].data, st->filters[i].len);
}

/* Options go by a memfd, NUL-separated: no host path in an argv. */
static int make_descriptors(const struct ws_session *s, struct start *st,
			    struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf args = WS_BUF_INIT;
	const int on = 1;
	int pair[2];

	for (size_t i = 0; i < st->args.n; i++)
		ws_buf_add(&args, st->args.v[i], strlen(st->args.v[i]) + 1);
	st->args_fd = ws_memfd("args", args.data, args.len);
	st->errors = ws_memfd("stderr", "", 0);
	make_data(st);
	st->lock_inside = ws_lock_open(s->dir, "lock");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return ws_fail_errno(err, "make a socket");
	st->control = pair[0];
	st->control_inside = pair[1];
	if (setsockopt(st->control, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return ws_fail_errno(err, "make a socket");
	if (st->args_fd < 0 || st->errors < 0 || st->lock_inside < 0)
		return ws_fail_errno(err, "start the sandbox of session '%s'", s->id);
	return 0;
}

static struct ws_fdmap *map_descriptors(const struct start *st, int use, size_t *ret_n)
{
	struct ws_fdmap *map = ws_alloc((st->ndata + 5) * sizeof(*map));
	size_t n = 0;

	map[n++] = (struct ws_fdmap){ st->errors, 2 };
	map[n++] = (struct ws_fdmap){ st->control_inside, WS_BOOT_FD_CONTROL };
	map[n++] = (struct ws_fdmap){ st->lock_inside, WS_BOOT_FD_LOCK };
	map[n++] = (struct ws_fdmap){ use, WS_BOOT_FD_USE };
	map[n++] = (struct ws_fdmap){ st->args_fd, ARGS_FD };
	for (size_t i = 0; i < st->ndata; i++)
		map[n++] = (struct ws_fdmap){ st->data_fds[i], FIRST_DATA_FD + (int)i };
	*ret_n = n;
	return map;
}

static int spawn_bwrap(struct start *st, int use, struct ws_err *err)
{
	char args_fd[16];
	const char *const argv[] = { st->bwrap.path, "--args", args_fd,
				     WS_INIT_PATH,   "boot",   NULL };
	const char *const env[] = { NULL };
	struct ws_spawn spawn = { .argv = (char *const *)argv,
				  .env = (char *const *)env,
				  .new_session = true };
	WS_AUTO_FREE struct ws_fdmap *map = map_descriptors(st, use, &spawn.nfds);
	int rc;

	snprintf(args_fd, sizeof(args_fd), "%d", ARGS_FD);
	spawn.fds = map;
	rc = ws_spawn(&spawn, &st->monitor, err);
	ws_closep(&st->control_inside); /* else there were no EOF when init is gone */
	return rc;
}

/* Children that a dead bwrap left: they wait for it for ever, and hold the lease. */
static void kill_children(void)
{
	WS_AUTO(ws_buf) struct ws_buf list = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	char *rest = NULL;

	if (fd < 0 || ws_read_fd(fd, STDERR_MAX, &list) < 0 || !list.len)
		return;
	for (char *p = strtok_r(list.data, " \n", &rest); p;
	     p = strtok_r(NULL, " \n", &rest)) {
		uint64_t pid;

		if (ws_text_u64(p, INT32_MAX, &pid) < 0)
			continue;
		kill((pid_t)pid, SIGKILL);
		waitpid((pid_t)pid, NULL, 0);
	}
}

/* bwrap's death is told by its pidfd: a child of its that hangs keeps our socket open. */
static int wait_ready(struct start *st, pid_t *ret_init, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf data = WS_BUF_INIT;
	WS_AUTO_CLOSE int monitor = ws_pidfd_open(st->monitor);
	struct pollfd fds[] = { { .fd = st->control, .events = POLLIN },
				{ .fd = monitor, .events = POLLIN } };
	uint64_t deadline = ws_clock_mono_ms() + READY_TIMEOUT_MS;
	uint32_t type;
	int n;

	do {
		uint64_t now = ws_clock_mono_ms();

		n = poll(fds, 2, now < deadline ? (int)(deadline - now) : 0);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		return ws_fail(err, WS_TIMEOUT, "bwrap made no sandbox within %d seconds",
			       READY_TIMEOUT_MS / 1000);
	if (!(fds[0].revents & POLLIN) ||
	    ws_frame_recv(st->control, &type, &data, NULL, ret_init) < 0 ||
	    type != WS_FRAME_READY || *ret_init <= 1)
		return ws_fail(err, WS_BWRAP_UNUSABLE, "bwrap made no sandbox");
	return 0;
}

/*
 * The first line of what bwrap said becomes part of the message: for people, not for us.
 */
static int explain(struct start *st, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf line = WS_BUF_INIT;

	if (lseek(st->errors, 0, SEEK_SET) == 0)
		(void)ws_read_fd(st->errors, STDERR_MAX, &text);
	if (text.len) {
		size_t len = strcspn(text.data, "\n");
		size_t used = strlen(err->msg);

		ws_text_escape(&line, text.data, len);
		snprintf(err->msg + used, sizeof(err->msg) - used, ": %s",
			 ws_buf_str(&line));
	}
	if (!err->hint[0])
		ws_hint(err, "wsiso check tells what this host lacks");
	return -1;
}

static void read_label(pid_t init, char **ret)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_FREE char *path = ws_format("/proc/%d/attr/current", (int)init);
	WS_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *mode;

	if (fd >= 0)
		(void)ws_read_fd(fd, STDERR_MAX, &text);
	if (text.len && (mode = strpbrk(text.data, "\n")))
		*mode = '\0';
	if (text.len && (mode = strstr(text.data, " ("))) /* AppArmor: "name (enforce)" */
		*mode = '\0';
	*ret = ws_strdup(ws_buf_str(&text));
}

static int fill_record(const struct ws_session *s, const struct start *st, pid_t init,
		       struct ws_sandbox *sb, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf policy = WS_BUF_INIT;

	if (ws_proc_identify(init, &sb->init) < 0)
		return ws_fail_errno(err, "find the sandbox of session '%s'", s->id);
	sb->pidfd = ws_proc_open(&sb->init);
	if (sb->pidfd < 0)
		return ws_fail_errno(err, "find the sandbox of session '%s'", s->id);
	ws_spec_policy(&s->spec, &policy);
	sb->policy = ws_buf_steal(&policy);
	sb->nsflags = st->plan.nsflags;
	sb->protocol = WS_PROTOCOL;
	sb->started = ws_clock_wall_ns();
	sb->bwrap = ws_strdup(st->bwrap.path);
	sb->bwrap_version = ws_strdup(st->bwrap.version);
	sb->build = ws_strdup(PACKAGE_VERSION);
	sb->cgroup = ws_strdup(st->cgroup.path);
	sb->filter = ws_seccomp_digest(st->filters);
	sb->keyring = ws_strdup(st->keyring);
	read_label(init, &sb->label);
	return 0;
}

/*
 * init is ready. The record is put into place, then init gets its GO: who dies
 * before that leaves nothing, since init exits at the EOF.
 */
static int commit(const struct ws_session *s, struct start *st, int use,
		  struct ws_sandbox *sb, struct ws_err *err)
{
	bool run = ws_session_is_run(s);
	const struct ws_go go = { .linger_ms = run ? 0 : s->spec.linger_s * 1000,
				  .grace_ms = ORPHAN_GRACE_MS,
				  .bound = run };
	WS_AUTO_CLOSE int own = ws_lock_open(s->dir, "use");

	if (ws_sandbox_record_save(s, sb, err) < 0)
		return -1;
	if (ws_lock_try(use, false) < 0 || own < 0 || ws_lock_try(own, false) < 0)
		return ws_fail_errno(err, "hold the sandbox of session '%s'", s->id);
	if (ws_frame_send(st->control, WS_FRAME_GO, &go, sizeof(go), NULL, 0) < 0)
		return ws_fail_errno(err, "start the sandbox of session '%s'", s->id);
	sb->use = ws_steal_fd(&own);
	sb->monitor = st->monitor;
	if (run)
		sb->owner = ws_steal_fd(&st->control);
	return 0;
}

/* Born in its cgroup, if it has one. What it may use is set before it gets its GO. */
static int spawn_within(const struct ws_session *s, struct start *st, int use,
			struct ws_err *err)
{
	struct ws_err other = WS_ERR_INIT;
	int rc;

	if (!ws_cgroup_wanted(&s->spec.limits))
		return spawn_bwrap(st, use, err);
	if (ws_cgroup_make(&s->spec.limits, s->id, &st->cgroup, err) < 0)
		return -1;
	rc = spawn_bwrap(st, use, err);
	if (ws_cgroup_leave(&st->cgroup, rc < 0 ? &other : err) < 0)
		return -1;
	return rc;
}

static int bring_up(const struct ws_session *s, struct start *st, int use,
		    struct ws_sandbox *sb, struct ws_err *err)
{
	pid_t init = -1;

	if (ws_keyring_make(st->keyring, err) < 0 || spawn_within(s, st, use, err) < 0)
		return -1;
	if (wait_ready(st, &init, err) < 0)
		return explain(st, err);
	if (st->cgroup.path && ws_cgroup_limit(st->cgroup.path, &s->spec.limits, err) < 0)
		return -1;
	if (ws_mounts_cut(init, &st->plan, err) < 0 ||
	    ws_mounts_verify(init, &st->plan.writable, err) < 0 ||
	    fill_record(s, st, init, sb, err) < 0)
		return -1;
	return commit(s, st, use, sb, err);
}

int ws_sandbox_start(const struct ws_root *root, const struct ws_session *s, int use,
		     struct ws_sandbox *ret, struct ws_err *err)
{
	__attribute__((cleanup(start_release))) struct start st = START_INIT;
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	int rc;

	if (make_plan(root, s, &st, err) < 0 || make_descriptors(s, &st, err) < 0)
		return -1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	rc = bring_up(s, &st, use, &sb, err);
	if (rc < 0) {
		kill_children();
		ws_cgroup_kill(st.cgroup.path);
		ws_cgroup_remove(st.cgroup.path);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	if (rc < 0)
		return -1;
	*ret = sb;
	sb = WS_SANDBOX_INIT;
	return 0;
}
