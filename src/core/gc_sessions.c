/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/tree.h"
#include "core/flatten.h"
#include "core/gc_run.h"
#include "core/sandbox.h"
#include "core/setup.h"
#include "core/shared.h"
#include "core/snapshot.h"
#include "core/users.h"

#define GRACE_MS 2000
#define ABANDONED_S 86400

/* All of a session's folder but its records. */
static const char *const contents[] = { "upper", "work",	 "home", "tmp",
					"execs", "sandbox.json", "use",	 "merge" };
/* Of these, what holds somebody's work. */
#define EDITS 4

static void mark(struct ws_gc_run *run, const struct ws_session *s)
{
	WS_AUTO(ws_strv) struct ws_strv layers = WS_STRV_INIT;

	ws_session_layers(s, &layers);
	for (size_t i = 0; i < layers.n; i++)
		ws_refs_add(&run->layers, layers.v[i]);
	if (s->home)
		ws_refs_add(&run->homes, s->home);
	for (size_t i = 0; i < s->nrepos; i++) {
		if (s->repos[i].snapshot)
			ws_refs_add(&run->snapshots, s->repos[i].snapshot);
		if (s->repos[i].pool)
			ws_refs_add(&run->pools, s->repos[i].pool);
	}
}

static void age(struct ws_gc_moment now, uint64_t since_ns, char out[WS_TIME_LEN])
{
	ws_clock_age(now.wall_ns > since_ns ? (now.wall_ns - since_ns) / 1000000000u : 0,
		     out);
}

/* ---- the end of one ---- */

/* What it has on the disk, or what of it went. */
static uint64_t remove_contents(struct ws_gc_run *run, int dir, struct ws_err *err)
{
	uint64_t sum = 0, bytes, entries;

	for (size_t i = 0; i < WS_ARRAY_SIZE(contents); i++) {
		bytes = 0;
		if (!run->opts->dry_run)
			ws_root_discard_counted(run->root, dir, contents[i], &bytes, err);
		else if (faccessat(dir, contents[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			ws_tree_usage(dir, contents[i], &bytes, &entries, err);
		sum += bytes;
	}
	return sum;
}

/* 1: nothing of it lives; 0: something does; -1. */
static int end_sandbox(const struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_sandbox) struct ws_sandbox sb = WS_SANDBOX_INIT;
	int live = ws_sandbox_peek(s, &sb, err);

	if (live < 0)
		return -1;
	if (live && !ws_sandbox_idle(&sb))
		return 0;
	return ws_sandbox_end(s, GRACE_MS, err) < 0 ? -1 : 1;
}

static enum ws_gc_fate fate_of(const struct ws_gc_run *run, const struct ws_session *s,
			       uint64_t ttl)
{
	struct ws_gc_moment sighted;

	ws_session_sighting(s, &sighted.wall_ns, &sighted.boot_ms);
	return ws_gc_session_fate(run->now, ws_session_last_use(s), ttl, sighted);
}

static int bury(struct ws_gc_run *run, const struct ws_session *s, struct ws_err *err)
{
	struct ws_err other = WS_ERR_INIT;
	char idle[WS_TIME_LEN];
	uint64_t bytes;

	age(run->now, ws_session_last_use(s), idle);
	if (!run->opts->dry_run && ws_session_bury(s, err) < 0)
		return -1;
	/* from here on it is gone; what is left of its files the next run finds */
	for (size_t i = 0; i < s->nrepos && !run->opts->dry_run; i++) {
		if (s->repos[i].snapshot)
			ws_snapshot_touch(run->root, s->repos[i].snapshot);
		if (s->repos[i].setup)
			ws_setup_touch(run->root, s->repos[i].setup);
	}
	bytes = remove_contents(run, s->dir, &other);
	if (!run->opts->dry_run) {
		ws_shared_discard(run->root, s, &other);
		ws_journal(run->root, "expire", s->id, idle);
	}
	ws_gc_item_add(run, "session", s->id, WS_GC_REMOVED, bytes, "not used for %s%s%s",
		       idle, other.msg[0] ? "; not all went: " : "", other.msg);
	return 0;
}

/* Under its mutex all is looked at again: somebody may have come meanwhile. */
static int expire(struct ws_gc_run *run, const struct ws_session *s, uint64_t ttl,
		  struct ws_err *err)
{
	WS_AUTO_CLOSE int lock = -1;
	int rc;

	if (ws_session_lock(run->root, s, &lock, err) < 0)
		return -1;
	if (fate_of(run, s, ttl) != WS_GC_EXPIRE)
		return ws_fail(err, WS_SESSION_BUSY, "it has just been used");
	rc = run->opts->dry_run ? 1 : end_sandbox(s, err);
	if (rc < 0)
		return -1;
	if (rc == 0)
		return ws_fail(err, WS_SESSION_BUSY, "it has live processes");
	return bury(run, s, err);
}

/* ---- each of them ---- */

/* 0 if it is gone. */
static int judge(struct ws_gc_run *run, const struct ws_session *s)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };
	struct ws_err err = WS_ERR_INIT;
	uint64_t ttl = run->spec.snapshots.upper_dir_ttl;
	char idle[WS_TIME_LEN];
	int rc = ws_session_keeping(run->root, s, &spec, &err);

	if (rc < 0) {
		ws_gc_item_add(run, "session", s->id, WS_GC_LEFT, 0, "%s", err.msg);
		return 1;
	}
	if (rc > 0) {
		ws_gc_heed(run, &spec);
		ttl = spec.snapshots.upper_dir_ttl;
	}
	if (s->hold)
		return 1;
	age(run->now, ws_session_last_use(s), idle);
	switch (fate_of(run, s, ttl)) {
	case WS_GC_KEEP:
		return 1;
	case WS_GC_DOUBT:
		ws_gc_item_add(
			run, "session", s->id, WS_GC_LEFT, 0,
			"its last use lies in the future: a clock is, or was, wrong");
		return 1;
	case WS_GC_SIGHT:
		if (!run->opts->dry_run)
			ws_session_sight(s, run->now.wall_ns, run->now.boot_ms);
		/* fallthrough */
	case WS_GC_WAIT:
		ws_gc_item_add(run, "session", s->id, WS_GC_NOTED, 0,
			       "not used for %s; it goes if gc finds it so in an hour",
			       idle);
		return 1;
	case WS_GC_EXPIRE:
		break;
	}
	if (ws_gc_time_over(run))
		return 1;
	if (expire(run, s, ttl, &err) == 0)
		return 0;
	ws_gc_item_add(run, "session", s->id, WS_GC_LEFT, 0, "%s", err.msg);
	return 1;
}

