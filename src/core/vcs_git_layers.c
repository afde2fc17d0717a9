/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/sha256.h"
#include "base/text.h"
#include "core/keyed.h"
#include "core/layer.h"
#include "core/snapshot_make.h"
#include "core/vcs_git.h"
#include "core/vcs_git_near.h"

#define POOL_TIMEOUT_MS 3600000
#define BASE_TIMEOUT_MS 3600000
#define STAMP_MAX 256
#define ZERO_ID "0000000000000000000000000000000000000000"

/* Names that are derived from what the helper found. */
struct keys {
	char pool[WS_KEY_LEN + 5]; /* "KEY.git" */
	char family[WS_KEY_LEN + 1];
	char snapshot[WS_KEY_LEN + 1];
};

static void sum_hex(struct ws_sha256 *sum, char ret[WS_KEY_LEN + 1])
{
	char hex[WS_SHA256_HEX];

	ws_sha256_hex(sum, hex);
	snprintf(ret, WS_KEY_LEN + 1, "%.*s", WS_KEY_LEN, hex);
}

/*
 * A snapshot is what a commit looks like as files under one name; all of one family show
 * what is the same in two commits as the same bytes.
 */
static void sum_snapshot(const struct ws_spec_repo *repo, const struct ws_git_source *g,
			 const char *what, const char *pool, const char *revision,
			 char ret[WS_KEY_LEN + 1])
{
	struct ws_sha256 sum;

	ws_sha256_init(&sum);
	ws_sha256_field(&sum, what);
	ws_sha256_field(&sum, pool);
	ws_sha256_field(&sum, revision);
	ws_sha256_field(&sum, repo->name);
	ws_sha256_field(&sum, g->checkout);
	ws_sha256_field(&sum, g->attributes ? g->attributes : "");
	sum_hex(&sum, ret);
}

/* A pool belongs to one git dir: a new one at the old path has another inode. */
static int make_keys(const struct ws_spec_repo *repo, const struct ws_git_source *g,
		     struct keys *ret, struct ws_err *err)
{
	char pool[WS_KEY_LEN + 1], inode[32];
	struct ws_sha256 sum;
	struct stat st;

	if (stat(g->common, &st) < 0)
		return ws_fail_errno(err, "look at '%s'", g->common);
	snprintf(inode, sizeof(inode), "%llu", (unsigned long long)st.st_ino);
	ws_sha256_init(&sum);
	ws_sha256_field(&sum, "git pool 1");
	ws_sha256_field(&sum, g->common);
	ws_sha256_field(&sum, inode);
	sum_hex(&sum, pool);
	snprintf(ret->pool, sizeof(ret->pool), "%s.git", pool);
	sum_snapshot(repo, g, "git snapshot 2", ret->pool, g->revision, ret->snapshot);
	sum_snapshot(repo, g, "git family 1", ret->pool, "", ret->family);
	return 0;
}

/* ---- the pool ---- */

/* Has it all objects that the repository had when it was resolved? */
static bool pool_is_current(int pools, const char *pool, const struct ws_git_source *g)
{
	WS_AUTO_FREE char *path = ws_format("%s/stamp", pool);
	WS_AUTO(ws_buf) struct ws_buf stamp = WS_BUF_INIT;

	return g->stamp && ws_read_file(pools, path, STAMP_MAX, &stamp) == 0 &&
	       !strcmp(ws_buf_str(&stamp), g->stamp);
}

/* The repository's refs: those of the session less the branch that only it has. */
static void host_refs(const struct ws_git_source *g, struct ws_buf *ret)
{
	WS_AUTO_FREE char *own =
		ws_format("%s refs/heads/%s\n", g->revision, g->branch ? g->branch : "");
	const char *at = g->new_branch ? strstr(g->refs, own) : NULL;

	if (!at) {
		ws_buf_addstr(ret, g->refs);
		return;
	}
	ws_buf_add(ret, g->refs, (size_t)(at - g->refs));
	ws_buf_addstr(ret, at + strlen(own));
}

/*
 * What the remote "host" of every session over this pool answers with, in the order in
 * which it is written: where history ends, then the refs.
 */
#define ANSWERS 2
struct answer {
	const char *file;
	const char *text; /* NULL: none */
};

