/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/lock.h"
#include "base/proc.h"
#include "base/text.h"
#include "core/bwrap.h"
#include "core/enter.h"
#include "core/host.h"
#include "core/probes.h"
#include "core/sandbox_start.h"
#include "core/seccomp.h"
#include "init/protocol.h"

#define RUN_TIMEOUT_MS 10000
#define SAID_MAX (64 << 10)
#define OVERLAY_FILE "overlay"

/*
 * A scratch folder below the real root, so that it is the real filesystem that is tried.
 */
struct place {
	const struct ws_root *root;
	char name[64];
	char *path;
	int fd;
};

#define PLACE_INIT       \
	{                \
		.fd = -1 \
	}

static void place_release(struct place *p)
{
	struct ws_err ignored = WS_ERR_INIT;
	WS_AUTO_CLOSE int tmp = -1;

	if (p->fd >= 0 && (tmp = ws_root_dir(p->root, "tmp", &ignored)) >= 0)
		ws_root_discard(p->root, tmp, p->name, &ignored);
	ws_closep(&p->fd);
	ws_freep(&p->path);
}

static int place_make(const struct ws_root *root, const char *const *folders, size_t n,
		      struct place *ret, struct ws_err *err)
{
	ret->root = root;
	if (ws_root_scratch(root, "check", ret->name, &ret->fd, err) < 0)
		return -1;
	ret->path = ws_format("%s/tmp/%s", root->path, ret->name);
	for (size_t i = 0; i < n; i++)
		if (ws_mkdir(ret->fd, folders[i], 0755) < 0)
			return ws_fail_errno(err, "make '%s/%s'", ret->path, folders[i]);
	return 0;
}

/* bwrap with ARGS; what it says on stderr goes to SAID. Returns its status, or -1. */
static int run_bwrap(const struct ws_probe_host *host, struct ws_strv *args,
		     struct ws_buf *said, struct ws_err *err)
{
	WS_AUTO(ws_bwrap) struct ws_bwrap bwrap = { 0 };
	WS_AUTO(ws_strv) struct ws_strv argv = WS_STRV_INIT;
	const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	struct ws_spawn spawn = { .env = (char *const *)env,
				  .timeout_ms = RUN_TIMEOUT_MS,
				  .new_session = true };
	int status;

	if (ws_bwrap_find(host->root, host->spec, &bwrap, err) < 0)
		return -1;
	ws_strv_push(&argv, bwrap.path);
	ws_strv_add(&argv, "--unshare-user", "--unshare-pid", "--cap-drop", "ALL",
		    "--die-with-parent", NULL);
	ws_strv_extend(&argv, args);
	spawn.argv = ws_strv_argv(&argv);
	return ws_run_capture(&spawn, SAID_MAX, NULL, said, &status, err) < 0 ? -1
									      : status;
}

static void say_failed(struct ws_check_item *item, const char *what, const char *remedy,
		       const struct ws_buf *said, const struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf line = WS_BUF_INIT;

	if (said->len)
		ws_text_escape(&line, said->data, strcspn(said->data, "\n"));
	ws_probe_say(item, WS_CHECK_FAILED, remedy, "%s: %s", what,
		     line.len	   ? ws_buf_str(&line)
		     : err->msg[0] ? err->msg
				   : "no reason given");
}

/* What is known to forbid user namespaces, with its remedy. */
static const struct {
	const char *path, *bad, *remedy;
} userns_switches[] = {
	{ "/proc/sys/user/max_user_namespaces", "0",
	  "sysctl user.max_user_namespaces is 0: raise it" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", "0",
	  "sysctl kernel.unprivileged_userns_clone is 0: set it to 1" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
	  "AppArmor lets only programs with a profile make user namespaces: load the distribution's "
	  "own profile for /usr/bin/bwrap (bwrap-userns-restrict, package apparmor-profiles), and "
	  "use that path" },
};

static const char *userns_remedy(void)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(userns_switches); i++) {
		WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
		WS_AUTO_CLOSE int fd =
			open(userns_switches[i].path, O_RDONLY | O_CLOEXEC);

		if (fd >= 0 && ws_read_fd(fd, 64, &text) == 0 && text.len &&
		    strcspn(text.data, "\n") == strlen(userns_switches[i].bad) &&
		    ws_text_starts(text.data, userns_switches[i].bad))
			return userns_switches[i].remedy;
	}
	return "a container's own filter or policy may forbid them: look at its security options";
}

