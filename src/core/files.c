/* SPDX-License-Identifier: Apache-2.0 */
#include "core/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "core/files_rescue.h"
#include "core/inside.h"
#include "core/user.h"
#include "init/protocol.h"

#define TRIES 5 /* of a check and a write, while somebody writes just as we come */

void ws_file_ref_release(struct ws_file_ref *ref)
{
	ws_freep(&ref->id);
	ws_freep(&ref->path);
}

void ws_file_info_release(struct ws_file_info *info)
{
	ws_freep(&info->name);
	ws_freep(&info->target);
}

void ws_file_list_release(struct ws_file_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		ws_file_info_release(&list->v[i]);
	ws_freep(&list->v);
	ws_file_info_release(&list->self);
	list->n = 0;
}

void ws_file_ref_parse(const char *arg, struct ws_file_ref *ret)
{
	struct ws_err ignored = WS_ERR_INIT;
	const char *colon = strchr(arg, ':');
	WS_AUTO_FREE char *id = colon ? ws_strndup(arg, (size_t)(colon - arg)) : NULL;

	if (id && ws_session_check_id(id, &ignored) == 0) {
		ret->id = ws_steal_ptr(&id);
		ret->path = ws_strdup(colon + 1);
	} else {
		ret->path = ws_strdup(arg);
	}
}

/* ---- what is said by the process inside ---- */

static int fail_as_told(const struct ws_inside *in, const char *verb, const char *path,
			struct ws_err *err)
{
	static const struct {
		enum ws_kind kind;
		const char *why, *hint;
	} rows[] = {
		[WS_FILE_OUTSIDE] = { WS_USAGE, "it is outside",
				      "only what is kept of /workspace, HOME and /tmp can "
				      "be reached" },
		[WS_FILE_FOLDER] = { WS_USAGE, "it is a folder",
				     "whole folders go as tar streams: --tar" },
		[WS_FILE_NO_FOLDER] = { WS_USAGE, "it is no folder", "" },
		[WS_FILE_SPECIAL] = { WS_USAGE, "it is a FIFO, a socket or a device",
				      "" },
		[WS_FILE_STALE] = { WS_STALE, "it has changed",
				    "read it again, and write what fits it now" },
		[WS_FILE_CUT_OFF] = { WS_IO, "the content ended too early", "" },
		[WS_FILE_NO_TAR] = { WS_HOST_UNSUPPORTED, "there is no tar",
				     "install tar on the host" },
	};
	struct ws_file_failed f;

	if (in->complaint.len != sizeof(f))
		return ws_fail(err, WS_IO, "%s '%s': no reason given", verb, path);
	memcpy(&f, in->complaint.data, sizeof(f));
	if (f.problem > WS_FILE_ERRNO && f.problem < WS_ARRAY_SIZE(rows)) {
		ws_fail(err, rows[f.problem].kind, "%s '%s': %s", verb, path,
			rows[f.problem].why);
		return ws_hint(err, "%s", rows[f.problem].hint);
	}
	errno = f.error;
	return ws_fail_errno(err, "%s '%s'", verb, path);
}

static int check_end(const struct ws_inside *in, const char *verb, const char *path,
		     struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf shown = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf why = WS_BUF_INIT;

	if (in->status == 0)
		return 0;
	ws_text_escape(&shown, path, strlen(path));
	if (in->status == WS_FILE_STATUS)
		return fail_as_told(in, verb, ws_buf_str(&shown), err);
	ws_text_escape(&why, ws_buf_str(&in->complaint),
		       strcspn(ws_buf_str(&in->complaint), "\n"));
	return ws_fail(err, WS_IO, "%s '%.200s': %s (status %d)", verb,
		       ws_buf_str(&shown), why.len ? why.data : "it failed", in->status);
}

/* An absolute path inside; "." and ".." stay: the kernel reads them. */
static char *absolute(const struct ws_session *s, const char *path)
{
	if (path[0] == '/')
		return ws_strdup(path);
	if (s->nrepos == 1)
		return ws_format("/workspace/%s/%s", s->repos[0].name, path);
	return ws_format("/workspace/%s", path);
}

static int order(const struct ws_session *s, const char *op, const char *path,
		 struct ws_inside *in, struct ws_err *err)
{
	WS_AUTO(ws_user) struct ws_user user = { 0 };
	WS_AUTO_FREE char *full = absolute(s, path);

	if (!*path)
		return ws_fail(err, WS_USAGE, "the path is empty");
	if (ws_user_self(&user, err) < 0)
		return -1;
	ws_strv_add(&in->argv, WS_INIT_PATH, "file", user.home, op, full, NULL);
	return 0;
}

static struct ws_file_info to_info(const struct ws_file_entry *e)
{
	return (struct ws_file_info){ .mode = e->mode,
				      .size = e->size,
				      .ino = e->ino,
				      .mtime_ns = e->mtime_ns,
				      .ctime_ns = e->ctime_ns };
}

