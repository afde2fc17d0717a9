/* SPDX-License-Identifier: Apache-2.0 */
#include "core/probes.h"

#include <fcntl.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "core/bwrap.h"
#include "core/cgroup.h"
#include "core/landlock.h"
#include "core/seccomp.h"

#define NEED_MAJOR 5
#define NEED_MINOR 11
#define GROUPS_MAX 256

void ws_probe_say(struct ws_check_item *item, enum ws_check_status status,
		  const char *remedy, const char *fmt, ...)
{
	va_list ap;

	item->status = status;
	va_start(ap, fmt);
	vsnprintf(item->detail, sizeof(item->detail), fmt, ap);
	va_end(ap);
	snprintf(item->remedy, sizeof(item->remedy), "%s", remedy ? remedy : "");
}

static void probe_user(const struct ws_probe_host *host, struct ws_check_item *item)
{
	if (geteuid() != 0)
		ws_probe_say(item, WS_CHECK_OK, NULL, "uid %u, gid %u",
			     (unsigned)geteuid(), (unsigned)getegid());
	else if (host->spec->allow_root)
		ws_probe_say(
			item, WS_CHECK_WARNING, "use an ordinary user where there is one",
			"uid 0, allowed by wsiso.json: what root owns is within reach");
	else
		ws_probe_say(item, WS_CHECK_FAILED,
			     "run as an ordinary user; in a container that has none, set "
			     "\"allow_root\": true in wsiso.json",
			     "uid 0 may not run sandboxes");
}

static void probe_kernel(const struct ws_probe_host *host, struct ws_check_item *item)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	(void)host;
	uname(&u);
	sscanf(u.release, "%u.%u", &major, &minor);
	if (major < NEED_MAJOR || (major == NEED_MAJOR && minor < NEED_MINOR))
		ws_probe_say(item, WS_CHECK_FAILED, "Linux 5.11 or later is needed",
			     "Linux %s", u.release);
	else
		ws_probe_say(item, WS_CHECK_OK, NULL, "Linux %s", u.release);
}

static void probe_root(const struct ws_probe_host *host, struct ws_check_item *item)
{
	char type[32];

	ws_probe_say(item, WS_CHECK_OK, NULL, "%s: %s", host->root->path,
		     ws_fs_type(host->root->fd, type));
}

static void probe_space(const struct ws_probe_host *host, struct ws_check_item *item)
{
	double wanted = host->spec->snapshots.min_free_gb * 1e9;
	uint64_t left = 0;
	WS_AUTO(ws_buf) struct ws_buf size = WS_BUF_INIT;

	if (ws_fs_free(host->root->fd, &left) < 0) {
		ws_probe_say(item, WS_CHECK_FAILED, NULL, "%s: %s", host->root->path,
			     strerror(errno));
		return;
	}
	ws_text_size(&size, left);
	if (left < WS_ROOT_LEAST_FREE)
		ws_probe_say(item, WS_CHECK_FAILED,
			     "make room: create refuses below 256 MiB", "only %s free",
			     ws_buf_str(&size));
	else if ((double)left < wanted)
		ws_probe_say(item, WS_CHECK_WARNING,
			     "make room, or lower snapshots.min_free_gb",
			     "%s free, fewer than snapshots.min_free_gb (%g)",
			     ws_buf_str(&size), host->spec->snapshots.min_free_gb);
	else
		ws_probe_say(item, WS_CHECK_OK, NULL, "%s free", ws_buf_str(&size));
}

static void probe_bwrap(const struct ws_probe_host *host, struct ws_check_item *item)
{
	WS_AUTO(ws_bwrap) struct ws_bwrap b = { 0 };
	struct ws_err err = WS_ERR_INIT;

	if (ws_bwrap_find(host->root, host->spec, &b, &err) < 0)
		ws_probe_say(item, WS_CHECK_FAILED, err.hint, "%s", err.msg);
	else
		ws_probe_say(item, WS_CHECK_OK, NULL, "%s %s", b.path, b.version);
}

static void probe_helpers(const struct ws_probe_host *host, struct ws_check_item *item)
{
	static const char *const helpers[] = { "wsiso-init", "wsiso-git" };

	(void)host;
	for (size_t i = 0; i < WS_ARRAY_SIZE(helpers); i++) {
		WS_AUTO_FREE char *path = ws_format(PKGLIBEXECDIR "/%s", helpers[i]);

		if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0)
			continue;
		ws_probe_say(item, WS_CHECK_FAILED, "install wsiso anew", "%s: %s", path,
			     strerror(errno));
		return;
	}
	ws_probe_say(item, WS_CHECK_OK, NULL, PKGLIBEXECDIR);
}

/* Whoever can write what wsiso runs needs no way out of a sandbox. */
static void probe_binary(const struct ws_probe_host *host, struct ws_check_item *item)
{
	(void)host;
	if (geteuid() != 0 &&
	    (faccessat(AT_FDCWD, "/proc/self/exe", W_OK, AT_EACCESS) == 0 ||
	     faccessat(AT_FDCWD, PKGLIBEXECDIR "/wsiso-init", W_OK, AT_EACCESS) == 0))
		ws_probe_say(item, WS_CHECK_WARNING, "install wsiso as root",
			     "the caller can write wsiso's own programs");
	else
		ws_probe_say(item, WS_CHECK_OK, NULL,
			     "wsiso's programs are not the caller's to write");
}

