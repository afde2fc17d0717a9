/* SPDX-License-Identifier: Apache-2.0 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/entry.h"
#include "base/fs.h"
#include "base/text.h"
#include "helper/archive.h"

#define READ_BLOCK 65536

struct reader {
	struct archive *tar;
	struct ws_entry e;
	char block[READ_BLOCK];
};

static void reader_release(struct reader *r)
{
	ws_entry_release(&r->e);
	if (r->tar)
		archive_read_free(r->tar);
}

static int fail(struct reader *r, struct ws_err *err)
{
	const char *why = archive_error_string(r->tar);

	return ws_fail(err, WS_IO, "read the archive: %s", why ? why : "no reason given");
}

static int fail_entry(const char *path, const char *what, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf shown = WS_BUF_INIT;

	ws_text_escape(&shown, path, strnlen(path, 200));
	return ws_fail(err, WS_IO, "'%s' in the archive %s", ws_buf_str(&shown), what);
}

/* Its own, since libarchive's looks at the file, and the filter does not let it. */
static la_ssize_t read_some(struct archive *a, void *arg, const void **ret)
{
	struct reader *r = arg;
	ssize_t n;

	do
		n = read(STDIN_FILENO, r->block, sizeof(r->block));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		archive_set_error(a, errno, "%s", strerror(errno));
	*ret = r->block;
	return n;
}

