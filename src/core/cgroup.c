/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/text.h"

#define PREFIX "wsiso."
#define LEAF "wsiso-callers" /* where wsiso itself goes if it was alone */
#define FILE_MAX 65536
#define PROCS_MAX (4u << 20)
#define CPU_PERIOD 100000 /* microseconds, as the row of cpu.max has it */
#define CPU_QUOTA_MIN 1000
#define REMOVE_TIMEOUT_MS 2000
#define SWEEP_AFTER_S 60

/* Where cgroup v2 is, alone or beside v1. */
static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

/* What is asked for, as the kernel counts it; 0: nothing. */
static uint64_t memory_of(const struct ws_spec_limits *l)
{
	return l->memory_max;
}

static uint64_t pids_of(const struct ws_spec_limits *l)
{
	return l->pids_max;
}

static uint64_t cpu_of(const struct ws_spec_limits *l)
{
	double quota = l->cpu_max * CPU_PERIOD;

	if (l->cpu_max <= 0)
		return 0;
	return quota < CPU_QUOTA_MIN ? CPU_QUOTA_MIN : (uint64_t)quota;
}

/* The files of the limits; what is swapped out is memory too. */
static const struct {
	const char *controller, *file;
	const char *key; /* in the receipt, or NULL */
	uint64_t (*asked)(const struct ws_spec_limits *l);
	const char *instead, *after; /* written in place of the number, or after it */
	bool optional;		     /* a kernel without swap has no such file */
} rows[] = {
	{ "memory", "memory.max", "memory_max", memory_of },
	{ "memory", "memory.swap.max", NULL, memory_of, .instead = "0",
	  .optional = true },
	{ "pids", "pids.max", "pids_max", pids_of },
	{ "cpu", "cpu.max", "cpu_max", cpu_of, .after = " 100000" },
};

bool ws_cgroup_wanted(const struct ws_spec_limits *limits)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(rows); i++)
		if (rows[i].asked(limits))
			return true;
	return false;
}

static int refuse(struct ws_err *err)
{
	ws_fail_within(err, "limits of a whole session");
	err->kind = WS_LIMITS_UNAVAILABLE;
	return ws_hint(
		err,
		"start the caller with systemd-run --user --scope -p Delegate=yes " PKGDATADIR
		"/in-leaf COMMAND, or as a service with Delegate=yes and "
		"DelegateSubgroup= (contrib/systemd); or leave out limits.memory_max, "
		"pids_max and cpu_max");
}

/* ---- files of a cgroup ---- */

static int read_at(const char *dir, const char *name, size_t max, struct ws_buf *out)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s", dir, name);
	WS_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -1 : ws_read_fd(fd, max, out);
}

static int open_for_writing(const char *dir, const char *name)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s", dir, name);

	return open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* The kernel takes a value in one write or not at all. */
static int write_at(const char *dir, const char *name, const char *text)
{
	WS_AUTO_CLOSE int fd = open_for_writing(dir, name);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

/* Is WORD one of those in the file (divided by blanks)? */
static bool has_word(const char *dir, const char *name, const char *word)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	char *rest = NULL;

	if (read_at(dir, name, FILE_MAX, &text) < 0 || !text.len)
		return false;
	for (char *p = strtok_r(text.data, " \n", &rest); p;
	     p = strtok_r(NULL, " \n", &rest))
		if (strcmp(p, word) == 0)
			return true;
	return false;
}

/* ---- the one below which sessions get theirs ---- */

