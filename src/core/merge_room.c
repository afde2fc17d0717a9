/* SPDX-License-Identifier: Apache-2.0 */
#include "core/merge_room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sha256.h"
#include "base/text.h"
#include "core/diff.h"
#include "core/file_merge.h"
#include "core/layer_copy.h"

#define ROOM "merge"
#define KEY_LEN 32 /* digits of the hash */
#define BLOCK 65536
#define ANSWER_MAX 16

static const char *const sides[WS_TREES] = { "base", "ours", "theirs" };

void ws_merge_room_release(struct ws_merge_room *r)
{
	ws_closep(&r->fd);
	ws_freep(&r->path);
}

int ws_merge_room_open(const struct ws_session *child, bool make,
		       struct ws_merge_room *ret, struct ws_err *err)
{
	if (make && ws_mkdir(child->dir, ROOM, 0700) < 0)
		return ws_fail_errno(err, "make '%s/" ROOM "'", child->path);
	ret->fd = ws_open_dir(child->dir, ROOM);
	if (ret->fd < 0 && (errno != ENOENT || make))
		return ws_fail_errno(err, "open '%s/" ROOM "'", child->path);
	ret->path = ws_format("%s/" ROOM, child->path);
	return 0;
}

int ws_merge_room_remove(const struct ws_root *root, const struct ws_session *child,
			 struct ws_err *err)
{
	if (faccessat(child->dir, ROOM, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return ws_root_discard(root, child->dir, ROOM, err);
}

/* ---- the key ---- */

static int add_bytes(const struct ws_merge_trees *t, const struct ws_merge_path *p,
		     enum ws_merge_tree tree, struct ws_sha256 *sum)
{
	const struct ws_merge_side *s = ws_merge_side(p, tree);
	WS_AUTO_FREE char *block = NULL;
	WS_AUTO_CLOSE int fd = -1;
	ssize_t n;

	if (S_ISLNK(s->mode)) {
		WS_AUTO_FREE char *target =
			ws_stack_read_link(&t->stack[tree], s->layer, p->path);

		ws_sha256_field(sum, target ? target : "");
		return target ? 0 : -1;
	}
	if (!S_ISREG(s->mode))
		return 0;
	fd = ws_stack_open_file(&t->stack[tree], s->layer, p->path);
	block = ws_alloc(BLOCK);
	while (fd >= 0 && (n = read(fd, block, BLOCK)) != 0) {
		if (n < 0)
			return -1;
		ws_sha256_update(sum, block, (size_t)n);
	}
	return fd < 0 ? -1 : 0;
}

static int add_side(const struct ws_merge_trees *t, const struct ws_merge_path *p,
		    enum ws_merge_tree tree, struct ws_sha256 *sum)
{
	const struct ws_merge_side *s = ws_merge_side(p, tree);
	WS_AUTO_FREE char *head = ws_format("%s %o %llu", p->path, (unsigned)s->mode,
					    (unsigned long long)s->size);

	ws_sha256_field(sum, head);
	return add_bytes(t, p, tree, sum);
}

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(path, folder, len) && path[len] == '/';
}

/* An answer for a folder is one for all that is in it. */
int ws_merge_room_key(const struct ws_merge_trees *t, struct ws_merge_path *p,
		      struct ws_err *err)
{
	char hex[WS_SHA256_HEX];
	struct ws_sha256 sum;
	int rc = 0;

	if (p->key)
		return 0;
	ws_sha256_init(&sum);
	for (int i = 0; rc == 0 && i < WS_TREES; i++)
		rc = add_side(t, p, (enum ws_merge_tree)i, &sum);
	for (const struct ws_merge_path *q = t->v;
	     rc == 0 && ws_merge_is_half_folder(p) && q < t->v + t->n; q++)
		for (int i = 0; rc == 0 && is_below(q->path, p->path) && i < WS_TREES;
		     i++)
			rc = add_side(t, q, (enum ws_merge_tree)i, &sum);
	if (rc < 0)
		return ws_fail_errno(err, "read '/workspace/%.200s'", p->path);
	ws_sha256_hex(&sum, hex);
	p->key = ws_strndup(hex, KEY_LEN);
	return 0;
}

/* ---- answers ---- */

static bool may_clash(const struct ws_merge_path *p)
{
	bool theirs = p->theirs.mode != p->base.mode || p->theirs.same != p->base.same;
	bool ours = p->ours.mode != p->base.mode || p->ours.same != p->base.same;

	return ws_merge_is_half_folder(p) || (theirs && ours);
}

static int recall(const struct ws_merge_room *r, struct ws_merge_path *p)
{
	WS_AUTO_FREE char *file = ws_format("%s.answer", p->key);
	WS_AUTO_FREE char *bytes = ws_format("%s.bytes", p->key);
	WS_AUTO(ws_buf) struct ws_buf word = WS_BUF_INIT;

	if (ws_read_file(r->fd, file, ANSWER_MAX, &word) < 0)
		return errno == ENOENT ? 0 : -1;
	p->answer = ws_merge_answer_of(ws_buf_str(&word));
	ws_buf_clear(&p->bytes);
	return p->answer == WS_ANSWER_FILE
		       ? ws_read_file(r->fd, bytes, WS_FILE_MERGE_MAX, &p->bytes)
		       : 0;
}

int ws_merge_room_recall(const struct ws_merge_room *r, struct ws_merge_trees *t,
			 struct ws_err *err)
{
	for (size_t i = 0; r->fd >= 0 && i < t->n; i++) {
		if (!may_clash(&t->v[i]))
			continue;
		if (ws_merge_room_key(t, &t->v[i], err) < 0)
			return -1;
		if (recall(r, &t->v[i]) < 0)
			return ws_fail_errno(err, "read the answers in '%s'", r->path);
	}
	return 0;
}

int ws_merge_room_answer(const struct ws_merge_room *r, const struct ws_merge_path *p,
			 enum ws_merge_answer answer, const struct ws_buf *bytes,
			 struct ws_err *err)
{
	WS_AUTO_FREE char *file = ws_format("%s.answer", p->key);
	WS_AUTO_FREE char *to = ws_format("%s.bytes", p->key);
	WS_AUTO(ws_buf) struct ws_buf word = WS_BUF_INIT;

