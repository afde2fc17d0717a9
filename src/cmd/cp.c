/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/jsonw.h"
#include "base/text.h"
#include "cmd/common.h"
#include "cmd/file_ref.h"

#define HOST_MODE 0755 /* what a file of the host may have of a session's file's mode */

struct copy {
	const struct ws_global *global;
	const char *src, *dst;
	const char *if_match;
	bool parents, tar, json, rescue;
	struct ws_file_info done;
};

static void copy_release(struct copy *c)
{
	ws_file_info_release(&c->done);
}

static bool is_stream(const char *arg)
{
	return !strcmp(arg, "-");
}

static bool is_session(const char *arg)
{
	WS_AUTO(ws_file_ref) struct ws_file_ref ref = { 0 };

	ws_file_ref_parse(arg, &ref);
	return ref.id;
}

/* ---- out of a session ---- */

static int fetch(struct copy *c, int out, struct ws_err *err)
{
	WS_AUTO(ws_place) struct ws_place p = WS_PLACE_INIT;

	if (ws_place_open(c->global, c->src, c->rescue, &p, err) < 0)
		return -1;
	if (c->tar)
		return ws_files_pack(&p.root, &p.session, p.ref.path, out, err);
	return ws_files_read(&p.root, &p.session, p.ref.path, c->rescue, out, &c->done,
			     err);
}

/* DST, or in it the source's name if it is a folder. */
static char *host_target(const struct copy *c)
{
	struct stat st;

	if (stat(c->dst, &st) == 0 && S_ISDIR(st.st_mode))
		return ws_format("%s/%s", c->dst,
				 ws_text_basename(strchr(c->src, ':') + 1));
	return ws_strdup(c->dst);
}

/* Beside its target until it is complete. */
static int fetch_to_file(struct copy *c, struct ws_err *err)
{
	WS_AUTO_FREE char *target = host_target(c);
	WS_AUTO_FREE char *tmp = NULL;
	WS_AUTO_CLOSE int fd = -1;
	char random[17];
	int rc;

	ws_text_random(random, 8);
	tmp = ws_format("%.*s.wsiso-%s", (int)(ws_text_basename(target) - target), target,
			random);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return ws_fail_errno(err, "write '%s'", target);
	rc = fetch(c, fd, err);
	if (rc == 0 &&
	    (fchmod(fd, c->done.mode & HOST_MODE) < 0 || rename(tmp, target) < 0))
		rc = ws_fail_errno(err, "write '%s'", target);
	if (rc < 0)
		unlink(tmp);
	return rc;
}

/* ---- into a session ---- */

static int store(struct copy *c, int in, mode_t mode, const char *dst, struct ws_err *err)
{
	WS_AUTO(ws_place) struct ws_place p = WS_PLACE_INIT;
	const struct ws_file_write how = { .mode = mode,
					   .if_match = c->if_match,
					   .parents = c->parents };

	if (ws_place_open(c->global, dst, false, &p, err) < 0)
		return -1;
	if (c->tar)
		return ws_files_unpack(&p.root, &p.session, p.ref.path, c->parents, in,
				       err);
	return ws_files_write(&p.root, &p.session, p.ref.path, &how, in, &c->done, err);
}

/* "ID:folder/" takes the source's name. */
static char *session_target(const struct copy *c)
{
	if (!ws_text_ends(c->dst, "/") || is_stream(c->src))
		return ws_strdup(c->dst);
	return ws_format("%s%s", c->dst,
			 ws_text_basename(is_session(c->src) ? strchr(c->src, ':') + 1
							     : c->src));
}

