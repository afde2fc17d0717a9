/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gc_setups.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ws_gc_setups_release(struct ws_gc_setups *all)
{
	for (size_t i = 0; i < all->n; i++)
		ws_setup_release(&all->v[i].s);
	ws_freep(&all->v);
	ws_refs_release(&all->layers);
}

/* ---- mark ---- */

static int by_age(const void *a, const void *b)
{
	uint64_t x = ((const struct ws_gc_setup *)a)->last;
	uint64_t y = ((const struct ws_gc_setup *)b)->last;

	return (x > y) - (x < y);
}

static void add(struct ws_gc_setups *all, const char *key)
{
	struct ws_gc_setup one = { .s = WS_SETUP_INIT };
	struct ws_err err = WS_ERR_INIT;
	int rc = ws_setup_load(all->run->root, key, &one.s, &err);

	if (rc < 0) {
		all->unsure = true;
		ws_gc_item_add(all->run, "setup", key, WS_GC_LEFT, 0,
			       "%s; no layer is removed", err.msg);
	}
	if (rc <= 0)
		return;
	one.last = ws_setup_last_use(all->run->root, &one.s);
	all->v = ws_grow(all->v, all->n + 1, sizeof(*all->v));
	all->v[all->n++] = one;
	if (one.s.layer)
		ws_refs_add(&all->layers, one.s.layer);
}

int ws_gc_setups_read(struct ws_gc_run *run, struct ws_gc_setups *ret, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv keys = WS_STRV_INIT;

	ret->run = run;
	if (ws_setup_list(run->root, &keys, err) < 0)
		return -1;
	for (size_t i = 0; i < keys.n; i++)
		add(ret, keys.v[i]);
	ws_refs_settle(&ret->layers);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_age);
	return 0;
}

/* ---- sweep ---- */

static bool is_used(const struct ws_gc_setups *all, const struct ws_gc_setup *one)
{
	return one->s.layer && ws_refs_count(&all->run->layers, one->s.layer) > 0;
}

/* A touch since this run began is the sign of one who counts on it. */
static bool is_unchanged(const struct ws_gc_setups *all, const struct ws_gc_setup *one)
{
	uint64_t now = ws_setup_last_use(all->run->root, &one->s);

	return now == one->last && ws_gc_is_older(all->run, now);
}

/* False: somebody makes or takes it right now, or it could not be removed. */
static bool remove_it(struct ws_gc_setups *all, struct ws_gc_setup *one, const char *why)
{
	struct ws_gc_run *run = all->run;
	struct ws_err err = WS_ERR_INIT;
	WS_AUTO_CLOSE int lock = ws_setup_lock(run->root, one->s.key, true, 0, &err);

	if (lock < 0 || !is_unchanged(all, one))
		return false;
	if (!run->opts->dry_run && ws_setup_remove(run->root, &one->s, &err) < 0) {
		ws_gc_item_add(run, "setup", one->s.key, WS_GC_LEFT, 0, "%s", err.msg);
		return false;
	}
	one->gone = true;
	ws_gc_item_add(run, "setup", one->s.key, WS_GC_REMOVED, one->s.bytes,
		       "%s of '%s' at %.12s: %s", one->s.name, one->s.repo,
		       one->s.revision ? one->s.revision : "", why);
	return true;
}

/* Why it is nothing worth keeping, whoever may ask for it; NULL: it is. */
static const char *find_fault(const struct ws_gc_setups *all,
			      const struct ws_gc_setup *one)
{
	const struct ws_gc_run *run = all->run;

	if (ws_setup_has_failed(&one->s))
		return ws_gc_is_old(run->now, one->s.finished,
				    run->spec.project_setup.failed_ttl_s)
			       ? "it failed long ago"
			       : NULL;
	if (!strcmp(one->s.state, "running"))
		return "whoever made it is gone";
	return ws_setup_is_done(run->root, &one->s) ? NULL : "its layer is gone";
}

/* What the repo of ONE has in all. */
static uint64_t bytes_of(const struct ws_gc_setups *all, const struct ws_gc_setup *one)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < all->n; i++)
		if (!all->v[i].gone && !strcmp(all->v[i].s.repo, one->s.repo))
			sum += all->v[i].s.bytes;
	return sum;
}

static void keep_budgets(struct ws_gc_setups *all)
{
	uint64_t budget = all->run->spec.project_setup.cache_budget_bytes;

	for (size_t i = 0; i < all->n && !ws_gc_time_over(all->run); i++) {
		struct ws_gc_setup *one = &all->v[i];

		if (!one->gone && one->s.bytes && !is_used(all, one) &&
		    bytes_of(all, one) > budget)
			remove_it(all, one, "its repository has more than its budget");
	}
}

void ws_gc_setups_clean(struct ws_gc_setups *all)
{
	for (size_t i = 0; i < all->n && !ws_gc_time_over(all->run); i++) {
		const char *fault = find_fault(all, &all->v[i]);

		if (fault && !is_used(all, &all->v[i]))
			remove_it(all, &all->v[i], fault);
	}
	keep_budgets(all);
}

bool ws_gc_setups_evict(struct ws_gc_setups *all, uint64_t before)
{
	for (size_t i = 0; i < all->n && all->v[i].last < before; i++) {
		struct ws_gc_setup *one = &all->v[i];

		if (ws_gc_time_over(all->run))
			return false;
		if (!one->gone && one->s.bytes && !is_used(all, one) &&
		    remove_it(all, one, "no session has it, and the disk is full"))
			return true;
	}
	return false;
}
