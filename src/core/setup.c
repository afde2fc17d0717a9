/* SPDX-License-Identifier: Apache-2.0 */
#include "core/setup.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/lock.h"
#include "core/keyed.h"
#include "core/layer.h"

#define FOLDER "setups"
#define RECORD_MAX (1u << 16)
#define LOG_LOCK_TIMEOUT_MS 2000

static const struct ws_json_field fields[] = {
	WS_FIELD(ws_setup, version, U64, true),
	WS_FIELD(ws_setup, key, STRING, true),
	WS_FIELD(ws_setup, state, STRING, true),
	WS_FIELD(ws_setup, attempt, STRING, true),
	WS_FIELD(ws_setup, repo, STRING, true),
	WS_FIELD(ws_setup, name, STRING, true),
	WS_FIELD(ws_setup, revision, STRING, false),
	WS_FIELD(ws_setup, script, STRING, true),
	WS_FIELD(ws_setup, layer, STRING, false),
	WS_FIELD(ws_setup, cause, STRING, false),
	WS_FIELD(ws_setup, bytes, U64, false),
	WS_FIELD(ws_setup, created, U64, true),
	WS_FIELD(ws_setup, finished, U64, false),
	{ 0 },
};

static const struct ws_keyed sort = { .folder = FOLDER,
				      .noun = "setup",
				      .fields = fields,
				      .version = WS_SETUP_VERSION,
				      .max = RECORD_MAX };

void ws_setup_release(struct ws_setup *s)
{
	ws_json_release(fields, s);
}

int ws_setup_check_key(const char *key, struct ws_err *err)
{
	return ws_keyed_check(&sort, key, err);
}

/* ---- the record ---- */

static bool is_sane(const struct ws_setup *s)
{
	return !s->layer || (*s->layer && *s->layer != '.' && !strchr(s->layer, '/'));
}

int ws_setup_load(const struct ws_root *root, const char *key, struct ws_setup *ret,
		  struct ws_err *err)
{
	WS_AUTO(ws_setup) struct ws_setup s = WS_SETUP_INIT;
	int rc = ws_keyed_load(root, &sort, key, &s, err);

	if (rc <= 0)
		return rc;
	if (!is_sane(&s) || strcmp(s.key, key) != 0)
		return ws_keyed_damaged(&sort, key, "a bad name in it");
	*ret = s;
	s = WS_SETUP_INIT;
	return 1;
}

int ws_setup_save(const struct ws_root *root, const struct ws_setup *s,
		  struct ws_err *err)
{
	return ws_keyed_save(root, &sort, s->key, s, true, err);
}

bool ws_setup_is_done(const struct ws_root *root, const struct ws_setup *s)
{
	return !strcmp(s->state, "done") && s->layer && ws_layer_exists(root, s->layer);
}

bool ws_setup_has_failed(const struct ws_setup *s)
{
	return !strcmp(s->state, "failed");
}

/* ---- lock and use ---- */

int ws_setup_lock(const struct ws_root *root, const char *key, bool exclusive,
		  uint64_t timeout_ms, struct ws_err *err)
{
	return ws_keyed_lock(root, &sort, key, exclusive, timeout_ms, err);
}

void ws_setup_touch(const struct ws_root *root, const char *key)
{
	ws_keyed_touch(root, &sort, key);
}

uint64_t ws_setup_last_use(const struct ws_root *root, const struct ws_setup *s)
{
	return ws_keyed_last_use(root, &sort, s->key, s->created);
}

/*
 * The record goes before the layer: who looks for the setup from now on makes it anew. A
 * log without a record is nobody's.
 */
int ws_setup_remove(const struct ws_root *root, const struct ws_setup *s,
		    struct ws_err *err)
{
	static const char *const endings[] = { "json", "log", "lock" };
	WS_AUTO_CLOSE int dir = ws_root_dir(root, FOLDER, err);

	if (dir < 0)
		return -1;
	for (size_t i = 0; i < WS_ARRAY_SIZE(endings); i++) {
		WS_AUTO_FREE char *name = ws_format("%s.%s", s->key, endings[i]);

		if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
			return ws_fail_errno(err, "remove '" FOLDER "/%s'", name);
	}
	return s->layer ? ws_layer_discard(root, s->layer, err) : 0;
}

int ws_setup_list(const struct ws_root *root, struct ws_strv *ret, struct ws_err *err)
{
	return ws_keyed_list(root, &sort, ret, err);
}

/* ---- the log ---- */

/* Not the old one made empty: whoever follows that may come to its end. */
int ws_setup_log_make(const struct ws_root *root, const char *key, int *ret_fd,
		      struct ws_err *err)
{
	WS_AUTO_CLOSE int dir = ws_root_dir(root, FOLDER, err);
	WS_AUTO_FREE char *name = ws_format("%s.log", key);
	WS_AUTO_CLOSE int fd = -1;

	if (dir < 0)
		return -1;
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return ws_fail_errno(err, "remove '" FOLDER "/%s'", name);
	fd = openat(dir, name,
		    O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return ws_fail_errno(err, "make '" FOLDER "/%s'", name);
	/* a reader who asks whether it is live has it for a moment */
	if (ws_lock_wait(fd, true, LOG_LOCK_TIMEOUT_MS, name, err) < 0)
		return -1;
	*ret_fd = ws_steal_fd(&fd);
	return 0;
}

int ws_setup_log_open(const struct ws_root *root, const char *key)
{
	WS_AUTO_FREE char *path = ws_format(FOLDER "/%s.log", key);

	return ws_open_beneath(root->fd, path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
}

/* The script may have ended in the middle of a line. */
static bool ends_a_line(int log)
{
	off_t len = lseek(log, 0, SEEK_END);
	char last = '\n';

	return len <= 0 || pread(log, &last, 1, len - 1) != 1 || last == '\n';
}

void ws_setup_log_say(int log, const char *fmt, ...)
{
	WS_AUTO_FREE char *text = NULL;
	WS_AUTO_FREE char *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = ws_vformat(fmt, ap);
	va_end(ap);
	line = ws_format("%swsiso: %s\n", ends_a_line(log) ? "" : "\n", text);
	if (ws_write_all(log, line, strlen(line)) < 0)
		return; /* a full disk: it is the script's end that counts */
}
