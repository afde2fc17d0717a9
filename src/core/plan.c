/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plan.h"

#include <sched.h>
#include <string.h>

#include "base/buf.h"
#include "core/plan_parts.h"
#include "init/protocol.h"

#define SHM_SIZE (1u << 30)

/* Of /etc only what programs need to run; nothing here names users, keys or hosts. */
static const char *const etc_shown[] = {
	"alternatives",
	"ca-certificates",
	"ca-certificates.conf",
	"bash.bashrc",
	"chromium.d", /* which its starter reads */
	"debian_version",
	"dpkg",
	"fonts",
	"gai.conf",
	"groff",
	"inputrc",
	"java-17-openjdk",
	"java-21-openjdk",
	"ld.so.cache",
	"ld.so.conf",
	"ld.so.conf.d",
	"locale.alias",
	"localtime",
	"magic",
	"magic.mime",
	"manpath.config",
	"maven/logging",
	"maven/m2.conf", /* and not its settings, which may have a password */
	"mime.types",
	"nanorc",
	"networks",
	"os-release",
	"perl",
	"pki",
	"profile",
	"profile.d",
	"protocols",
	"python3",
	"python3.11",
	"python3.13",
	"rpc",
	"services",
	"shells",
	"skel",
	"ssl",
	"terminfo",
	"timezone",
	"vim",
	"xattr.conf",
	"xml",
};

/* Device nodes bwrap binds one by one: a read-only /dev does not cover them. */
static const char *const dev_writable[] = {
	"/dev/null",	"/dev/zero", "/dev/full", "/dev/random",
	"/dev/urandom", "/dev/tty",  "/dev/pts",  "/dev/shm",
};

static void mount_release(struct ws_mount *m)
{
	ws_freep(&m->source);
	ws_freep(&m->target);
	ws_freep(&m->work);
	ws_freep(&m->data);
	ws_strv_release(&m->lowers);
}

void ws_plan_release(struct ws_plan *p)
{
	for (size_t i = 0; i < p->nmounts; i++)
		mount_release(&p->mounts[i]);
	ws_freep(&p->mounts);
	ws_freep(&p->hostname);
	ws_strv_release(&p->writable);
}

void ws_host_release(struct ws_host *h)
{
	for (size_t i = 0; i < h->ndirs; i++) {
		ws_freep(&h->dirs[i].name);
		ws_freep(&h->dirs[i].link);
	}
	ws_freep(&h->dirs);
	ws_freep(&h->hostname);
	ws_freep(&h->resolv_conf);
	ws_freep(&h->ps);
	ws_freep(&h->user);
	ws_freep(&h->group);
	ws_freep(&h->home);
}

struct ws_mount *ws_plan_add(struct ws_plan *p, enum ws_mount_kind kind,
			     const char *source, const char *target)
{
	struct ws_mount *m;

	p->mounts = ws_grow(p->mounts, p->nmounts + 1, sizeof(*p->mounts));
	m = &p->mounts[p->nmounts++];
	*m = (struct ws_mount){ .kind = kind,
				.source = ws_strdup(source),
				.target = ws_strdup(target) };
	return m;
}

void ws_plan_tmpfs(struct ws_plan *p, const char *target, unsigned mode, uint64_t size)
{
	struct ws_mount *m = ws_plan_add(p, WS_MOUNT_TMPFS, NULL, target);

	m->mode = mode;
	m->size = size;
}

void ws_plan_data(struct ws_plan *p, const char *target, const char *data)
{
	ws_plan_add(p, WS_MOUNT_DATA, NULL, target)->data = ws_strdup(data);
}

static void plan_system(struct ws_plan *p, const struct ws_host *host)
{
	ws_plan_add(p, WS_MOUNT_RO_BIND, "/usr", "/usr");
	for (size_t i = 0; i < host->ndirs; i++) {
		const struct ws_host_dir *d = &host->dirs[i];
		WS_AUTO_FREE char *path = ws_format("/%s", d->name);

		if (d->link)
			ws_plan_add(p, WS_MOUNT_SYMLINK, d->link, path);
		else
			ws_plan_add(p, WS_MOUNT_RO_BIND, path, path);
	}
}

/* They list the keyrings of the uid, those of the host's processes too. */
void ws_plan_hide_keys(struct ws_plan *p)
{
	ws_plan_data(p, "/proc/keys", "");
	ws_plan_data(p, "/proc/key-users", "");
}

