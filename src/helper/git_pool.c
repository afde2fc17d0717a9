/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/opt.h"
#include "base/sha256.h"
#include "base/text.h"
#include "helper/git.h"

/*
 * The pool: a bare repository whose objects are hard links to those of the host's
 * repository and its alternates; copies where a link cannot be. Nothing is ever
 * deleted here, so what the host's gc drops stays readable for sessions. One builder at
 * a time (wsiso holds the lock), any number of readers.
 */
#define POOL_CONFIG \
	"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
#define POOL_STAMP "stamp"
#define STORES_MAX 64
#define ALTERNATES_MAX (1u << 20)
#define YOUNG_NS 2000000000ull /* timestamps of network filesystems are that coarse */
#define TRIES 5

/* ---- stores ---- */

static int add_store(const char *path, struct ws_strv *ret, struct ws_err *err)
{
	WS_AUTO_FREE char *real = ws_realpath(path);
	struct stat st;

	if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode)) {
		ws_fail(err, WS_REPO_UNUSABLE, "the object folder '%s' is not there",
			path);
		return ws_hint(
			err,
			"the repository borrows objects from it (objects/info/alternates)");
	}
	if (ws_strv_has(ret, real))
		return 0;
	if (ret->n >= STORES_MAX)
		return ws_fail(err, WS_REPO_UNUSABLE, "more than %d object folders",
			       STORES_MAX);
	ws_strv_push(ret, real);
	return 0;
}

/* A line of an alternates file: git quotes as C does what begins with '"'. */
static char *alternate_path(const char *store, char *line)
{
	char *out = line, *in = line + 1;

	if (line[0] == '"') {
		for (; *in && *in != '"'; in++)
			*out++ = *in == '\\' && in[1] ? *++in : *in;
		*out = '\0';
	}
	return line[0] == '/' ? ws_strdup(line) : ws_format("%s/%s", store, line);
}