static const char *find_mount(void)
{
	char type[32];

	for (size_t i = 0; i < WS_ARRAY_SIZE(mounts); i++) {
		WS_AUTO_CLOSE int fd =
			open(mounts[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0 && strcmp(ws_fs_type(fd, type), "cgroup2") == 0)
			return mounts[i];
	}
	return NULL;
}

/* The caller's own, as a path below MOUNT. */
static char *find_own(const char *mount, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	char *line, *end;

	if (read_at("/proc/self", "cgroup", FILE_MAX, &text) < 0 ||
	    !(line = strstr(ws_buf_str(&text), "0::/"))) {
		ws_fail(err, WS_LIMITS_UNAVAILABLE, "this process is in no cgroup v2");
		return NULL;
	}
	line += strlen("0::");
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	if (strstr(line, "/..")) { /* of another cgroup namespace */
		ws_fail(err, WS_LIMITS_UNAVAILABLE,
			"the cgroup of this process cannot be seen from here");
		return NULL;
	}
	return ws_format("%s%s", mount, strcmp(line, "/") == 0 ? "" : line);
}

static bool is_ours(const char *dir)
{
	static const char *const files[] = { "", "cgroup.procs",
					     "cgroup.subtree_control" };

	for (size_t i = 0; i < WS_ARRAY_SIZE(files); i++) {
		WS_AUTO_FREE char *path = ws_format("%s/%s", dir, files[i]);

		if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
			return false;
	}
	return true;
}

enum crowd { NOBODY, ALONE, OTHERS };

/* Who is in DIR itself, not below? */
static enum crowd who_is_in(const char *dir)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_FREE char *self = ws_format("%d\n", (int)getpid());

	if (read_at(dir, "cgroup.procs", PROCS_MAX, &text) < 0)
		return OTHERS;
	if (!text.len)
		return NOBODY;
	return strcmp(text.data, self) == 0 ? ALONE : OTHERS;
}

static const char *missing_controller(const char *dir, const char *file,
				      const struct ws_spec_limits *limits)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(rows); i++)
		if (rows[i].asked(limits) && !has_word(dir, file, rows[i].controller))
			return rows[i].controller;
	return NULL;
}

/* Can sessions have theirs below DIR? MOVE: is wsiso itself to make room there? */
static int is_base(const char *dir, const struct ws_spec_limits *limits, bool *ret_move,
		   struct ws_err *err)
{
	const char *lacks = missing_controller(dir, "cgroup.controllers", limits);
	enum crowd crowd = who_is_in(dir);

	*ret_move = false;
	if (lacks)
		return ws_fail(err, WS_LIMITS_UNAVAILABLE,
			       "cgroup '%s' was given no controller '%s'", dir, lacks);
	if (!missing_controller(dir, "cgroup.subtree_control", limits) || crowd == NOBODY)
		return 0;
	*ret_move = crowd == ALONE;
	if (crowd == ALONE)
		return 0;
	return ws_fail(err, WS_LIMITS_UNAVAILABLE,
		       "cgroup '%s' has processes of its own, beside which nothing can "
		       "be limited",
		       dir);
}

/* A cgroup that sessions can have theirs below, and the caller's own. */
struct base {
	char *path, *own;
	bool move; /* wsiso itself is to make room in it */
};

static void base_release(struct base *b)
{
	ws_freep(&b->path);
	ws_freep(&b->own);
}

#define AUTO_BASE __attribute__((cleanup(base_release))) struct base

/*
 * From our own cgroup upwards, as far as they are ours; one where we would have to move
 * is taken if there is no other. A slice is systemd's, though it may be this user's
 * instance of it.
 */
static int search(const char *mount, const struct ws_spec_limits *limits,
		  struct base *ret, struct ws_err *err)
{
	WS_AUTO_FREE char *dir = ws_strdup(ret->own);

	ws_fail(err, WS_LIMITS_UNAVAILABLE, "cgroup '%s' is not delegated to this user",
		dir);
	while (strlen(dir) >= strlen(mount) && !ws_text_ends(dir, ".slice") &&
	       is_ours(dir)) {
		bool move;

		if (is_base(dir, limits, &move, err) == 0 && (!move || !ret->path)) {
			free(ret->path);
			ret->path = ws_strdup(dir);
			ret->move = move;
			if (!move)
				break;
		}
		*strrchr(dir, '/') = '\0';
	}
	return ret->path ? 0 : refuse(err);
}

