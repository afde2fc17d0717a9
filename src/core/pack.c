/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/text.h"

#define WHITEOUT ".wh." /* OCI's */
#define OPAQUE ".wh..wh..opq"
#define NAMES_MAX 65536

/* One tree on its way. */
struct packing {
	struct ws_pack *p;
	const struct ws_stack *stack;
	enum ws_walk_what what;
	struct ws_entry e;
	char *block;
};

static void packing_release(struct packing *k)
{
	ws_entry_release(&k->e);
	ws_freep(&k->block);
}

void ws_export_report_release(struct ws_export_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		ws_freep(&r->v[i].path);
	ws_freep(&r->v);
	r->n = 0;
}

void ws_export_leave(struct ws_export_report *r, const char *path, const char *why,
		     bool lost)
{
	r->left++;
	r->lost += lost;
	if (r->n == WS_LEFT_MAX)
		return;
	if ((r->n & (r->n + 1)) == 0)
		r->v = ws_grow(r->v, 2 * r->n + 1, sizeof(*r->v));
	r->v[r->n++] =
		(struct ws_left){ .path = ws_strdup(path), .why = why, .lost = lost };
}

static void leave(struct packing *k, const char *why, bool lost)
{
	ws_export_leave(k->p->report, ws_buf_str(&k->e.path), why, lost);
}

/* ---- heads ---- */

static void begin(struct packing *k, const struct ws_walk_item *item)
{
	const struct stat *st = &item->e->st;
	mode_t kept = k->p->portable || !S_ISDIR(st->st_mode) ? 01777 : 03777;

	ws_entry_release(&k->e);
	k->e = (struct ws_entry){ .mode = st->st_mode & kept, .mtime = st->st_mtime };
	if (!k->p->portable)
		k->e.mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
	ws_buf_addf(&k->e.path, "%s%s%s", k->p->prefix, *item->path ? "/" : "",
		    item->path);
	if (S_ISREG(st->st_mode) && (st->st_mode & ~kept & 06000))
		leave(k, "its set-id bits", false);
}

static int send(struct packing *k, struct ws_err *err)
{
	return ws_archive_send(k->p->archive, &k->e, err);
}

/* A mark of OCI, which is a file of no bytes. */
static int send_mark(struct packing *k, struct ws_err *err)
{
	k->e.type = WS_ENTRY_FILE;
	k->e.mode = 0644;
	k->e.opaque = false;
	return send(k, err) < 0 ? -1
				: ws_archive_send_block(k->p->archive, 0, NULL, 0, err);
}

/* ---- files ---- */

/* The runs that are no holes. False: they are too many. */
static bool find_runs(int fd, uint64_t size, struct ws_entry *e, uint64_t *ret_holes)
{
	uint64_t at = 0, data = 0;

	while (at < size) {
		off_t from = lseek(fd, (off_t)at, SEEK_DATA), to;

		if (from < 0 && errno == ENXIO)
			break;
		if (e->nruns == WS_ENTRY_RUNS_MAX)
			return false;
		if (from < 0) /* nobody knows: all of it is data */
			from = (off_t)at;
		if ((uint64_t)from >= size)
			break;
		to = lseek(fd, from, SEEK_HOLE);
		at = to <= from || (uint64_t)to > size ? size : (uint64_t)to;
		ws_entry_add_run(e, (uint64_t)from, at - (uint64_t)from);
		data += at - (uint64_t)from;
	}
	*ret_holes = size - data;
	if (!e->nruns && size)
		ws_entry_add_run(e, size, 0);
	return true;
}

/* Not all who take a layer know of holes: a few bytes of them are zeros. */
static bool keeps_holes(struct ws_pack *p, uint64_t holes)
{
	if (holes > p->dense)
		return true;
	p->dense -= holes;
	return false;
}

