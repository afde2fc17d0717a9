/* SPDX-License-Identifier: Apache-2.0 */
#include "core/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/tree.h"

#define DEFAULT_BELOW_HOME ".codumentor/workspaces"
#define ROOT_FILE "wsiso.json"
#define SCRATCH_TRIES 16

static char *default_path(struct ws_err *err)
{
	const char *home = getenv("HOME");
	const struct passwd *pw;

	if (home && home[0] == '/')
		return ws_format("%s/" DEFAULT_BELOW_HOME, home);
	pw = getpwuid(geteuid());
	if (pw && pw->pw_dir && pw->pw_dir[0] == '/')
		return ws_format("%s/" DEFAULT_BELOW_HOME, pw->pw_dir);
	ws_fail(err, WS_ROOT_UNSAFE,
		"no state folder: HOME is unset and uid %u has no passwd entry",
		(unsigned)geteuid());
	ws_hint(err, "name one by --root or WSISO_ROOT");
	return NULL;
}

/* The way to the root is the caller's own: ordinary path rules, links allowed. */
static int make_path(const char *path, struct ws_err *err)
{
	WS_AUTO_FREE char *copy = ws_strdup(path);

	for (char *p = copy + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST && errno != EROFS)
			return ws_fail_errno(err, "make folder '%s'", copy);
		*p = '/';
	}
	if (mkdir(copy, 0700) < 0 && errno != EEXIST)
		return ws_fail_errno(err, "make the state folder '%s'", copy);
	return 0;
}

static int check_safe(const struct ws_root *root, struct ws_err *err)
{
	struct stat st;

	if (fstat(root->fd, &st) < 0)
		return ws_fail_errno(err, "look at the state folder '%s'", root->path);
	if (st.st_uid != geteuid()) {
		ws_fail(err, WS_ROOT_UNSAFE,
			"the state folder '%s' belongs to uid %u, not to %u", root->path,
			(unsigned)st.st_uid, (unsigned)geteuid());
		return ws_hint(err, "run wsiso as its owner, or name another by --root");
	}
	if (st.st_mode & 077) {
		ws_fail(err, WS_ROOT_UNSAFE,
			"others have access to the state folder '%s' (mode %04o)",
			root->path, (unsigned)(st.st_mode & 07777));
		return ws_hint(err, "chmod 700 '%s'", root->path);
	}
	/* its group would be handed down: overlayfs copies up no file of another group */
	if ((st.st_mode & S_ISGID) && fchmod(root->fd, st.st_mode & 01700) < 0)
		return ws_fail_errno(err, "chmod g-s '%s'", root->path);
	return 0;
}

int ws_root_open(const char *path, bool create, struct ws_root *ret, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO_FREE char *given = NULL;

	if (!path || !*path)
		path = getenv("WSISO_ROOT");
	given = path && *path ? ws_strdup(path) : default_path(err);
	if (!given)
		return -1;
	if (create && make_path(given, err) < 0)
		return -1;
	root.path = ws_realpath(given);
	if (!root.path)
		return ws_fail_errno(err, "find the state folder '%s'", given);
	root.fd = open(root.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root.fd < 0)
		return ws_fail_errno(err, "open the state folder '%s'", root.path);
	if (check_safe(&root, err) < 0)
		return -1;
	ret->path = ws_steal_ptr(&root.path);
	ret->fd = ws_steal_fd(&root.fd);
	return 0;
}

void ws_root_release(struct ws_root *root)
{
	ws_closep(&root->fd);
	ws_freep(&root->path);
}

int ws_root_dir(const struct ws_root *root, const char *name, struct ws_err *err)
{
	int fd = ws_open_dir(root->fd, name);

	if (fd < 0 && errno == ENOENT && ws_mkdir(root->fd, name, 0700) == 0)
		fd = ws_open_dir(root->fd, name);
	if (fd < 0)
		return ws_fail_errno(err, "open '%s/%s'", root->path, name);
	return fd;
}

/* One document laid over the spec; what it warns about is logged. */
static int lay_over(const struct ws_json *doc, const char *name,
		    enum ws_spec_source source, bool strict, struct ws_spec *spec,
		    struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv warnings = WS_STRV_INIT;
	int rc = ws_spec_decode(doc, name, source, strict, spec, &warnings, err);

	for (size_t i = 0; i < warnings.n; i++)
		ws_warn("%s", warnings.v[i]);
	return rc;
}

int ws_root_file(const struct ws_root *root, struct ws_json **ret, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	if (ws_read_file(root->fd, ROOT_FILE, WS_JSON_MAX_SIZE, &text) < 0) {
		if (errno == ENOENT)
			return 0;
		ws_fail_errno(err, "read '%s/" ROOT_FILE "'", root->path);
		err->kind = WS_SPEC_INVALID;
		return -1;
	}
	return ws_json_parse(ROOT_FILE, text.data, text.len, ret, err);
}

static int lay_over_root_file(const struct ws_root *root, struct ws_spec *spec,
			      struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (ws_root_file(root, &doc, err) < 0)
		return -1;
	return doc ? lay_over(doc, ROOT_FILE, WS_SPEC_ROOT_FILE, false, spec, err) : 0;
}

static int lay_first(const char *text, struct ws_spec *spec, struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (!text)
		return 0;
	if (ws_json_parse("defaults", text, strlen(text), &doc, err) < 0)
		return -1;
	return lay_over(doc, "defaults", WS_SPEC_SESSION, true, spec, err);
}

int ws_root_spec(const struct ws_root *root, const struct ws_json *doc, const char *name,
		 bool strict, struct ws_spec *ret, struct ws_err *err)
{
	return ws_root_spec_on(root, NULL, doc, name, strict, ret, err);
}