static int find_base(const struct ws_spec_limits *limits, struct base *ret,
		     struct ws_err *err)
{
	const char *mount = find_mount();

	if (!mount) {
		ws_fail(err, WS_LIMITS_UNAVAILABLE,
			"no cgroup v2 is mounted at /sys/fs/cgroup");
		return refuse(err);
	}
	ret->own = find_own(mount, err);
	return ret->own ? search(mount, limits, ret, err) : refuse(err);
}

int ws_cgroup_try(const struct ws_spec_limits *limits, char **ret_base,
		  struct ws_err *err)
{
	AUTO_BASE base = { 0 };

	if (find_base(limits, &base, err) < 0)
		return -1;
	*ret_base = ws_steal_ptr(&base.path);
	return 0;
}

/* ---- making one ---- */

static int fail_at(const char *what, const char *path, struct ws_err *err)
{
	ws_fail_errno(err, "%s cgroup '%s'", what, path);
	return refuse(err);
}

/* wsiso alone was in BASE: it goes into a leaf, which is its own cgroup from then on. */
static int make_room(struct base *base, struct ws_err *err)
{
	WS_AUTO_FREE char *leaf = ws_format("%s/" LEAF, base->path);

	if ((mkdir(leaf, 0755) < 0 && errno != EEXIST) ||
	    write_at(leaf, "cgroup.procs", "0") < 0)
		return fail_at("move into", leaf, err);
	free(base->own);
	base->own = ws_steal_ptr(&leaf);
	return 0;
}

static int enable(const char *base, const struct ws_spec_limits *limits,
		  struct ws_err *err)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(rows); i++) {
		WS_AUTO_FREE char *word = ws_format("+%s", rows[i].controller);

		if (!rows[i].asked(limits) ||
		    has_word(base, "cgroup.subtree_control", rows[i].controller))
			continue;
		if (write_at(base, "cgroup.subtree_control", word) < 0)
			return fail_at("share out the controllers of", base, err);
	}
	return 0;
}

/* What callers that were killed have left: nobody is in it, and nobody on his way. */
static void sweep(const char *base)
{
	DIR *d = opendir(base);
	const struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d))) {
		uint64_t now = ws_clock_wall_ns() / 1000000000u;

		if (ws_text_starts(e->d_name, PREFIX) &&
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (uint64_t)st.st_mtim.tv_sec + SWEEP_AFTER_S < now)
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
}

void ws_cgroup_release(struct ws_cgroup *cg)
{
	ws_closep(&cg->home);
	ws_freep(&cg->path);
}

int ws_cgroup_make(const struct ws_spec_limits *limits, const char *id,
		   struct ws_cgroup *ret, struct ws_err *err)
{
	AUTO_BASE base = { 0 };
	WS_AUTO_FREE char *path = NULL;
	WS_AUTO_CLOSE int home = -1;
	char random[17];

	if (find_base(limits, &base, err) < 0 ||
	    (base.move && make_room(&base, err) < 0) ||
	    enable(base.path, limits, err) < 0)
		return -1;
	sweep(base.path);
	home = open_for_writing(base.own, "cgroup.procs");
	if (home < 0)
		return fail_at("write to", base.own, err);
	ws_text_random(random, 8);
	path = ws_format("%s/" PREFIX "%s-%s", base.path, id, random);
	if (mkdir(path, 0755) < 0)
		return fail_at("make", path, err);
	if (write_at(path, "cgroup.procs", "0") < 0) {
		fail_at("enter", path, err);
		rmdir(path);
		return -1;
	}
	ret->path = ws_steal_ptr(&path);
	ret->home = ws_steal_fd(&home);
	return 0;
}