int ws_git_pool_stores(const char *common, struct ws_strv *ret, struct ws_err *err)
{
	WS_AUTO_FREE char *first = ws_format("%s/objects", common);

	if (add_store(first, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->n; i++) { /* grows while it is read */
		WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
		WS_AUTO_FREE char *store = ws_strdup(ret->v[i]);
		char *save = NULL;

		if (ws_git_text(store, "info/alternates", ALTERNATES_MAX, &text, err) < 0)
			return -1;
		if (!text.len)
			continue;
		for (char *l = strtok_r(text.data, "\n", &save); l;
		     l = strtok_r(NULL, "\n", &save)) {
			WS_AUTO_FREE char *path = NULL;

			if (*l == '#')
				continue;
			path = alternate_path(store, l);
			if (add_store(path, ret, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* ---- stamp ---- */

static void stamp_entry(int store, const char *name, struct ws_sha256 *sum,
			uint64_t *youngest)
{
	struct stat st;
	uint64_t when;
	WS_AUTO_FREE char *line = NULL;

	if (fstatat(store, name, &st, 0) < 0)
		return;
	when = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	if (when > *youngest)
		*youngest = when;
	line = ws_format("%s %llu %llu", name, (unsigned long long)st.st_ino,
			 (unsigned long long)when);
	ws_sha256_field(sum, line);
}

bool ws_git_pool_stamp(const struct ws_strv *stores, struct ws_buf *ret)
{
	static const char *const parts[] = { ".", "pack", "info", "info/commit-graphs" };
	uint64_t now = ws_clock_wall_ns(), youngest = 0;
	char hex[WS_SHA256_HEX], fan[3];
	struct ws_sha256 sum;

	ws_sha256_init(&sum);
	for (size_t i = 0; i < stores->n; i++) {
		WS_AUTO_CLOSE int fd =
			open(stores->v[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		ws_sha256_field(&sum, stores->v[i]);
		for (size_t k = 0; k < WS_ARRAY_SIZE(parts); k++)
			stamp_entry(fd, parts[k], &sum, &youngest);
		for (unsigned k = 0; k < 256; k++) {
			snprintf(fan, sizeof(fan), "%02x", k);
			stamp_entry(fd, fan, &sum, &youngest);
		}
	}
	ws_sha256_hex(&sum, hex);
	ws_buf_addstr(ret, hex);
	return youngest + YOUNG_NS < now;
}

/* ---- links ---- */

/* What a link or copy is put into. */
struct target {
	int dir;
	bool copied; /* something was copied: to be synced, links need not be */
	bool missed; /* something went away while we looked */
};

static int copy_bytes(int from, int to)
{
	char chunk[65536];
	ssize_t n;

	while ((n = copy_file_range(from, NULL, to, NULL, 1u << 30, 0)) > 0)
		continue;
	/* at its end, or this filesystem cannot: the rest by hand */
	for (;;) {
		n = read(from, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		if (ws_write_all(to, chunk, (size_t)n) < 0)
			return -1;
	}
}

static int copy_file(int store, const char *name, struct target *t, const char *tmp)
{
	WS_AUTO_CLOSE int from = openat(store, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	WS_AUTO_CLOSE int to = -1;
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	to = openat(t->dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0444);
	if (to < 0)
		return -1;
	t->copied = true;
	if (copy_bytes(from, to) < 0)
		return -1;
	return futimens(to, (struct timespec[]){ { .tv_nsec = UTIME_NOW }, st.st_mtim });
}

/* Is what is already there as NAME the same as ST says of the store's? */
static bool is_same(const struct target *t, const char *name, const struct stat *st,
		    bool mutable)
{
	struct stat have;

	if (fstatat(t->dir, name, &have, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (have.st_ino == st->st_ino && have.st_dev == st->st_dev)
		return true;
	/*
	 * names of packs and objects say what is in them: another size is a copy cut
	 * short
	 */
	return have.st_size == st->st_size &&
	       (!mutable || (have.st_mtim.tv_sec == st->st_mtim.tv_sec &&
			     have.st_mtim.tv_nsec == st->st_mtim.tv_nsec));
}

static int miss(struct target *t)
{
	if (errno != ENOENT)
		return -1;
	t->missed = true;
	return 0;
}

/*
 * NAME of the store appears in the pool, whole or not at all. MUTABLE: a new version
 * may stand under an old name. A file that is gone again is
 * noted: the caller comes back. Files of others are copied, since they could be
 * changed there.
 */
static int link_file(int store, const char *name, struct target *t, bool mutable)
{
	static const char tmp[] = WS_TMP_PREFIX "link";
	struct stat st;
	int rc = -1;

	if (fstatat(store, name, &st, 0) < 0)
		return miss(t);
	if (is_same(t, name, &st, mutable))
		return 0;
	unlinkat(t->dir, tmp, 0);
	if (st.st_uid == geteuid()) {
		rc = linkat(store, name, t->dir, tmp, AT_SYMLINK_FOLLOW);
		if (rc < 0 && errno != EXDEV && errno != EPERM && errno != EMLINK &&
		    errno != EOPNOTSUPP && errno != ENOENT)
			return -1;
	}
	if (rc < 0)
		rc = copy_file(store, name, t, tmp);
	if (rc == 0)
		rc = renameat(t->dir, tmp, t->dir, name);
	return rc < 0 ? miss(t) : 0;
}

/* Which names of a folder, and in which turn: a reader must never see an index alone. */
typedef bool chooses(const char *name);

static bool is_hex(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isxdigit((unsigned char)s[i]))
			return false;
	return true;
}

static bool is_object(const char *name)
{
	size_t len = strlen(name);

	return (len == 38 || len == 62) && is_hex(name, len);
}

static bool is_pack_part(const char *name)
{
	return ws_text_starts(name, "pack-") &&
	       (ws_text_ends(name, ".pack") || ws_text_ends(name, ".rev") ||
		ws_text_ends(name, ".bitmap") || ws_text_ends(name, ".promisor") ||
		ws_text_ends(name, ".mtimes"));
}

static bool is_pack_index(const char *name)
{
	return ws_text_starts(name, "pack-") && ws_text_ends(name, ".idx");
}

static bool is_midx_part(const char *name)
{
	return ws_text_starts(name, "multi-pack-index-");
}

static bool is_midx(const char *name)
{
	return !strcmp(name, "multi-pack-index");
}

static bool is_graph_part(const char *name)
{
	return ws_text_starts(name, "graph-") && ws_text_ends(name, ".graph");
}

static bool is_graph_chain(const char *name)
{
	return !strcmp(name, "commit-graph-chain");
}

static bool is_graph(const char *name)
{
	return !strcmp(name, "commit-graph");
}

/* Every chosen name of STORE/SUB; an index only where its pack has come along. */
static int link_chosen(DIR *from, struct target *t, chooses *wanted, bool mutable)
{
	const struct dirent *e;

	rewinddir(from);
	while ((e = readdir(from))) {
		if (!wanted(e->d_name))
			continue;
		if (wanted == is_pack_index) {
			WS_AUTO_FREE char *pack =
				ws_format("%.*s.pack", (int)strlen(e->d_name) - 4,
					  e->d_name);

			if (link_file(dirfd(from), pack, t, false) < 0)
				return -1;
			if (faccessat(t->dir, pack, F_OK, 0) < 0)
				continue;
		}
		if (link_file(dirfd(from), e->d_name, t, mutable) < 0)
			return -1;
	}
	return 0;
}

/* A folder of a store and what is taken from it, in this order. */
struct part {
	const char *sub;
	chooses *wanted;
	bool mutable;
	bool first_only; /* only one of its kind: the repository's own */
};

static const struct part parts[] = {
	{ "pack", is_pack_part, false, false },
	{ "pack", is_pack_index, false, false },
	{ "pack", is_midx_part, false, true },
	{ "pack", is_midx, true, true },
	{ "info/commit-graphs", is_graph_part, false, true },
	{ "info/commit-graphs", is_graph_chain, true, true },
	{ "info", is_graph, true, true },
};

static int link_part(const char *store, const struct part *p, struct target *all,
		     struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s", store, p->sub);
	WS_AUTO_CLOSE int to = -1;
	DIR *from = opendir(path);
	struct target t = { 0 };
	int rc;

	if (!from)
		return errno == ENOENT ? 0 : ws_fail_errno(err, "read '%s'", path);
	if (ws_mkdirs(all->dir, p->sub, 0755) == 0)
		to = ws_open_dir(all->dir, p->sub);
	t.dir = to;
	rc = to < 0 ? -1 : link_chosen(from, &t, p->wanted, p->mutable);
	if (rc < 0)
		ws_fail_errno(err, "bring '%s' into the pool", path);
	closedir(from);
	all->copied |= t.copied;
	all->missed |= t.missed;
	return rc;
}

static int link_store(const char *store, bool first, struct target *all,
		      struct ws_err *err)
{
	char fan[3];

	for (size_t i = 0; i < WS_ARRAY_SIZE(parts); i++)
		if ((first || !parts[i].first_only) &&
		    link_part(store, &parts[i], all, err) < 0)
			return -1;
	for (unsigned k = 0; k < 256; k++) {
		const struct part loose = { fan, is_object, false, false };

		snprintf(fan, sizeof(fan), "%02x", k);
		if (link_part(store, &loose, all, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- the pool ---- */

static int write_if_absent(int pool, const char *name, const char *text,
			   struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf buf = WS_BUF_INIT;

	if (faccessat(pool, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	ws_buf_addstr(&buf, text);
	return ws_write_atomic(pool, name, &buf, false, err);
}

/* A valid bare repository, so that it can be a remote. */
static int make_pool(const char *path, int *ret_pool, struct ws_err *err)
{
	static const char *const dirs[] = { "objects/info", "objects/pack", "refs/heads",
					    "refs/tags" };
	WS_AUTO_CLOSE int pool = -1;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return ws_fail_errno(err, "make '%s'", path);
	pool = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (pool < 0)
		return ws_fail_errno(err, "open '%s'", path);
	for (size_t i = 0; i < WS_ARRAY_SIZE(dirs); i++)
		if (ws_mkdirs(pool, dirs[i], 0755) < 0)
			return ws_fail_errno(err, "make '%s/%s'", path, dirs[i]);
	if (write_if_absent(pool, "HEAD", "ref: refs/heads/none\n", err) < 0 ||
	    write_if_absent(pool, "config", POOL_CONFIG, err) < 0)
		return -1;
	*ret_pool = ws_steal_fd(&pool);
	return 0;
}

/*
 * The host may repack while we link, and so move objects from where we shall look to
 * where we have looked: until the stamp has not changed meanwhile.
 */
static int fill(int pool, const struct ws_strv *stores, struct ws_buf *stamp,
		struct ws_err *err)
{
	WS_AUTO_CLOSE int objects = ws_open_dir(pool, "objects");
	struct target all = { .dir = objects, .missed = true };
	bool settled = false;

	if (objects < 0)
		return ws_fail_errno(err, "open the pool's objects");
	for (int i = 0; i < TRIES && all.missed; i++) {
		WS_AUTO(ws_buf) struct ws_buf after = WS_BUF_INIT;

		ws_buf_clear(stamp);
		settled = ws_git_pool_stamp(stores, stamp);
		all.missed = false;
		for (size_t k = 0; k < stores->n; k++)
			if (link_store(stores->v[k], k == 0, &all, err) < 0)
				return -1;
		ws_git_pool_stamp(stores, &after);
		all.missed |= strcmp(ws_buf_str(stamp), ws_buf_str(&after)) != 0;
	}
	if (!settled || all.missed)
		ws_buf_clear(stamp);
	if (all.copied && syncfs(objects) < 0)
		return ws_fail_errno(err, "sync the pool");
	return 0;
}

/* "pool --pool DIR STORE...": makes or refreshes it. No answer but success. */
int ws_answer_pool(int argc, char **argv, struct ws_buf *out, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv stores = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf stamp = WS_BUF_INIT;
	WS_AUTO_CLOSE int pool = -1;
	const char *path = NULL;
	const struct ws_opt opts[] = {
		{ 0, "pool", WS_OPT_STR, &path, "DIR", "the pool" },
		{ 0 },
	};

	(void)out;
	if (ws_opt_parse(argc, argv, -1, opts, &stores, err) != 0)
		return -1;
	if (!path || !stores.n)
		return ws_fail(err, WS_INTERNAL, "pool: what, and from where?");
	if (make_pool(path, &pool, err) < 0 || fill(pool, &stores, &stamp, err) < 0)
		return -1;
	return ws_write_atomic(pool, POOL_STAMP, &stamp, false, err);
}
