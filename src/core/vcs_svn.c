/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Subversion working copy or URL as a base layer: what `svn export` gives for one
 * pinned revision. The program svn runs on the operator's own working copy or URL only,
 * without his environment, configuration and stored passwords, never prompts, and has a
 * time limit.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"
#include "base/sha256.h"
#include "base/text.h"
#include "core/keyed.h"
#include "core/layer.h"
#include "core/plain_tree.h"
#include "core/vcs.h"

#define ANSWER_MAX (64u << 20)
#define ASK_TIMEOUT_MS 60000
#define EXPORT_TIMEOUT_MS 3600000
#define SSH                                                                          \
	"ssh -q -o BatchMode=yes -o StrictHostKeyChecking=yes -o UpdateHostKeys=no " \
	"-o ConnectTimeout=20"

struct source {
	const struct ws_root *root;
	struct ws_scratch config; /* svn's configuration: an empty folder */
	char *url, *uuid;
	bool local; /* the working copy has all of the revision, and nothing else */
};

/* ---- the program ---- */

static const char *const programs[][2] = {
	{ "/usr/bin/svn", "/usr/bin/svnversion" },
	{ "/usr/local/bin/svn", "/usr/local/bin/svnversion" },
};

enum program { SVN, SVNVERSION };

static const char *find_program(enum program which)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(programs); i++)
		if (faccessat(AT_FDCWD, programs[i][which], X_OK, AT_EACCESS) == 0)
			return programs[i][which];
	return NULL;
}

static int fail_missing(struct ws_err *err)
{
	ws_fail(err, WS_HELPER_MISSING, "the program 'svn' is not installed");
	return ws_hint(err, "install Subversion: apt-get install subversion");
}

/* The last line of its complaint says why. */
static int fail_as_told(const struct ws_buf *complaint, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	const char *first = ws_buf_str(complaint);
	size_t len = strcspn(first, "\n");

	ws_text_escape(&text, first, len < 300 ? len : 300);
	ws_fail(err, WS_REPO_UNUSABLE, "%s",
		text.len ? ws_buf_str(&text) : "svn failed and gave no reason");
	if (strstr(first, "E215004") || strstr(first, "E170001") ||
	    strstr(first, "E230001"))
		return ws_hint(err,
			       "wsiso gives svn no password and asks for none: check the "
			       "revision out, unmodified, and name that working copy");
	return -1;
}

