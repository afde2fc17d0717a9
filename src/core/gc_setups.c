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

static bool is_used(const void *store, const void *thing)
{
	const struct ws_gc_setups *all = store;
	const struct ws_gc_setup *one = thing;

	return one->s.layer && ws_refs_count(&all->run->layers, one->s.layer) > 0;
}

/* A touch since this run began is the sign of one who counts on it. */
static int hold(const void *store, const void *thing)
{
	const struct ws_gc_setups *all = store;
	const struct ws_gc_setup *one = thing;
	struct ws_err err = WS_ERR_INIT;
	WS_AUTO_CLOSE int lock = ws_setup_lock(all->run->root, one->s.key, true, 0, &err);
	uint64_t now = ws_setup_last_use(all->run->root, &one->s);

	return now == one->last && ws_gc_is_older(all->run, now) ? ws_steal_fd(&lock)
								 : -1;
}

static void remove_it(void *store, void *thing, const char *why)
{
	struct ws_gc_setups *all = store;
	struct ws_gc_setup *one = thing;
	struct ws_gc_run *run = all->run;
	struct ws_err err = WS_ERR_INIT;

	if (!run->opts->dry_run && ws_setup_remove(run->root, &one->s, &err) < 0) {
		ws_gc_item_add(run, "setup", one->s.key, WS_GC_LEFT, 0, "%s", err.msg);
		return;
	}
	one->gone = true;
	ws_gc_item_add(run, "setup", one->s.key, WS_GC_REMOVED, one->s.bytes,
		       "%s of '%s' at %.12s: %s", one->s.name, one->s.repo,
		       one->s.revision ? one->s.revision : "", why);
}

static const struct ws_gc_sort faulty = {
	.hold = hold,
	.is_used = is_used,
	.remove = remove_it,
};

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

static bool is_over_budget(const void *store, const void *thing)
{
	const struct ws_gc_setups *all = store;

	return bytes_of(all, thing) > all->run->spec.project_setup.cache_budget_bytes;
}

static const struct ws_gc_sort over_budget = {
	.hold = hold,
	.is_used = is_used,
	.is_needed = is_over_budget,
	.remove = remove_it,
};

static void keep_budgets(struct ws_gc_setups *all, struct ws_gc_victims *victims)
{
	for (size_t i = 0; i < all->n && !ws_gc_time_over(all->run); i++) {
		struct ws_gc_setup *one = &all->v[i];

		if (!one->gone && one->s.bytes && !is_used(all, one) &&
		    is_over_budget(all, one))
			ws_gc_victims_add(victims, &over_budget, all, one,
					  "its repository has more than its budget");
	}
	ws_gc_victims_end(victims);
}

void ws_gc_setups_clean(struct ws_gc_setups *all)
{
	struct ws_gc_victims victims = { .run = all->run };

	for (size_t i = 0; i < all->n && !ws_gc_time_over(all->run); i++) {
		const char *fault = find_fault(all, &all->v[i]);

		if (fault && !is_used(all, &all->v[i]))
			ws_gc_victims_add(&victims, &faulty, all, &all->v[i], fault);
	}
	ws_gc_victims_end(&victims);
	keep_budgets(all, &victims);
}

/* ---- a disk that is full ---- */

static bool is_wanted(const void *store, const void *thing)
{
	const struct ws_gc_setups *all = store;

	(void)thing;
	return ws_gc_is_short_of_space(all->run);
}

static const struct ws_gc_sort spare = {
	.hold = hold,
	.is_used = is_used,
	.is_needed = is_wanted,
	.remove = remove_it,
};

size_t ws_gc_setups_spare(struct ws_gc_setups *all, size_t from, uint64_t before,
			  struct ws_gc_victims *victims)
{
	for (; from < all->n && all->v[from].last < before; from++) {
		struct ws_gc_setup *one = &all->v[from];

		if (ws_gc_time_over(all->run))
			break;
		if (!one->gone && one->s.bytes && !is_used(all, one))
			ws_gc_victims_add(victims, &spare, all, one,
					  "no session has it, and the disk is full");
	}
	return from;
}