void ws_plan_proc(struct ws_plan *p, const struct ws_host *host)
{
	ws_plan_add(p, WS_MOUNT_PROC, NULL, "/proc");
	ws_strv_push(&p->writable, "/proc");
	ws_plan_hide_keys(p);
	if (host->uid == 0) /* sysctls ask for kuid 0, not for a capability */
		ws_plan_add(p, WS_MOUNT_RO_BIND, "/proc/sys", "/proc/sys");
}

void ws_plan_dev(struct ws_plan *p, uint64_t shm_size)
{
	ws_plan_add(p, WS_MOUNT_DEV, NULL, "/dev");
	ws_plan_tmpfs(p, "/dev/shm", 01777, shm_size ? shm_size : SHM_SIZE);
	ws_plan_add(p, WS_MOUNT_REMOUNT_RO, NULL, "/dev");
	for (size_t i = 0; i < WS_ARRAY_SIZE(dev_writable); i++)
		ws_strv_push(&p->writable, dev_writable[i]);
}

/* The caller's entry alone, and nobody, who owns what is not mapped. */
static void plan_accounts(struct ws_plan *p, const struct ws_host *h)
{
	WS_AUTO(ws_buf) struct ws_buf passwd = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf group = WS_BUF_INIT;

	if (h->uid != 0)
		ws_buf_addstr(&passwd, "root:x:0:0:root:/root:/usr/sbin/nologin\n");
	ws_buf_addf(&passwd, "%s:x:%u:%u::%s:/bin/bash\n", h->user, (unsigned)h->uid,
		    (unsigned)h->gid, h->home);
	ws_buf_addstr(&passwd,
		      "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
	if (h->gid != 0)
		ws_buf_addstr(&group, "root:x:0:\n");
	ws_buf_addf(&group, "%s:x:%u:\n", h->group, (unsigned)h->gid);
	ws_buf_addstr(&group, "nogroup:x:65534:\n");
	ws_plan_data(p, "/etc/passwd", passwd.data);
	ws_plan_data(p, "/etc/group", group.data);
}

static void plan_etc(struct ws_plan *p, const struct ws_host *host)
{
	const char *name = p->hostname ? p->hostname : host->hostname;
	WS_AUTO_FREE char *hosts = ws_format(
		"127.0.0.1\tlocalhost %s\n::1\tlocalhost ip6-localhost ip6-loopback\n",
		name);
	WS_AUTO_FREE char *hostname = ws_format("%s\n", name);

	ws_plan_add(p, WS_MOUNT_DIR, NULL, "/etc");
	for (size_t i = 0; i < WS_ARRAY_SIZE(etc_shown); i++) {
		WS_AUTO_FREE char *path = ws_format("/etc/%s", etc_shown[i]);

		ws_plan_add(p, WS_MOUNT_RO_BIND_TRY, path, path);
	}
	ws_plan_add(p, WS_MOUNT_SYMLINK, "../proc/self/mounts", "/etc/mtab");
	plan_accounts(p, host);
	ws_plan_data(
		p, "/etc/nsswitch.conf",
		"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
		"protocols: files\nservices: files\nethers: files\nrpc: files\n");
	ws_plan_data(p, "/etc/hosts", hosts);
	ws_plan_data(p, "/etc/hostname", hostname);
	if (!(p->nsflags & CLONE_NEWNET) && host->resolv_conf)
		ws_plan_add(p, WS_MOUNT_RO_BIND_TRY, host->resolv_conf,
			    "/etc/resolv.conf");
}

/*
 * A payload that could rename /run/wsiso would choose what the next enter runs: read-only
 * it must be.
 */
static void plan_run(struct ws_plan *p, const struct ws_plan_source *src)
{
	ws_plan_tmpfs(p, "/run", 0755, WS_PLAN_SMALL_TMPFS);
	ws_plan_add(p, WS_MOUNT_RO_BIND, src->init, WS_INIT_PATH);
	for (size_t i = 0; i < src->repos.n; i++) {
		WS_AUTO_FREE char *from =
			ws_format("%s/pools/%s", src->root, src->pools.v[i]);
		WS_AUTO_FREE char *to =
			ws_format("/run/wsiso/objects/%s", src->repos.v[i]);

		ws_plan_add(p, WS_MOUNT_RO_BIND, from, to);
	}
	ws_plan_add(p, WS_MOUNT_REMOUNT_RO, NULL, "/run");
}

/* Kept for the session, or an empty mount point for each command's own tmpfs. */
static void plan_kept(struct ws_plan *p, const char *from, bool kept, const char *target)
{
	if (!kept) {
		ws_plan_add(p, WS_MOUNT_DIR, NULL, target);
		return;
	}
	ws_plan_add(p, WS_MOUNT_BIND, from, target);
	ws_strv_push(&p->writable, target);
}

/*
 * The lower is no layer, so it cannot be rooted at /workspace: each has an overlay of its
 * own, over its part of the upper. What they stand in is read-only: nothing that a
 * command can write has a mount point in it.
 */
static void plan_live(struct ws_plan *p, const struct ws_plan_source *src)
{
	ws_plan_add(p, WS_MOUNT_DIR, NULL, "/workspace");
	for (size_t i = 0; i < src->lives.n; i++) {
		const char *name = src->lives.v[i];
		WS_AUTO_FREE char *upper = ws_format("%s/upper/%s", src->folder, name);
		WS_AUTO_FREE char *target = ws_format("/workspace/%s", name);
		struct ws_mount *m = ws_plan_add(p, WS_MOUNT_OVERLAY, upper, target);

		m->work = ws_format("%s/work/%s", src->folder, name);
		ws_strv_push(&m->lowers, src->live_paths.v[i]);
		for (size_t k = 0; k < src->stack->n; k++)
			ws_strv_addf(&m->lowers, "%s/layers/%s/root/%s", src->root,
				     src->stack->v[k], name);
		ws_strv_push(&p->writable, target);
	}
}

static void plan_workspace(struct ws_plan *p, const struct ws_plan_source *src)
{
	WS_AUTO_FREE char *upper = ws_format("%s/upper", src->folder);
	struct ws_mount *m;

	if (src->lives.n) {
		plan_live(p, src);
		return;
	}
	ws_strv_push(&p->writable, "/workspace");
	if (src->stack->n == 0) {
		ws_plan_add(p, WS_MOUNT_BIND, upper, "/workspace");
		return;
	}
	m = ws_plan_add(p, WS_MOUNT_OVERLAY, upper, "/workspace");
	m->work = ws_format("%s/work", src->folder);
	for (size_t i = 0; i < src->stack->n; i++)
		ws_strv_addf(&m->lowers, "%s/layers/%s/root", src->root,
			     src->stack->v[i]);
}

static uint64_t namespaces(const struct ws_spec_sandbox *sb)
{
	uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC;

	if (sb->unshare_net)
		flags |= CLONE_NEWNET;
	if (sb->unshare_uts || sb->hostname)
		flags |= CLONE_NEWUTS;
	if (sb->unshare_cgroup)
		flags |= CLONE_NEWCGROUP;
	return flags;
}

static void plan_overlay(struct ws_plan *p, const struct ws_plan_source *src,
			 const struct ws_host *host)
{
	const struct ws_spec *spec = src->spec;
	WS_AUTO_FREE char *tmp = ws_format("%s/tmp", src->folder);

	plan_system(p, host);
	ws_plan_proc(p, host);
	ws_plan_dev(p, spec->limits.tmp_size);
	plan_etc(p, host);
	plan_run(p, src);
	ws_plan_add(p, WS_MOUNT_DIR, NULL, "/var");
	ws_plan_add(p, WS_MOUNT_SYMLINK, "../tmp", "/var/tmp");
	ws_plan_add(p, WS_MOUNT_SYMLINK, "../run", "/var/run");
	plan_kept(p, tmp, spec->session_tmp, "/tmp");
	plan_kept(p, src->home, spec->persistent_home, host->home);
	if (src->stack)
		plan_workspace(p, src);
	ws_plan_add(p, WS_MOUNT_REMOUNT_RO, NULL, "/");
}

void ws_plan_make(const struct ws_plan_source *src, const struct ws_host *host,
		  struct ws_plan *ret)
{
	const struct ws_spec *spec = src->spec;

	*ret = WS_PLAN_INIT;
	ret->nsflags = namespaces(&spec->sandbox);
	ws_filter_of_spec(spec, &ret->filters);
	ret->hostname = ws_strdup(spec->sandbox.hostname);
	if (spec->mode == WS_MODE_HOST_READONLY)
		ws_plan_host(ret, src, host);
	else
		plan_overlay(ret, src, host);
}