static bool is_current(int pools, const char *pool, const struct answer *a)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s", pool, a->file);
	WS_AUTO(ws_buf) struct ws_buf have = WS_BUF_INIT;

	if (!a->text)
		return faccessat(pools, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
	return ws_read_file(pools, path, strlen(a->text) + 1, &have) == 0 &&
	       !strcmp(ws_buf_str(&have), a->text);
}

static bool are_current(int pools, const char *pool, const struct answer *answers)
{
	for (size_t i = 0; i < ANSWERS; i++)
		if (!is_current(pools, pool, &answers[i]))
			return false;
	return true;
}

static int write_answer(int pool, const struct answer *a, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	if (a->text) {
		ws_buf_addstr(&text, a->text);
		return ws_write_atomic(pool, a->file, &text, false, err);
	}
	if (unlinkat(pool, a->file, 0) < 0 && errno != ENOENT)
		return ws_fail_errno(err, "remove '%s' of a pool", a->file);
	return 0;
}

/* LOCK, the pool's, is held. Objects come before the refs that need them. */
static int fill_pool(const struct ws_root *root, int pools, const char *pool,
		     const struct ws_git_source *g, const struct answer *answers,
		     int lock, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv argv = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf reply = WS_BUF_INIT;
	WS_AUTO_CLOSE int dir = -1;

	ws_strv_add(&argv, "pool", "--pool", NULL);
	ws_strv_addf(&argv, "%s/pools/%s", root->path, pool);
	ws_strv_extend(&argv, &g->stores);
	if (!pool_is_current(pools, pool, g) &&
	    ws_git_ask(&argv, &lock, 1, POOL_TIMEOUT_MS, &reply, err) < 0)
		return -1;
	dir = ws_open_dir(pools, pool);
	if (dir < 0)
		return ws_fail_errno(err, "open pool '%s'", pool);
	for (size_t i = 0; i < ANSWERS; i++)
		if (!is_current(pools, pool, &answers[i]) &&
		    write_answer(dir, &answers[i], err) < 0)
			return -1;
	return 0;
}

static int refresh_pool(const struct ws_root *root, const char *pool,
			const struct ws_git_source *g, struct ws_err *err)
{
	WS_AUTO_CLOSE int pools = ws_root_dir(root, "pools", err);
	WS_AUTO_FREE char *lock_name = ws_format("%.*s.lock", WS_KEY_LEN, pool);
	WS_AUTO(ws_buf) struct ws_buf refs = WS_BUF_INIT;
	WS_AUTO_CLOSE int lock = -1;
	struct answer answers[ANSWERS] = { { "shallow", g->shallow } };

	if (pools < 0)
		return -1;
	utimensat(pools, pool, NULL, AT_SYMLINK_NOFOLLOW); /* gc: somebody counts on it */
	host_refs(g, &refs);
	answers[1] = (struct answer){ "packed-refs", ws_buf_str(&refs) };
	if (pool_is_current(pools, pool, g) && are_current(pools, pool, answers))
		return 0;
	lock = ws_lock_open(pools, lock_name);
	if (lock < 0)
		return ws_fail_errno(err, "open the lock of pool '%s'", pool);
	if (ws_lock_wait(lock, true, POOL_TIMEOUT_MS, "the object pool", err) < 0)
		return -1;
	return fill_pool(root, pools, pool, g, answers, lock, err);
}

/* ---- base and git layer ---- */

/* Two layers that are built in one pass: an index is right for these very files only. */
struct build {
	const struct ws_root *root;
	const struct ws_spec_repo *repo;
	const struct ws_git_source *g;
	const char *pool;
	struct ws_git_near near; /* what a delta stands on; revision NULL: nothing */
};

static void build_release(struct build *b)
{
	ws_git_near_release(&b->near);
}

/* What a git dir has besides the index. HEAD is the session's own, put over this one. */
static int lay_out_git(const struct build *b, int dir, const char *git,
		       struct ws_err *err)
{
	static const char *const folders[] = { "objects/info", "objects/pack",
					       "refs/heads",   "refs/tags",
					       "info",	       "hooks" };
	WS_AUTO_FREE char *head = ws_format("%s\n", b->g->revision);
	const char *files[][2] = {
		{ "HEAD", head },
		{ "config", b->g->checkout },
		{ "info/attributes", b->g->attributes },
	};

