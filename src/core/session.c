/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/jsonw.h"
#include "base/lock.h"

#define ID_MAX 128
#define STATE_FILE "state.json"
#define TOMB_FILE "expired.json" /* state.json, renamed */
#define SPEC_FILE "config.json"
#define LOCK_FILE "lock"
#define USED_FILE "used"
#define SEEN_FILE "seen"
#define MARK_FILE "making"
#define MARK_MAX 4096
#define STATE_MAX (4u << 20)
#define MUTEX_TIMEOUT_MS 15000

static const struct ws_json_field session_fields[] = {
	WS_FIELD(ws_session, version, U64, true),
	WS_FIELD(ws_session, status, STRING, true),
	WS_FIELD(ws_session, cause_kind, STRING, false),
	WS_FIELD(ws_session, cause, STRING, false),
	WS_FIELD(ws_session, created, U64, true),
	WS_FIELD(ws_session, owner, STRING, false),
	WS_FIELD(ws_session, bundle, STRING, false),
	WS_FIELD(ws_session, parent, STRING, false),
	WS_FIELD(ws_session, parent_created, U64, false),
	WS_FIELD(ws_session, copied, BOOL, false),
	WS_FIELD(ws_session, torn, BOOL, false),
	WS_FIELD(ws_session, forked, BOOL, false),
	WS_FIELD(ws_session, frozen, U64, false),
	WS_FIELD(ws_session, home, STRING, false),
	WS_FIELD(ws_session, alias, STRING, false),
	WS_FIELD(ws_session, alias_created, U64, false),
	WS_FIELD(ws_session, kind, STRING, false),
	WS_FIELD(ws_session, profile, STRING, false),
	WS_FIELD(ws_session, network, STRING, false),
	WS_FIELD(ws_session, hold, STRING, false),
	WS_FIELD(ws_session, launch_dir, STRING, false),
	WS_FIELD(ws_session, stack, STRV, false),
	WS_FIELD(ws_session, merged, STRV, false),
	WS_FIELD(ws_session, merging, STRV, false),
	WS_FIELD(ws_session, merge_layer, STRING, false),
	WS_FIELD(ws_session, incoming, STRING, false),
	WS_FIELD(ws_session, arrived, STRING, false),
	{ 0 },
};

static const struct ws_json_field repo_fields[] = {
	WS_FIELD(ws_session_repo, name, STRING, true),
	WS_FIELD(ws_session_repo, path, STRING, true),
	WS_FIELD(ws_session_repo, vcs, STRING, true),
	WS_FIELD(ws_session_repo, revision, STRING, false),
	WS_FIELD(ws_session_repo, branch, STRING, false),
	WS_FIELD(ws_session_repo, snapshot, STRING, false),
	WS_FIELD(ws_session_repo, pool, STRING, false),
	WS_FIELD(ws_session_repo, setup, STRING, false),
	WS_FIELD(ws_session_repo, live, BOOL, false),
	{ 0 },
};

int ws_session_check_id(const char *id, struct ws_err *err)
{
	size_t len = id ? strlen(id) : 0;
	bool good = len > 0 && len <= ID_MAX && isalnum((unsigned char)id[0]);

	for (size_t i = 0; good && i < len; i++)
		good = isalnum((unsigned char)id[i]) || strchr("_.-", id[i]);
	if (good)
		return 0;
	ws_fail(err, WS_USAGE, "'%.140s' is no session id", id ? id : "");
	return ws_hint(
		err,
		"an id is a letter or digit, then up to 127 letters, digits, '_', '.' "
		"or '-'");
}

void ws_session_release(struct ws_session *s)
{
	for (size_t i = 0; i < s->nrepos; i++)
		ws_json_release(repo_fields, &s->repos[i]);
	ws_freep(&s->repos);
	ws_json_release(session_fields, s);
	ws_spec_release(&s->spec);
	ws_closep(&s->dir);
	ws_freep(&s->id);
	ws_freep(&s->name);
	ws_freep(&s->path);
	ws_freep(&s->below);
}