/* 1: as many bytes as there should be; 0: it ended too early; -1. */
static int send_run(struct packing *k, int fd, const struct ws_entry_run *run,
		    struct ws_err *err)
{
	for (uint64_t at = run->at, end = run->at + run->len; at < end;) {
		size_t want =
			end - at < WS_ENTRY_BLOCK ? (size_t)(end - at) : WS_ENTRY_BLOCK;
		ssize_t n = pread(fd, k->block, want, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ws_fail_errno(err, "read '%.300s'",
					     ws_buf_str(&k->e.path));
		if (n == 0)
			return 0;
		if (ws_room_take(k->p->room, (uint64_t)n, 0, err) < 0 ||
		    ws_archive_send_block(k->p->archive, at, k->block, (size_t)n, err) <
			    0)
			return -1;
		at += (uint64_t)n;
	}
	return 1;
}

static bool is_changed(int fd, const struct stat *was)
{
	struct stat now;

	return fstat(fd, &now) < 0 || now.st_size != was->st_size ||
	       now.st_mtim.tv_sec != was->st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != was->st_mtim.tv_nsec;
}

static bool has_attributes(int fd)
{
	WS_AUTO_FREE char *names = NULL;
	ssize_t len = flistxattr(fd, NULL, 0);

	if (len <= 0 || len > NAMES_MAX)
		return len > 0;
	names = ws_alloc((size_t)len + 1);
	len = flistxattr(fd, names, (size_t)len);
	for (const char *n = names; len > 0 && n < names + len; n += strlen(n) + 1)
		if (ws_text_starts(n, "user.") && !ws_text_starts(n, "user.overlay."))
			return true;
	return false;
}

/* The size is that of this moment: the archive has it before the bytes. */
static int send_file(struct packing *k, int fd, struct ws_err *err)
{
	uint64_t holes = 0;
	struct stat st;
	uint32_t nruns;
	int whole = 1;

	if (fstat(fd, &st) < 0)
		return ws_fail_errno(err, "look at '%.300s'", ws_buf_str(&k->e.path));
	k->e.type = WS_ENTRY_FILE;
	k->e.size = (uint64_t)st.st_size;
	if (has_attributes(fd))
		leave(k, "its extended attributes", false);
	if (!find_runs(fd, k->e.size, &k->e, &holes)) {
		leave(k, "it has too many holes", true);
		return 0;
	}
	nruns = k->e.nruns;
	if (!keeps_holes(k->p, holes))
		k->e.nruns = 0;
	if (send(k, err) < 0)
		return -1;
	for (uint32_t i = 0; i < nruns && whole > 0; i++)
		whole = send_run(k, fd, &k->e.runs[i], err);
	if (whole < 0 || ws_archive_send_block(k->p->archive, 0, NULL, 0, err) < 0)
		return -1;
	if (is_changed(fd, &st))
		leave(k, "its state of one moment: it was written to", false);
	k->p->report->files++;
	k->p->report->bytes += k->e.size;
	return 0;
}

static int pack_file(struct packing *k, const struct ws_walk_item *item,
		     struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = ws_stack_open_file(k->stack, item->e->layer, item->path);

	if (fd >= 0)
		return send_file(k, fd, err);
	if (item->e->layer == 0 &&
	    (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EINVAL))
		return 0; /* it went, or became another thing, a moment ago */
	if (errno == EACCES || errno == EPERM) {
		leave(k, "it cannot be read", true);
		return 0;
	}
	return ws_fail_errno(err, "read '%.300s'", ws_buf_str(&k->e.path));
}

/* ---- what is no file ---- */

static int pack_link(struct packing *k, const struct ws_walk_item *item,
		     struct ws_err *err)
{
	WS_AUTO_FREE char *target =
		ws_stack_read_link(k->stack, item->e->layer, item->path);

	if (!target && item->e->layer == 0)
		return 0;
	if (!target)
		return ws_fail_errno(err, "read '%.300s'", ws_buf_str(&k->e.path));
	k->e.type = WS_ENTRY_LINK;
	k->e.mode = 0777;
	ws_buf_addstr(&k->e.target, target);
	k->p->report->links++;
	return send(k, err);
}

static int pack_folder(struct packing *k, const struct ws_walk_item *item,
		       struct ws_err *err)
{
	k->e.type = WS_ENTRY_FOLDER;
	k->e.opaque = item->opaque && k->what == WS_WALK_CHANGES && !k->p->layer;
	k->p->report->folders++;
	if (send(k, err) < 0)
		return -1;
	if (!item->opaque || !k->p->layer)
		return 0;
	ws_buf_addstr(&k->e.path, "/" OPAQUE);
	return send_mark(k, err);
}

static int pack_whiteout(struct packing *k, const struct ws_walk_item *item,
			 struct ws_err *err)
{
	const char *slash = strrchr(item->path, '/');
	const char *name = slash ? slash + 1 : item->path;

