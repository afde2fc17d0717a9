/* SPDX-License-Identifier: Apache-2.0 */
#include "core/binds.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "core/host.h"
#include "core/profile.h"
#include "core/user.h"

#define LINKS_MAX 40 /* as the kernel's own */

/* What has a bind's source, on its way in. */
struct source {
	const struct ws_spec_bind *spec;
	int fd;	    /* O_PATH: the thing itself */
	int folder; /* the one that it is, or lies in */
	char *path; /* without links */
	struct stat st;
};

static void source_release(struct source *s)
{
	ws_closep(&s->fd);
	ws_closep(&s->folder);
	ws_freep(&s->path);
}

void ws_binds_release(struct ws_binds *b)
{
	for (size_t i = 0; i < b->n; i++) {
		ws_freep(&b->v[i].source);
		ws_freep(&b->v[i].target);
		ws_closep(&b->v[i].fd);
	}
	ws_freep(&b->v);
	b->n = 0;
}

static int refuse(const struct ws_spec_bind *spec, const char *why, struct ws_err *err)
{
	ws_fail(err, WS_SPEC_INVALID, "'%s' cannot be bound%s: %s", spec->source,
		spec->writable ? " writable" : "", why);
	return ws_hint(err, spec->writable
				    ? "name a folder that is there for this alone"
				    : "name the file or folder itself that is needed");
}

/* ---- the way there: every part by itself, from descriptor to descriptor ---- */

struct walk {
	int at; /* a folder */
	char *rest;
	unsigned links;
};

static void walk_release(struct walk *w)
{
	ws_closep(&w->at);
	ws_freep(&w->rest);
}

/* Could anybody but root have put it into the folder, or root have been a payload? */
static bool is_roots_own(int folder, const struct stat *link)
{
	struct stat st;

	return geteuid() != 0 && link->st_uid == 0 && fstat(folder, &st) == 0 &&
	       st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int refuse_link(const struct ws_spec_bind *spec, const char *name,
		       struct ws_err *err)
{
	WS_AUTO_FREE char *real = ws_realpath(spec->source);

	ws_fail(err, WS_SPEC_INVALID,
		"'%s' cannot be bound: '%s' on its way is a symbolic link that is not "
		"root's",
		spec->source, name);
	return ws_hint(err,
		       "a command may have left it there; if you trust it, name '%s'",
		       real ? real : "where it leads");
}

static int follow(struct walk *w, int link, struct ws_err *err,
		  const struct ws_spec_bind *spec)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(link, "", text, sizeof(text) - 1);
	char *rest;

	if (n <= 0 || ++w->links > LINKS_MAX)
		return refuse(spec, "its links lead nowhere", err);
	text[n] = '\0';
	rest = ws_format("%s/%s", text, w->rest);
	ws_freep(&w->rest);
	w->rest = rest;
	if (text[0] != '/')
		return 0;
	ws_closep(&w->at);
	w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->at < 0 ? refuse(spec, strerror(errno), err) : 0;
}

/* The next part of the way, NULL-terminated; what follows stays in w->rest. */
static char *next_part(struct walk *w)
{
	const char *start = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(start, "/");
	char *part = ws_strndup(start, len);
	char *rest = ws_strdup(start + len);

	ws_freep(&w->rest);
	w->rest = rest;
	return part;
}

/* 1: there, as s->fd; 0: one part nearer; -1. */
static int step(struct walk *w, struct source *s, struct ws_err *err)
{
	WS_AUTO_FREE char *part = next_part(w);
	WS_AUTO_CLOSE int fd = -1;
	bool last = w->rest[strspn(w->rest, "/")] == '\0';

	fd = openat(w->at, *part ? part : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &s->st) < 0)
		return refuse(s->spec, strerror(errno), err);
	if (S_ISLNK(s->st.st_mode)) {
		if (!is_roots_own(w->at, &s->st))
			return refuse_link(s->spec, part, err);
		return follow(w, fd, err, s->spec);
	}
	if (!last) {
		ws_closep(&w->at);
		w->at = ws_steal_fd(&fd);
		return 0;
	}
	s->folder = S_ISDIR(s->st.st_mode) ? fcntl(fd, F_DUPFD_CLOEXEC, 3)
					   : ws_steal_fd(&w->at);
	s->fd = ws_steal_fd(&fd);
	return 1;
}