static int run_bare(const struct ws_probe_host *host, const char *option,
		    struct ws_buf *said, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;

	ws_strv_add(&args, option, "--ro-bind", "/", "/", "--proc", "/proc", "--dev",
		    "/dev", "/bin/true", NULL);
	return run_bwrap(host, &args, said, err);
}

static void try_bare(const struct ws_probe_host *host, const char *option,
		     const char *what, const char *done, struct ws_check_item *item)
{
	WS_AUTO(ws_buf) struct ws_buf said = WS_BUF_INIT;
	struct ws_err err = WS_ERR_INIT;

	if (run_bare(host, option, &said, &err) == 0)
		ws_probe_say(item, WS_CHECK_OK, NULL, "%s", done);
	else
		say_failed(item, what, userns_remedy(), &said, &err);
}

void ws_probe_userns(const struct ws_probe_host *host, struct ws_check_item *item)
{
	try_bare(host, "--unshare-ipc", "bwrap cannot make user, PID and IPC namespaces",
		 "bwrap makes user, PID and IPC namespaces, /proc and /dev", item);
}

void ws_probe_network(const struct ws_probe_host *host, struct ws_check_item *item)
{
	try_bare(host, "--unshare-net",
		 "bwrap cannot bring up loopback in a network namespace",
		 "a network namespace with loopback up", item);
}

static int make_lower(const struct place *p, struct ws_err *err)
{
	static const char *const files[] = { "lower/changed", "lower/removed" };

	for (size_t i = 0; i < WS_ARRAY_SIZE(files); i++) {
		WS_AUTO_CLOSE int fd = ws_open_beneath(p->fd, files[i],
						       O_WRONLY | O_CREAT | O_EXCL, 0644);

		if (fd < 0 || ws_write_all(fd, "old\n", 4) < 0)
			return ws_fail_errno(err, "write '%s/%s'", p->path, files[i]);
	}
	return 0;
}

