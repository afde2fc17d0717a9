/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gc.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/log.h"
#include "core/gc_run.h"

#define LOCK_FILE "gc"

static const char *const action_names[] = {
	[WS_GC_REMOVED] = "removed",
	[WS_GC_NOTED] = "noted",
	[WS_GC_LEFT] = "left",
};

const char *ws_gc_action_name(enum ws_gc_action action)
{
	return action_names[action];
}

void ws_gc_report_release(struct ws_gc_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		ws_freep(&r->v[i].id);
		ws_freep(&r->v[i].reason);
	}
	ws_freep(&r->v);
}

static void run_release(struct ws_gc_run *run)
{
	ws_refs_release(&run->layers);
	ws_refs_release(&run->homes);
	ws_refs_release(&run->snapshots);
	ws_refs_release(&run->pools);
	ws_spec_release(&run->spec);
}

bool ws_gc_time_over(struct ws_gc_run *run)
{
	if (run->report->complete)
		run->report->complete = ws_clock_mono_ms() < run->deadline_ms;
	return !run->report->complete;
}

bool ws_gc_is_older(const struct ws_gc_run *run, uint64_t ns)
{
	const struct timespec *began = &run->began;

	return ns < (uint64_t)began->tv_sec * 1000000000u + (uint64_t)began->tv_nsec;
}

bool ws_gc_is_short_of_space(const struct ws_gc_run *run)
{
	uint64_t left;

	return ws_fs_free(run->root->fd, &left) == 0 &&
	       (double)left < run->spec.snapshots.min_free_gb * 1e9;
}

void ws_gc_item_add(struct ws_gc_run *run, const char *kind, const char *id,
		    enum ws_gc_action action, uint64_t bytes, const char *reason, ...)
{
	struct ws_gc_report *r = run->report;
	va_list ap;

	va_start(ap, reason);
	r->v = ws_grow(r->v, r->n + 1, sizeof(*r->v));
	r->v[r->n++] = (struct ws_gc_item){ .kind = kind,
					    .id = ws_strdup(id),
					    .action = action,
					    .reason = ws_vformat(reason, ap),
					    .bytes = bytes };
	va_end(ap);
	if (action == WS_GC_REMOVED)
		r->bytes += bytes;
	if (run->opts->on_item)
		run->opts->on_item(kind, id);
}

/* ---- what counts ---- */

/* Has wsiso.json the key NAME, of the object SECTION, NULL: of the whole? */
static bool root_says(const struct ws_json *doc, const char *section, const char *name)
{
	if (doc && section)
		doc = ws_json_get(doc, section);
	return doc && ws_json_get(doc, name);
}

static int read_root_spec(struct ws_gc_run *run, struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (ws_root_spec(run->root, NULL, NULL, false, &run->spec, err) < 0 ||
	    ws_root_file(run->root, &doc, err) < 0)
		return -1;
	run->root_says_ttl = root_says(doc, NULL, "workspace_ttl");
	run->root_says_free = root_says(doc, "snapshots", "min_free_gb");
	run->root_says_budget = root_says(doc, "project_setup", "cache_budget_bytes");
	run->root_says_failed = root_says(doc, "project_setup", "failed_ttl_s");
	return 0;
}

void ws_gc_heed(struct ws_gc_run *run, const struct ws_spec *session)
{
	struct ws_spec *mine = &run->spec;

	if (!run->root_says_ttl && session->workspace_ttl > mine->workspace_ttl)
		mine->workspace_ttl = session->workspace_ttl;
	if (!run->root_says_free &&
	    session->snapshots.min_free_gb < mine->snapshots.min_free_gb)
		mine->snapshots.min_free_gb = session->snapshots.min_free_gb;
	if (!run->root_says_budget && session->project_setup.cache_budget_bytes >
					      mine->project_setup.cache_budget_bytes)
		mine->project_setup.cache_budget_bytes =
			session->project_setup.cache_budget_bytes;
	if (!run->root_says_failed &&
	    session->project_setup.failed_ttl_s > mine->project_setup.failed_ttl_s)
		mine->project_setup.failed_ttl_s = session->project_setup.failed_ttl_s;
}

/* ---- may it run ---- */