void ws_session_layers(const struct ws_session *s, struct ws_strv *ret)
{
	ws_strv_extend(ret, &s->stack);
	ws_strv_extend(ret, &s->merged);
	ws_strv_extend(ret, &s->merging);
	if (s->incoming)
		ws_strv_push(ret, s->incoming);
}

void ws_session_copy_repos(const struct ws_session *from, struct ws_session *to)
{
	to->repos = ws_alloc((from->nrepos + 1) * sizeof(*to->repos));
	for (; to->nrepos < from->nrepos; to->nrepos++)
		ws_json_copy(repo_fields, &from->repos[to->nrepos],
			     &to->repos[to->nrepos]);
}

static uint64_t ns_of(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int missing(const char *id, struct ws_err *err)
{
	ws_fail(err, WS_SESSION_MISSING, "there is no session '%s'", id);
	return ws_hint(err, "wsiso list shows the sessions, wsiso create makes one");
}

static int open_dir(const struct ws_root *root, const char *id, struct ws_err *err)
{
	WS_AUTO_FREE char *below = ws_format("sessions/%s", id);
	int fd = ws_open_dir(root->fd, below);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return missing(id, err);
	return ws_fail_errno(err, "open session '%s'", id);
}

static int decode_repos(const struct ws_json *doc, struct ws_session *s,
			struct ws_err *err)
{
	const struct ws_json *list = ws_json_get(doc, "repos");

	if (!list || list->type != WS_JSON_ARRAY)
		return 0;
	for (const struct ws_json *r = list->child; r; r = r->next) {
		s->repos = ws_grow(s->repos, s->nrepos + 1, sizeof(*s->repos));
		s->repos[s->nrepos] = (struct ws_session_repo){ 0 };
		s->nrepos++;
		if (ws_json_decode(r, repo_fields, &s->repos[s->nrepos - 1], err) < 0)
			return -1;
	}
	return 0;
}

static bool is_entry(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

/* Names in the record become paths: they may name nothing but an entry. */
static int check_names(const struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv layers = WS_STRV_INIT;

	ws_session_layers(s, &layers);
	for (size_t i = 0; i < layers.n; i++)
		if (!is_entry(layers.v[i]))
			return ws_fail(err, WS_STATE_CORRUPT, "bad layer name '%s'",
				       layers.v[i]);
	if (s->home && !is_entry(s->home))
		return ws_fail(err, WS_STATE_CORRUPT, "bad name of a HOME '%s'", s->home);
	if (s->alias && ws_session_check_id(s->alias, err) < 0) {
		err->kind = WS_STATE_CORRUPT;
		return -1;
	}
	if (s->frozen > s->stack.n)
		return ws_fail(err, WS_STATE_CORRUPT, "more uppers than layers");
	for (size_t i = 0; i < s->nrepos; i++) {
		const char *pool = s->repos[i].pool;

		if (pool && !is_entry(pool))
			return ws_fail(err, WS_STATE_CORRUPT, "bad pool name '%s'", pool);
	}
	return 0;
}

/* The inode first: a record that comes meanwhile is seen as another. */
static int read_record(struct ws_session *s, struct ws_buf *text, struct ws_err *err)
{
	struct stat st;

	if (fstatat(s->dir, STATE_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		s->record[0] = st.st_ino;
		s->record[1] = ns_of(st.st_ctim);
	}
	if (ws_read_file(s->dir, STATE_FILE, STATE_MAX, text) == 0)
		return 0;
	if (errno == ENOENT && ws_read_file(s->dir, TOMB_FILE, STATE_MAX, text) == 0 &&
	    fstatat(s->dir, TOMB_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		s->expired = ns_of(st.st_mtim);
		return 0;
	}
	return errno == ENOENT
		       ? missing(s->id, err)
		       : ws_fail_errno(err, "read the record of session '%s'", s->id);
}

static int read_state(struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (read_record(s, &text, err) < 0)
		return -1;
	if (ws_json_parse(STATE_FILE, text.data, text.len, &doc, err) < 0) {
		err->kind = WS_STATE_CORRUPT;
		return ws_fail_within(err, "session '%s'", s->id);
	}
	if (ws_json_int(doc, "version", 0) > WS_SESSION_VERSION)
		return ws_fail(err, WS_STATE_VERSION,
			       "session '%s' was made by a newer wsiso", s->id);
	if (ws_json_decode(doc, session_fields, s, err) < 0 ||
	    decode_repos(doc, s, err) < 0 || check_names(s, err) < 0)
		return ws_fail_within(err, "session '%s'", s->id);
	return 0;
}

int ws_session_read_spec(const struct ws_root *root, struct ws_session *s,
			 struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (ws_read_file(s->dir, SPEC_FILE, WS_JSON_MAX_SIZE, &text) < 0) {
		ws_fail_errno(err, "read '%s/" SPEC_FILE "'", s->path);
		err->kind = WS_STATE_CORRUPT;
		return -1;
	}
	if (ws_json_parse(SPEC_FILE, text.data, text.len, &doc, err) < 0)
		return -1;
	if (ws_root_spec(root, doc, SPEC_FILE, false, &s->spec, err) < 0)
		return -1;
	if ((s->spec.mode == WS_MODE_HOST_READONLY) != (s->launch_dir != NULL)) {
		ws_fail(err, WS_SPEC_INVALID,
			"'mode' is not the one session '%s' was made with", s->id);
		return ws_hint(err, "make another session for another mode");
	}
	if (s->network)
		s->spec.sandbox.unshare_net = strcmp(s->network, "share") != 0;
	else if (s->spec.mode == WS_MODE_HOST_READONLY) /* what nobody has answered: no */
		s->spec.sandbox.unshare_net =
			s->spec.host_readonly.network != WS_NETWORK_SHARE;
	return 0;
}

static int open_record(const struct ws_root *root, const char *id, struct ws_session *ret,
		       struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;

	if (ws_session_check_id(id, err) < 0)
		return -1;
	s.id = ws_strdup(id);
	s.path = ws_format("%s/sessions/%s", root->path, id);
	s.dir = open_dir(root, id, err);
	if (s.dir < 0 || read_state(&s, err) < 0)
		return -1;
	*ret = s;
	s = WS_SESSION_INIT;
	return 0;
}

static int fail_expired(const struct ws_session *s, struct ws_err *err)
{
	char when[WS_TIME_LEN], used[WS_TIME_LEN];

	ws_clock_rfc3339(s->expired, when);
	ws_clock_rfc3339(ws_session_last_use(s), used);
	ws_fail(err, WS_SESSION_EXPIRED,
		"session '%s' expired: not used since %.19sZ, its edits were removed at %.19sZ",
		s->id, used, when);
	return ws_hint(err, "wsiso delete %s, then create it anew", s->id);
}

/* S, a second name, becomes the session that it is a name of. */
static int follow(const struct ws_root *root, struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session to = WS_SESSION_INIT;
	int rc = open_record(root, s->alias, &to, err);

	if (rc < 0 && err->kind != WS_SESSION_MISSING)
		return -1;
	if (rc < 0 || to.alias || to.created != s->alias_created) {
		ws_fail(err, WS_SESSION_MISSING,
			"session '%s' is a second name of '%s', which is gone", s->id,
			s->alias);
		return ws_hint(err, "wsiso delete %s", s->id);
	}
	to.name = ws_steal_ptr(&s->id);
	ws_session_release(s);
	*s = to;
	to = WS_SESSION_INIT;
	return 0;
}

static int open_session(const struct ws_root *root, const char *id, bool tombs, bool spec,
			struct ws_session *ret, struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;

	if (open_record(root, id, &s, err) < 0 || (s.alias && follow(root, &s, err) < 0))
		return -1;
	if (s.expired && !tombs)
		return fail_expired(&s, err);
	if (spec && ws_session_read_spec(root, &s, err) < 0)
		return -1;
	*ret = s;
	s = WS_SESSION_INIT;
	return 0;
}

int ws_session_open_record(const struct ws_root *root, const char *id,
			   struct ws_session *ret, struct ws_err *err)
{
	return open_session(root, id, false, false, ret, err);
}

int ws_session_open_name(const struct ws_root *root, const char *id,
			 struct ws_session *ret, struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;

	if (open_record(root, id, &s, err) < 0)
		return -1;
	if (s.expired)
		return fail_expired(&s, err);
	*ret = s;
	s = WS_SESSION_INIT;
	return 0;
}

bool ws_session_is_fresh(const struct ws_session *s)
{
	struct stat st;

	return !s->record[0] ||
	       (fstatat(s->dir, STATE_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		st.st_ino == s->record[0] && ns_of(st.st_ctim) == s->record[1]);
}

/*
 * One that is shared was the parent's once: a fork that died before it had moved it has
 * left it there.
 */
char *ws_session_home(const struct ws_root *root, const struct ws_session *s)
{
	WS_AUTO_FREE char *shared = s->home ? ws_format("homes/%s", s->home) : NULL;

	if (shared && faccessat(root->fd, shared, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return ws_steal_ptr(&shared);
	return s->below ? ws_format("%s/home", s->below)
			: ws_format("sessions/%s/home", s->id);
}

int ws_session_open_any(const struct ws_root *root, const char *id,
			struct ws_session *ret, struct ws_err *err)
{
	return open_session(root, id, true, true, ret, err);
}

int ws_session_open(const struct ws_root *root, const char *id, struct ws_session *ret,
		    struct ws_err *err)
{
	return open_session(root, id, false, true, ret, err);
}

int ws_session_lock(const struct ws_root *root, const struct ws_session *s, int *ret_lock,
		    struct ws_err *err)
{
	WS_AUTO_FREE char *below =
		s->below ? ws_strdup(s->below) : ws_format("sessions/%s", s->id);
	WS_AUTO_CLOSE int fd = ws_lock_open(s->dir, LOCK_FILE);
	struct stat ours, named;

	if (fd < 0)
		return errno == ENOENT
			       ? missing(s->id, err)
			       : ws_fail_errno(err, "open the lock of session '%s'",
					       s->id);
	if (ws_lock_wait(fd, true, MUTEX_TIMEOUT_MS, s->id, err) < 0)
		return -1;
	if (fstat(s->dir, &ours) < 0)
		return ws_fail_errno(err, "look at session '%s'", s->id);
	if (fstatat(root->fd, below, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	    named.st_ino != ours.st_ino || named.st_dev != ours.st_dev)
		return missing(s->id, err);
	*ret_lock = ws_steal_fd(&fd);
	return 0;
}

bool ws_session_is_run(const struct ws_session *s)
{
	return s->kind && strcmp(s->kind, "run") == 0;
}

int ws_session_check_workspace(const struct ws_session *s, struct ws_err *err)
{
	if (!ws_session_is_run(s))
		return 0;
	ws_fail(err, WS_USAGE, "'%s' is no session but a sandbox for one command", s->id);
	return ws_hint(err, "wsiso run --id %s starts one with its HOME", s->id);
}

int ws_session_save(const struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_unsynced) struct ws_unsynced nothing = WS_UNSYNCED_INIT;

	return ws_session_save_after(s, &nothing, err);
}

int ws_session_save_after(const struct ws_session *s, struct ws_unsynced *before,
			  struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &text, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_fields(&w, session_fields, s);
	ws_jsonw_array(&w, "repos");
	for (size_t i = 0; i < s->nrepos; i++) {
		ws_jsonw_object(&w, NULL);
		ws_jsonw_fields(&w, repo_fields, &s->repos[i]);
		ws_jsonw_end(&w, '}');
	}
	ws_jsonw_end(&w, ']');
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	return ws_write_after(s->dir, STATE_FILE, &text, before, err);
}

int ws_session_mark(int dir, const char *text)
{
	WS_AUTO_CLOSE int fd = -1;

	if (!text)
		return unlinkat(dir, MARK_FILE, 0);
	fd = openat(dir, MARK_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	return fd < 0 ? -1 : ws_write_all(fd, text, strlen(text));
}

int ws_session_read_mark(int dir, struct ws_buf *ret)
{
	return ws_session_is_half_made(dir) ? ws_read_file(dir, MARK_FILE, MARK_MAX, ret)
					    : -1;
}

bool ws_session_is_half_made(int dir)
{
	return faccessat(dir, MARK_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       faccessat(dir, "sandbox.json", F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

void ws_session_touch(const struct ws_session *s)
{
	WS_AUTO_CLOSE int fd = -1;

	if (utimensat(s->dir, USED_FILE, NULL, AT_SYMLINK_NOFOLLOW) == 0 ||
	    errno != ENOENT)
		return;
	fd = openat(s->dir, USED_FILE, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

uint64_t ws_session_last_use(const struct ws_session *s)
{
	struct stat st;

	if (fstatat(s->dir, USED_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return s->created;
	return ns_of(st.st_mtim);
}

/* ---- the end of a session nobody uses ---- */

/* Ten thousand specs are not parsed for keys that hardly one has. */
static bool may_say(const char *text)
{
	static const char *const keys[] = { "_ttl", "cleanup_interval", "min_free_gb",
					    "cache_budget_bytes",
					    "\\" /* any name may be escaped */ };

	for (size_t i = 0; i < WS_ARRAY_SIZE(keys); i++)
		if (strstr(text, keys[i]))
			return true;
	return false;
}

int ws_session_keeping(const struct ws_root *root, const struct ws_session *s,
		       struct ws_spec *ret, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (ws_read_file(s->dir, SPEC_FILE, WS_JSON_MAX_SIZE, &text) < 0)
		return ws_fail_errno(err, "read '%s/" SPEC_FILE "'", s->path);
	if (!may_say(ws_buf_str(&text)))
		return 0;
	if (ws_json_parse(SPEC_FILE, text.data, text.len, &doc, err) < 0 ||
	    ws_root_spec(root, doc, SPEC_FILE, false, ret, err) < 0)
		return ws_fail_within(err, "session '%s'", s->id);
	return 1;
}

void ws_session_sighting(const struct ws_session *s, uint64_t *ret_wall_ns,
			 uint64_t *ret_boot_ms)
{
	struct stat st;

	*ret_wall_ns = *ret_boot_ms = 0;
	if (fstatat(s->dir, SEEN_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	*ret_wall_ns = ns_of(st.st_mtim);
	*ret_boot_ms = ns_of(st.st_atim) / 1000000u;
}

int ws_session_sight(const struct ws_session *s, uint64_t wall_ns, uint64_t boot_ms)
{
	const struct timespec times[2] = {
		{ (time_t)(boot_ms / 1000), (long)(boot_ms % 1000) * 1000000 },
		{ (time_t)(wall_ns / 1000000000u), (long)(wall_ns % 1000000000u) },
	};
	WS_AUTO_CLOSE int fd = openat(s->dir, SEEN_FILE,
				      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -1 : futimens(fd, times);
}

int ws_session_bury(const struct ws_session *s, struct ws_err *err)
{
	if (utimensat(s->dir, STATE_FILE, NULL, AT_SYMLINK_NOFOLLOW) < 0 ||
	    renameat(s->dir, STATE_FILE, s->dir, TOMB_FILE) < 0 || fsync(s->dir) < 0)
		return ws_fail_errno(err, "bury session '%s'", s->id);
	return 0;
}

/* ---- all of them ---- */

static bool has_record(int sessions, const char *id, const char *file)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s", id, file);

	return faccessat(sessions, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int ws_session_list(const struct ws_root *root, bool tombs, struct ws_strv *ret,
		    struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = ws_open_dir(root->fd, "sessions");
	DIR *d;
	const struct dirent *e;

	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : ws_fail_errno(err, "open '%s/sessions'", root->path);
	d = fdopendir(fd);
	if (!d)
		return ws_fail_errno(err, "read '%s/sessions'", root->path);
	fd = -1; /* closedir's */
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' &&
		    (has_record(dirfd(d), e->d_name, STATE_FILE) ||
		     (tombs && has_record(dirfd(d), e->d_name, TOMB_FILE))))
			ws_strv_push(ret, e->d_name);
	closedir(d);
	ws_strv_sort(ret);
	return 0;
}
