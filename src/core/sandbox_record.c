/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sandbox_record.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/jsonw.h"

#define RECORD_FILE "sandbox.json"
#define RECORD_VERSION 1
#define RECORD_MAX (1u << 20)

static const struct ws_json_field sandbox_fields[] = {
	WS_FIELD(ws_sandbox, nsflags, U64, true),
	WS_FIELD(ws_sandbox, protocol, U64, true),
	WS_FIELD(ws_sandbox, started, U64, false),
	WS_FIELD(ws_sandbox, policy, STRING, true),
	WS_FIELD(ws_sandbox, label, STRING, false),
	WS_FIELD(ws_sandbox, filter, STRING, false),
	WS_FIELD(ws_sandbox, keyring, STRING, false),
	WS_FIELD(ws_sandbox, bwrap, STRING, false),
	WS_FIELD(ws_sandbox, bwrap_version, STRING, false),
	WS_FIELD(ws_sandbox, build, STRING, false),
	WS_FIELD(ws_sandbox, cgroup, STRING, false),
	{ 0 },
};

void ws_sandbox_release(struct ws_sandbox *sb)
{
	ws_closep(&sb->pidfd);
	ws_closep(&sb->use);
	ws_closep(&sb->owner);
	ws_freep(&sb->policy);
	ws_freep(&sb->label);
	ws_freep(&sb->filter);
	ws_freep(&sb->keyring);
	ws_freep(&sb->bwrap);
	ws_freep(&sb->bwrap_version);
	ws_freep(&sb->build);
	ws_freep(&sb->cgroup);
}

static int decode(const struct ws_json *doc, struct ws_sandbox *sb, struct ws_err *err)
{
	const char *boot = ws_json_str(doc, "boot", "");
	int64_t pid = ws_json_int(doc, "pid", 0);

	if (ws_json_int(doc, "version", 0) > RECORD_VERSION)
		return ws_fail(err, WS_STATE_VERSION,
			       "sandbox.json was written by a newer wsiso");
	if (strcmp(boot, ws_boot_id()) != 0)
		return 0;
	if (pid <= 1 || pid > INT32_MAX)
		return ws_fail(err, WS_STATE_CORRUPT, "sandbox.json names no process");
	sb->init.pid = (pid_t)pid;
	sb->init.start = (uint64_t)ws_json_int(doc, "start", 0);
	snprintf(sb->init.boot, sizeof(sb->init.boot), "%s", boot);
	return ws_json_decode(doc, sandbox_fields, sb, err) < 0 ? -1 : 1;
}

int ws_sandbox_record_load(const struct ws_session *s, struct ws_sandbox *ret,
			   struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;
	int rc;

	*ret = WS_SANDBOX_INIT;
	if (ws_read_file(s->dir, RECORD_FILE, RECORD_MAX, &text) < 0)
		return errno == ENOENT
			       ? 0
			       : ws_fail_errno(err, "read '%s/" RECORD_FILE "'", s->path);
	/*
	 * Not synced: a power cut may leave an empty file, and then the boot is another
	 * too. One that is not JSON in this boot is somebody's doing.
	 */
	if (text.len == 0)
		return 0;
	if (ws_json_parse(RECORD_FILE, text.data, text.len, &doc, err) < 0) {
		err->kind = WS_STATE_CORRUPT;
		return ws_fail_within(err, "session '%s'", s->id);
	}
	rc = decode(doc, ret, err);
	return rc < 0 ? ws_fail_within(err, "session '%s'", s->id) : rc;
}

int ws_sandbox_record_save(const struct ws_session *s, const struct ws_sandbox *sb,
			   struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &text, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_u64(&w, "version", RECORD_VERSION);
	ws_jsonw_int(&w, "pid", sb->init.pid);
	ws_jsonw_u64(&w, "start", sb->init.start);
	ws_jsonw_str(&w, "boot", sb->init.boot);
	ws_jsonw_fields(&w, sandbox_fields, sb);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_write_atomic(s->dir, RECORD_FILE, &text, false, err);
}
