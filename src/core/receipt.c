/* SPDX-License-Identifier: Apache-2.0 */
#include "core/receipt.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sha256.h"
#include "core/cgroup.h"
#include "core/filter.h"
#include "core/landlock.h"
#include "core/profile.h"

#define STATUS_MAX 65536
#define DIGEST "sha256:"

static const char *const namespaces[WS_RECEIPT_NAMESPACES] = {
	"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time",
};

/* In the order of the five sets of struct ws_receipt. */
static const struct {
	const char *field, *name;
} caps[] = {
	{ "\nCapInh:\t", "inheritable" }, { "\nCapPrm:\t", "permitted" },
	{ "\nCapEff:\t", "effective" },	  { "\nCapBnd:\t", "bounding" },
	{ "\nCapAmb:\t", "ambient" },
};

static const struct {
	int resource;
	const char *name;
} rlimits[WS_RECEIPT_RLIMITS] = {
	{ RLIMIT_CPU, "cpu" },		 { RLIMIT_FSIZE, "fsize" },
	{ RLIMIT_DATA, "data" },	 { RLIMIT_STACK, "stack" },
	{ RLIMIT_CORE, "core" },	 { RLIMIT_RSS, "rss" },
	{ RLIMIT_NPROC, "nproc" },	 { RLIMIT_NOFILE, "nofile" },
	{ RLIMIT_MEMLOCK, "memlock" },	 { RLIMIT_AS, "as" },
	{ RLIMIT_LOCKS, "locks" },	 { RLIMIT_SIGPENDING, "sigpending" },
	{ RLIMIT_MSGQUEUE, "msgqueue" }, { RLIMIT_NICE, "nice" },
	{ RLIMIT_RTPRIO, "rtprio" },	 { RLIMIT_RTTIME, "rttime" },
};

void ws_receipt_release(struct ws_receipt *r)
{
	ws_freep(&r->filter);
	ws_freep(&r->cgroup);
}

/* "net:[4026531840]" */
static int read_namespaces(int proc, struct ws_receipt *r)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(namespaces); i++) {
		char path[24], link[64];
		const char *open;
		ssize_t n;

		snprintf(path, sizeof(path), "ns/%s", namespaces[i]);
		n = readlinkat(proc, path, link, sizeof(link) - 1);
		if (n < 0 && errno == ENOENT)
			continue; /* a kernel without this kind */
		if (n < 0)
			return -1;
		link[n] = '\0';
		open = strchr(link, '[');
		r->namespaces[i] = open ? strtoull(open + 1, NULL, 10) : 0;
	}
	return 0;
}

static int read_text(int proc, const char *name, struct ws_buf *text)
{
	WS_AUTO_CLOSE int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : ws_read_fd(fd, STATUS_MAX, text);
}

static uint64_t number_after(const char *text, const char *field)
{
	const char *at = strstr(text, field);

	return at ? strtoull(at + strlen(field), NULL, 10) : 0;
}

/*
 * Fields start a line: the process's name, in the first, may hold anything but a break.
 */
static int read_status(int proc, struct ws_receipt *r)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	if (read_text(proc, "status", &text) < 0)
		return -1;
	for (size_t i = 0; i < WS_ARRAY_SIZE(caps); i++) {
		const char *at = strstr(ws_buf_str(&text), caps[i].field);

		if (at)
			snprintf(r->caps[i], sizeof(r->caps[i]), "%.16s",
				 at + strlen(caps[i].field));
	}
	r->no_new_privs = number_after(ws_buf_str(&text), "\nNoNewPrivs:\t") == 1;
	r->seccomp_mode = number_after(ws_buf_str(&text), "\nSeccomp:\t");
	r->seccomp_filters = number_after(ws_buf_str(&text), "\nSeccomp_filters:\t");
	return 0;
}

static int read_cgroup(int proc, struct ws_receipt *r)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	if (read_text(proc, "cgroup", &text) < 0)
		return -1;
	while (text.len > 0 && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	r->cgroup = ws_buf_steal(&text);
	return 0;
}

static int read_rlimits(pid_t pid, struct ws_receipt *r)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(rlimits); i++) {
		struct rlimit limit;

		if (prlimit(pid, (enum __rlimit_resource)rlimits[i].resource, NULL,
			    &limit) < 0)
			return -1;
		r->soft[i] =
			limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
		r->hard[i] =
			limit.rlim_max == RLIM_INFINITY ? UINT64_MAX : limit.rlim_max;
	}
	return 0;
}

int ws_receipt_read(pid_t pid, struct ws_receipt *ret)
{
	WS_AUTO(ws_receipt) struct ws_receipt r = WS_RECEIPT_INIT;
	WS_AUTO_CLOSE int proc = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || read_namespaces(proc, &r) < 0 || read_status(proc, &r) < 0 ||
	    read_cgroup(proc, &r) < 0 || read_rlimits(pid, &r) < 0) {
		if (errno == ENOENT)
			errno = ESRCH;
		return -1;
	}
	*ret = r;
	r = WS_RECEIPT_INIT;
	return 0;
}