	for (size_t i = 0; i < WS_ARRAY_SIZE(folders); i++) {
		WS_AUTO_FREE char *path = ws_format("%s/%s", git, folders[i]);

		if (ws_layer_mkdir(dir, path, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < WS_ARRAY_SIZE(files); i++) {
		WS_AUTO_FREE char *path = ws_format("%s/%s", git, files[i][0]);

		if (files[i][1] && ws_layer_write(dir, path, files[i][1], err) < 0)
			return -1;
	}
	return 0;
}

char *ws_git_alternates(const char *repo)
{
	return ws_format("/run/wsiso/objects/%s/objects\n", repo);
}

static int build_files(const struct build *b, const struct ws_scratch *base,
		       const struct ws_scratch *git, int lock, struct ws_err *err)
{
	const int kept[] = { base->fd, git->fd, lock };
	const char *root = b->root->path, *name = b->repo->name;
	WS_AUTO(ws_strv) struct ws_strv argv = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf answer = WS_BUF_INIT;
	WS_AUTO_FREE char *alternates =
		ws_format("root/%s/.git/objects/info/alternates", name);
	WS_AUTO_FREE char *objects = ws_git_alternates(name);

	ws_strv_add(&argv, "base", "--commit", b->g->revision, "--pool", NULL);
	ws_strv_addf(&argv, "%s/pools/%s/objects", root, b->pool);
	ws_strv_push(&argv, "--base");
	ws_strv_addf(&argv, "%s/tmp/%s/root/%s", root, base->name, name);
	ws_strv_push(&argv, "--git");
	ws_strv_addf(&argv, "%s/tmp/%s/root/%s/.git", root, git->name, name);
	if (b->near.revision)
		ws_strv_add(&argv, "--near", b->near.revision, "--index", b->near.index,
			    NULL);
	if (ws_git_ask(&argv, kept, lock < 0 ? 2 : 3, BASE_TIMEOUT_MS, &answer, err) < 0)
		return -1;
	/* a path of the sandbox, so not before the helper has read this git dir here */
	return ws_layer_write(git->fd, alternates, objects, err);
}

static int fill(struct ws_snapshot_maker *m, const struct ws_scratch *layers, int lock,
		struct ws_err *err)
{
	const struct build *b = m->data;
	WS_AUTO_FREE char *below = ws_format("root/%s", b->repo->name);
	WS_AUTO_FREE char *git = ws_format("%s/.git", below);

	if (ws_layer_mkdir(layers[0].fd, below, err) < 0 ||
	    ws_layer_mkdir(layers[1].fd, git, err) < 0 ||
	    lay_out_git(b, layers[1].fd, git, err) < 0)
		return -1;
	return build_files(b, &layers[0], &layers[1], lock, err);
}

/* Only what differs from a revision that is there already is made. */
static int plan(struct ws_snapshot_maker *m, struct ws_snapshot *s, struct ws_err *err)
{
	struct build *b = m->data;
	int rc;

	ws_git_near_release(&b->near);
	b->near = WS_GIT_NEAR_INIT;
	m->sorts[0] = &WS_LAYER_BASE;
	rc = s->key ? ws_git_near_find(b->root, s, &b->near, err) : 0;
	if (rc <= 0)
		return rc;
	m->sorts[0] = &WS_LAYER_DELTA;
	ws_strv_extend(&s->layers, &b->near.layers);
	return 0;
}

static void describe(struct ws_snapshot *s, const struct keys *keys,
		     const struct ws_spec_repo *repo, const struct ws_git_source *g)
{
	s->key = ws_strdup(keys->snapshot);
	s->repo = ws_strdup(g->path);
	s->name = ws_strdup(repo->name);
	s->vcs = ws_strdup("git");
	s->revision = ws_strdup(g->revision);
	s->pool = ws_strdup(keys->pool);
	s->family = ws_strdup(keys->family);
}

static int snapshot(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err)
{
	const struct ws_git_source *g = r->source;
	WS_AUTO(build)
	struct build b = {
		.root = call->root, .repo = r->spec, .g = g, .near = WS_GIT_NEAR_INIT
	};
	struct ws_snapshot_maker m = { .sorts = { &WS_LAYER_BASE, &WS_LAYER_INDEX },
				       .plan = plan,
				       .fill = fill,
				       .data = &b };
	struct keys keys;

	if (make_keys(r->spec, g, &keys, err) < 0 ||
	    refresh_pool(call->root, keys.pool, g, err) < 0)
		return -1;
	b.pool = keys.pool;
	describe(&r->snapshot, &keys, r->spec, g);
	return ws_vcs_obtain(call, &m, r, err);
}

int ws_git_snapshot(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err)
{
	if (snapshot(call, r, err) == 0)
		return 0;
	return ws_fail_within(err, "snapshot of '%s'", r->spec->name);
}

/* ---- the session's own ---- */

/* A file of the private git dir; SYNCED: git is lost without it. */
struct own_file {
	const char *name;
	const char *text; /* NULL: none */
	bool synced;
};

static int write_own(int dir, const char *git, const struct own_file *files, size_t n,
		     struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv synced = WS_STRV_INIT;

	for (size_t i = 0; i < n; i++) {
		WS_AUTO_FREE char *path = ws_format("%s/%s", git, files[i].name);
		char *slash = strrchr(path, '/');

		if (!files[i].text)
			continue;
		*slash = '\0';
		if (ws_layer_mkdir(dir, path, err) < 0)
			return -1;
		*slash = '/';
		if (ws_layer_write(dir, path, files[i].text, err) < 0)
			return -1;
		if (files[i].synced)
			ws_strv_push(&synced, path);
	}
	return ws_layer_sync(dir, (const char *const *)synced.v, synced.n, err);
}

/* The pool as a remote: "git fetch host" brings what a later create found on the host. */
static char *own_config(const struct ws_spec_repo *repo, const struct ws_git_source *g)
{
	return ws_format("%s[remote \"host\"]\n\turl = /run/wsiso/objects/%s\n"
			 "\tfetch = +refs/heads/*:refs/remotes/host/*\n",
			 g->config, repo->name);
}

static int write_git_dir(int dir, const char *git, const struct ws_spec_repo *repo,
			 const struct ws_git_source *g, struct ws_err *err)
{
	unsigned long long now = ws_clock_wall_ns() / 1000000000u;
	WS_AUTO_FREE char *head = g->branch ? ws_format("ref: refs/heads/%s\n", g->branch)
					    : ws_format("%s\n", g->revision);
	WS_AUTO_FREE char *branch_log =
		ws_format("logs/refs/heads/%s", g->branch ? g->branch : "");
	WS_AUTO_FREE char *came =
		ws_format(ZERO_ID " %s %s %llu +0000\tcheckout: moving from host to %s\n",
			  g->revision, g->ident, now,
			  g->branch ? g->branch : g->revision);
	WS_AUTO_FREE char *made =
		ws_format(ZERO_ID " %s %s %llu +0000\tbranch: Created from %s\n",
			  g->revision, g->ident, now, g->revision);
	WS_AUTO_FREE char *config = own_config(repo, g);
	const struct own_file files[] = {
		{ "HEAD", head, true },
		{ "packed-refs", g->refs, true },
		{ "config", config, true },
		{ "shallow", g->shallow, true },
		{ "info/exclude", g->exclude, false },
		{ "logs/HEAD", came, false },
		{ branch_log, g->branch ? made : NULL, false },
	};

	return write_own(dir, git, files, WS_ARRAY_SIZE(files), err);
}

static int private_layer(const struct ws_root *root, const char *name,
			 const struct ws_spec_repo *repo, const struct ws_git_source *g,
			 struct ws_err *err)
{
	WS_AUTO_FREE char *git = ws_format("root/%s/.git", repo->name);
	struct ws_layer_meta meta = { .version = WS_LAYER_VERSION,
				      .kind = (char[]){ "git" },
				      .repo = repo->name,
				      .source = g->path,
				      .revision = g->revision,
				      .created = ws_clock_wall_ns() };
	char scratch[WS_SCRATCH_NAME_MAX] = "";
	WS_AUTO_CLOSE int dir = -1;

	if (ws_root_scratch(root, "git", scratch, &dir, err) == 0 &&
	    write_git_dir(dir, git, repo, g, err) == 0 &&
	    ws_layer_publish(root, scratch, name, &meta, NULL, err) == 0)
		return 0;
	ws_scratch_discard(root, scratch);
	return -1;
}

int ws_git_private(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err)
{
	char name[WS_LAYER_NAME_MAX];

	ws_layer_private_name(WS_LAYER_GIT, call->id, name);
	if (private_layer(call->root, name, r->spec, r->source, err) < 0)
		return ws_fail_within(err, "git dir of '%s'", r->spec->name);
	r->layer = ws_strdup(name);
	return 0;
}