/* 1: the lock is held; 0: not due, or another is at it and that is no matter. */
static int begin(struct ws_gc_run *run, int *ret_lock, struct ws_err *err)
{
	WS_AUTO_CLOSE int lock = -1;
	struct stat st;

	/* its time stamp is the end of the last run: a new one has never run */
	lock = openat(run->root->fd, LOCK_FILE,
		      O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock >= 0)
		futimens(lock, (struct timespec[2]){ { 0 } });
	else if (errno == EEXIST)
		lock = ws_lock_open(run->root->fd, LOCK_FILE);
	if (lock < 0)
		return ws_fail_errno(err, "open '%s/" LOCK_FILE "'", run->root->path);
	if (ws_lock_try(lock, true) < 0) {
		if (run->opts->if_due)
			return 0;
		return ws_fail(err, WS_SESSION_BUSY, "another gc is at work in '%s'",
			       run->root->path);
	}
	if (fstat(lock, &st) < 0)
		return ws_fail_errno(err, "look at '%s/" LOCK_FILE "'", run->root->path);
	if (run->opts->if_due &&
	    !ws_gc_is_due(run->now, (uint64_t)st.st_mtim.tv_sec * 1000000000u,
			  run->spec.snapshots.cleanup_interval))
		return 0;
	/* the filesystem's idea of now, which is that of all other time stamps in it */
	if (futimens(lock, (struct timespec[2]){ { .tv_nsec = UTIME_NOW },
						 { .tv_nsec = UTIME_OMIT } }) < 0 ||
	    fstat(lock, &st) < 0)
		return ws_fail_errno(err, "mark '%s/" LOCK_FILE "'", run->root->path);
	run->began = st.st_atim;
	*ret_lock = ws_steal_fd(&lock);
	return 1;
}

/* ---- what it does ---- */

/* Half-made and half-deleted things. */
static void sweep(struct ws_gc_run *run)
{
	struct ws_root_swept swept = { .look_only = run->opts->dry_run };

	ws_root_sweep(run->root, &swept);
	for (size_t i = 0; i < swept.names.n; i++)
		ws_gc_item_add(run, "leftover", swept.names.v[i], WS_GC_REMOVED,
			       i == 0 ? swept.bytes : 0,
			       "whoever made or deleted it is gone");
	ws_strv_release(&swept.names);
}

static int work(struct ws_gc_run *run, struct ws_err *err)
{
	sweep(run);
	if (ws_gc_sessions(run, err) < 0 || ws_gc_store(run, err) < 0)
		return -1;
	if (ws_fs_free(run->root->fd, &run->report->free) < 0)
		return ws_fail_errno(err, "look for free space in '%s'", run->root->path);
	return 0;
}

static void warn_of_space(const struct ws_gc_run *run)
{
	double wanted = run->spec.snapshots.min_free_gb * 1e9;

	if ((double)run->report->free < wanted)
		ws_warn("%.1f GB are free where '%s' is, fewer than snapshots.min_free_gb (%g); "
			"what is left is in use",
			(double)run->report->free / 1e9, run->root->path,
			run->spec.snapshots.min_free_gb);
}

int ws_gc(const struct ws_root *root, const struct ws_gc_opts *opts,
	  struct ws_gc_report *ret, struct ws_err *err)
{
	__attribute__((cleanup(run_release))) struct ws_gc_run run = {
		.root = root,
		.opts = opts,
		.report = ret,
		.now = { ws_clock_wall_ns(), ws_clock_boot_ms() },
		.deadline_ms = UINT64_MAX,
	};
	WS_AUTO_CLOSE int lock = -1;
	int rc;

	if (opts->max_seconds && opts->max_seconds < UINT32_MAX)
		run.deadline_ms = ws_clock_mono_ms() + opts->max_seconds * 1000;
	ret->complete = true;
	if (read_root_spec(&run, err) < 0)
		return -1;
	rc = begin(&run, &lock, err);
	if (rc <= 0)
		return rc;
	ret->ran = true;
	if (work(&run, err) < 0)
		return -1;
	warn_of_space(&run);
	if (!opts->dry_run && ret->complete)
		futimens(lock, (struct timespec[2]){ { .tv_nsec = UTIME_OMIT },
						     { .tv_nsec = UTIME_NOW } });
	return 0;
}
