/* SPDX-License-Identifier: Apache-2.0 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/entry.h"
#include "base/fs.h"
#include "helper/archive.h"

#define ZEROS ((size_t)64 << 20)

struct writer {
	struct archive *tar;
	struct archive_entry *head;
	struct ws_entry e;
	char *block;
	char *zeros; /* a mapping of nothing: what holes and missing ends are made of */
};

static void writer_release(struct writer *w)
{
	ws_entry_release(&w->e);
	if (w->head)
		archive_entry_free(w->head);
	if (w->tar)
		archive_write_free(w->tar);
	free(w->block);
	if (w->zeros)
		munmap(w->zeros, ZEROS);
}

static int fail(struct writer *w, struct ws_err *err)
{
	const char *why = archive_error_string(w->tar);
	int error = archive_errno(w->tar);

	ws_fail(err, error == ENOSPC || error == EDQUOT ? WS_DISK_FULL : WS_IO,
		"write the archive: %s", why ? why : "no reason given");
	err->sys = error;
	return -1;
}

/* Its own, as that of archive_read.c. */
static la_ssize_t write_some(struct archive *a, void *arg, const void *data, size_t len)
{
	(void)arg;
	if (ws_write_all(STDOUT_FILENO, data, len) == 0)
		return (la_ssize_t)len;
	archive_set_error(a, errno, "%s", strerror(errno));
	return -1;
}

static int set_up(struct writer *w, const char *compression, struct ws_err *err)
{
	struct archive *a = w->tar = archive_write_new();
	int rc = ARCHIVE_FATAL;

	/* no time in the head of a gzip file: the same tree gives the same bytes */
	if (!strcmp(compression, "gzip"))
		rc = archive_write_add_filter_gzip(a) == ARCHIVE_OK
			     ? archive_write_set_filter_option(a, "gzip", "timestamp",
							       NULL)
			     : ARCHIVE_FATAL;
	else if (!strcmp(compression, "zstd"))
		rc = archive_write_add_filter_zstd(a);
	else if (!strcmp(compression, "none"))
		rc = archive_write_add_filter_none(a);
	/* through a program of that name: never */
	if (rc != ARCHIVE_OK)
		return ws_fail(err, WS_HOST_UNSUPPORTED,
			       "this libarchive cannot write '%s'", compression);
	archive_write_set_format_pax_restricted(a);
	/* once is enough, in the form that other programs read, too */
	if (archive_write_set_format_option(a, NULL, "xattrheader", "SCHILY") !=
	    ARCHIVE_OK)
		return fail(w, err);
	archive_write_set_bytes_per_block(a, 10240);
	archive_write_set_bytes_in_last_block(a, 1);
	if (archive_write_open(a, NULL, NULL, write_some, NULL) != ARCHIVE_OK)
		return fail(w, err);
	w->head = archive_entry_new();
	w->block = malloc(WS_ENTRY_BLOCK);
	w->zeros = mmap(NULL, ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!w->head || !w->block || w->zeros == MAP_FAILED)
		return ws_fail(err, WS_INTERNAL, "out of memory");
	return 0;
}

/* ---- heads ---- */

static mode_t type_of(const struct ws_entry *e)
{
	switch (e->type) {
	case WS_ENTRY_FOLDER:
		return AE_IFDIR;
	case WS_ENTRY_LINK:
		return AE_IFLNK;
	case WS_ENTRY_FIFO:
		return AE_IFIFO;
	case WS_ENTRY_GONE:
		return AE_IFCHR; /* 0, 0: as overlayfs has it */
	default:
		return AE_IFREG;
	}
}

/* A name that is no UTF-8 is a warning: it goes as the bytes that it is. */
static int write_head(struct writer *w, struct ws_err *err)
{
	struct archive_entry *h = archive_entry_clear(w->head);
	const struct ws_entry *e = &w->e;

	archive_entry_set_pathname(h, ws_buf_str(&e->path));
	archive_entry_set_mode(h, type_of(e) | e->mode);
	archive_entry_set_uid(h, 0);
	archive_entry_set_gid(h, 0);
	archive_entry_set_mtime(h, (time_t)e->mtime, (long)e->mtime_ns);
	if (e->type == WS_ENTRY_LINK)
		archive_entry_set_symlink(h, ws_buf_str(&e->target));
	if (e->opaque)
		archive_entry_xattr_add_entry(h, WS_ARCHIVE_OPAQUE, "y", 1);
	archive_entry_set_size(h, e->type == WS_ENTRY_FILE ? (int64_t)e->size : 0);
	for (uint32_t i = 0; i < e->nruns; i++)
		archive_entry_sparse_add_entry(h, (int64_t)e->runs[i].at,
					       (int64_t)e->runs[i].len);
	return archive_write_header(w->tar, h) < ARCHIVE_WARN ? fail(w, err) : 0;
}

/* ---- bytes ---- */

static int put(struct writer *w, const char *data, size_t len, struct ws_err *err)
{
	while (len > 0) {
		la_ssize_t n = archive_write_data(w->tar, data, len);

		if (n <= 0)
			return fail(w, err);
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int put_zeros(struct writer *w, uint64_t len, struct ws_err *err)
{
	while (len > 0) {
		size_t part = len < ZEROS ? (size_t)len : ZEROS;

		if (put(w, w->zeros, part, err) < 0)
			return -1;
		len -= part;
	}
	return 0;
}

/* What the blocks do not say, and what they no longer had, is zeros. */
static int write_bytes(struct writer *w, struct ws_err *err)
{
	uint64_t at, done = 0;
	size_t len;

	for (;;) {
		if (ws_entry_take_block(STDIN_FILENO, &at, w->block, &len) < 0)
			return ws_fail_errno(err, "read what is to be written");
		if (!len)
			break;
		if (at < done || at > w->e.size || len > w->e.size - at)
			return ws_fail(err, WS_INTERNAL, "a block lies outside its file");
		if (put_zeros(w, at - done, err) < 0 || put(w, w->block, len, err) < 0)
			return -1;
		done = at + len;
	}
	return put_zeros(w, w->e.size - done, err);
}

int ws_archive_write(const char *compression, struct ws_err *err)
{
	__attribute__((cleanup(writer_release))) struct writer w = { .e = WS_ENTRY_INIT };

	if (set_up(&w, compression, err) < 0)
		return -1;
	for (;;) {
		if (ws_entry_take(STDIN_FILENO, &w.e) < 0)
			return ws_fail_errno(err, "read what is to be written");
		if (w.e.type == WS_ENTRY_END)
			break;
		if (write_head(&w, err) < 0 ||
		    (w.e.type == WS_ENTRY_FILE && write_bytes(&w, err) < 0))
			return -1;
	}
	return archive_write_close(w.tar) == ARCHIVE_OK ? 0 : fail(&w, err);
}
