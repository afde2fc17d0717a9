/* SPDX-License-Identifier: Apache-2.0 */
#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sha1.h"
#include "base/text.h"
#include "helper/git.h"

/*
 * A kept index with a few of its entries changed, as bytes: what stays is not even looked
 * into. (libgit2 would make an object of each of 50,000 entries, hash the file twice, and
 * move all entries for each one that it adds: 110 ms, and this takes 15.)
 *
 * The format is gitformat-index(5): a header, entries sorted by path, extensions, the
 * SHA-1 of it all. Version 2 is what libgit2 writes where, as in a layer's index, no
 * entry has a flag beyond those of that version.
 */
#define HEADER 12
#define FIXED 62	 /* of an entry, before its path */
#define FLAGS 60	 /* where in it */
#define NAME_MASK 0xfffu /* its length, or that if it is longer */
#define FLAGS_NONE 0xf000u
#define TREE_HEADER 8

void ws_git_index_release(struct ws_git_index *index)
{
	if (index->data)
		munmap((void *)index->data, index->len);
	ws_freep(&index->v);
	ws_freep(&index->changes);
}

static uint32_t number(const uint8_t *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return be32toh(n);
}

static void add_number(struct ws_buf *out, uint32_t n)
{
	n = htobe32(n);
	ws_buf_add(out, &n, sizeof(n));
}

/* Filled up with NULs, one at least. */
static size_t entry_len(size_t path_len)
{
	return (FIXED + path_len + 8) & ~(size_t)7;
}

/* ---- read ---- */

/* The next entry of a plain index, or NULL. */
static const uint8_t *next_entry(const struct ws_git_index *index, const uint8_t *at)
{
	size_t left = (size_t)(index->data + index->len - WS_SHA1_LEN - at), len;

	if (left < entry_len(0) ||
	    ((unsigned)at[FLAGS] << 8 | at[FLAGS + 1]) & FLAGS_NONE)
		return NULL;
	len = strnlen((const char *)at + FIXED, left - FIXED);
	return entry_len(len) <= left ? at + entry_len(len) : NULL;
}

static bool read_entries(struct ws_git_index *index)
{
	const uint8_t *at = index->data + HEADER, *next;

	index->n = number(index->data + 8);
	if (index->n > index->len / entry_len(0))
		return false;
	index->v = ws_grow(NULL, index->n + 1, sizeof(*index->v));
	for (size_t i = 0; i < index->n; i++, at = next) {
		const char *path = (const char *)at + FIXED;

		next = next_entry(index, at);
		if (!next || (i && strcmp(index->v[i - 1].path, path) >= 0))
			return false;
		index->v[i] = (struct ws_git_index_entry){ .path = path, .raw = at };
	}
	index->extensions = at;
	return true;
}

int ws_git_index_map(const char *file, struct ws_git_index *ret, struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	void *data = MAP_FAILED;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ws_fail_errno(err, "open '%s'", file);
	if (st.st_size >= HEADER + WS_SHA1_LEN)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data != MAP_FAILED) {
		ret->data = data;
		ret->len = (size_t)st.st_size;
		if (!memcmp(data, "DIRC\0\0\0\2", 8) && read_entries(ret))
			return 0;
	}
	return ws_fail(err, WS_SNAPSHOT_FAILED, "'%s' is no index of a kept revision",
		       file);
}

size_t ws_git_index_count(const char *file)
{
	WS_AUTO_CLOSE int fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint8_t head[HEADER];

	if (fd < 0 || read(fd, head, HEADER) != HEADER || memcmp(head, "DIRC", 4) != 0)
		return 0;
	return number(head + 8);
}

/* ---- change ---- */

static int by_path(const void *a, const void *b)
{
	const struct ws_git_index_entry *x = a, *y = b;
	int rc = strcmp(x->path, y->path);

	/* of what goes and comes, what comes is last, and counts */
	return rc ? rc : !!x->fresh - !!y->fresh;
}

void ws_git_index_change(struct ws_git_index *index, struct ws_git_index_entry *changes,
			 size_t n)
{
	struct ws_git_index_entry *old = index->v;
	size_t i = 0, all = index->n;

	if (n)
		qsort(changes, n, sizeof(*changes), by_path);
	index->changes = changes;
	index->nchanges = n;
	index->v = ws_grow(NULL, all + n + 1, sizeof(*index->v));
	index->n = 0;
	for (size_t k = 0; k < n; k++) {
		const struct ws_git_index_entry *c = &changes[k];

		if (k + 1 < n && !strcmp(c->path, changes[k + 1].path))
			continue;
		while (i < all && strcmp(old[i].path, c->path) < 0)
			index->v[index->n++] = old[i++];
		i += i < all && !strcmp(old[i].path, c->path);
		if (c->fresh)
			index->v[index->n++] = *c;
	}
	while (i < all)
		index->v[index->n++] = old[i++];
	ws_freep(&old);
}

/* The first of V that is not before PATH. */
static size_t find(const struct ws_git_index_entry *v, size_t n, const char *path)
{
	size_t from = 0;

	while (from < n) {
		size_t mid = from + (n - from) / 2;

		if (strcmp(v[mid].path, path) < 0)
			from = mid + 1;
		else
			n = mid;
	}
	return from;
}

const struct ws_git_index_entry *ws_git_index_get(const struct ws_git_index *index,
						  const char *path)
{
	size_t at = find(index->v, index->n, path);

	return at < index->n && !strcmp(index->v[at].path, path) ? &index->v[at] : NULL;
}

static bool any_below(const struct ws_git_index_entry *v, size_t n, const char *folder)
{
	size_t at = find(v, n, folder);

	return at < n && ws_text_starts(v[at].path, folder);
}

