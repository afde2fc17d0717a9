/* SPDX-License-Identifier: Apache-2.0 */
#include "core/merge_live.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "core/files.h"
#include "core/inside.h"
#include "core/layer.h"
#include "core/layer_copy.h"
#include "core/pause.h"
#include "core/tree_cursor.h"
#include "core/user.h"
#include "init/protocol.h"

#define TOP "/workspace"
#define BLOCK 65536
#define SPARE (16ull << 20) /* for folders, inodes and who writes meanwhile */

/* ---- a layer as orders ---- */

struct folder {
	char *path;
	mode_t mode;
};

struct writer {
	struct ws_tree_cursor at; /* in the layer */
	int out;		  /* -1: they are only counted */
	uint64_t bytes;
	struct folder *v; /* those above before those below */
	size_t n, cap;
};

static void writer_release(struct writer *w)
{
	ws_tree_cursor_release(&w->at);
	for (size_t i = 0; i < w->n; i++)
		ws_freep(&w->v[i].path);
	ws_freep(&w->v);
}

static int write_out(const struct writer *w, const void *data, size_t len)
{
	return w->out < 0 ? 0 : ws_write_all(w->out, data, len);
}

static int say(struct writer *w, enum ws_file_lay_kind kind, const char *path,
	       mode_t mode, uint64_t size)
{
	const struct ws_file_lay lay = { .kind = kind,
					 .mode = mode & 07777,
					 .path_len = (uint32_t)strlen(path),
					 .size = size };

	w->bytes += sizeof(lay) + lay.path_len + size;
	if (write_out(w, &lay, sizeof(lay)) < 0)
		return -1;
	return write_out(w, path, lay.path_len);
}

struct place {
	struct writer *w;
	const char *path;
};

static int say_xattr(void *data, const char *name, const void *value, size_t size)
{
	const struct place *at = data;
	char inside[XATTR_NAME_MAX + 1];
	size_t len;

	ws_layer_xattr_inside(name, inside);
	len = strlen(inside) + 1;
	if (say(at->w, WS_LAY_XATTR, at->path, 0, len + size) < 0 ||
	    write_out(at->w, inside, len) < 0)
		return -1;
	return write_out(at->w, value, size);
}

static int say_xattrs(struct writer *w, const char *path, int fd)
{
	struct place at = { w, path };

	return ws_layer_each_xattr(fd, say_xattr, &at);
}

static int say_file(struct writer *w, const char *path, const struct ws_stack_entry *e)
{
	WS_AUTO_CLOSE int fd = ws_stack_open_file(w->at.stack, e->layer, path);
	WS_AUTO_FREE char *block = ws_alloc(BLOCK);
	uint64_t left = (uint64_t)e->st.st_size;

	if (fd < 0 || say(w, WS_LAY_FILE, path, 0, left) < 0)
		return -1;
	while (w->out >= 0 && left > 0) {
		ssize_t n = read(fd, block, left < BLOCK ? left : BLOCK);

		if (n < 0 && errno == EINTR)
			continue;
		errno = n == 0 ? EIO : errno; /* a layer does not change */
		if (n <= 0 || ws_write_all(w->out, block, (size_t)n) < 0)
			return -1;
		left -= (uint64_t)n;
	}
	return say_xattrs(w, path, fd) < 0 ? -1
					   : say(w, WS_LAY_MODE, path, e->st.st_mode, 0);
}

static int say_link(struct writer *w, const char *path, const struct ws_stack_entry *e)
{
	WS_AUTO_FREE char *target = ws_stack_read_link(w->at.stack, e->layer, path);

	if (!target || say(w, WS_LAY_LINK, path, 0, strlen(target)) < 0)
		return -1;
	return write_out(w, target, strlen(target));
}

static void add_folder(struct writer *w, const char *path, mode_t mode)
{
	if (w->n == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 64;
		w->v = ws_grow(w->v, w->cap, sizeof(*w->v));
	}
	w->v[w->n++] = (struct folder){ .path = ws_strdup(path), .mode = mode };
}

static int say_one(struct writer *w, const char *path, const struct ws_stack_entry *e,
		   bool whiteout)
{
	if (whiteout)
		return say(w, WS_LAY_GONE, path, 0, 0);
	if (S_ISREG(e->st.st_mode))
		return say_file(w, path, e);
	if (S_ISLNK(e->st.st_mode))
		return say_link(w, path, e);
	if (!S_ISDIR(e->st.st_mode))
		return 0;
	add_folder(w, path, e->st.st_mode);
	return say(w, WS_LAY_FOLDER, path, 0, 0);
}

static int say_folder(struct writer *w, const char *path)
{
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;
	struct ws_stack_dir *dir = &w->at.dir;

	errno = ENOENT; /* where it is not there */
	if (ws_tree_cursor_go(&w->at, path) < 0 || !w->at.there ||
	    ws_stack_names(dir, true, &names) < 0 ||
	    (*path && say_xattrs(w, path, dir->v[0].fd) < 0))
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		WS_AUTO_FREE char *full =
			ws_format("%s%s%s", path, *path ? "/" : "", names.v[i]);
		struct ws_stack_entry e;
		bool whiteout;

		if (ws_stack_lookup_raw(dir, names.v[i], &e, &whiteout) < 0 ||
		    say_one(w, full, &e, whiteout) < 0)
			return -1;
	}
	return 0;
}

