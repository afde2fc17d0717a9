/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gc_victims.h"

#include "base/mem.h"

void ws_gc_victims_add(struct ws_gc_victims *all, const struct ws_gc_sort *sort,
		       void *store, void *thing, const char *why)
{
	int lock = sort->hold(store, thing);

	if (lock < 0)
		return;
	all->v[all->n].sort = sort;
	all->v[all->n].store = store;
	all->v[all->n].thing = thing;
	all->v[all->n].why = why;
	all->v[all->n++].lock = lock;
	if (all->n == WS_GC_TOGETHER)
		ws_gc_victims_end(all);
}

void ws_gc_victims_end(struct ws_gc_victims *all)
{
	bool sure = all->n && ws_gc_mark_again(all->run);

	for (size_t i = 0; i < all->n; i++) {
		const struct ws_gc_sort *sort = all->v[i].sort;
		void *store = all->v[i].store, *thing = all->v[i].thing;

		if (sure && !sort->is_used(store, thing) &&
		    (!sort->is_needed || sort->is_needed(store, thing)) &&
		    !ws_gc_time_over(all->run))
			sort->remove(store, thing, all->v[i].why);
		ws_closep(&all->v[i].lock);
	}
	all->n = 0;
}
