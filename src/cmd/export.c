/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/text.h"
#include "cmd/common.h"
#include "core/diff.h"
#include "core/root.h"

struct format {
	const char *word;
	enum ws_export_format format;
	const char *compression; /* unless told otherwise; NULL: it is no archive */
	const char *what;
};

static const struct format formats[] = {
	{ "layer", WS_EXPORT_LAYER, "gzip", "the layer" },
	{ "tar", WS_EXPORT_TAR, "none", "the archive" },
	{ "patch", WS_EXPORT_PATCH, NULL, "the patch" },
	{ "session", WS_EXPORT_SESSION, "zstd", "the archive" },
	{ "git-bundle", WS_EXPORT_BUNDLE, NULL, "the bundle" },
};

struct exporting {
	const char *id, *target; /* TARGET NULL: stdout */
	const struct format *format;
	struct ws_export_opts opts;
	bool json;
	char *tmp;    /* beside the target, until it is complete */
	bool unnamed; /* what has no name yet goes with us, whatever ends us */
	int fd;
	uint64_t size;
	char sha256[WS_SHA256_HEX];
	struct ws_export_report report;
};

static void exporting_release(struct exporting *x)
{
	if (x->tmp && !x->unnamed)
		unlink(x->tmp);
	ws_freep(&x->tmp);
	ws_closep(&x->fd);
	ws_export_report_release(&x->report);
}

/* ---- what is asked for ---- */

static int find_format(struct exporting *x, const char *word, struct ws_err *err)
{
	if (!word)
		return ws_fail(
			err, WS_USAGE,
			"which --format: layer, tar, patch, session or git-bundle?");
	for (size_t i = 0; i < WS_ARRAY_SIZE(formats); i++)
		if (!strcmp(word, formats[i].word)) {
			x->format = &formats[i];
			x->opts.format = formats[i].format;
			return 0;
		}
	return ws_fail(err, WS_USAGE,
		       "'%s' is no format: layer, tar, patch, session or git-bundle",
		       word);
}

static int find_compression(struct exporting *x, const char *word, struct ws_err *err)
{
	static const char *const words[] = { "gzip", "zstd", "none" };

	if (word && !x->format->compression)
		return ws_fail(err, WS_USAGE, "--compress is about archives");
	x->opts.compression = word ? word : x->format->compression;
	for (size_t i = 0; i < WS_ARRAY_SIZE(words) && word; i++)
		if (!strcmp(word, words[i]))
			word = NULL;
	return word ? ws_fail(err, WS_USAGE, "'%s' is no compression: gzip, zstd or none",
			      word)
		    : 0;
}

static int check(struct exporting *x, const char *format, const char *compression,
		 struct ws_err *err)
{
	if (find_format(x, format, err) < 0 || find_compression(x, compression, err) < 0)
		return -1;
	if ((x->opts.ref || x->opts.base) && x->opts.format != WS_EXPORT_BUNDLE)
		return ws_fail(err, WS_USAGE, "--ref and --base are about a git-bundle");
	if (x->target && !strcmp(x->target, "-"))
		x->target = NULL;
	if (x->json && !x->target) {
		ws_fail(err, WS_USAGE, "--json and %s both want stdout", x->format->what);
		return ws_hint(err, "name a file by --output");
	}
	if (x->target || !isatty(STDOUT_FILENO))
		return 0;
	ws_fail(err, WS_USAGE, "%s does not go to a terminal", x->format->what);
	return ws_hint(err, "-o FILE, or > FILE; wsiso diff shows what changed");
}

/* ---- where it goes ---- */

/* The folder of the target; the caller frees it. */
static char *folder_of(const char *target)
{
	const char *slash = strrchr(target, '/');

	return slash ? ws_strndup(target, (size_t)(slash - target + 1)) : ws_strdup("./");
}