static uint64_t changed(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0
		       ? 0
		       : (uint64_t)st.st_ctim.tv_sec * 1000000000u;
}

static void remove_folder(struct ws_gc_run *run, int sessions, const char *kind,
			  const char *id, const char *why)
{
	struct ws_err err = WS_ERR_INIT;
	uint64_t bytes = 0, entries;
	int rc = run->opts->dry_run
			 ? ws_tree_usage(sessions, id, &bytes, &entries, &err)
			 : ws_root_discard_counted(run->root, sessions, id, &bytes, &err);

	ws_gc_item_add(run, kind, id, rc < 0 ? WS_GC_LEFT : WS_GC_REMOVED, bytes, "%s",
		       rc < 0 ? err.msg : why);
}

/* A tombstone says for as long as the edits lived that they are gone. */
static void end_tombstone(struct ws_gc_run *run, int sessions, const char *id)
{
	WS_AUTO_CLOSE int dir = ws_open_dir(sessions, id);
	struct ws_err err = WS_ERR_INIT;
	uint64_t bytes;

	if (dir < 0)
		return;
	if (ws_gc_is_old(run->now, changed(dir, "expired.json"),
			 run->spec.snapshots.upper_dir_ttl)) {
		remove_folder(run, sessions, "tombstone", id,
			      "the session expired long ago");
		return;
	}
	bytes = remove_contents(run, dir, &err); /* of a gc that died over it */
	if (bytes > 0)
		ws_gc_item_add(run, "leftover", id, WS_GC_REMOVED, bytes,
			       "the session has expired");
}

