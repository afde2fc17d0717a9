/* SPDX-License-Identifier: Apache-2.0 */
#include "core/drift.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "core/layer.h"

#define FILE_MAX ((size_t)1 << 30)

void ws_drift_release(struct ws_drift *d)
{
	ws_strv_release(&d->names);
}

/* What of a file may not change; the ctime may: it does with each link. */
static void describe(char *text, size_t size, const struct stat *st)
{
	snprintf(text, size, "%o %u %u %llu %lld.%09ld", (unsigned)st->st_mode,
		 (unsigned)st->st_uid, (unsigned)st->st_gid,
		 (unsigned long long)st->st_size, (long long)st->st_mtim.tv_sec,
		 st->st_mtim.tv_nsec);
}

/* "LOOK\0PATH\0" */
void ws_drift_note(struct ws_buf *linked, const char *path, const struct stat *st)
{
	char text[128];

	describe(text, sizeof(text), st);
	ws_buf_add(linked, text, strlen(text) + 1);
	ws_buf_add(linked, path, strlen(path) + 1);
}

static void check_file(int top, const char *look, const char *path, struct ws_drift *ret)
{
	char text[128] = "";
	struct stat st;

	ret->linked++;
	/* a layer's folders are wsiso's own: no path of them leads elsewhere */
	if (fstatat(top, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		describe(text, sizeof(text), &st);
	if (!strcmp(text, look))
		return;
	ret->changed++;
	if (ret->names.n < WS_DRIFT_NAMES)
		ws_strv_push(&ret->names, path);
}

int ws_drift_find(const struct ws_root *root, const char *layer, struct ws_drift *ret,
		  struct ws_err *err)
{
	WS_AUTO_FREE char *list = ws_format("layers/%s/" WS_DRIFT_FILE, layer);
	WS_AUTO(ws_layer_meta) struct ws_layer_meta meta = { 0 };
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_FREE char *below = NULL;
	WS_AUTO_CLOSE int top = -1;
	const char *at, *end;

	if (ws_read_file(root->fd, list, FILE_MAX, &text) < 0)
		return errno == ENOENT ? 0 : ws_fail_errno(err, "read '%s'", list);
	if (ws_layer_load(root, layer, &meta, err) < 0)
		return -1;
	below = ws_format("layers/%s/root/%s", layer, meta.repo ? meta.repo : "");
	top = ws_open_dir(root->fd, below);
	if (top < 0)
		return ws_fail_errno(err, "open '%s'", below);
	end = ws_buf_str(&text) + text.len;
	for (at = ws_buf_str(&text); at < end;) {
		const char *look = at;
		const char *path = look + strlen(look) + 1;

		if (path >= end)
			return ws_fail(err, WS_STATE_CORRUPT, "'%s' ends half-way", list);
		check_file(top, look, path, ret);
		at = path + strlen(path) + 1;
	}
	return 0;
}

static void warn(const char *layer, const struct ws_drift *d)
{
	WS_AUTO(ws_buf) struct ws_buf names = WS_BUF_INIT;

	for (size_t i = 0; i < d->names.n; i++)
		ws_buf_addf(&names, "%s'%s'", i ? ", " : "", d->names.v[i]);
	ws_warn("the base is no longer what it was: %llu of its files were written in place, "
		"or got another mode, on the host since they were hard-linked (%s%s); layer "
		"'%s'",
		(unsigned long long)d->changed, ws_buf_str(&names),
		d->changed > d->names.n ? ", ..." : "", layer);
}

static int fail_missing(const struct ws_session *s, const char *what, struct ws_err *err)
{
	ws_fail(err, WS_BASE_MISSING,
		"the base of session '%s' is gone: '%s' is not there", s->id, what);
	return ws_hint(err, "put it back; the session's own edits are in '%s/upper'",
		       s->path);
}

static int check_there(const struct ws_root *root, const struct ws_session *s,
		       struct ws_err *err)
{
	for (size_t i = 0; i < s->stack.n; i++)
		if (!ws_layer_exists(root, s->stack.v[i]))
			return fail_missing(s, s->stack.v[i], err);
	for (size_t i = 0; i < s->nrepos; i++)
		if (s->repos[i].live &&
		    faccessat(AT_FDCWD, s->repos[i].path, F_OK, 0) < 0)
			return fail_missing(s, s->repos[i].path, err);
	return 0;
}

int ws_drift_check(const struct ws_root *root, const struct ws_session *s,
		   struct ws_err *err)
{
	if (check_there(root, s, err) < 0)
		return -1;
	for (size_t i = 0; i < s->stack.n; i++) {
		WS_AUTO(ws_drift) struct ws_drift d = WS_DRIFT_INIT;
		struct ws_err other = WS_ERR_INIT;

		if (ws_drift_find(root, s->stack.v[i], &d, &other) < 0)
			ws_warn("%s", other.msg);
		else if (d.changed)
			warn(s->stack.v[i], &d);
	}
	return 0;
}