static char *path_of(int fd)
{
	WS_AUTO_FREE char *link = ws_format("/proc/self/fd/%d", fd);
	char text[PATH_MAX];
	ssize_t n = readlink(link, text, sizeof(text) - 1);

	return n > 0 && text[0] == '/' ? ws_strndup(text, (size_t)n) : NULL;
}

static int open_source(struct source *s, struct ws_err *err)
{
	__attribute__((cleanup(walk_release))) struct walk w = {
		.at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.rest = ws_strdup(s->spec->source),
	};
	int rc = w.at < 0 ? refuse(s->spec, strerror(errno), err) : 0;

	while (rc == 0)
		rc = step(&w, s, err);
	if (rc < 0)
		return -1;
	s->path = path_of(s->fd);
	if (!s->path || s->folder < 0)
		return refuse(s->spec, "it cannot be looked at", err);
	return 0;
}

/* ---- what may be bound ---- */

static const struct place {
	const char *path;
	bool below;   /* all that lies below it as well */
	bool reading; /* not even read-only */
	const char *why;
} forbidden[] = {
	{ "/", false, true, "it is the whole host" },
	{ "/proc", true, true, "it is about the host's processes" },
	{ "/sys", true, true, "it is about the host's devices" },
	{ "/dev", true, true, "it holds the host's devices" },
	{ "/run", true, true, "the host's services listen there" },
	{ "/etc", true, false, "it configures the host" },
	{ "/boot", true, false, "the host starts from it" },
	{ "/usr", true, false, "it is the host's system" },
	{ "/bin", true, false, "it is the host's system" },
	{ "/sbin", true, false, "it is the host's system" },
	{ "/lib", true, false, "it is the host's system" },
	{ "/lib32", true, false, "it is the host's system" },
	{ "/lib64", true, false, "it is the host's system" },
	{ "/libx32", true, false, "it is the host's system" },
	{ "/var", false, false, "it is the host's" },
	{ "/var/lib", false, false, "it is the host's" },
	{ "/var/tmp", false, false, "everybody's files are there" },
	{ "/tmp", false, false, "everybody's files are there" },
	{ "/home", false, false, "everybody's files are there" },
	{ "/opt", false, false, "it is the host's" },
	{ "/srv", false, false, "it is the host's" },
};

static bool is_at_or_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return strncmp(path, top, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static const char *host_folder(const struct source *s)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(forbidden); i++) {
		const struct place *p = &forbidden[i];

		if (!s->spec->writable && !p->reading)
			continue;
		if (strcmp(s->path, p->path) == 0 ||
		    (p->below && is_at_or_below(s->path, p->path)))
			return p->why;
	}
	return NULL;
}

/* Upwards from FOLDER, by what it is and not by its name: a mount has two. */
static bool lies_in(int folder, const struct stat *top)
{
	WS_AUTO_CLOSE int at = fcntl(folder, F_DUPFD_CLOEXEC, 3);
	struct stat st, before = { 0 };

	while (at >= 0 && fstat(at, &st) == 0) {
		int up;

		if (st.st_ino == top->st_ino && st.st_dev == top->st_dev)
			return true;
		if (st.st_ino == before.st_ino && st.st_dev == before.st_dev)
			return false;
		before = st;
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		ws_closep(&at);
		at = up;
	}
	return true; /* not known: as bad */
}

static const char *state_folder(const struct ws_root *root, const struct source *s)
{
	struct stat st;

	if (fstat(root->fd, &st) < 0 || lies_in(s->folder, &st))
		return "it lies in wsiso's state folder, where sessions write";
	if (S_ISDIR(s->st.st_mode) && lies_in(root->fd, &s->st))
		return "wsiso's state folder lies in it";
	return NULL;
}