/* A folder without a record: a spec somebody has put there, or a create that died. */
static void end_half_made(struct ws_gc_run *run, int sessions, const char *id)
{
	WS_AUTO_CLOSE int dir = ws_open_dir(sessions, id);
	WS_AUTO_CLOSE int lock = -1;

	if (dir < 0 || !ws_gc_is_old(run->now, changed(sessions, id), ABANDONED_S) ||
	    !ws_gc_is_old(run->now, changed(dir, "config.json"), ABANDONED_S))
		return;
	lock = ws_lock_open(dir, "lock");
	if (lock < 0 || ws_lock_try(lock, true) < 0 ||
	    faccessat(dir, "state.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return;
	for (size_t i = 0; i < EDITS; i++) {
		if (ws_session_is_half_made(dir) || !strcmp(contents[i], "work") ||
		    ws_dir_is_empty(dir, contents[i], !strcmp(contents[i], "upper")))
			continue;
		ws_gc_item_add(
			run, "session", id, WS_GC_LEFT, 0,
			"it has files, but no record: wsiso delete -f %s removes it", id);
		return;
	}
	remove_folder(run, sessions, "leftover", id, "nobody made a session of it");
}

/* What it stands on by then is marked besides: the next run removes what it stood on. */
static void flatten(struct ws_gc_run *run, const struct ws_session *s)
{
	WS_AUTO(ws_session) struct ws_session now = WS_SESSION_INIT;
	struct ws_err err = WS_ERR_INIT;
	size_t n = 0;

	if (run->opts->dry_run || s->stack.n <= WS_FLATTEN_FROM || ws_gc_time_over(run))
		return;
	if (ws_flatten(run->root, s->id, &n, &err) < 0 ||
	    ws_session_open_record(run->root, s->id, &now, &err) < 0) {
		ws_gc_item_add(run, "session", s->id, WS_GC_LEFT, 0,
			       "its layers could not be made fewer: %s", err.msg);
		return;
	}
	ws_debug("session '%s' stands on %zu layers fewer", s->id, n);
	mark(run, &now);
}

/* A second name goes with the session. */
static void end_name(struct ws_gc_run *run, int sessions, const char *id)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	struct ws_err err = WS_ERR_INIT;

	if (ws_session_open_record(run->root, id, &s, &err) < 0 &&
	    (err.kind == WS_SESSION_MISSING || err.kind == WS_SESSION_EXPIRED))
		remove_folder(run, sessions, "leftover", id,
			      "the session that it was a second name of is gone");
}

static void see(struct ws_gc_run *run, int sessions, const char *id)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	struct ws_err err = WS_ERR_INIT;

	if (ws_session_open_name(run->root, id, &s, &err) == 0) {
		if (s.alias)
			end_name(run, sessions, id);
		else if (judge(run, &s)) {
			mark(run, &s);
			flatten(run, &s);
		}
	} else if (err.kind == WS_SESSION_EXPIRED) {
		end_tombstone(run, sessions, id);
	} else if (err.kind == WS_SESSION_MISSING) {
		end_half_made(run, sessions, id);
	} else if (err.kind != WS_USAGE) {
		run->unsure = true;
		ws_gc_item_add(run, "session", id, WS_GC_LEFT, 0,
			       "%s; nothing that sessions share is removed", err.msg);
	}
}

static void settle(struct ws_gc_run *run)
{
	ws_refs_settle(&run->layers);
	ws_refs_settle(&run->homes);
	ws_refs_settle(&run->snapshots);
	ws_refs_settle(&run->pools);
}

static void mark_one(void *arg, const struct ws_session *s)
{
	mark(arg, s);
}

bool ws_gc_mark_again(struct ws_gc_run *run)
{
	struct ws_err err = WS_ERR_INIT;
	int rc = ws_users_visit(run->root, true, mark_one, run, &err);

	settle(run);
	return rc == 0;
}

int ws_gc_sessions(struct ws_gc_run *run, struct ws_err *err)
{
	WS_AUTO_CLOSE int sessions = ws_root_dir(run->root, "sessions", err);
	WS_AUTO(ws_strv) struct ws_strv ids = WS_STRV_INIT;

	if (sessions < 0 || ws_dir_list(sessions, ".", &ids, err) < 0)
		return -1;
	for (size_t i = 0; i < ids.n; i++)
		see(run, sessions, ids.v[i]);
	settle(run);
	return 0;
}