	ws_buf_addstr(&word, ws_merge_answer_name(answer));
	if (answer == WS_ANSWER_FILE && ws_write_atomic(r->fd, to, bytes, true, err) < 0)
		return -1;
	return ws_write_atomic(r->fd, file, &word, true, err);
}

/* ---- the sides ---- */

static int lay_out_side(const struct ws_merge_room *r, const struct ws_merge_trees *t,
			const struct ws_merge_path *p, enum ws_merge_tree tree)
{
	const struct ws_merge_side *s = ws_merge_side(p, tree);
	WS_AUTO_FREE char *name = ws_format("%s.%s", p->key, sides[tree]);
	WS_AUTO_CLOSE int from = -1;
	struct stat st;

	if (!S_ISREG(s->mode) && !S_ISLNK(s->mode))
		return 0;
	if (unlinkat(r->fd, name, 0) < 0 && errno != ENOENT)
		return -1;
	if (S_ISLNK(s->mode)) {
		WS_AUTO_FREE char *target =
			ws_stack_read_link(&t->stack[tree], s->layer, p->path);
		WS_AUTO_CLOSE int fd =
			openat(r->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			       0600);

		return target && fd >= 0 ? ws_write_all(fd, target, strlen(target)) : -1;
	}
	from = ws_stack_open_file(&t->stack[tree], s->layer, p->path);
	if (from < 0 || fstat(from, &st) < 0)
		return -1;
	st.st_mode = S_IFREG | 0600;
	return ws_layer_clone_file(from, r->fd, name, &st);
}

static int lay_out(const struct ws_merge_room *r, const struct ws_merge_trees *t,
		   const struct ws_merge_path *p, struct ws_err *err)
{
	WS_AUTO_FREE char *merged = ws_format("%s.merged", p->key);

	for (int i = 0; i < WS_TREES; i++)
		if (lay_out_side(r, t, p, (enum ws_merge_tree)i) < 0)
			return ws_fail_errno(err, "copy '/workspace/%.200s'", p->path);
	return p->bytes.len ? ws_write_atomic(r->fd, merged, &p->bytes, false, err) : 0;
}

static bool is_wanted(const struct ws_merge_trees *t, const char *file)
{
	if (ws_text_ends(file, ".answer") || ws_text_ends(file, ".bytes"))
		return true;
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].action == WS_MERGE_CONFLICT && t->v[i].key &&
		    ws_text_starts(file, t->v[i].key))
			return true;
	return false;
}

int ws_merge_room_lay_out(const struct ws_merge_room *r, struct ws_merge_trees *t,
			  struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv files = WS_STRV_INIT;

	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].action == WS_MERGE_CONFLICT &&
		    ws_merge_room_key(t, &t->v[i], err) < 0)
			return -1;
	if (ws_dir_list(r->fd, ".", &files, err) < 0)
		return -1;
	for (size_t i = 0; i < files.n; i++)
		if (!is_wanted(t, files.v[i]))
			unlinkat(r->fd, files.v[i], 0);
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].action == WS_MERGE_CONFLICT &&
		    lay_out(r, t, &t->v[i], err) < 0)
			return -1;
	return 0;
}

char *ws_merge_room_file(const struct ws_merge_room *r, const struct ws_merge_path *p,
			 const char *which)
{
	WS_AUTO_FREE char *name = ws_format("%s.%s", p->key, which);

	if (r->fd < 0 || !p->key || faccessat(r->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return NULL;
	return ws_format("%s/%s", r->path, name);
}

/* ---- for programs ---- */

static void side_json(struct ws_jsonw *w, const struct ws_merge_room *r,
		      const struct ws_merge_path *p, enum ws_merge_tree tree)
{
	const struct ws_merge_side *s = ws_merge_side(p, tree);
	WS_AUTO_FREE char *file = ws_merge_room_file(r, p, sides[tree]);
	char mode[8];

	if (!s->mode) {
		ws_jsonw_null(w, sides[tree]);
		return;
	}
	snprintf(mode, sizeof(mode), "%04o", (unsigned)(s->mode & 07777));
	ws_jsonw_object(w, sides[tree]);
	ws_jsonw_str(w, "type", ws_change_type(s->mode));
	ws_jsonw_str(w, "mode", mode);
	if (!S_ISDIR(s->mode))
		ws_jsonw_u64(w, "size", s->size);
	ws_jsonw_str(w, "file", file);
	ws_jsonw_end(w, '}');
}

void ws_merge_conflict_json(struct ws_jsonw *w, const struct ws_merge_room *r,
			    const struct ws_merge_path *p)
{
	WS_AUTO_FREE char *markers = ws_merge_room_file(r, p, "merged");

	ws_path_json(w, "path", p->path);
	ws_jsonw_str(w, "kind", ws_merge_clash_name(p->clash));
	for (int i = 0; i < WS_TREES; i++)
		side_json(w, r, p, (enum ws_merge_tree)i);
	ws_jsonw_str(w, "markers", markers);
}
