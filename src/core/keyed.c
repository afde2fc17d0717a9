/* SPDX-License-Identifier: Apache-2.0 */
#include "core/keyed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/text.h"

/* ---- the record ---- */

int ws_keyed_check(const struct ws_keyed *sort, const char *key, struct ws_err *err)
{
	if (strlen(key) == WS_KEY_LEN && strspn(key, "0123456789abcdef") == WS_KEY_LEN)
		return 0;
	ws_fail(err, WS_USAGE, "'%.80s' is no key of a %s", key, sort->noun);
	return ws_hint(err, "wsiso %s list shows the keys", sort->noun);
}

int ws_keyed_damaged(const struct ws_keyed *sort, const char *key, const char *why)
{
	ws_warn("'%s/%s.json' is damaged (%s): that %s will be made anew", sort->folder,
		key, why, sort->noun);
	return 0;
}

int ws_keyed_load(const struct ws_root *root, const struct ws_keyed *sort,
		  const char *key, void *record, struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s.json", sort->folder, key);
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (ws_read_file(root->fd, path, sort->max, &text) < 0)
		return errno == ENOENT
			       ? 0
			       : ws_fail_errno(err, "read '%s/%s'", root->path, path);
	if (ws_json_parse(path, ws_buf_str(&text), text.len, &doc, err) < 0)
		return ws_keyed_damaged(sort, key, err->msg);
	if (ws_json_int(doc, "version", 0) > (int64_t)sort->version)
		return ws_fail(err, WS_STATE_VERSION, "%s '%s' was made by a newer wsiso",
			       sort->noun, key);
	if (ws_json_decode(doc, sort->fields, record, err) < 0)
		return ws_keyed_damaged(sort, key, err->msg);
	return 1;
}

int ws_keyed_save(const struct ws_root *root, const struct ws_keyed *sort,
		  const char *key, const void *record, bool sync, struct ws_err *err)
{
	WS_AUTO_CLOSE int dir = ws_root_dir(root, sort->folder, err);
	WS_AUTO_FREE char *name = ws_format("%s.json", key);
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_jsonw w;

	if (dir < 0)
		return -1;
	ws_jsonw_init(&w, &text, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_fields(&w, sort->fields, record);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_write_atomic(dir, name, &text, sync, err);
}

int ws_keyed_list(const struct ws_root *root, const struct ws_keyed *sort,
		  struct ws_strv *ret, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv files = WS_STRV_INIT;

	if (ws_dir_list(root->fd, sort->folder, &files, err) < 0)
		return -1;
	for (size_t i = 0; i < files.n; i++)
		if (files.v[i][0] != '.' && ws_text_ends(files.v[i], ".json"))
			ws_strv_take(ret, ws_strndup(files.v[i], strlen(files.v[i]) - 5));
	ws_strv_sort(ret);
	return 0;
}

/* ---- the lock ---- */

/* 1: locked, and still the file of that name (a remover takes it away); 0; -1. */
static int lock_once(int dir, const char *name, const struct ws_keyed *sort,
		     bool exclusive, uint64_t timeout_ms, int *ret_fd, struct ws_err *err)
{
	WS_AUTO_FREE char *what = ws_format("the %s", sort->noun);
	WS_AUTO_CLOSE int fd = ws_lock_open(dir, name);
	struct stat ours, named;

	if (fd < 0)
		return ws_fail_errno(err, "open the lock '%s'", name);
	if (timeout_ms && ws_lock_wait(fd, exclusive, timeout_ms, what, err) < 0)
		return -1;
	if (!timeout_ms && ws_lock_try(fd, exclusive) < 0)
		return ws_fail(err, WS_SESSION_BUSY,
			       "%s is being made or taken right now", what);
	if (fstat(fd, &ours) < 0)
		return ws_fail_errno(err, "look at the lock '%s'", name);
	if (fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	    named.st_ino != ours.st_ino || named.st_dev != ours.st_dev)
		return 0;
	*ret_fd = ws_steal_fd(&fd);
	return 1;
}

int ws_keyed_lock(const struct ws_root *root, const struct ws_keyed *sort,
		  const char *key, bool exclusive, uint64_t timeout_ms,
		  struct ws_err *err)
{
	WS_AUTO_CLOSE int dir = ws_root_dir(root, sort->folder, err);
	WS_AUTO_FREE char *name = ws_format("%s.lock", key);
	int fd = -1, rc = dir < 0 ? -1 : 0;

	while (rc == 0)
		rc = lock_once(dir, name, sort, exclusive, timeout_ms, &fd, err);
	return rc < 0 ? -1 : fd;
}

void ws_keyed_touch(const struct ws_root *root, const struct ws_keyed *sort,
		    const char *key)
{
	WS_AUTO_FREE char *lock = ws_format("%s/%s.lock", sort->folder, key);

	utimensat(root->fd, lock, NULL, AT_SYMLINK_NOFOLLOW);
}

void ws_keyed_let_go(int *hold)
{
	if (*hold >= 0 && futimens(*hold, NULL) < 0)
		errno = 0; /* where nothing can be written gc removes nothing */
	ws_closep(hold);
}

uint64_t ws_keyed_last_use(const struct ws_root *root, const struct ws_keyed *sort,
			   const char *key, uint64_t created)
{
	WS_AUTO_FREE char *lock = ws_format("%s/%s.lock", sort->folder, key);
	struct stat st;

	if (fstatat(root->fd, lock, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return created;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}