bool ws_git_index_has_below(const struct ws_git_index *index, const char *path)
{
	WS_AUTO_FREE char *folder = ws_format("%s/", path);

	return any_below(index->v, index->n, folder);
}

git_index_entry ws_git_index_entry(const struct ws_git_index_entry *e)
{
	git_index_entry ret = { .path = e->path };

	if (e->fresh)
		return *e->fresh;
	ret.mode = number(e->raw + 24);
	memcpy(ret.id.id, e->raw + 40, GIT_OID_RAWSZ);
	return ret;
}

/* ---- write ---- */

static void add_fresh(struct ws_buf *out, const git_index_entry *e)
{
	static const char nul[8];
	size_t len = strlen(e->path);
	uint16_t flags = htobe16((uint16_t)(len < NAME_MASK ? len : NAME_MASK));
	const uint32_t words[] = { (uint32_t)e->ctime.seconds,
				   e->ctime.nanoseconds,
				   (uint32_t)e->mtime.seconds,
				   e->mtime.nanoseconds,
				   e->dev,
				   e->ino,
				   e->mode,
				   e->uid,
				   e->gid,
				   e->file_size };

	for (size_t i = 0; i < WS_ARRAY_SIZE(words); i++)
		add_number(out, words[i]);
	ws_buf_add(out, e->id.id, GIT_OID_RAWSZ);
	ws_buf_add(out, &flags, sizeof(flags));
	ws_buf_add(out, e->path, len);
	ws_buf_add(out, nul, entry_len(len) - FIXED - len);
}

/* Those that stay stand together for the most part. */
static void add_entries(const struct ws_git_index *index, struct ws_buf *out)
{
	for (size_t i = 0; i < index->n;) {
		const uint8_t *from = index->v[i].raw, *end = from;

		if (!from) {
			add_fresh(out, index->v[i++].fresh);
			continue;
		}
		for (; i < index->n && index->v[i].raw == end; i++)
			end += entry_len(strlen(index->v[i].path));
		ws_buf_add(out, from, (size_t)(end - from));
	}
}

/* One folder of the extension TREE: NAME NUL COUNT " " SUBTREES "\n" and, if COUNT >= 0,
 * the tree's id; then its folders. */
struct cache_tree {
	const struct ws_git_index *index;
	const char *at, *end;
	struct ws_buf path, out;
};

static bool read_count(struct cache_tree *t, char stop, long *ret)
{
	char *end;

	if (!memchr(t->at, stop, (size_t)(t->end - t->at)))
		return false;
	*ret = strtol(t->at, &end, 10);
	if (end == t->at || *end != stop)
		return false;
	t->at = end + 1;
	return true;
}

/* The ids of the folders on the way to what has changed hold no more. */
static bool copy_tree(struct cache_tree *t)
{
	size_t len = strnlen(t->at, (size_t)(t->end - t->at)), before = t->path.len;
	const char *name = t->at;
	long entries, folders;
	bool stale;

	if (len == (size_t)(t->end - t->at))
		return false;
	t->at += len + 1;
	if (!read_count(t, ' ', &entries) || !read_count(t, '\n', &folders))
		return false;
	if (len)
		ws_buf_addf(&t->path, "%s/", name);
	stale = any_below(t->index->changes, t->index->nchanges, ws_buf_str(&t->path));
	ws_buf_add(&t->out, name, len + 1);
	ws_buf_addf(&t->out, "%ld %ld\n", stale ? -1 : entries, folders);
	if (entries >= 0) {
		if (t->end - t->at < GIT_OID_RAWSZ)
			return false;
		if (!stale)
			ws_buf_add(&t->out, t->at, GIT_OID_RAWSZ);
		t->at += GIT_OID_RAWSZ;
	}
	while (folders-- > 0)
		if (!copy_tree(t))
			return false;
	t->path.len = before;
	t->path.data[before] = '\0';
	return true;
}

/* git makes it anew where there is none. */
static void add_tree(const struct ws_git_index *index, struct ws_buf *out)
{
	const uint8_t *at = index->extensions;
	const uint8_t *end = index->data + index->len - WS_SHA1_LEN;
	struct cache_tree t = { .index = index };

	while (end - at > TREE_HEADER && number(at + 4) <= end - at - TREE_HEADER) {
		t.at = (const char *)at + TREE_HEADER;
		t.end = t.at + number(at + 4);
		if (!memcmp(at, "TREE", 4)) {
			ws_buf_reserve(&t.path, 1);
			if (copy_tree(&t)) {
				ws_buf_add(out, "TREE", 4);
				add_number(out, (uint32_t)t.out.len);
				ws_buf_add(out, t.out.data, t.out.len);
			}
			break;
		}
		at = (const uint8_t *)t.end;
	}
	ws_buf_release(&t.path);
	ws_buf_release(&t.out);
}

int ws_git_index_write(const struct ws_git_index *index, const char *git,
		       struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("%s/index", git);
	WS_AUTO_CLOSE int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	uint8_t sum[WS_SHA1_LEN];

	ws_buf_reserve(&out, index->len);
	ws_buf_add(&out, index->data, 8);
	add_number(&out, (uint32_t)index->n);
	add_entries(index, &out);
	add_tree(index, &out);
	ws_sha1(out.data, out.len, sum);
	ws_buf_add(&out, sum, sizeof(sum));
	if (fd < 0 || ws_write_all(fd, out.data, out.len) < 0)
		return ws_fail_errno(err, "write '%s'", path);
	/* begins the write: whoever syncs it waits less */
	sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	return 0;
}