static const char *home_folder(const struct source *s)
{
	WS_AUTO(ws_user) struct ws_user user = { 0 };
	struct ws_err ignored = WS_ERR_INIT;
	WS_AUTO_CLOSE int home = -1;

	if (!S_ISDIR(s->st.st_mode) || ws_user_self(&user, &ignored) < 0 ||
	    !user.host_home)
		return NULL;
	home = open(user.host_home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (home >= 0 && lies_in(home, &s->st))
		return "it is, or holds, your home folder with all that is secret there";
	return NULL;
}

/* Whoever can write what wsiso runs needs no way out. */
static const char *programs(const struct ws_spec *spec, const struct source *s)
{
	const char *const ours[] = { PKGLIBEXECDIR, "/proc/self/exe", spec->bwrap_path };

	for (size_t i = 0; s->spec->writable && i < WS_ARRAY_SIZE(ours); i++) {
		WS_AUTO_FREE char *path = ours[i] ? ws_realpath(ours[i]) : NULL;

		if (path && is_at_or_below(path, s->path))
			return "wsiso's own programs lie in it";
	}
	return NULL;
}

static const char *nature(const struct source *s)
{
	if (s->spec->writable && !S_ISDIR(s->st.st_mode))
		return "it is no folder";
	if (!S_ISDIR(s->st.st_mode) && !S_ISREG(s->st.st_mode))
		return "it is neither a folder nor a regular file";
	if (s->spec->writable && s->st.st_uid != geteuid())
		return "it belongs to another user";
	return NULL;
}

static int check_source(const struct ws_root *root, const struct ws_spec *spec,
			const struct source *s, struct ws_err *err)
{
	const char *why = host_folder(s);

	if (!why)
		why = state_folder(root, s);
	if (!why)
		why = home_folder(s);
	if (!why)
		why = programs(spec, s);
	if (!why)
		why = nature(s);
	return why ? refuse(s->spec, why, err) : 0;
}

/* ---- all of them ---- */

static int add(const struct ws_root *root, const struct ws_spec *spec,
	       const struct ws_spec_bind *bind, struct ws_binds *b, struct ws_err *err)
{
	WS_AUTO(source)
	struct source s = { .spec = bind, .fd = -1, .folder = -1 };

	if (open_source(&s, err) < 0 || check_source(root, spec, &s, err) < 0)
		return -1;
	b->v[b->n++] = (struct ws_plan_bind){
		.source = ws_strdup(s.path),
		.target = ws_strdup(bind->target),
		.fd = ws_steal_fd(&s.fd),
		.writable = bind->writable,
	};
	return 0;
}

static int by_target(const void *a, const void *b)
{
	const struct ws_plan_bind *x = a, *y = b;

	return strcmp(x->target, y->target);
}

int ws_binds_open(const struct ws_root *root, const struct ws_spec *spec,
		  struct ws_binds *ret, struct ws_err *err)
{
	WS_AUTO(ws_binds) struct ws_binds b = WS_BINDS_INIT;
	WS_AUTO(ws_spec) struct ws_spec all = { 0 };

	*ret = WS_BINDS_INIT;
	if (ws_profile_binds(spec, &all, err) < 0)
		return -1;
	if (all.nbinds && spec->mode == WS_MODE_HOST_READONLY) {
		ws_fail(err, WS_SPEC_INVALID,
			"nothing can be bound in mode \"host_readonly\": it could show what "
			"is hidden");
		return ws_hint(err, "the host's files are at their own paths");
	}
	b.v = ws_alloc((all.nbinds + 1) * sizeof(*b.v));
	for (size_t i = 0; i < all.nbinds; i++)
		if (add(root, spec, &all.binds[i], &b, err) < 0)
			return -1;
	qsort(b.v, b.n, sizeof(*b.v), by_target);
	*ret = b;
	b = WS_BINDS_INIT;
	return 0;
}

int ws_binds_plan(const struct ws_binds *b, struct ws_plan *p, struct ws_err *err)
{
	for (size_t i = 0; i < b->n; i++)
		if (ws_plan_add_bind(p, &b->v[i], err) < 0)
			return -1;
	return 0;
}

int ws_binds_check(const struct ws_root *root, const struct ws_spec *spec,
		   struct ws_err *err)
{
	const struct ws_strv none = WS_STRV_INIT;
	const struct ws_plan_source src = { .spec = spec,
					    .root = root->path,
					    .folder = "/",
					    .init = "/",
					    .stack = &none };
	WS_AUTO(ws_binds) struct ws_binds binds = WS_BINDS_INIT;
	WS_AUTO(ws_host) struct ws_host host = WS_HOST_INIT;
	WS_AUTO(ws_plan) struct ws_plan plan = WS_PLAN_INIT;

	if (ws_binds_open(root, spec, &binds, err) < 0)
		return -1;
	if (binds.n == 0)
		return 0;
	if (ws_host_look(&host, err) < 0)
		return -1;
	ws_plan_make(&src, &host, &plan);
	return ws_binds_plan(&binds, &plan, err);
}