static void probe_seccomp(const struct ws_probe_host *host, struct ws_check_item *item)
{
	const char *mode = ws_filter_mode(host->spec);
	struct ws_err err = WS_ERR_INIT;

	for (int i = 0; i < WS_FILTERS; i++) {
		WS_AUTO(ws_buf) struct ws_buf bytes = WS_BUF_INIT;

		if (ws_seccomp_load((enum ws_filter)i, &bytes, &err) == 0)
			continue;
		ws_probe_say(item,
			     !strcmp(mode, "off") ? WS_CHECK_WARNING : WS_CHECK_FAILED,
			     err.hint, "%s", err.msg);
		return;
	}
	if (!strcmp(mode, "enforce"))
		ws_probe_say(
			item, WS_CHECK_OK, NULL,
			"\"enforce\" is the default of this root: refused calls fail");
	else if (!strcmp(mode, "log") && !ws_seccomp_is_recorded())
		ws_probe_say(
			item, WS_CHECK_WARNING,
			"add the word log to the sysctl "
			"kernel.seccomp.actions_logged, or set sandbox.seccomp to "
			"\"enforce\"",
			"\"log\" is the default of this root, which allows, and this "
			"kernel keeps no record of it");
	else
		ws_probe_say(item, WS_CHECK_WARNING,
			     "set sandbox.seccomp to \"enforce\" where what runs can do "
			     "with it",
			     "\"%s\" is the default of this root, which allows%s: a "
			     "payload can get capabilities in a nested user namespace",
			     mode,
			     !strcmp(mode, "log") ? " (this kernel records it)" : "");
}

static void probe_landlock(const struct ws_probe_host *host, struct ws_check_item *item)
{
	int abi = ws_landlock_abi();

	(void)host;
	if (abi >= WS_LANDLOCK_SCOPES)
		ws_probe_say(
			item, WS_CHECK_OK, NULL,
			"Landlock ABI %d: run keeps signals and abstract unix sockets "
			"inside (sessions do not use it)",
			abi);
	else
		ws_probe_say(
			item, WS_CHECK_OK, NULL,
			"%s: with a shared network what runs in run reaches the host's "
			"abstract unix sockets (Linux 6.12 with Landlock closes them)",
			abi > 0 ? "an older Landlock" : "no Landlock");
}

/* What a session's own cgroup needs here; only who asks for limits needs one. */
static void probe_cgroup(const struct ws_probe_host *host, struct ws_check_item *item)
{
	static const struct ws_spec_limits all = { .memory_max = 1,
						   .pids_max = 1,
						   .cpu_max = 1 };
	bool asked = ws_cgroup_wanted(&host->spec->limits);
	struct ws_err err = WS_ERR_INIT;
	WS_AUTO_FREE char *base = NULL;

	if (ws_cgroup_try(asked ? &host->spec->limits : &all, &base, &err) == 0)
		ws_probe_say(
			item, WS_CHECK_OK, NULL,
			"memory, processes and CPU of a session can be limited, below '%s'",
			base);
	else if (asked)
		ws_probe_say(item, WS_CHECK_FAILED, err.hint,
			     "wsiso.json asks for them: %s", err.msg);
	else
		ws_probe_say(
			item, WS_CHECK_OK, err.hint,
			"a session that asks for limits.memory_max, pids_max or cpu_max "
			"is refused: %s",
			err.msg);
}

/* Supplementary groups stay inside, and cannot be dropped without privileges. */
static void probe_groups(const struct ws_probe_host *host, struct ws_check_item *item)
{
	static const char *const powerful[] = { "docker", "lxd",    "incus", "libvirt",
						"disk",	  "shadow", "kvm",   "adm",
						"sudo",	  "podman" };
	gid_t gids[GROUPS_MAX];
	int n = getgroups(GROUPS_MAX, gids);
	WS_AUTO(ws_buf) struct ws_buf names = WS_BUF_INIT;

	(void)host;
	for (size_t i = 0; i < WS_ARRAY_SIZE(powerful); i++) {
		const struct group *gr = getgrnam(powerful[i]);

		for (int k = 0; gr && k < n; k++)
			if (gids[k] == gr->gr_gid && gr->gr_gid != getegid())
				ws_buf_addf(&names, "%s%s", names.len ? ", " : "",
					    powerful[i]);
	}
	if (names.len)
		ws_probe_say(item, WS_CHECK_WARNING, "run wsiso as a user of its own",
			     "powerful supplementary groups, kept inside: %s",
			     ws_buf_str(&names));
	else
		ws_probe_say(item, WS_CHECK_OK, NULL,
			     "%d supplementary groups, none powerful", n < 0 ? 0 : n);
}

const struct ws_probe ws_probes[] = {
	{ "user", probe_user },		 { "kernel", probe_kernel },
	{ "root", probe_root },		 { "space", probe_space },
	{ "bwrap", probe_bwrap },	 { "helpers", probe_helpers },
	{ "binary", probe_binary },	 { "userns", ws_probe_userns },
	{ "overlay", ws_probe_overlay }, { "network", ws_probe_network },
	{ "enter", ws_probe_enter },	 { "seccomp", probe_seccomp },
	{ "landlock", probe_landlock },	 { "cgroup", probe_cgroup },
	{ "groups", probe_groups },	 { "mounts", ws_probe_mounts },
};

const size_t ws_probe_count = WS_ARRAY_SIZE(ws_probes);