/* ---- read ---- */

struct reading {
	int out; /* -1: only the hash is wanted */
	struct ws_file_entry head;
	size_t got; /* of head */
	struct ws_sha256 sum;
};

static int take_file(void *arg, const char *data, size_t len, struct ws_err *err)
{
	struct reading *r = arg;
	size_t part = sizeof(r->head) - r->got;

	part = part < len ? part : len;
	memcpy((char *)&r->head + r->got, data, part);
	r->got += part;
	if (part == len)
		return 0;
	ws_sha256_update(&r->sum, data + part, len - part);
	if (r->out >= 0 && ws_write_all(r->out, data + part, len - part) < 0) {
		ws_fail_errno(err, "write to the output");
		err->kind = WS_IO;
		return -1;
	}
	return 0;
}

int ws_files_read(const struct ws_root *root, const struct ws_session *s,
		  const char *path, bool rescue, int out, struct ws_file_info *ret,
		  struct ws_err *err)
{
	struct reading r = { .out = out };
	WS_AUTO(ws_inside)
	struct ws_inside in = { .in = -1, .take = take_file, .arg = &r };

	if (rescue)
		return ws_rescue_read(root, s, path, out, ret, err);
	ws_sha256_init(&r.sum);
	if (order(s, "read", path, &in, err) < 0 ||
	    ws_inside_run(root, s, &in, err) < 0 || check_end(&in, "read", path, err) < 0)
		return -1;
	if (r.got < sizeof(r.head))
		return ws_fail(err, WS_IO, "read '%s': no answer", path);
	*ret = to_info(&r.head);
	ws_sha256_hex(&r.sum, ret->sha256);
	return 0;
}

/* ---- list ---- */

static int take_all(void *arg, const char *data, size_t len, struct ws_err *err)
{
	struct ws_buf *all = arg;

	if (all->len + len > (size_t)1 << 30)
		return ws_fail(err, WS_IO, "the list is too long");
	ws_buf_add(all, data, len);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ws_file_info *)a)->name,
		      ((const struct ws_file_info *)b)->name);
}

void ws_file_list_add(struct ws_file_list *list, const struct ws_file_info *info)
{
	if ((list->n & (list->n + 1)) == 0)
		list->v = ws_grow(list->v, 2 * list->n + 1, sizeof(*list->v));
	list->v[list->n++] = *info;
}

void ws_file_list_sort(struct ws_file_list *list)
{
	if (list->n)
		qsort(list->v, list->n, sizeof(*list->v), by_name);
}

static int parse_list(const struct ws_buf *all, struct ws_file_list *ret)
{
	size_t at = 0;
	bool first = true;

	while (at < all->len) {
		struct ws_file_entry e;
		struct ws_file_info info;
		const char *tail = all->data + at + sizeof(e);

		if (all->len - at < sizeof(e))
			return -1;
		memcpy(&e, all->data + at, sizeof(e));
		at += sizeof(e);
		if (e.name_len > NAME_MAX || e.target_len > PATH_MAX ||
		    all->len - at < (size_t)e.name_len + e.target_len)
			return -1;
		at += (size_t)e.name_len + e.target_len;
		info = to_info(&e);
		info.name = ws_strndup(tail, e.name_len);
		if (S_ISLNK(info.mode))
			info.target = ws_strndup(tail + e.name_len, e.target_len);
		if (first)
			ret->self = info;
		else
			ws_file_list_add(ret, &info);
		first = false;
	}
	return first ? -1 : 0;
}

int ws_files_list(const struct ws_root *root, const struct ws_session *s,
		  const char *path, bool rescue, struct ws_file_list *ret,
		  struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf all = WS_BUF_INIT;
	WS_AUTO(ws_inside)
	struct ws_inside in = { .in = -1, .take = take_all, .arg = &all };

	if (rescue)
		return ws_rescue_list(root, s, path, ret, err);
	if (order(s, "list", path, &in, err) < 0 ||
	    ws_inside_run(root, s, &in, err) < 0 || check_end(&in, "list", path, err) < 0)
		return -1;
	if (parse_list(&all, ret) < 0)
		return ws_fail(err, WS_IO, "list '%s': the answer cannot be read", path);
	ws_file_list_sort(ret);
	return 0;
}

/* ---- write ---- */

