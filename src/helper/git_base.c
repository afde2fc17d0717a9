/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <git2/sys/repository.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/opt.h"
#include "helper/git.h"

/*
 * A commit's tree as files below the folder BASE, and beside it, in GIT (a git dir that
 * wsiso has made, with config and attributes), the index that says so with the files'
 * own stat data: git need not look into any of them. Objects come from the pool alone.
 *
 * Or, over the files of another commit, only what differs from that one.
 *
 * Only what libgit2 has built in is done to the bytes (line ends, $Id$); filters that are
 * programs do not run, so an LFS file is its pointer.
 */
#define BATCH 32
#define THREADS_MAX 16
#define SETTLED_S 10 /* so much older than the index: git never doubts them */

struct base {
	const char *pool, *git, *commit;
	const char *near, *near_index; /* what it stands on, or NULL */
	int dir;
	git_odb *odb;
	git_repository *repo;
	git_tree *tree;
	git_index *index;
	struct ws_git_delta delta;
	git_index_entry **entries; /* that are to be written; the index's own */
	size_t n;
	struct timespec mtime;
	bool filtered;
	atomic_size_t next;
	atomic_bool failed;
	pthread_mutex_t lock; /* of err */
	struct ws_err *err;
};

/* One thread's own handles: libgit2's locks are never waited for. */
struct worker {
	struct base *base;
	git_odb *odb;
	git_repository *repo; /* with filters only */
	git_index *index;     /* where its attributes are read from */
	char *folder;	      /* path that DIR is open at */
	int dir;
};

/* ---- open ---- */

/*
 * The session's git dir over the pool's objects, as if bare: there is no work tree yet.
 */
static int open_repo(const struct base *b, git_odb **ret_odb, git_repository **ret)
{
	if (git_odb_open(ret_odb, b->pool) < 0)
		return -1;
	if (git_repository_open_ext(ret, b->git,
				    GIT_REPOSITORY_OPEN_NO_SEARCH |
					    GIT_REPOSITORY_OPEN_BARE |
					    GIT_REPOSITORY_OPEN_NO_DOTGIT,
				    NULL) < 0)
		return -1;
	return git_repository_set_odb(*ret, *ret_odb);
}

static int open_commit(struct base *b, struct ws_err *err)
{
	git_commit *commit = NULL;
	git_oid id;
	time_t now = time(NULL);
	int rc = open_repo(b, &b->odb, &b->repo);

	if (rc == 0)
		rc = git_oid_fromstr(&id, b->commit);
	if (rc == 0)
		rc = git_commit_lookup(&commit, b->repo, &id);
	if (rc == 0)
		rc = git_commit_tree(&b->tree, commit);
	if (rc == 0) {
		b->mtime.tv_sec = git_commit_time(commit);
		if (b->mtime.tv_sec > now - SETTLED_S)
			b->mtime.tv_sec = now - SETTLED_S;
		if (b->mtime.tv_sec < 1)
			b->mtime.tv_sec = 1;
	}
	git_commit_free(commit);
	return rc < 0 ? ws_git_fail(err, WS_SNAPSHOT_FAILED, "read commit %.12s",
				    b->commit)
		      : 0;
}

/*
 * The index lists every file of the tree, in order, with the tree's own hashes kept (so
 * that status need not read the trees). Its entries are const to us by its interface, but
 * are plain memory of the index: their stat data is put in where they stand, since adding
 * them anew would throw those hashes away.
 */
static int list_all(struct base *b, struct ws_err *err)
{
	if (git_repository_index(&b->index, b->repo) < 0 ||
	    git_index_read_tree(b->index, b->tree) < 0)
		return ws_git_fail(err, WS_SNAPSHOT_FAILED, "read the tree of %.12s",
				   b->commit);
	b->n = git_index_entrycount(b->index);
	b->entries = ws_grow(NULL, b->n + 1, sizeof(*b->entries));
	for (size_t i = 0; i < b->n; i++)
		b->entries[i] = (git_index_entry *)git_index_get_byindex(b->index, i);
	return 0;
}

static int list_changed(struct base *b, struct ws_err *err)
{
	if (ws_git_delta_plan(b->repo, b->near, b->tree, b->near_index, &b->delta, err) <
	    0)
		return -1;
	b->n = b->delta.nwritten;
	b->entries = ws_grow(NULL, b->n + 1, sizeof(*b->entries));
	for (size_t i = 0; i < b->n; i++)
		b->entries[i] = &b->delta.written[i];
	return 0;
}

