/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bwrap.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/proc.h"
#include "base/text.h"

#define CACHE_FILE "bwrap.json"
#define PROBE_TIMEOUT_MS 5000
#define PROBE_MAX (64 << 10)
#define OLDEST_MINOR 11 /* of version 0: with overlays */
#define MENDED_MINOR 12 /* from here on it follows no planted link */

static const char *const usual_paths[] = { "/usr/bin/bwrap", "/usr/local/bin/bwrap" };

void ws_bwrap_release(struct ws_bwrap *b)
{
	ws_freep(&b->path);
	ws_freep(&b->version);
}

/* A file's identity as one word: another file, or the same one written anew, differs. */
static char *identity(const char *path, const struct stat *st)
{
	return ws_format("%s %ju %ju %jd %jd.%09ld %jd.%09ld", path,
			 (uintmax_t)st->st_dev, (uintmax_t)st->st_ino,
			 (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec,
			 st->st_mtim.tv_nsec, (intmax_t)st->st_ctim.tv_sec,
			 st->st_ctim.tv_nsec);
}

static int unusable(struct ws_err *err, const char *path, const char *why)
{
	ws_fail(err, WS_BWRAP_UNUSABLE, "bwrap '%s' cannot be used: %s", path, why);
	return ws_hint(err,
		       "install bubblewrap 0.12 or later, or name one as bwrap.path in "
		       "wsiso.json; wsiso check tells more");
}

static int check_file(const char *path, struct stat *st, struct ws_err *err)
{
	if (stat(path, st) < 0)
		return unusable(err, path, strerror(errno));
	if (!S_ISREG(st->st_mode))
		return unusable(err, path, "it is no regular file");
	if (st->st_mode & (S_ISUID | S_ISGID))
		return unusable(err, path, "it is setuid or setgid");
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return unusable(err, path, "it belongs to another user");
	if (st->st_mode & S_IWOTH)
		return unusable(err, path, "anybody can write it");
	return 0;
}

static int run_bwrap(char *const *argv, struct ws_buf *out, int *ret_status,
		     struct ws_err *err)
{
	const char *const env[] = { "LC_ALL=C", NULL };
	const struct ws_spawn spawn = { .argv = argv,
					.env = (char *const *)env,
					.timeout_ms = PROBE_TIMEOUT_MS };

	if (ws_run_capture(&spawn, PROBE_MAX, out, NULL, ret_status, err) == 0)
		return 0;
	err->kind = WS_BWRAP_UNUSABLE;
	return -1;
}

static int ask(const char *path, const char *option, struct ws_buf *out,
	       struct ws_err *err)
{
	const char *const argv[] = { path, option, NULL };
	int status;

	if (run_bwrap((char *const *)argv, out, &status, err) < 0)
		return -1;
	return status == 0 ? 0 : unusable(err, path, "it does not answer");
}

/* A mount point at /tmp/tree/WHERE, TREE being what an agent can write. */
static int make_mount_point(const char *path, const char *tree, const char *where,
			    int *ret_status, struct ws_err *err)
{
	WS_AUTO_FREE char *target = ws_format("/tmp/tree/%s", where);
	const char *const argv[] = {
		path,	   "--unshare-user", "--ro-bind", "/",	"/",
		"--tmpfs", "/tmp",	     "--bind",	  tree, "/tmp/tree",
		"--dir",   target,	     "/bin/true", NULL
	};

	return run_bwrap((char *const *)argv, NULL, ret_status, err);
}

/*
 * Asks for a mount point behind a planted link: while bwrap sets up, the host is at
 * /oldroot. One without a link comes first, and must be made: else nothing is shown.
 */
static int try_link(const char *path, const char *place, int dir, struct ws_err *err)
{
	WS_AUTO_FREE char *to = ws_format("/oldroot%s/outside", place);
	WS_AUTO_FREE char *tree = ws_format("%s/tree", place);
	int status;

	if (ws_mkdir(dir, "outside", 0700) < 0 || ws_mkdir(dir, "tree", 0700) < 0 ||
	    symlinkat(to, dir, "tree/link") < 0)
		return ws_fail_errno(err, "make '%s'", place);
	if (make_mount_point(path, tree, "plain/made", &status, err) < 0)
		return -1;
	if (status != 0)
		return unusable(err, path,
				"it is older than 0.12.0, and whether it follows a "
				"planted link (CVE-2026-87766) cannot be tried here");
	if (make_mount_point(path, tree, "link/made", &status, err) < 0)
		return -1;
	if (faccessat(dir, "outside/made", F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno == ENOENT)
		return 0;
	return unusable(err, path,
			"it follows a planted link while it makes mount points "
			"(CVE-2026-87766)");
}

/* Distributions mended 0.11 too: what it does counts, not what it is called. */
static int probe_link(const struct ws_root *root, const char *path, struct ws_err *err)
{
	WS_AUTO_CLOSE int tmp = ws_root_dir(root, "tmp", err);
	WS_AUTO_CLOSE int dir = -1;
	WS_AUTO_FREE char *place = NULL;
	struct ws_err ignored = WS_ERR_INIT;
	char name[64];
	int rc;

	if (tmp < 0 || ws_root_scratch(root, "bwrap", name, &dir, err) < 0)
		return -1;
	place = ws_format("%s/tmp/%s", root->path, name);
	rc = try_link(path, place, dir, err);
	ws_root_discard(root, tmp, name, &ignored); /* the next sweep's, if not now */
	return rc;
}

static int probe(const struct ws_root *root, const char *path, char **ret_version,
		 struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf version = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf help = WS_BUF_INIT;
	unsigned major, minor, patch;

	if (ask(path, "--version", &version, err) < 0 ||
	    ask(path, "--help", &help, err) < 0)
		return -1;
	if (sscanf(ws_buf_str(&version), "bubblewrap %u.%u.%u", &major, &minor, &patch) !=
	    3)
		return unusable(err, path, "it does not tell its version");
	if (!strstr(ws_buf_str(&help), "--overlay-src"))
		return unusable(err, path, "it was built without the overlay options");
	if (major == 0 && minor < OLDEST_MINOR)
		return unusable(err, path, "it is older than 0.11");
	if (major == 0 && minor < MENDED_MINOR && probe_link(root, path, err) < 0)
		return -1;
	*ret_version = ws_format("%u.%u.%u", major, minor, patch);
	return 0;
}

static char *cached_version(const struct ws_root *root, const char *id)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;
	struct ws_err ignored = WS_ERR_INIT;

	if (ws_read_file(root->fd, CACHE_FILE, PROBE_MAX, &text) < 0 ||
	    ws_json_parse(CACHE_FILE, text.data, text.len, &doc, &ignored) < 0)
		return NULL;
	if (strcmp(ws_json_str(doc, "file", ""), id) != 0)
		return NULL;
	return ws_strdup(ws_json_str(doc, "version", NULL));
}

static void keep_version(const struct ws_root *root, const char *id, const char *version)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_err ignored = WS_ERR_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &text, false);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "file", id);
	ws_jsonw_str(&w, "version", version);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	ws_write_atomic(root->fd, CACHE_FILE, &text, false,
			&ignored); /* a cache, no more */
}