int ws_cgroup_leave(struct ws_cgroup *cg, struct ws_err *err)
{
	if (cg->home < 0)
		return 0;
	if (write(cg->home, "0", 1) != 1)
		return fail_at("leave", cg->path, err);
	ws_closep(&cg->home);
	return 0;
}

int ws_cgroup_limit(const char *path, const struct ws_spec_limits *limits,
		    struct ws_err *err)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(rows); i++) {
		uint64_t asked = rows[i].asked(limits);
		WS_AUTO_FREE char *value =
			rows[i].instead ? ws_strdup(rows[i].instead)
					: ws_format("%ju%s", (uintmax_t)asked,
						    rows[i].after ? rows[i].after : "");

		if (!asked || write_at(path, rows[i].file, value) == 0 ||
		    (rows[i].optional && errno == ENOENT))
			continue;
		ws_fail_errno(err, "write '%s' to '%s/%s'", value, path, rows[i].file);
		return refuse(err);
	}
	return 0;
}

/* ---- one that is there ---- */

/* One of ours: a record is not trusted further than that. */
static bool is_session(const char *path)
{
	const char *last = strrchr(path, '/');

	return ws_text_starts(path, "/sys/fs/cgroup/") && !strstr(path, "/../") && last &&
	       ws_text_starts(last + 1, PREFIX);
}

int ws_cgroup_open(const char *path, int *ret_procs, struct ws_err *err)
{
	errno = EINVAL;
	*ret_procs = is_session(path) ? open_for_writing(path, "cgroup.procs") : -1;
	return *ret_procs >= 0 ? 0 : ws_cgroup_closed(err);
}

int ws_cgroup_closed(struct ws_err *err)
{
	int error = errno;

	ws_fail_errno(err, "enter the session's cgroup");
	if (error == ENOENT || error == ENODEV) { /* it goes with its sandbox */
		err->kind = WS_SANDBOX_LOST;
		err->sys = ESRCH;
		return -1;
	}
	err->kind = WS_LIMITS_UNAVAILABLE;
	return ws_hint(err,
		       "call from the unit or scope in which the sandbox was started, "
		       "or end it with wsiso stop: the next exec starts one where it "
		       "is called");
}

void ws_cgroup_kill(const char *path)
{
	if (path && is_session(path) && write_at(path, "cgroup.kill", "1") < 0)
		ws_debug("kill cgroup '%s': %s", path, strerror(errno));
}

void ws_cgroup_remove(const char *path)
{
	uint64_t end = ws_clock_mono_ms() + REMOVE_TIMEOUT_MS;

	if (!path || !is_session(path))
		return;
	while (rmdir(path) < 0 && errno == EBUSY && ws_clock_mono_ms() < end)
		ws_clock_sleep_ms(5);
	if (faccessat(AT_FDCWD, path, F_OK, 0) == 0)
		ws_warn("cgroup '%s' cannot be removed: %s", path, strerror(errno));
}

uint64_t ws_cgroup_oom_kills(const char *path)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	const char *at;

	if (!path || read_at(path, "memory.events", FILE_MAX, &text) < 0)
		return 0;
	at = strstr(ws_buf_str(&text), "oom_kill ");
	return at ? strtoull(at + strlen("oom_kill "), NULL, 10) : 0;
}

void ws_cgroup_print(struct ws_jsonw *w, const char *key, const char *path)
{
	if (!path || !*path) {
		ws_jsonw_null(w, key);
		return;
	}
	ws_jsonw_object(w, key);
	for (size_t i = 0; i < WS_ARRAY_SIZE(rows); i++) {
		WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

		if (!rows[i].key)
			continue;
		if (read_at(path, rows[i].file, FILE_MAX, &text) < 0 || !text.len) {
			ws_jsonw_null(w, rows[i].key);
			continue;
		}
		text.data[strcspn(text.data, "\n")] = '\0';
		ws_jsonw_str(w, rows[i].key, text.data);
	}
	ws_jsonw_end(w, '}');
}