/* Without a name where the filesystem has such files, else by one of its own. */
static int open_target(struct exporting *x, struct ws_err *err)
{
	WS_AUTO_FREE char *folder = NULL;
	char random[17];
	struct stat st;

	if (!x->target) {
		x->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return x->fd < 0 ? ws_fail_errno(err, "write to stdout") : 0;
	}
	if (lstat(x->target, &st) == 0 && !S_ISREG(st.st_mode))
		return ws_fail(err, WS_USAGE, "'%s' is there, and no file", x->target);
	folder = folder_of(x->target);
	ws_text_random(random, 8);
	x->tmp = ws_format("%s.wsiso-%s", folder, random);
	x->fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	x->unnamed = x->fd >= 0;
	if (x->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
		x->fd = open(x->tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (x->fd >= 0)
		return 0;
	ws_freep(&x->tmp);
	return ws_fail_errno(err, "write '%s'", x->target);
}

static int give_name(struct exporting *x)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", x->fd);
	if (x->unnamed && linkat(AT_FDCWD, path, AT_FDCWD, x->tmp, AT_SYMLINK_FOLLOW) < 0)
		return -1;
	x->unnamed = false;
	return rename(x->tmp, x->target);
}

static int hash(struct exporting *x, struct ws_err *err)
{
	static char block[65536];
	struct ws_sha256 sum;
	ssize_t n;

	ws_sha256_init(&sum);
	if (lseek(x->fd, 0, SEEK_SET) < 0)
		return ws_fail_errno(err, "read '%s'", x->target);
	while ((n = read(x->fd, block, sizeof(block))) > 0) {
		ws_sha256_update(&sum, block, (size_t)n);
		x->size += (uint64_t)n;
	}
	if (n < 0)
		return ws_fail_errno(err, "read '%s'", x->target);
	ws_sha256_hex(&sum, x->sha256);
	return 0;
}

/* Its folder, too: a rename that is told of has happened. */
static int keep(struct exporting *x, struct ws_err *err)
{
	WS_AUTO_FREE char *folder = x->target ? folder_of(x->target) : NULL;
	WS_AUTO_CLOSE int dir = -1;

	if (!x->target)
		return 0;
	if (x->json && hash(x, err) < 0)
		return -1;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fsync(x->fd) < 0 || give_name(x) < 0)
		return ws_fail_errno(err, "write '%s'", x->target);
	ws_freep(&x->tmp);
	return fsync(dir) < 0 ? ws_fail_errno(err, "write '%s'", x->target) : 0;
}

/* ---- what became of it ---- */

static const char *media_type(const struct exporting *x)
{
	static const char *const types[][2] = {
		{ "gzip", "application/vnd.oci.image.layer.v1.tar+gzip" },
		{ "zstd", "application/vnd.oci.image.layer.v1.tar+zstd" },
		{ "none", "application/vnd.oci.image.layer.v1.tar" },
	};

	for (size_t i = 0; x->opts.format == WS_EXPORT_LAYER && i < WS_ARRAY_SIZE(types);
	     i++)
		if (!strcmp(types[i][0], x->opts.compression))
			return types[i][1];
	return NULL;
}

static void print_left_out(const struct exporting *x, struct ws_jsonw *w)
{
	ws_jsonw_array(w, "left_out");
	for (size_t i = 0; i < x->report.n; i++) {
		ws_jsonw_object(w, NULL);
		ws_path_json(w, "path", x->report.v[i].path);
		ws_jsonw_str(w, "what", x->report.v[i].why);
		ws_jsonw_bool(w, "lost", x->report.v[i].lost);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, ']');
}