/* The content passes through here once: a hash of it is the caller's next IF_MATCH. */
static int spool(int in, int to, char hex[WS_SHA256_HEX], struct ws_err *err)
{
	static char block[65536];
	struct ws_sha256 sum;
	ssize_t n;

	ws_sha256_init(&sum);
	while ((n = read(in, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ws_fail_errno(err, "read what is to be written");
		ws_sha256_update(&sum, block, (size_t)n);
		if (ws_write_all(to, block, (size_t)n) < 0)
			return ws_fail_errno(err, "keep what is to be written");
	}
	ws_sha256_hex(&sum, hex);
	return 0;
}

int ws_files_spool(const struct ws_root *root, struct ws_err *err)
{
	WS_AUTO_CLOSE int tmp = ws_root_dir(root, "tmp", err);
	char name[40] = WS_TMP_PREFIX;
	int fd;

	if (tmp < 0)
		return -1;
	fd = openat(tmp, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	ws_text_random(name + strlen(name), 8);
	fd = openat(tmp, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return ws_fail_errno(err, "make a file in '%s/tmp'", root->path);
	unlinkat(tmp, name, 0);
	return fd;
}

/* What must still be there when the new file takes its place. */
static int find_stamp(const struct ws_root *root, const struct ws_session *s,
		      const char *path, const char *if_match, char stamp[100],
		      struct ws_err *err)
{
	WS_AUTO(ws_file_info) struct ws_file_info info = { 0 };

	snprintf(stamp, 100, "%s", if_match ? if_match : "-");
	if (!if_match || !strcmp(if_match, "none"))
		return 0;
	if (ws_files_read(root, s, path, false, -1, &info, err) < 0) {
		if (err->sys != ENOENT)
			return -1;
		return ws_fail(err, WS_STALE, "write '%s': it is not there any more",
			       path);
	}
	if (strcasecmp(info.sha256, if_match) != 0) {
		ws_fail(err, WS_STALE, "write '%s': it has changed", path);
		return ws_hint(err, "its SHA-256 is %s now", info.sha256);
	}
	snprintf(stamp, 100, WS_FILE_STAMP, (unsigned long long)info.ino,
		 (unsigned long long)info.size, (unsigned long long)info.mtime_ns,
		 (unsigned long long)info.ctime_ns);
	return 0;
}

static int write_once(const struct ws_root *root, const struct ws_session *s,
		      const char *path, const struct ws_file_write *how,
		      const char *stamp, int in, struct ws_file_info *ret,
		      struct ws_err *err)
{
	struct reading r = { .out = -1 };
	WS_AUTO(ws_inside)
	struct ws_inside run = { .in = in, .chunks = true, .take = take_file, .arg = &r };

	if (lseek(in, 0, SEEK_SET) < 0)
		return ws_fail_errno(err, "read what is to be written");
	if (order(s, "write", path, &run, err) < 0)
		return -1;
	ws_strv_addf(&run.argv, "%o", (unsigned)(how->mode & 0777));
	ws_strv_add(&run.argv, stamp, how->parents ? "p" : "", NULL);
	if (ws_inside_run(root, s, &run, err) < 0 ||
	    check_end(&run, "write", path, err) < 0)
		return -1;
	if (r.got < sizeof(r.head))
		return ws_fail(err, WS_IO, "write '%s': no answer", path);
	*ret = to_info(&r.head);
	return 0;
}

int ws_files_write(const struct ws_root *root, const struct ws_session *s,
		   const char *path, const struct ws_file_write *how, int in,
		   struct ws_file_info *ret, struct ws_err *err)
{
	bool hashed = how->if_match && strcmp(how->if_match, "none") != 0;
	WS_AUTO_CLOSE int kept = ws_files_spool(root, err);
	char hex[WS_SHA256_HEX], stamp[100];
	int tries = 0, rc;

	if (kept < 0 || spool(in, kept, hex, err) < 0)
		return -1;
	/* a stamp may differ although the content is the same: it is looked at again */
	do {
		if (find_stamp(root, s, path, how->if_match, stamp, err) < 0)
			return -1;
		rc = write_once(root, s, path, how, stamp, kept, ret, err);
	} while (rc < 0 && err->kind == WS_STALE && hashed && ++tries < TRIES);
	if (rc == 0)
		memcpy(ret->sha256, hex, sizeof(hex));
	return rc;
}

/* ---- trees ---- */

static int take_stream(void *arg, const char *data, size_t len, struct ws_err *err)
{
	const int *out = arg;

	if (ws_write_all(*out, data, len) == 0)
		return 0;
	ws_fail_errno(err, "write to the output");
	err->kind = WS_IO;
	return -1;
}

int ws_files_pack(const struct ws_root *root, const struct ws_session *s,
		  const char *path, int out, struct ws_err *err)
{
	WS_AUTO(ws_inside)
	struct ws_inside in = { .in = -1, .take = take_stream, .arg = &out };

	if (order(s, "pack", path, &in, err) < 0 || ws_inside_run(root, s, &in, err) < 0)
		return -1;
	return check_end(&in, "pack", path, err);
}

int ws_files_unpack(const struct ws_root *root, const struct ws_session *s,
		    const char *path, bool parents, int in, struct ws_err *err)
{
	WS_AUTO(ws_inside) struct ws_inside run = { .in = in };

	if (order(s, "unpack", path, &run, err) < 0)
		return -1;
	ws_strv_add(&run.argv, "-", "-", parents ? "p" : "", NULL);
	if (ws_inside_run(root, s, &run, err) < 0)
		return -1;
	return check_end(&run, "unpack", path, err);
}