/* The change went up, the removal left a whiteout, the lower is as it was. */
static bool overlay_right(const struct place *p)
{
	struct stat changed, removed, old;

	return fstatat(p->fd, "upper/changed", &changed, AT_SYMLINK_NOFOLLOW) == 0 &&
	       changed.st_size == 8 &&
	       fstatat(p->fd, "upper/removed", &removed, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISCHR(removed.st_mode) && removed.st_rdev == 0 &&
	       fstatat(p->fd, "lower/removed", &old, AT_SYMLINK_NOFOLLOW) == 0 &&
	       old.st_size == 4;
}

static int try_overlay(const struct ws_probe_host *host, struct ws_buf *said,
		       struct ws_err *err)
{
	static const char *const folders[] = { "lower", "upper", "work" };
	__attribute__((cleanup(place_release))) struct place p = PLACE_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	int status;

	if (place_make(host->root, folders, WS_ARRAY_SIZE(folders), &p, err) < 0 ||
	    make_lower(&p, err) < 0)
		return -1;
	ws_strv_add(&args, "--ro-bind", "/", "/", "--dev", "/dev", "--overlay-src", NULL);
	ws_strv_addf(&args, "%s/lower", p.path);
	ws_strv_push(&args, "--overlay");
	ws_strv_addf(&args, "%s/upper", p.path);
	ws_strv_addf(&args, "%s/work", p.path);
	ws_strv_add(&args, "/tmp", "/bin/sh", "-c",
		    "cd /tmp && echo new >>changed && rm removed && mkdir d && mv d e",
		    NULL);
	status = run_bwrap(host, &args, said, err);
	if (status == 0 && overlay_right(&p))
		return 0;
	return status < 0 ? -1 : ws_fail(err, WS_OVERLAY_UNAVAILABLE, "it does not work");
}

static const char overlay_remedy[] =
	"name a root on a local filesystem (ext4, xfs, btrfs, tmpfs): overlayfs refuses NFS, "
	"FUSE, eCryptfs and another overlay as its upper";

void ws_probe_overlay(const struct ws_probe_host *host, struct ws_check_item *item)
{
	WS_AUTO(ws_buf) struct ws_buf said = WS_BUF_INIT;
	struct ws_err err = WS_ERR_INIT;
	char type[32];

	if (try_overlay(host, &said, &err) == 0)
		ws_probe_say(item, WS_CHECK_OK, NULL,
			     "mounted, written and emptied on %s",
			     ws_fs_type(host->root->fd, type));
	else
		say_failed(item, "no overlay on the root's filesystem", overlay_remedy,
			   &said, &err);
}

/* Good until the next boot, as long as the root stays where it is. */
static char *overlay_key(const struct ws_root *root)
{
	struct stat st;

	if (fstat(root->fd, &st) < 0)
		return ws_strdup("");
	return ws_format("%s %ju %ju\n", ws_boot_id(), (uintmax_t)st.st_dev,
			 (uintmax_t)st.st_ino);
}

/* Is it the overlay, or what has to be there before it? */
static int explain_overlay(const struct ws_probe_host *host, const struct ws_err *why,
			   struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf said = WS_BUF_INIT;
	struct ws_err other = WS_ERR_INIT;
	char type[32];

	*err = *why;
	if (why->kind == WS_BWRAP_UNUSABLE || why->kind == WS_DISK_FULL)
		return -1;
	if (run_bare(host, "--unshare-ipc", &said, &other) != 0) {
		ws_fail(err, WS_HOST_UNSUPPORTED,
			"bwrap cannot make user namespaces here");
		return ws_hint(err, "%s", userns_remedy());
	}
	ws_fail(err, WS_OVERLAY_UNAVAILABLE,
		"no overlay can be mounted in the state folder '%s', which is on %s",
		host->root->path, ws_fs_type(host->root->fd, type));
	return ws_hint(err, "%s", overlay_remedy);
}

int ws_overlay_check(const struct ws_root *root, const struct ws_spec *spec,
		     struct ws_err *err)
{
	const struct ws_probe_host host = { .root = root, .spec = spec };
	WS_AUTO(ws_buf) struct ws_buf kept = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf said = WS_BUF_INIT;
	WS_AUTO_FREE char *key = overlay_key(root);
	struct ws_err why = WS_ERR_INIT;

	if (ws_read_file(root->fd, OVERLAY_FILE, SAID_MAX, &kept) == 0 &&
	    !strcmp(ws_buf_str(&kept), key))
		return 0;
	if (try_overlay(&host, &said, &why) < 0)
		return explain_overlay(&host, &why, err);
	ws_buf_clear(&kept);
	ws_buf_addstr(&kept, key);
	return ws_write_atomic(root->fd, OVERLAY_FILE, &kept, false, err);
}

/* A session of its own, in a scratch folder: start, GO, enter, /bin/true, end. */
static int try_enter(const struct ws_root *root, struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	WS_AUTO(ws_enter_plan) struct ws_enter_plan plan = WS_ENTER_PLAN_INIT;
	WS_AUTO(ws_entered) struct ws_entered entered = WS_ENTERED_INIT;
	WS_AUTO(ws_host) struct ws_host me = WS_HOST_INIT;
	WS_AUTO_CLOSE int use = ws_lock_open(s->dir, "use");
	struct ws_filter_list filters;
	int status, rc;

	if (use < 0 || ws_lock_try(use, true) < 0)
		return ws_fail_errno(err, "lock '%s'", s->path);
	if (ws_host_look(&me, err) < 0 || ws_sandbox_start(root, s, use, &sb, err) < 0)
		return -1;
	ws_strv_push(&plan.argv, "/bin/true");
	plan.cwd = ws_strdup("/");
	plan.home = ws_strdup(me.home);
	ws_filter_of_spec(&s->spec, &filters);
	if (ws_seccomp_load_list(&filters, plan.filters, err) < 0)
		return -1;
	rc = ws_enter(&sb, &plan, false, &entered, &status, err);
	ws_sandbox_kill(&sb);
	return rc;
}

void ws_probe_enter(const struct ws_probe_host *host, struct ws_check_item *item)
{
	static const char *const folders[] = { "upper", "work", "home", "tmp" };
	__attribute__((cleanup(place_release))) struct place p = PLACE_INIT;
	WS_AUTO(ws_buf) struct ws_buf said = WS_BUF_INIT;
	struct ws_err err = WS_ERR_INIT;
	struct ws_session s = WS_SESSION_INIT; /* borrows all that it holds */

	if (place_make(host->root, folders, WS_ARRAY_SIZE(folders), &p, &err) < 0) {
		say_failed(item, "the root cannot be written", NULL, &said, &err);
		return;
	}
	s.id = p.name;
	s.dir = p.fd;
	s.path = p.path;
	s.spec = *host->spec;
	if (try_enter(host->root, &s, &err) == 0)
		ws_probe_say(item, WS_CHECK_OK, NULL,
			     "a sandbox was started, entered and ended");
	else
		say_failed(item, "no command can be run in a sandbox", err.hint, &said,
			   &err);
}