static int use_path(const struct ws_root *root, const char *path, struct ws_bwrap *ret,
		    struct ws_err *err)
{
	WS_AUTO_FREE char *id = NULL;
	WS_AUTO_FREE char *version = NULL;
	struct stat st;

	if (path[0] != '/')
		return unusable(err, path, "the path is not absolute");
	if (check_file(path, &st, err) < 0)
		return -1;
	id = identity(path, &st);
	version = cached_version(root, id);
	if (!version) {
		if (probe(root, path, &version, err) < 0)
			return -1;
		keep_version(root, id, version);
	}
	ret->path = ws_strdup(path);
	ret->version = ws_steal_ptr(&version);
	return 0;
}

int ws_bwrap_find(const struct ws_root *root, const struct ws_spec *spec,
		  struct ws_bwrap *ret, struct ws_err *err)
{
	*ret = (struct ws_bwrap){ 0 };
	if (spec->bwrap_path)
		return use_path(root, spec->bwrap_path, ret, err);
	if (WS_BWRAP_PATH[0])
		return use_path(root, WS_BWRAP_PATH, ret, err);
	ws_fail(err, WS_BWRAP_UNUSABLE, "there is no bwrap at %s or %s", usual_paths[0],
		usual_paths[1]);
	ws_hint(err, "install bubblewrap 0.12 or later");
	for (size_t i = 0; i < WS_ARRAY_SIZE(usual_paths); i++)
		if (faccessat(AT_FDCWD, usual_paths[i], F_OK, AT_EACCESS) == 0 &&
		    use_path(root, usual_paths[i], ret, err) == 0)
			return 0;
	return -1;
}