static int store_file(struct copy *c, struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = open(c->src, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	WS_AUTO_FREE char *target = session_target(c);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ws_fail_errno(err, "read '%s'", c->src);
	if (S_ISDIR(st.st_mode)) {
		ws_fail(err, WS_USAGE, "'%s' is a folder", c->src);
		return ws_hint(
			err, "tar -C %s -c . | wsiso cp --tar - ID:PATH copies all of it",
			c->src);
	}
	return store(c, fd, st.st_mode & HOST_MODE, target, err);
}

static int between(struct copy *c, struct ws_err *err)
{
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO_FREE char *target = session_target(c);
	WS_AUTO_CLOSE int fd = -1;
	mode_t mode;

	if (ws_root_open(c->global->root, true, &root, err) < 0)
		return -1;
	fd = ws_files_spool(&root, err);
	if (fd < 0 || fetch(c, fd, err) < 0)
		return -1;
	mode = c->done.mode & HOST_MODE;
	ws_file_info_release(&c->done);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return ws_fail_errno(err, "read what was copied");
	return store(c, fd, mode, target, err);
}

/* ---- which of them ---- */

static bool is_hash(const char *s)
{
	return !strcmp(s, "none") ||
	       (strlen(s) == 64 && strspn(s, "0123456789abcdefABCDEF") == 64);
}

static int check(const struct copy *c, struct ws_err *err)
{
	bool from = is_session(c->src), to = is_session(c->dst);

	if (!from && !to) {
		ws_fail(err, WS_USAGE, "neither side is a file of a session");
		return ws_hint(err, "a session's file is ID:PATH");
	}
	if (c->tar && !is_stream(c->src) && !is_stream(c->dst)) {
		ws_fail(err, WS_USAGE, "with --tar one side is '-'");
		return ws_hint(err, "wsiso cp --tar ID:PATH - | tar -x");
	}
	if (c->tar && (c->if_match || c->rescue || c->json))
		return ws_fail(err, WS_USAGE,
			       "--tar excludes --if-match, --rescue and --json");
	if (c->rescue && to)
		return ws_fail(err, WS_USAGE, "--rescue only reads");
	if ((c->if_match || c->parents) && !to)
		return ws_fail(err, WS_USAGE,
			       "--if-match and --parents are about a session's file as "
			       "the target");
	if (c->if_match && !is_hash(c->if_match))
		return ws_fail(err, WS_USAGE, "'%s' is neither a SHA-256 nor 'none'",
			       c->if_match);
	if (c->json && is_stream(c->dst))
		return ws_fail(err, WS_USAGE, "--json and '-' both want stdout");
	return 0;
}

static int copy(struct copy *c, struct ws_err *err)
{
	if (check(c, err) < 0)
		return -1;
	if (!is_session(c->src))
		return is_stream(c->src) ? store(c, STDIN_FILENO, 0644, c->dst, err)
					 : store_file(c, err);
	if (is_session(c->dst))
		return between(c, err);
	return is_stream(c->dst) ? fetch(c, STDOUT_FILENO, err) : fetch_to_file(c, err);
}

static int print(const struct copy *c, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &out, true);
	ws_jsonw_object(&w, NULL);
	ws_file_info_json(&w, &c->done);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static int cp_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		  char **argv, struct ws_err *err)
{
	WS_AUTO(copy) struct copy c = { .global = global };
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	const struct ws_opt opts[] = {
		{ 0, "if-match", WS_OPT_STR, &c.if_match, "HASH",
		  "write only over a file of this SHA-256; none: only a new one" },
		{ 'p', "parents", WS_OPT_FLAG, &c.parents, NULL,
		  "make the folders that are missing" },
		{ 0, "tar", WS_OPT_FLAG, &c.tar, NULL,
		  "a whole folder, as a tar stream on the side that is '-'" },
		{ 0, "json", WS_OPT_FLAG, &c.json, NULL,
		  "print what was written as JSON" },
		{ 0, "rescue", WS_OPT_FLAG, &c.rescue, NULL,
		  "read from outside, without a sandbox; follows no link" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 2, 2, err) < 0)
		return -1;
	c.src = args.v[0];
	c.dst = args.v[1];
	if (copy(&c, err) < 0)
		return is_stream(c.dst) ? ws_out_failed(err) : -1;
	return c.json ? print(&c, err) : 0;
}

const struct ws_cmd ws_cmd_cp = {
	.name = "cp",
	.args = "SRC DST [OPTIONS]",
	.help = "copy a file or a tree into a session or out of it",
	.npos = -1,
	.run = cp_run,
	.status_of = WS_STATUS_PLAIN,
};