int ws_root_spec_on(const struct ws_root *root, const char *defaults,
		    const struct ws_json *doc, const char *name, bool strict,
		    struct ws_spec *ret, struct ws_err *err)
{
	WS_AUTO(ws_spec) struct ws_spec spec;
	WS_AUTO(ws_strv) struct ws_strv warnings = WS_STRV_INIT;
	int rc;

	ws_spec_init(&spec);
	if (lay_first(defaults, &spec, err) < 0)
		return -1;
	if (lay_over_root_file(root, &spec, err) < 0)
		return -1;
	if (doc && lay_over(doc, name, WS_SPEC_SESSION, strict, &spec, err) < 0)
		return -1;
	rc = ws_spec_finish(&spec, &warnings, err);
	for (size_t i = 0; i < warnings.n; i++)
		ws_warn("%s", warnings.v[i]);
	if (rc < 0)
		return -1;
	*ret = spec;
	spec = (struct ws_spec){ 0 };
	return 0;
}

/*
 * A sweeper may take the folder between mkdir and flock: then it is no longer
 * there under its name, and another is made.
 */
static int scratch_try(int tmp, const char *name)
{
	WS_AUTO_CLOSE int fd = -1;
	struct stat by_name, by_fd;

	if (mkdirat(tmp, name, 0700) < 0)
		return -1;
	fd = ws_open_dir(tmp, name);
	if (fd < 0 || ws_lock_try(fd, true) < 0)
		return -1;
	if (fstat(fd, &by_fd) < 0 ||
	    fstatat(tmp, name, &by_name, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (by_fd.st_ino != by_name.st_ino || by_fd.st_dev != by_name.st_dev) {
		errno = ENOENT;
		return -1;
	}
	return ws_steal_fd(&fd);
}

int ws_root_scratch(const struct ws_root *root, const char *prefix, char *name,
		    int *ret_fd, struct ws_err *err)
{
	WS_AUTO_CLOSE int tmp = ws_root_dir(root, "tmp", err);
	char random[17];

	if (tmp < 0)
		return -1;
	for (int i = 0; i < SCRATCH_TRIES; i++) {
		int fd;

		ws_text_random(random, 8);
		snprintf(name, 64, "%.40s-%s", prefix, random);
		fd = scratch_try(tmp, name);
		if (fd >= 0) {
			*ret_fd = fd;
			return 0;
		}
		if (errno != ENOENT && errno != EEXIST && errno != EWOULDBLOCK)
			break;
	}
	return ws_fail_errno(err, "make a folder below '%s/tmp'", root->path);
}

static int discard(const struct ws_root *root, int dir, const char *name,
		   uint64_t *ret_bytes, struct ws_err *err)
{
	WS_AUTO_CLOSE int trash = ws_root_dir(root, "trash", err);
	char random[17];
	char to[64];

	if (trash < 0)
		return -1;
	ws_text_random(random, 8);
	snprintf(to, sizeof(to), "%.40s-%s", name, random);
	if (renameat(dir, name, trash, to) < 0) {
		if (errno == ENOENT)
			return 0;
		return ws_fail_errno(err, "move '%s' into the trash", name);
	}
	return ws_tree_remove(trash, to, ret_bytes, err);
}

int ws_root_discard(const struct ws_root *root, int dir, const char *name,
		    struct ws_err *err)
{
	return discard(root, dir, name, NULL, err);
}

int ws_root_discard_counted(const struct ws_root *root, int dir, const char *name,
			    uint64_t *ret_bytes, struct ws_err *err)
{
	*ret_bytes = 0;
	return discard(root, dir, name, ret_bytes, err);
}

/* One leftover; its lock, if it has one, is held. */
static void sweep_one(const struct ws_root *root, const char *name,
		      struct ws_root_swept *report)
{
	struct ws_err err = WS_ERR_INIT;
	uint64_t bytes = 0;

	if (report)
		ws_strv_push(&report->names, name);
	if (report && report->look_only)
		return;
	if (ws_tree_remove(root->fd, name, report ? &bytes : NULL, &err) < 0)
		ws_warn("sweep '%s': %s", name, err.msg);
	if (report)
		report->bytes += bytes;
}

/* A run's sandbox outlives a wsiso that was killed for as long as its grace is. */
static bool in_use(int entry)
{
	WS_AUTO_CLOSE int use = ws_open_beneath(entry, "use", O_RDONLY, 0);

	return use >= 0 && ws_lock_try(use, true) < 0;
}

/* A folder that is being made in tmp/; whoever makes a file there needs no name of it. */
static bool is_in_work(int tmp, const char *name, int *ret_lock)
{
	*ret_lock = ws_open_dir(tmp, name);
	if (*ret_lock < 0)
		return errno != ENOTDIR;
	return ws_lock_try(*ret_lock, true) < 0 || in_use(*ret_lock);
}

/* In tmp/ the builder's flock says whether it lives; in trash/ all may go. */
static void sweep_dir(const struct ws_root *root, const char *which, bool locked,
		      struct ws_root_swept *report)
{
	int fd = ws_open_dir(root->fd, which);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		ws_closep(&fd);
		return;
	}
	while ((e = readdir(d))) {
		WS_AUTO_FREE char *name = ws_format("%s/%s", which, e->d_name);
		WS_AUTO_CLOSE int entry = -1;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (locked && is_in_work(dirfd(d), e->d_name, &entry))
			continue;
		sweep_one(root, name, report);
	}
	closedir(d);
}

void ws_root_sweep(const struct ws_root *root, struct ws_root_swept *report)
{
	sweep_dir(root, "tmp", true, report);
	sweep_dir(root, "trash", false, report);
}
