/* SPDX-License-Identifier: Apache-2.0 */
#include "core/layer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/jsonw.h"
#include "base/text.h"

#define META_FILE "meta.json"
#define META_MAX (1u << 16)
#define RANDOM_BYTES 8

static const struct ws_json_field meta_fields[] = {
	WS_FIELD(ws_layer_meta, version, U64, true),
	WS_FIELD(ws_layer_meta, kind, STRING, true),
	WS_FIELD(ws_layer_meta, repo, STRING, false),
	WS_FIELD(ws_layer_meta, source, STRING, false),
	WS_FIELD(ws_layer_meta, revision, STRING, false),
	WS_FIELD(ws_layer_meta, created, U64, false),
	{ 0 },
};

void ws_layer_meta_release(struct ws_layer_meta *m)
{
	ws_json_release(meta_fields, m);
}

/* ---- publish and load ---- */

/* Not synced yet. The folder is nobody else's, so no name is needed before this one. */
static int write_meta(int scratch, const struct ws_layer_meta *meta, int *ret_fd,
		      struct ws_err *err)
{
	WS_AUTO_CLOSE int fd =
		openat(scratch, META_FILE,
		       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &text, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_fields(&w, meta_fields, meta);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	if (fd < 0 || ws_write_all(fd, text.data, text.len) < 0)
		return ws_fail_errno(err, "write '" META_FILE "'");
	*ret_fd = ws_steal_fd(&fd);
	return 0;
}

/*
 * Nobody looks for the layer before a record names it, which is written later. So all is
 * synced in the end, and at once: each sync between two changes would be a commit of the
 * filesystem's journal.
 */
int ws_layer_publish(const struct ws_root *root, const char *scratch, const char *name,
		     const struct ws_layer_meta *meta, struct ws_unsynced *later,
		     struct ws_err *err)
{
	WS_AUTO(ws_unsynced) struct ws_unsynced now = WS_UNSYNCED_INIT;
	WS_AUTO_CLOSE int tmp = ws_root_dir(root, "tmp", err);
	WS_AUTO_CLOSE int layers = tmp < 0 ? -1 : ws_root_dir(root, "layers", err);
	WS_AUTO_CLOSE int dir = layers < 0 ? -1 : ws_open_dir(tmp, scratch);
	WS_AUTO_CLOSE int file = -1;

	if (layers < 0)
		return -1;
	if (dir < 0)
		return ws_fail_errno(err, "open '%s/tmp/%s'", root->path, scratch);
	if (write_meta(dir, meta, &file, err) < 0)
		return -1;
	if (renameat2(tmp, scratch, layers, name, RENAME_NOREPLACE) < 0) {
		if (errno == EEXIST)
			return ws_root_discard(root, tmp, scratch, err);
		return ws_fail_errno(err, "publish layer '%s'", name);
	}
	ws_unsynced_take(later ? later : &now, &file);
	ws_unsynced_take(later ? later : &now, &dir);
	ws_unsynced_take(later ? later : &now, &layers);
	if (ws_unsynced_settle(&now) < 0)
		return ws_fail_errno(err, "sync layer '%s'", name);
	return 0;
}

static int fail_missing(const char *name, struct ws_err *err)
{
	return ws_fail(err, WS_BASE_MISSING, "layer '%s' is not there", name);
}

int ws_layer_load(const struct ws_root *root, const char *name, struct ws_layer_meta *ret,
		  struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("layers/%s/" META_FILE, name);
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (ws_read_file(root->fd, path, META_MAX, &text) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? fail_missing(name, err)
			       : ws_fail_errno(err, "read '%s'", path);
	if (ws_json_parse(path, text.data, text.len, &doc, err) < 0) {
		err->kind = WS_STATE_CORRUPT;
		return -1;
	}
	if (ws_json_int(doc, "version", 0) > WS_LAYER_VERSION)
		return ws_fail(err, WS_STATE_VERSION,
			       "layer '%s' was made by a newer wsiso", name);
	return ws_json_decode(doc, meta_fields, ret, err);
}

bool ws_layer_exists(const struct ws_root *root, const char *name)
{
	WS_AUTO_FREE char *path = ws_format("layers/%s/" META_FILE, name);

	return faccessat(root->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int ws_layer_discard(const struct ws_root *root, const char *name, struct ws_err *err)
{
	WS_AUTO_CLOSE int layers = ws_root_dir(root, "layers", err);

	return layers < 0 ? -1 : ws_root_discard(root, layers, name, err);
}

/* ---- a session's own ---- */

void ws_layer_private_name(const char *kind, const char *id, char ret[WS_LAYER_NAME_MAX])
{
	char random[2 * RANDOM_BYTES + 1];

	ws_text_random(random, RANDOM_BYTES);
	snprintf(ret, WS_LAYER_NAME_MAX, "%s-%.128s-%s", kind, id, random);
}

bool ws_layer_is_private(const char *name, const char *id)
{
	static const char *const kinds[] = { WS_LAYER_GIT "-", WS_LAYER_OWN "-",
					     WS_LAYER_FROZEN "-" };
	size_t len = strlen(id), kind = 0;

	while (kind < WS_ARRAY_SIZE(kinds) && !ws_text_starts(name, kinds[kind]))
		kind++;
	if (kind == WS_ARRAY_SIZE(kinds))
		return false;
	name = strchr(name, '-') + 1;
	return !strncmp(name, id, len) && name[len] == '-' &&
	       strspn(name + len + 1, "0123456789abcdef") == 2 * RANDOM_BYTES &&
	       strlen(name + len + 1) == 2 * RANDOM_BYTES;
}

char *ws_layer_owner(const char *name)
{
	size_t tail = 1 + 2 * RANDOM_BYTES, len = strlen(name);
	const char *id = strchr(name, '-');
	WS_AUTO_FREE char *ret = NULL;

	if (!id || (size_t)(name + len - ++id) <= tail)
		return NULL;
	ret = ws_strndup(id, (size_t)(name + len - id) - tail);
	return ws_layer_is_private(name, ret) ? ws_steal_ptr(&ret) : NULL;
}

/* ---- making one ---- */

int ws_layer_mkdir(int dir, const char *path, struct ws_err *err)
{
	WS_AUTO_FREE char *copy = ws_strdup(path);
	char *end = copy;

	while (*end) {
		char kept;

		end += strcspn(end, "/");
		kept = *end;
		*end = '\0';
		if (mkdirat(dir, copy, 0755) == 0) {
			if (fchmodat(dir, copy, 0755, 0) < 0)
				return ws_fail_errno(err, "set the mode of '%s'", copy);
		} else if (errno != EEXIST) {
			return ws_fail_errno(err, "make folder '%s'", copy);
		}
		*end = kept;
		end += kept != '\0';
	}
	return 0;
}

int ws_layer_write(int dir, const char *path, const char *text, struct ws_err *err)
{
	WS_AUTO_CLOSE int fd =
		openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0644);

	if (fd < 0 || fchmod(fd, 0644) < 0 || ws_write_all(fd, text, strlen(text)) < 0)
		return ws_fail_errno(err, "write '%s'", path);
	/* begins the write only, so that those of several files go together */
	sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	return 0;
}

int ws_layer_sync(int dir, const char *const *paths, size_t n, struct ws_err *err)
{
	for (size_t i = 0; i < n; i++) {
		WS_AUTO_CLOSE int fd = ws_open_beneath(dir, paths[i], O_RDONLY, 0);

		if (fd < 0 || fsync(fd) < 0)
			return ws_fail_errno(err, "sync '%s'", paths[i]);
	}
	return 0;
}