/* Runs one of them with ARGS. Its own failure is 1, the reason in ERR. FDS stay open. */
static int run_svn(const struct source *src, enum program which, struct ws_strv *args,
		   const int *fds, size_t nfds, uint64_t timeout_ms, struct ws_buf *out,
		   struct ws_buf *complaint, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv argv = WS_STRV_INIT;
	WS_AUTO(ws_strv) struct ws_strv env = WS_STRV_INIT;
	const char *program = find_program(which);
	struct ws_fdmap map[4];
	struct ws_spawn s = { .fds = map, .new_session = true, .timeout_ms = timeout_ms };
	int status;

	if (!program)
		return fail_missing(err);
	ws_strv_add(&env, "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "SVN_SSH=" SSH, NULL);
	ws_strv_push(&argv, program);
	ws_strv_extend(&argv, args);
	if (which == SVN) {
		ws_strv_add(&argv, "--non-interactive", "--no-auth-cache", NULL);
		ws_strv_addf(&argv, "--config-dir=%s/tmp/%s", src->root->path,
			     src->config.name);
	}
	for (; s.nfds < nfds; s.nfds++)
		map[s.nfds] = (struct ws_fdmap){ fds[s.nfds], 3 + (int)s.nfds };
	s.argv = ws_strv_argv(&argv);
	s.env = ws_strv_argv(&env);
	if (ws_run_capture(&s, ANSWER_MAX, out, complaint, &status, err) < 0)
		return -1;
	if (status == 0)
		return 0;
	fail_as_told(complaint, err);
	return 1;
}

/* "svn info --show-item ITEM"; NULL with the reason if there is no answer. */
static char *ask(const struct source *src, const char *item, const char *target,
		 const char *revision, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf complaint = WS_BUF_INIT;

	ws_strv_add(&args, "info", "--no-newline", "--show-item", item, NULL);
	if (revision)
		ws_strv_add(&args, "-r", revision, NULL);
	ws_strv_push(&args, target);
	if (run_svn(src, SVN, &args, NULL, 0, ASK_TIMEOUT_MS, &out, &complaint, err) != 0)
		return NULL;
	return ws_buf_steal(&out);
}

/* ---- resolve ---- */

/* Never a peg revision of its own: an '@' in a path or URL is not one. */
static char *target_of(const char *path)
{
	return ws_format("%s@", path);
}

static int check_spec(const struct ws_spec_repo *repo, struct ws_err *err)
{
	static const char *const schemes[] = { "file://", "svn://", "svn+ssh://",
					       "http://", "https://" };
	bool known = !ws_vcs_is_url(repo->path);
	struct stat st;

	for (size_t i = 0; i < WS_ARRAY_SIZE(schemes); i++)
		known |= ws_text_starts(repo->path, schemes[i]);
	if (!known)
		return ws_fail(err, WS_REPO_UNUSABLE,
			       "'%s' is no URL that svn is used with", repo->path);
	if (!ws_vcs_is_url(repo->path) && stat(repo->path, &st) == 0 &&
	    !S_ISDIR(st.st_mode))
		return ws_fail(err, WS_REPO_UNUSABLE, "'%s' is no folder", repo->path);
	if (repo->branch) {
		ws_fail(err, WS_REPO_UNUSABLE, "Subversion has no branch '%s'",
			repo->branch);
		return ws_hint(err, "name the branch's own URL, or a working copy of it");
	}
	return 0;
}

/* A number stands for itself; words and dates are svn's to resolve. */
static bool is_number(const char *s)
{
	return *s && s[strspn(s, "0123456789")] == '\0';
}

/*
 * "4" or "4M" from svnversion: one revision, nothing switched, nothing left out. Copies
 * that were not committed would come out of a local export, too: column 4 of status shows
 * them.
 */
static int is_whole(const struct source *src, const char *path, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf version = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf status = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf complaint = WS_BUF_INIT;
	const char *text;

	ws_strv_add(&args, "-n", path, NULL);
	if (run_svn(src, SVNVERSION, &args, NULL, 0, ASK_TIMEOUT_MS, &version, &complaint,
		    err) != 0)
		return -1;
	text = ws_buf_str(&version);
	text += strspn(text, "0123456789");
	if (*text == '\0')
		return 1;
	if (strcmp(text, "M") != 0)
		return 0;
	ws_strv_clear(&args);
	ws_strv_add(&args, "status", "-q", "--ignore-externals", NULL);
	ws_strv_take(&args, target_of(path));
	if (run_svn(src, SVN, &args, NULL, 0, ASK_TIMEOUT_MS, &status, &complaint, err) !=
	    0)
		return -1;
	for (const char *line = ws_buf_str(&status); *line;) {
		size_t len = strcspn(line, "\n");

		if (len > 3 && line[3] == '+')
			return 0;
		line += len + (line[len] != '\0');
	}
	return 1;
}

/*
 * Which revision of what URL. Then it must be there: who cannot be reached is told now.
 */
static int pin(struct source *src, struct ws_repo *r, struct ws_err *err)
{
	const char *wanted = r->spec->revision;
	bool url = ws_vcs_is_url(r->path);
	WS_AUTO_FREE char *target = target_of(r->path);
	WS_AUTO_FREE char *pinned = NULL;
	WS_AUTO_FREE char *there = NULL;
	int whole = 0;

	r->revision = ask(src, "revision", target, wanted, err);
	if (!r->revision)
		return -1;
	if (!is_number(r->revision))
		return ws_fail(err, WS_REPO_UNUSABLE, "'%s' has no revision yet",
			       r->path);
	if (!url && !wanted)
		whole = is_whole(src, r->path, err);
	if (whole < 0)
		return -1;
	src->local = whole;
	src->url = ask(src, "url", target, whole || !wanted ? NULL : r->revision, err);
	src->uuid = src->url ? ask(src, "repos-uuid", target, NULL, err) : NULL;
	if (!src->uuid)
		return -1;
	if (src->local)
		return 0;
	pinned = ws_format("%s@%s", src->url, r->revision);
	there = ask(src, "kind", pinned, r->revision, err);
	if (!there)
		return -1;
	return strcmp(there, "dir")
		       ? ws_fail(err, WS_REPO_UNUSABLE, "'%s' is no folder", src->url)
		       : 0;
}

/* Is the setup script in the revision? */
static bool has_script(const struct source *src, const struct ws_repo *r,
		       const char *script)
{
	WS_AUTO_FREE char *target =
		src->local ? ws_format("%s/%s@", r->path, script)
			   : ws_format("%s/%s@%s", src->url, script, r->revision);
	struct ws_err none = WS_ERR_INIT;
	WS_AUTO_FREE char *kind =
		ask(src, "kind", target, src->local ? "BASE" : r->revision, &none);

	return kind != NULL;
}

static int open_source(const struct ws_vcs_call *call, struct ws_repo *r,
		       struct ws_err *err)
{
	struct source *src = ws_alloc(sizeof(*src));

	src->root = call->root;
	src->config.fd = -1;
	r->source = src;
	if (!find_program(SVN) || !find_program(SVNVERSION))
		return fail_missing(err);
	return ws_root_scratch(call->root, "svn", src->config.name, &src->config.fd, err);
}

static int resolve(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err)
{
	struct source *src;

	if (check_spec(r->spec, err) < 0 || open_source(call, r, err) < 0)
		return -1;
	src = r->source;
	r->path = ws_vcs_is_url(r->spec->path) ? ws_strdup(r->spec->path)
					       : ws_realpath(r->spec->path);
	if (!r->path)
		return ws_fail(err, WS_REPO_UNUSABLE, "there is no folder '%s': %m",
			       r->spec->path);
	if (!ws_vcs_is_url(r->path) && ws_vcs_check_place(call->root, r->path, err) < 0)
		return -1;
	if (pin(src, r, err) < 0)
		return -1;
	r->has_setup = call->spec->project_setup.enabled &&
		       has_script(src, r, call->spec->project_setup.script);
	return 0;
}

/* ---- snapshot ---- */

struct make {
	const struct ws_vcs_call *call;
	const struct ws_repo *r;
};

/* svn made them under our umask; only whether it is executable is the repository's. */
static int set_modes(const struct make *m, const struct ws_scratch *layer,
		     const char *below, struct ws_err *err)
{
	WS_AUTO_FREE char *path =
		ws_format("%s/tmp/%s/%s", m->call->root->path, layer->name, below);
	WS_AUTO(ws_plain_tree) struct ws_plain_tree t = WS_PLAIN_TREE_INIT;

	if (ws_plain_tree_look(path, layer->fd, m->call->root->fd, WS_COPY_COPY, &t,
			       err) < 0)
		return -1;
	for (size_t i = 0; i < t.n; i++) {
		const struct ws_plain_entry *e = &t.v[i];
		mode_t mode = e->how == WS_PLAIN_FOLDER || (e->mode & 0100) ? 0755 : 0644;

		if (e->how != WS_PLAIN_SYMLINK &&
		    fchmodat(t.fd, *e->path ? e->path : ".", mode, 0) < 0)
			return ws_fail_errno(err, "set the mode of '%s'", e->path);
	}
	return 0;
}

static int fill(struct ws_snapshot_maker *maker, const struct ws_scratch *layers,
		int lock, struct ws_err *err)
{
	const struct make *m = maker->data;
	const struct source *src = m->r->source;
	const int kept[] = { layers[0].fd, src->config.fd, lock };
	WS_AUTO_FREE char *below = ws_format("root/%s", m->r->spec->name);
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf complaint = WS_BUF_INIT;

	if (ws_layer_mkdir(layers[0].fd, "root", err) < 0)
		return -1;
	ws_strv_add(&args, "export", "-q", "-r", src->local ? "BASE" : m->r->revision,
		    NULL);
	if (src->local)
		ws_strv_take(&args, target_of(m->r->path));
	else
		ws_strv_addf(&args, "%s@%s", src->url, m->r->revision);
	ws_strv_addf(&args, "%s/tmp/%s/%s@", m->call->root->path, layers[0].name, below);
	if (run_svn(src, SVN, &args, kept, lock < 0 ? 2 : 3, EXPORT_TIMEOUT_MS, &out,
		    &complaint, err) != 0) {
		err->kind =
			err->kind == WS_REPO_UNUSABLE ? WS_SNAPSHOT_FAILED : err->kind;
		return -1;
	}
	return set_modes(m, &layers[0], below, err);
}

/* One revision of one URL is one tree, whichever working copy named it. */
static void describe(struct ws_repo *r)
{
	const struct source *src = r->source;
	char hex[WS_SHA256_HEX];
	struct ws_sha256 sum;

	ws_sha256_init(&sum);
	ws_sha256_field(&sum, "svn snapshot 1");
	ws_sha256_field(&sum, src->uuid);
	ws_sha256_field(&sum, src->url);
	ws_sha256_field(&sum, r->revision);
	ws_sha256_field(&sum, r->spec->name);
	ws_sha256_hex(&sum, hex);
	r->snapshot = (struct ws_snapshot){ .key = ws_strndup(hex, WS_KEY_LEN),
					    .repo = ws_strdup(r->path),
					    .name = ws_strdup(r->spec->name),
					    .vcs = ws_strdup("svn"),
					    .revision = ws_strdup(r->revision) };
}

static int snapshot(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err)
{
	struct make make = { .call = call, .r = r };
	struct ws_snapshot_maker m = { .sorts = { &WS_LAYER_BASE },
				       .fill = fill,
				       .data = &make };

	describe(r);
	if (ws_vcs_obtain(call, &m, r, err) == 0)
		return 0;
	return ws_fail_within(err, "snapshot of '%s'", r->spec->name);
}

static void release(void *source)
{
	struct source *src = source;

	ws_closep(&src->config.fd);
	ws_scratch_discard(src->root, src->config.name);
	ws_freep(&src->url);
	ws_freep(&src->uuid);
	free(src);
}

static bool is_top(const char *dir)
{
	return ws_vcs_has(dir, ".svn");
}

static int is_svn(const char *path)
{
	return ws_vcs_is_url(path) ? 0 : ws_vcs_above(path, is_top);
}

const struct ws_vcs_kind ws_vcs_svn = {
	.word = "svn",
	.vcs = WS_VCS_SVN,
	.is = is_svn,
	.resolve = resolve,
	.snapshot = snapshot,
	.release = release,
};