	k->p->report->deleted++;
	if (!k->p->layer) {
		k->e.type = WS_ENTRY_GONE;
		k->e.mode = 0;
		return send(k, err);
	}
	ws_buf_clear(&k->e.path);
	ws_buf_addf(&k->e.path, "%s/%.*s" WHITEOUT "%s", k->p->prefix,
		    (int)(name - item->path), item->path, name);
	return send_mark(k, err);
}

static int pack_special(struct packing *k, mode_t mode, struct ws_err *err)
{
	if (!S_ISFIFO(mode)) {
		leave(k, S_ISSOCK(mode) ? "it is a socket" : "it is a device", false);
		return 0;
	}
	k->e.type = WS_ENTRY_FIFO;
	k->p->report->fifos++;
	return send(k, err);
}

/* ---- what is wanted ---- */

static bool is_wanted(const struct ws_pack *p, const struct ws_walk_item *item)
{
	size_t len = p->only ? strlen(p->only) : 0;

	if (!*item->path)
		return true;
	if (p->only && (strncmp(item->path, p->only, len) != 0 ||
			(item->path[len] && item->path[len] != '/')))
		return false;
	if (p->wanted && !p->wanted(item->path, S_ISDIR(item->e->st.st_mode)))
		return false;
	return !ws_strv_has(&p->skipped, item->path);
}

/* NULL: there is nothing against it. */
static const char *wrong_about(const struct packing *k, const struct ws_walk_item *item)
{
	const char *slash = strrchr(item->path, '/');
	size_t max = k->p->portable ? PATH_MAX - 1 : WS_ENTRY_PATH_MAX - 1;

	if (k->e.path.len > max - (k->p->layer ? sizeof(OPAQUE) : 0))
		return "its path is too long for an archive";
	/* it would be read as a deletion of another file */
	if (k->p->layer && ws_text_starts(slash ? slash + 1 : item->path, WHITEOUT))
		return "a name that begins with '.wh.' is a whiteout in a layer";
	return NULL;
}

static int visit(void *arg, const struct ws_walk_item *item, struct ws_err *err)
{
	struct packing *k = arg;
	mode_t mode = item->e->st.st_mode;
	const char *wrong;

	if (!is_wanted(k->p, item))
		return 1;
	begin(k, item);
	wrong = wrong_about(k, item);
	if (wrong) {
		/* of what lies deep in other folders the whole path would be no help */
		if (k->e.path.len > PATH_MAX)
			k->e.path.data[k->e.path.len = PATH_MAX] = '\0';
		leave(k, wrong, true);
		return 1;
	}
	if (item->whiteout && k->what == WS_WALK_CHANGES)
		return pack_whiteout(k, item, err);
	if (S_ISDIR(mode))
		return pack_folder(k, item, err);
	if (S_ISREG(mode))
		return pack_file(k, item, err);
	if (S_ISLNK(mode))
		return pack_link(k, item, err);
	return pack_special(k, mode, err);
}

int ws_pack_tree(struct ws_pack *p, const struct ws_stack *stack, unsigned first,
		 unsigned last, enum ws_walk_what what, struct ws_err *err)
{
	__attribute__((cleanup(packing_release))) struct packing k = {
		.p = p, .stack = stack, .what = what, .e = WS_ENTRY_INIT
	};
	const struct ws_walk w = { .stack = stack,
				   .first = first,
				   .last = last,
				   .what = what,
				   .visit = visit,
				   .arg = &k };

	k.block = ws_grow(NULL, WS_ENTRY_BLOCK, 1);
	return ws_walk(&w, err);
}

int ws_pack_text(struct ws_archive *a, const char *path, const void *data, size_t len,
		 struct ws_err *err)
{
	WS_AUTO(ws_entry)
	struct ws_entry e = { .type = WS_ENTRY_FILE, .mode = 0600, .size = len };

	ws_buf_addstr(&e.path, path);
	if (ws_archive_send(a, &e, err) < 0)
		return -1;
	for (size_t at = 0; at < len; at += WS_ENTRY_BLOCK) {
		size_t part = len - at < WS_ENTRY_BLOCK ? len - at : WS_ENTRY_BLOCK;

		if (ws_archive_send_block(a, at, (const char *)data + at, part, err) < 0)
			return -1;
	}
	return ws_archive_send_block(a, 0, NULL, 0, err);
}