/* The filters that run no program, and tar alone. */
static int set_up(struct reader *r, struct ws_err *err)
{
	struct archive *a = r->tar = archive_read_new();

	archive_read_support_filter_gzip(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_format_tar(a);
	if (archive_read_open(a, r, NULL, read_some, NULL) != ARCHIVE_OK)
		return fail(r, err);
	return 0;
}

/* ---- what an entry may be: what archive_write.c makes, and nothing else ---- */

static enum ws_entry_type type_of(struct archive_entry *h)
{
	switch (archive_entry_filetype(h)) {
	case AE_IFREG:
		return WS_ENTRY_FILE;
	case AE_IFDIR:
		return WS_ENTRY_FOLDER;
	case AE_IFLNK:
		return WS_ENTRY_LINK;
	case AE_IFIFO:
		return WS_ENTRY_FIFO;
	case AE_IFCHR:
		if (archive_entry_rdevmajor(h) == 0 && archive_entry_rdevminor(h) == 0)
			return WS_ENTRY_GONE;
		return WS_ENTRY_END;
	default:
		return WS_ENTRY_END;
	}
}

/* The one attribute that there may be. -1: another one. */
static int is_opaque(struct archive_entry *h)
{
	const char *name;
	const void *value;
	size_t len;

	if (archive_entry_xattr_reset(h) == 0)
		return 0;
	if (archive_entry_xattr_count(h) != 1 ||
	    archive_entry_xattr_next(h, &name, &value, &len) != ARCHIVE_OK)
		return -1;
	return !strcmp(name, WS_ARCHIVE_OPAQUE) && len == 1 &&
			       *(const char *)value == 'y' &&
			       archive_entry_filetype(h) == AE_IFDIR
		       ? 1
		       : -1;
}

static const char *wrong_about(struct archive_entry *h)
{
	unsigned long set, clear;

	if (archive_entry_hardlink(h))
		return "is a hard link";
	if (type_of(h) == WS_ENTRY_END)
		return "is of a type that no session has";
	if (is_opaque(h) < 0)
		return "has an extended attribute";
	if (archive_entry_acl_reset(h, ARCHIVE_ENTRY_ACL_TYPE_ACCESS |
					       ARCHIVE_ENTRY_ACL_TYPE_DEFAULT) > 0)
		return "has an ACL";
	archive_entry_fflags(h, &set, &clear);
	if (set || clear)
		return "has file flags";
	if (archive_entry_size(h) < 0)
		return "has no size";
	return NULL;
}

/* Compressed once, or not at all: more layers make endless work of a few bytes. */
static int check_filters(struct reader *r, struct ws_err *err)
{
	if (archive_filter_count(r->tar) <= 2) /* the last one is the file itself */
		return 0;
	return ws_fail(err, WS_IO, "the archive is compressed more than once");
}

static int read_head(struct reader *r, struct archive_entry *h, struct ws_err *err)
{
	const char *path = archive_entry_pathname(h);
	const char *target = archive_entry_symlink(h);
	const char *wrong;
	size_t len;

	if (!path || !*path)
		return ws_fail(err, WS_IO, "an entry of the archive has no name");
	wrong = wrong_about(h);
	if (wrong)
		return fail_entry(path, wrong, err);
	ws_entry_release(&r->e);
	r->e = (struct ws_entry){ .type = type_of(h),
				  .mode = archive_entry_perm(h) & 07777,
				  .opaque = is_opaque(h) > 0,
				  .mtime = archive_entry_mtime(h) };
	if (r->e.type == WS_ENTRY_FILE)
		r->e.size = (uint64_t)archive_entry_size(h);
	if (archive_entry_mtime_nsec(h) > 0 && archive_entry_mtime_nsec(h) < 1000000000)
		r->e.mtime_ns = (uint32_t)archive_entry_mtime_nsec(h);
	len = strlen(path);
	if (r->e.type == WS_ENTRY_FOLDER && len > 1 && path[len - 1] == '/')
		len--;
	if (len > WS_ENTRY_PATH_MAX || (target && strlen(target) > WS_ENTRY_PATH_MAX))
		return fail_entry(path, "has too long a name", err);
	ws_buf_add(&r->e.path, path, len);
	if (r->e.type == WS_ENTRY_LINK)
		ws_buf_addstr(&r->e.target, target ? target : "");
	return 0;
}

static int send_data(const char *data, size_t len, uint64_t at, struct ws_err *err)
{
	while (len > 0) {
		size_t part = len < WS_ENTRY_BLOCK ? len : WS_ENTRY_BLOCK;

		if (ws_entry_send_block(STDOUT_FILENO, at, data, part) < 0)
			return ws_fail_errno(err, "pass the archive on");
		data += part;
		at += part;
		len -= part;
	}
	return 0;
}

static int read_bytes(struct reader *r, struct ws_err *err)
{
	const void *data;
	size_t len;
	la_int64_t at;
	int rc;

	while ((rc = archive_read_data_block(r->tar, &data, &len, &at)) == ARCHIVE_OK)
		if (at < 0 || send_data(data, len, (uint64_t)at, err) < 0)
			return at < 0 ? ws_fail(err, WS_IO, "a hole of less than nothing")
				      : -1;
	if (rc != ARCHIVE_EOF)
		return fail(r, err);
	if (ws_entry_send_block(STDOUT_FILENO, 0, NULL, 0) < 0)
		return ws_fail_errno(err, "pass the archive on");
	return 0;
}

int ws_archive_read(struct ws_err *err)
{
	__attribute__((cleanup(reader_release))) struct reader r = { .e = WS_ENTRY_INIT };
	const struct ws_entry end = { .type = WS_ENTRY_END };
	struct archive_entry *h;
	int rc;

	if (set_up(&r, err) < 0)
		return -1;
	/* a warning is about a name that is no UTF-8, and such there are */
	while ((rc = archive_read_next_header(r.tar, &h)) == ARCHIVE_OK ||
	       rc == ARCHIVE_WARN) {
		if (check_filters(&r, err) < 0 || read_head(&r, h, err) < 0)
			return -1;
		if (ws_entry_send(STDOUT_FILENO, &r.e) < 0)
			return ws_fail_errno(err, "pass the archive on");
		if (r.e.type == WS_ENTRY_FILE && read_bytes(&r, err) < 0)
			return -1;
	}
	if (rc != ARCHIVE_EOF)
		return fail(&r, err);
	if (ws_entry_send(STDOUT_FILENO, &end) < 0)
		return ws_fail_errno(err, "pass the archive on");
	return 0;
}