/* ---- names ---- */

static bool is_link(const git_index_entry *e)
{
	return e->mode == GIT_FILEMODE_LINK;
}

/* What git refuses to check out: names that lead elsewhere, or into the git dir. */
static bool is_bad_name(const char *name, size_t len, bool link)
{
	static const char *const bad[] = { ".", "..", ".git", "git~1" };

	for (size_t i = 0; i < WS_ARRAY_SIZE(bad); i++)
		if (len == strlen(bad[i]) && !strncasecmp(name, bad[i], len))
			return true;
	return len == 0 || (link && len == 11 && !strncasecmp(name, ".gitmodules", len));
}

static int check_path(const git_index_entry *e, struct ws_err *err)
{
	for (const char *at = e->path;;) {
		size_t len = strcspn(at, "/");

		if (is_bad_name(at, len, is_link(e) && !at[len]))
			return ws_fail(
				err, WS_SNAPSHOT_FAILED,
				"the commit holds the path '%s', which git refuses too",
				e->path);
		if (!at[len])
			return 0;
		at += len + 1;
	}
}

/*
 * Every folder of PATH that the one before had not: entries are sorted, so a folder's
 * follow each other. No link exists yet, so paths are safe.
 */
static int make_folders(int dir, const char *before, const char *path)
{
	WS_AUTO_FREE char *copy = ws_strdup(path);
	size_t same = 0, known = 0;

	for (; before[same] && before[same] == path[same]; same++)
		if (path[same] == '/')
			known = same + 1;
	for (char *slash = strchr(copy + known, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(dir, copy, 0755) < 0 && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return 0;
}

static int prepare_folders(struct base *b, struct ws_err *err)
{
	const char *before = "";

	for (size_t i = 0; i < b->n; i++) {
		const git_index_entry *e = b->entries[i];

		if (check_path(e, err) < 0)
			return -1;
		if (make_folders(b->dir, before, e->path) < 0 ||
		    (e->mode == GIT_FILEMODE_COMMIT &&
		     mkdirat(b->dir, e->path, 0755) < 0))
			return ws_fail_errno(err, "make the folder of '%s'", e->path);
		before = e->path;
	}
	return 0;
}

/* In a folder of the layer below that stays, or in one that is new here. */
static int hide_gone(const struct base *b, struct ws_err *err)
{
	const struct ws_strv *hidden = &b->delta.hidden;

	for (size_t i = 0; i < hidden->n; i++)
		if (make_folders(b->dir, "", hidden->v[i]) < 0 ||
		    mknodat(b->dir, hidden->v[i], S_IFCHR, 0) < 0)
			return ws_fail_errno(err, "hide '%s'", hidden->v[i]);
	return 0;
}

/* ---- files ---- */

/* The folder of PATH as a descriptor; *ret_name: the rest. */
static int enter_folder(struct worker *w, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	*ret_name = slash ? slash + 1 : path;
	if (w->dir >= 0 && strlen(w->folder) == len && !strncmp(w->folder, path, len))
		return 0;
	ws_closep(&w->dir);
	ws_freep(&w->folder);
	w->folder = ws_strndup(path, len);
	w->dir = ws_open_beneath(w->base->dir, len ? w->folder : ".",
				 O_PATH | O_DIRECTORY, 0);
	return w->dir < 0 ? -1 : 0;
}

static void keep_stat(git_index_entry *e, const struct stat *st)
{
	e->ctime.seconds = (int32_t)st->st_ctim.tv_sec;
	e->ctime.nanoseconds = (uint32_t)st->st_ctim.tv_nsec;
	e->mtime.seconds = (int32_t)st->st_mtim.tv_sec;
	e->mtime.nanoseconds = (uint32_t)st->st_mtim.tv_nsec;
	e->dev = (uint32_t)st->st_dev;
	e->ino = (uint32_t)st->st_ino;
	e->uid = st->st_uid;
	e->gid = st->st_gid;
	e->file_size = (uint32_t)st->st_size;
}

static int write_link(struct worker *w, const char *name, const char *target, size_t len,
		      struct stat *ret)
{
	const struct timespec times[] = { w->base->mtime, w->base->mtime };
	WS_AUTO_FREE char *text = ws_strndup(target, len);

	if (strlen(text) != len || len == 0) {
		errno = EINVAL;
		return -1;
	}
	if (symlinkat(text, w->dir, name) < 0 ||
	    utimensat(w->dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return fstatat(w->dir, name, ret, AT_SYMLINK_NOFOLLOW);
}

static int write_file(struct worker *w, const char *name, mode_t mode, const void *data,
		      size_t len, struct stat *ret)
{
	const struct timespec times[] = { w->base->mtime, w->base->mtime };
	WS_AUTO_CLOSE int fd =
		openat(w->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       mode);

	if (fd < 0 || ws_write_all(fd, data, len) < 0 || futimens(fd, times) < 0)
		return -1;
	return fstat(fd, ret);
}

static int write_bytes(struct worker *w, git_index_entry *e, const void *data, size_t len,
		       struct ws_err *err)
{
	mode_t mode = e->mode == GIT_FILEMODE_BLOB_EXECUTABLE ? 0755 : 0644;
	const char *name;
	struct stat st;
	int rc = enter_folder(w, e->path, &name);

	if (rc == 0)
		rc = is_link(e) ? write_link(w, name, data, len, &st)
				: write_file(w, name, mode, data, len, &st);
	if (rc < 0)
		return ws_fail_errno(err, "write '%s'", e->path);
	keep_stat(e, &st);
	return 0;
}

static int write_blob(struct worker *w, git_index_entry *e, git_odb_object *blob,
		      struct ws_err *err)
{
	const void *data = git_odb_object_data(blob);
	size_t len = git_odb_object_size(blob);
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	if (git_odb_object_type(blob) != GIT_OBJECT_BLOB)
		return ws_fail(err, WS_SNAPSHOT_FAILED, "'%s' is no blob in the commit",
			       e->path);
	if (!w->repo || is_link(e))
		return write_bytes(w, e, data, len, err);
	if (ws_git_filter_apply(w->repo, e->path, &e->id, data, len, &text, err) < 0)
		return -1;
	return write_bytes(w, e, ws_buf_str(&text), text.len, err);
}

static int write_entry(struct worker *w, git_index_entry *e, struct ws_err *err)
{
	git_odb_object *blob = NULL;
	int rc;

	if (e->mode == GIT_FILEMODE_COMMIT)
		return 0; /* a submodule: its folder is there */
	if (git_odb_read(&blob, w->odb, &e->id) < 0)
		return ws_git_fail(err, WS_SNAPSHOT_FAILED, "read '%s'", e->path);
	rc = write_blob(w, e, blob, err);
	git_odb_object_free(blob);
	return rc;
}

/* ---- threads ---- */

static int worker_open(struct worker *w, struct ws_err *err)
{
	git_tree *tree = NULL;
	int rc;

	if (!w->base->filtered) {
		if (git_odb_open(&w->odb, w->base->pool) < 0)
			return ws_git_fail(err, WS_SNAPSHOT_FAILED, "open the pool");
		return 0;
	}
	rc = open_repo(w->base, &w->odb, &w->repo);
	if (rc == 0)
		rc = git_tree_lookup(&tree, w->repo, git_tree_id(w->base->tree));
	if (rc == 0)
		rc = git_repository_index(&w->index, w->repo);
	if (rc == 0)
		rc = git_index_read_tree(w->index, tree);
	git_tree_free(tree);
	return rc < 0 ? ws_git_fail(err, WS_SNAPSHOT_FAILED, "open the pool") : 0;
}

static int worker_loop(struct worker *w, struct ws_err *err)
{
	struct base *b = w->base;
	size_t from;

	if (worker_open(w, err) < 0)
		return -1;
	while (!atomic_load(&b->failed) &&
	       (from = atomic_fetch_add(&b->next, BATCH)) < b->n)
		for (size_t i = from; i < b->n && i < from + BATCH; i++)
			if (write_entry(w, b->entries[i], err) < 0)
				return -1;
	return 0;
}

static void *worker_run(void *data)
{
	struct worker w = { .base = data, .dir = -1 };
	struct ws_err err = WS_ERR_INIT;

	if (worker_loop(&w, &err) < 0) {
		pthread_mutex_lock(&w.base->lock);
		if (!atomic_exchange(&w.base->failed, true))
			*w.base->err = err;
		pthread_mutex_unlock(&w.base->lock);
	}
	ws_closep(&w.dir);
	ws_freep(&w.folder);
	git_index_free(w.index);
	git_repository_free(w.repo);
	git_odb_free(w.odb);
	return NULL;
}

static size_t count_threads(size_t entries)
{
	cpu_set_t cpus;
	size_t n = 1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		n = (size_t)CPU_COUNT(&cpus);
	if (n > entries / BATCH + 1)
		n = entries / BATCH + 1;
	return n < THREADS_MAX ? n : THREADS_MAX;
}

/* This thread is one of them. */
static int write_files(struct base *b, struct ws_err *err)
{
	pthread_t threads[THREADS_MAX];
	size_t wanted = count_threads(b->n) - 1, n = 0;

	b->err = err;
	pthread_mutex_init(&b->lock, NULL);
	while (n < wanted && pthread_create(&threads[n], NULL, worker_run, b) == 0)
		n++;
	worker_run(b);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	pthread_mutex_destroy(&b->lock);
	return atomic_load(&b->failed) ? -1 : 0;
}

/* ---- the answer ---- */

static void base_release(struct base *b)
{
	ws_freep(&b->entries);
	ws_git_delta_release(&b->delta);
	git_index_free(b->index);
	git_tree_free(b->tree);
	git_repository_free(b->repo);
	git_odb_free(b->odb);
	ws_closep(&b->dir);
}

/* Only the session's own config and attributes decide, nothing of this host. */
void ws_git_forget_host(void)
{
	git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_SYSTEM, "");
	git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_XDG, "");
	git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_GLOBAL, "");
	git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_PROGRAMDATA, "");
}