static void print_limit(struct ws_jsonw *w, const char *key, uint64_t value)
{
	if (value == UINT64_MAX)
		ws_jsonw_str(w, key, "unlimited");
	else
		ws_jsonw_u64(w, key, value);
}

static void print_landlock(struct ws_jsonw *w, bool scoped)
{
	ws_jsonw_object(w, "landlock");
	ws_jsonw_int(w, "abi", ws_landlock_abi());
	ws_jsonw_array(w, "scopes");
	if (scoped) {
		ws_jsonw_str(w, NULL, "abstract_unix_socket");
		ws_jsonw_str(w, NULL, "signal");
	}
	ws_jsonw_end(w, ']');
	ws_jsonw_end(w, '}');
}

void ws_receipt_print(struct ws_jsonw *w, const struct ws_receipt *r)
{
	ws_jsonw_object(w, "namespaces");
	for (size_t i = 0; i < WS_ARRAY_SIZE(namespaces); i++)
		if (r->namespaces[i])
			ws_jsonw_u64(w, namespaces[i], r->namespaces[i]);
	ws_jsonw_end(w, '}');
	ws_jsonw_object(w, "capabilities");
	for (size_t i = 0; i < WS_ARRAY_SIZE(caps); i++)
		ws_jsonw_str(w, caps[i].name, r->caps[i]);
	ws_jsonw_end(w, '}');
	ws_jsonw_bool(w, "no_new_privs", r->no_new_privs);
	ws_jsonw_object(w, "seccomp");
	ws_jsonw_u64(w, "mode", r->seccomp_mode);
	ws_jsonw_u64(w, "filters", r->seccomp_filters);
	ws_jsonw_str(w, "setting", r->seccomp);
	ws_jsonw_bool(w, "refuses", r->seccomp && !strcmp(r->seccomp, "enforce"));
	ws_jsonw_end(w, '}');
	print_landlock(w, r->scoped);
	ws_jsonw_object(w, "rlimits");
	for (size_t i = 0; i < WS_ARRAY_SIZE(rlimits); i++) {
		ws_jsonw_object(w, rlimits[i].name);
		print_limit(w, "soft", r->soft[i]);
		print_limit(w, "hard", r->hard[i]);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, '}');
	ws_jsonw_str(w, "cgroup", r->cgroup);
}

/* Null where there is nothing to digest. */
static void print_digest(struct ws_jsonw *w, const char *key, const char *text)
{
	struct ws_sha256 sha;
	char digest[sizeof(DIGEST) - 1 + WS_SHA256_HEX];

	if (!text || !*text) {
		ws_jsonw_null(w, key);
		return;
	}
	ws_sha256_init(&sha);
	ws_sha256_update(&sha, text, strlen(text));
	memcpy(digest, DIGEST, strlen(DIGEST));
	ws_sha256_hex(&sha, digest + strlen(DIGEST));
	ws_jsonw_str(w, key, digest);
}

void ws_receipt_print_facts(struct ws_jsonw *w, const struct ws_session *s,
			    const struct ws_sandbox *sb, const struct ws_receipt *r)
{
	ws_jsonw_str(w, "profile", s->profile ? s->profile : WS_PROFILE_DEFAULT);
	ws_jsonw_str(w, "network", sb->nsflags & CLONE_NEWNET ? "isolate" : "share");
	ws_jsonw_array(w, "snapshots");
	for (size_t i = 0; i < s->nrepos; i++) {
		ws_jsonw_object(w, NULL);
		ws_jsonw_str(w, "repo", s->repos[i].name);
		ws_jsonw_str(w, "revision", s->repos[i].revision);
		ws_jsonw_str(w, "snapshot", s->repos[i].snapshot);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, ']');
	ws_jsonw_object(w, "digests");
	print_digest(w, "policy", sb->policy);
	ws_jsonw_str(w, "filter", r->filter && *r->filter ? r->filter : NULL);
	print_digest(w, "label", sb->label);
	ws_jsonw_end(w, '}');
	ws_jsonw_object(w, "bwrap");
	ws_jsonw_str(w, "path", sb->bwrap);
	ws_jsonw_str(w, "version", sb->bwrap_version);
	ws_jsonw_end(w, '}');
	ws_jsonw_str(w, "build", sb->build);
	ws_cgroup_print(w, "limits", sb->cgroup);
}

void ws_receipt_sandbox(struct ws_jsonw *w, const char *key, const struct ws_session *s,
			const struct ws_sandbox *sb)
{
	WS_AUTO(ws_receipt) struct ws_receipt r = WS_RECEIPT_INIT;

	ws_jsonw_object(w, key);
	ws_jsonw_int(w, "pid", sb->init.pid);
	ws_jsonw_time(w, "started", sb->started);
	if (ws_receipt_read(sb->init.pid, &r) == 0) {
		r.seccomp = ws_filter_mode(&s->spec);
		r.filter = ws_strdup(sb->filter);
		ws_receipt_print(w, &r);
	}
	ws_receipt_print_facts(w, s, sb, &r);
	ws_jsonw_end(w, '}');
}