static int say_all(struct writer *w)
{
	if (say_folder(w, "") < 0)
		return -1;
	for (size_t i = 0; i < w->n; i++) {
		WS_AUTO_FREE char *path = ws_strdup(w->v[i].path);

		if (say_folder(w, path) < 0)
			return -1;
	}
	/* a mode may close its folder */
	for (size_t i = w->n; i > 0; i--)
		if (say(w, WS_LAY_MODE, w->v[i - 1].path, w->v[i - 1].mode, 0) < 0)
			return -1;
	return say(w, WS_LAY_END, "", 0, 0);
}

/* RET_BYTES: how long they are. */
static int give_orders(const struct ws_root *root, const char *name, int out,
		       uint64_t *ret_bytes, struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("layers/%s/root", name);
	WS_AUTO(ws_stack) struct ws_stack layer = WS_STACK_INIT;
	WS_AUTO(writer) struct writer w = { .at = { .stack = &layer }, .out = out };
	int fd = ws_open_dir(root->fd, path);

	if (fd < 0)
		return ws_fail(err, WS_BASE_MISSING, "layer '%s' is not there", name);
	ws_stack_of(fd, &layer);
	if (say_all(&w) < 0 || (out >= 0 && lseek(out, 0, SEEK_SET) < 0))
		return ws_fail_errno(err, "read layer '%s'", name);
	*ret_bytes = w.bytes;
	return 0;
}

int ws_merge_check_space(const struct ws_root *root, const char *layer,
			 struct ws_err *err)
{
	uint64_t need, left;

	if (give_orders(root, layer, -1, &need, err) < 0)
		return -1;
	need = 2 * need + SPARE; /* on their way, and in the files */
	if (ws_fs_free(root->fd, &left) < 0)
		return ws_fail_errno(err, "look for free space in '%s'", root->path);
	if (left >= need)
		return 0;
	ws_fail(err, WS_DISK_FULL,
		"only %llu of the %llu MiB of a merge are free in '%s'",
		(unsigned long long)(left >> 20), (unsigned long long)(need >> 20),
		root->path);
	return ws_hint(err, "make room there, or merge when the commands of the session "
			    "have ended");
}

/* ---- through the mounts ---- */

static int fail_inside(const struct ws_session *s, const struct ws_inside *in,
		       struct ws_err *err)
{
	struct ws_file_failed f;

	if (in->status == WS_FILE_STATUS && in->complaint.len == sizeof(f)) {
		memcpy(&f, in->complaint.data, sizeof(f));
		errno = f.problem == WS_FILE_ERRNO ? f.error : EPROTO;
		ws_fail_errno(err, "merge into the files of session '%s'", s->id);
	} else {
		ws_fail(err, WS_IO, "merge into the files of session '%s': status %d",
			s->id, in->status);
	}
	return ws_hint(err,
		       "the next call tries again; once wsiso stop %s has ended "
		       "its sandbox it cannot fail so",
		       s->id);
}

static int lay(struct ws_fork *f, struct ws_err *err)
{
	const struct ws_session *s = &f->parent;
	WS_AUTO(ws_user) struct ws_user user = { 0 };
	WS_AUTO(ws_inside) struct ws_inside in = WS_INSIDE_INIT;
	WS_AUTO(ws_pause) struct ws_pause pause = WS_PAUSE_INIT;
	WS_AUTO_CLOSE int orders = ws_files_spool(f->root, err);
	uint64_t bytes;

	if (orders < 0 || give_orders(f->root, s->incoming, orders, &bytes, err) < 0 ||
	    ws_user_self(&user, err) < 0)
		return -1;
	if (f->live.use < 0 && ws_sandbox_join(s, &f->live, err) < 0)
		return -1;
	/* of one that was killed they may run again; who stands still stays so */
	if (ws_pause_begin(&f->live, &pause, err) < 0)
		return -1;
	in.sandbox = &f->live;
	in.in = orders;
	in.chunks = true;
	ws_strv_add(&in.argv, WS_INIT_PATH, "file", user.home, "lay", TOP, NULL);
	if (ws_inside_run(f->root, s, &in, err) < 0)
		return -1;
	return in.status == 0 ? 0 : fail_inside(s, &in, err);
}

int ws_merge_finish(struct ws_fork *f, struct ws_err *err)
{
	struct ws_session *s = &f->parent;
	bool live = ws_fork_is_live(f);
	struct ws_err ignored = WS_ERR_INIT; /* gc removes it, too */

	if (!s->incoming)
		return 0;
	if (live ? lay(f, err) < 0 : ws_fork_freeze(f, err) < 0)
		return -1;
	if (!live) {
		ws_strv_push(&s->stack, s->incoming);
		s->frozen++;
	}
	ws_freep(&s->arrived);
	s->arrived = ws_steal_ptr(&s->incoming);
	if (ws_session_save(s, err) < 0)
		return -1;
	if (live)
		ws_layer_discard(f->root, s->arrived, &ignored);
	return 0;
}

int ws_merge_resume(const struct ws_root *root, const char *id, struct ws_err *err)
{
	WS_AUTO(ws_fork) struct ws_fork f = WS_FORK_INIT;

	/* what is held is finished */
	return ws_fork_open(root, id, &f, err) < 0 ? -1 : ws_fork_hold(&f, err);
}