static int is_filtered(const struct base *b, struct ws_err *err)
{
	const struct ws_git_delta *d = &b->delta;
	WS_AUTO_FREE git_index_entry **all = NULL;

	if (!b->near)
		return ws_git_filter_needed(b->repo, b->entries, b->n, err);
	all = ws_grow(NULL, d->nattributes + 1, sizeof(*all));
	for (size_t i = 0; i < d->nattributes; i++)
		all[i] = &d->attributes[i];
	return ws_git_filter_needed(b->repo, all, d->nattributes, err);
}

static int build(struct base *b, struct ws_err *err)
{
	int rc;

	if (open_commit(b, err) < 0 ||
	    (b->near ? list_changed(b, err) : list_all(b, err)) < 0 ||
	    prepare_folders(b, err) < 0 || hide_gone(b, err) < 0)
		return -1;
	rc = is_filtered(b, err);
	b->filtered = rc > 0;
	if (rc < 0 || write_files(b, err) < 0)
		return -1;
	if (b->near)
		return ws_git_index_write(&b->delta.index, b->git, err);
	if (git_index_write(b->index) < 0)
		return ws_git_fail(err, WS_SNAPSHOT_FAILED, "write the index");
	return 0;
}

/* "base --pool OBJECTS --commit ID --base DIR --git DIR [--near ID --index FILE]" */
int ws_answer_base(int argc, char **argv, struct ws_buf *out, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv rest = WS_STRV_INIT;
	WS_AUTO(base) struct base b = { .dir = -1 };
	const char *dir = NULL;
	const struct ws_opt opts[] = {
		{ 0, "pool", WS_OPT_STR, &b.pool, "DIR", "the object folder" },
		{ 0, "commit", WS_OPT_STR, &b.commit, "ID", "what to check out" },
		{ 0, "base", WS_OPT_STR, &dir, "DIR", "where to: an empty folder" },
		{ 0, "git", WS_OPT_STR, &b.git, "DIR",
		  "the git dir that gets the index" },
		{ 0, "near", WS_OPT_STR, &b.near, "ID",
		  "the commit whose files lie below" },
		{ 0, "index", WS_OPT_STR, &b.near_index, "FILE", "that one's index" },
		{ 0 },
	};

	(void)out;
	if (ws_opt_parse(argc, argv, -1, opts, &rest, err) != 0)
		return -1;
	if (!b.pool || !b.commit || !dir || !b.git || rest.n || !b.near != !b.near_index)
		return ws_fail(err, WS_INTERNAL, "base: of what, and where to?");
	ws_git_forget_host();
	b.dir = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (b.dir < 0)
		return ws_fail_errno(err, "open '%s'", dir);
	return build(&b, err);
}