static int print(const struct exporting *x, struct ws_err *err)
{
	const struct ws_export_report *r = &x->report;
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &out, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "id", x->id);
	ws_jsonw_str(&w, "format", x->format->word);
	ws_jsonw_str(&w, "file", x->target);
	ws_jsonw_u64(&w, "size", x->size);
	ws_jsonw_str(&w, "sha256", x->sha256);
	ws_jsonw_str(&w, "compression", x->opts.compression);
	ws_jsonw_str(&w, "media_type", media_type(x));
	ws_jsonw_bool(&w, "running", r->running);
	ws_jsonw_object(&w, "summary");
	ws_jsonw_u64(&w, "files", r->files);
	ws_jsonw_u64(&w, "folders", r->folders);
	ws_jsonw_u64(&w, "links", r->links);
	ws_jsonw_u64(&w, "fifos", r->fifos);
	ws_jsonw_u64(&w, "deleted", r->deleted);
	ws_jsonw_u64(&w, "bytes", r->bytes);
	ws_jsonw_end(&w, '}');
	print_left_out(x, &w);
	ws_jsonw_u64(&w, "left_out_more", x->report.left - x->report.n);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_out_write(&out, err);
}

static void warn(const struct exporting *x)
{
	for (size_t i = 0; i < x->report.n; i++) {
		const struct ws_left *l = &x->report.v[i];
		WS_AUTO(ws_buf) struct ws_buf name = WS_BUF_INIT;

		ws_path_quote(&name, l->path);
		ws_warn("%s leaves out %s: %s", x->format->what, ws_buf_str(&name),
			l->why);
	}
	if (x->report.left > x->report.n)
		ws_warn("%s leaves out %llu more", x->format->what,
			(unsigned long long)(x->report.left - x->report.n));
	if (x->report.running)
		ws_warn("commands of session '%s' were running: what they wrote meanwhile "
			"may be there in part",
			x->id);
}

static int finish(const struct exporting *x, struct ws_err *err)
{
	unsigned long long lost = x->report.lost;

	warn(x);
	if (x->json && print(x, err) < 0)
		return -1;
	if (!lost)
		return 0;
	ws_fail(err, WS_IO,
		"%s is not complete: %llu of the session's files are left out",
		x->format->what, lost);
	return ws_hint(err, "the warnings above say which and why");
}

static int export_run(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		      char **argv, struct ws_err *err)
{
	WS_AUTO(exporting) struct exporting x = { .fd = -1 };
	WS_AUTO(ws_root) struct ws_root root = WS_ROOT_INIT;
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	const char *format = NULL, *compression = NULL;
	const struct ws_opt opts[] = {
		{ 'f', "format", WS_OPT_STR, &format, "FORMAT",
		  "layer, tar, patch, session or git-bundle" },
		{ 'o', "output", WS_OPT_STR, &x.target, "FILE",
		  "write to this file, whole or not at all, instead of stdout" },
		{ 0, "repo", WS_OPT_STR, &x.opts.repo, "NAME",
		  "only what is in this repo" },
		{ 0, "ref", WS_OPT_STR, &x.opts.ref, "REF",
		  "of a bundle: this branch or tag; default: what HEAD is" },
		{ 0, "base", WS_OPT_STR, &x.opts.base, "REV",
		  "of a bundle: without what this one has; none: all of it" },
		{ 0, "compress", WS_OPT_STR, &compression, "HOW",
		  "gzip, zstd or none; else as the format has it" },
		{ 0, "json", WS_OPT_FLAG, &x.json, NULL,
		  "print what was written as JSON; needs --output" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 1, 1, err) < 0)
		return -1;
	x.id = args.v[0];
	if (check(&x, format, compression, err) < 0 ||
	    ws_root_open(global->root, true, &root, err) < 0 || open_target(&x, err) < 0)
		return -1;
	if (ws_export(&root, x.id, &x.opts, x.fd, &x.report, err) < 0)
		return x.target ? -1 : ws_out_failed(err);
	return keep(&x, err) < 0 ? -1 : finish(&x, err);
}

const struct ws_cmd ws_cmd_export = {
	.name = "export",
	.args = "ID --format FORMAT [OPTIONS]",
	.help = "carry a session's changes elsewhere",
	.npos = -1,
	.run = export_run,
	.status_of = WS_STATUS_PLAIN,
};
