/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/text.h"
#include "base/tree.h"
#include "core/gc_setups.h"
#include "core/gc_victims.h"
#include "core/layer.h"
#include "core/shared.h"
#include "core/snapshot.h"

#define ABANDONED_S 86400 /* for a create on its way to its first snapshot */

/*
 * What sessions share. The names of layers and pools are read before the manifests: a
 * builder writes its plan first, so what has a name by then is in a manifest, or
 * nobody's.
 */
struct manifest {
	struct ws_snapshot s;
	/* ns since 1970: when it was taken, or a session that had it ended */
	uint64_t last;
	bool gone;
};

struct store {
	struct ws_gc_run *run;
	struct ws_strv layers, homes, pools;
	struct manifest *v; /* oldest first */
	size_t n;
	struct ws_refs in_layers, in_pools; /* what manifests have */
	struct ws_gc_setups setups;
	bool unsure;
};

static void store_release(struct store *st)
{
	for (size_t i = 0; i < st->n; i++)
		ws_snapshot_release(&st->v[i].s);
	ws_freep(&st->v);
	ws_strv_release(&st->layers);
	ws_strv_release(&st->homes);
	ws_strv_release(&st->pools);
	ws_gc_setups_release(&st->setups);
	ws_refs_release(&st->in_layers);
	ws_refs_release(&st->in_pools);
}

static uint64_t ns_of(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- mark ---- */

static void add_manifest(struct store *st, const char *file)
{
	WS_AUTO_FREE char *key = ws_strndup(file, strlen(file) - strlen(".json"));
	struct manifest m = { .s = WS_SNAPSHOT_INIT };
	struct ws_err err = WS_ERR_INIT;
	int rc = ws_snapshot_read(st->run->root, key, &m.s, &err);

	if (rc < 0) {
		st->unsure = true;
		ws_gc_item_add(st->run, "snapshot", key, WS_GC_LEFT, 0,
			       "%s; no layer is removed", err.msg);
		return;
	}
	if (rc == 0)
		return;
	m.last = ws_snapshot_last_use(st->run->root, &m.s);
	st->v = ws_grow(st->v, st->n + 1, sizeof(*st->v));
	st->v[st->n++] = m;
	for (size_t i = 0; i < m.s.layers.n; i++)
		ws_refs_add(&st->in_layers, m.s.layers.v[i]);
	if (m.s.pool)
		ws_refs_add(&st->in_pools, m.s.pool);
}

static int by_age(const void *a, const void *b)
{
	uint64_t x = ((const struct manifest *)a)->last;
	uint64_t y = ((const struct manifest *)b)->last;

	return (x > y) - (x < y);
}

static int read_store(struct store *st, struct ws_err *err)
{
	WS_AUTO_CLOSE int snapshots = -1;
	WS_AUTO(ws_strv) struct ws_strv files = WS_STRV_INIT;

	if (ws_dir_list(st->run->root->fd, "layers", &st->layers, err) < 0 ||
	    ws_dir_list(st->run->root->fd, "homes", &st->homes, err) < 0 ||
	    ws_dir_list(st->run->root->fd, "pools", &st->pools, err) < 0)
		return -1;
	snapshots = ws_root_dir(st->run->root, "snapshots", err);
	if (snapshots < 0 || ws_dir_list(snapshots, ".", &files, err) < 0)
		return -1;
	for (size_t i = 0; i < files.n; i++)
		if (files.v[i][0] != '.' && ws_text_ends(files.v[i], ".json"))
			add_manifest(st, files.v[i]);
	if (st->n)
		qsort(st->v, st->n, sizeof(*st->v), by_age);
	ws_refs_settle(&st->in_layers);
	ws_refs_settle(&st->in_pools);
	return ws_gc_setups_read(st->run, &st->setups, err);
}

static uint64_t remove_layer(const struct ws_gc_run *run, const char *name,
			     struct ws_err *err)
{
	WS_AUTO_CLOSE int layers = ws_root_dir(run->root, "layers", err);
	uint64_t bytes = 0, entries;

	if (layers < 0)
		return 0;
	if (!run->opts->dry_run)
		ws_root_discard_counted(run->root, layers, name, &bytes, err);
	else if (faccessat(layers, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		ws_tree_usage(layers, name, &bytes, &entries, err);
	return bytes;
}

/* ---- snapshots ---- */

static int hold_snapshot(const void *store, const void *thing)
{
	const struct store *st = store;
	const struct manifest *m = thing;
	struct ws_err err = WS_ERR_INIT;
	WS_AUTO_CLOSE int lock = ws_snapshot_try(st->run->root, m->s.key, true, &err);
	uint64_t now = ws_snapshot_last_use(st->run->root, &m->s);

	return now == m->last && ws_gc_is_older(st->run, now) ? ws_steal_fd(&lock) : -1;
}

static bool has_session(const void *store, const void *thing)
{
	const struct store *st = store;
	const struct manifest *m = thing;

	return !m->s.building && ws_refs_count(&st->run->snapshots, m->s.key) > 0;
}

/* With it go the layers that only it has. */
static void remove_snapshot(void *store, void *thing, const char *why)
{
	struct store *st = store;
	struct manifest *m = thing;
	struct ws_err err = WS_ERR_INIT;
	uint64_t bytes = 0;

	/* first: whoever looks for the snapshot from now on makes it anew */
	if (!st->run->opts->dry_run &&
	    ws_snapshot_forget(st->run->root, m->s.key, &err) < 0) {
		ws_gc_item_add(st->run, "snapshot", m->s.key, WS_GC_LEFT, 0, "%s",
			       err.msg);
		return;
	}
	m->gone = true;
	if (m->s.pool)
		ws_refs_drop(&st->in_pools, m->s.pool);
	for (size_t i = 0; i < m->s.layers.n; i++)
		if (ws_refs_drop(&st->in_layers, m->s.layers.v[i]) == 0 &&
		    ws_refs_count(&st->run->layers, m->s.layers.v[i]) == 0)
			bytes += remove_layer(st->run, m->s.layers.v[i], &err);
	ws_gc_item_add(st->run, "snapshot", m->s.key, WS_GC_REMOVED, bytes,
		       "%s of '%s' at %.12s: %s", m->s.name ? m->s.name : "",
		       m->s.repo ? m->s.repo : "", m->s.revision ? m->s.revision : "",
		       why);
}

static const struct ws_gc_sort old_snapshot = {
	.hold = hold_snapshot,
	.is_used = has_session,
	.remove = remove_snapshot,
};

static const char *why_old(const struct store *st, const struct manifest *m)
{
	if (m->s.building)
		return "whoever built it is gone";
	if (!has_session(st, m) &&
	    ws_gc_is_old(st->run->now, m->last, st->run->spec.workspace_ttl))
		return "no session has it any more";
	return NULL;
}

static void remove_old_snapshots(struct store *st)
{
	struct ws_gc_victims victims = { .run = st->run };

	for (size_t i = 0; i < st->n && !ws_gc_time_over(st->run); i++) {
		const char *why = why_old(st, &st->v[i]);

		if (why)
			ws_gc_victims_add(&victims, &old_snapshot, st, &st->v[i], why);
	}
	ws_gc_victims_end(&victims);
}

/* ---- a disk that is full ---- */

static bool still_short(const void *store, const void *thing)
{
	(void)thing;
	return ws_gc_is_short_of_space(((const struct store *)store)->run);
}

static const struct ws_gc_sort spare_snapshot = {
	.hold = hold_snapshot,
	.is_used = has_session,
	.is_needed = still_short,
	.remove = remove_snapshot,
};

/*
 * Never more than is needed, and never what a session has: snapshots and setups, in the
 * order of their last use.
 */
static void make_room(struct store *st)
{
	struct ws_gc_victims victims = { .run = st->run };
	size_t setup = 0;

	for (size_t i = 0; i < st->n && ws_gc_is_short_of_space(st->run); i++) {
		struct manifest *m = &st->v[i];

		setup = ws_gc_setups_spare(&st->setups, setup, m->last, &victims);
		if (ws_gc_time_over(st->run))
			break;
		if (!m->gone && !m->s.building && !has_session(st, m))
			ws_gc_victims_add(&victims, &spare_snapshot, st, m,
					  "no session has it, and the disk is full");
	}
	if (ws_gc_is_short_of_space(st->run))
		ws_gc_setups_spare(&st->setups, setup, UINT64_MAX, &victims);
	ws_gc_victims_end(&victims);
}

/* ---- what nobody has ---- */

/* Is there a session in the making, or one by now, that a private layer belongs to? */
static bool has_owner(const struct store *st, const char *layer)
{
	WS_AUTO_FREE char *id = ws_layer_owner(layer);
	WS_AUTO_FREE char *path = id ? ws_format("sessions/%s", id) : NULL;
	WS_AUTO_CLOSE int dir = path ? ws_open_dir(st->run->root->fd, path) : -1;
	WS_AUTO_CLOSE int lock = dir < 0 ? -1 : openat(dir, "lock", O_RDWR | O_CLOEXEC);
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_strv) struct ws_strv layers = WS_STRV_INIT;
	struct ws_err err = WS_ERR_INIT;

	if (lock < 0)
		return false;
	if (ws_lock_try(lock, true) < 0)
		return true;
	if (ws_session_open_name(st->run->root, id, &s, &err) < 0)
		return err.kind != WS_SESSION_MISSING && err.kind != WS_SESSION_EXPIRED;
	ws_session_layers(&s, &layers);
	return ws_strv_has(&layers, layer);
}

static void remove_layer_item(struct store *st, const char *name)
{
	struct ws_err err = WS_ERR_INIT;
	uint64_t bytes = remove_layer(st->run, name, &err);

	ws_gc_item_add(st->run, "layer", name, err.msg[0] ? WS_GC_LEFT : WS_GC_REMOVED,
		       bytes, "%s", err.msg[0] ? err.msg : "nobody has it");
}

static void remove_home(struct store *st, const char *name)
{
	struct ws_gc_run *run = st->run;
	struct ws_err err = WS_ERR_INIT;
	WS_AUTO_CLOSE int homes = ws_root_dir(run->root, "homes", &err);
	uint64_t bytes = 0, entries;
	int rc = homes < 0 ? -1
		 : run->opts->dry_run
			 ? ws_tree_usage(homes, name, &bytes, &entries, &err)
			 : ws_root_discard_counted(run->root, homes, name, &bytes, &err);

	ws_gc_item_add(run, "home", name, rc < 0 ? WS_GC_LEFT : WS_GC_REMOVED, bytes,
		       "%s", rc < 0 ? err.msg : "nobody has it");
}

static bool is_stray(const struct store *st, const char *layer)
{
	return !ws_refs_count(&st->run->layers, layer) &&
	       !ws_refs_count(&st->in_layers, layer) &&
	       !ws_refs_count(&st->setups.layers, layer) &&
	       ws_layer_exists(st->run->root, layer);
}

static bool has_strays(const struct store *st)
{
	for (size_t i = 0; i < st->layers.n; i++)
		if (is_stray(st, st->layers.v[i]))
			return true;
	for (size_t i = 0; i < st->homes.n; i++)
		if (!ws_refs_count(&st->run->homes, st->homes.v[i]))
			return true;
	return false;
}

/*
 * A fork may have come since the sessions were read, and the one that it came from have
 * gone before it was: so with all forks held up they are read once more.
 */
static void remove_strays(struct store *st)
{
	WS_AUTO(ws_shared) struct ws_shared now = WS_SHARED_INIT;
	WS_AUTO_CLOSE int lock = -1;
	struct ws_err err = WS_ERR_INIT;

	if (!has_strays(st))
		return;
	lock = ws_shared_lock(st->run->root, true, &err);
	if (lock < 0 || ws_shared_look(st->run->root, NULL, &now, &err) < 0 || now.unsure)
		return;
	for (size_t i = 0; i < st->layers.n && !ws_gc_time_over(st->run); i++)
		if (is_stray(st, st->layers.v[i]) &&
		    !ws_refs_count(&now.layers, st->layers.v[i]) &&
		    !has_owner(st, st->layers.v[i]))
			remove_layer_item(st, st->layers.v[i]);
	for (size_t i = 0; i < st->homes.n && !ws_gc_time_over(st->run); i++)
		if (!ws_refs_count(&st->run->homes, st->homes.v[i]) &&
		    !ws_refs_count(&now.homes, st->homes.v[i]))
			remove_home(st, st->homes.v[i]);
}

static void remove_pool(struct store *st, int pools, const char *name)
{
	WS_AUTO_FREE char *file = ws_format("%.*s.lock", (int)strcspn(name, "."), name);
	WS_AUTO_CLOSE int lock = ws_lock_open(pools, file);
	struct ws_err err = WS_ERR_INIT;
	uint64_t bytes = 0, entries;
	struct stat info;
	int rc;

	if (lock < 0 || ws_lock_try(lock, true) < 0 ||
	    fstatat(pools, name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !ws_gc_is_old(st->run->now, ns_of(info.st_mtim), ABANDONED_S))
		return;
	rc = st->run->opts->dry_run
		     ? ws_tree_usage(pools, name, &bytes, &entries, &err)
		     : ws_root_discard_counted(st->run->root, pools, name, &bytes, &err);
	ws_gc_item_add(st->run, "pool", name, rc < 0 ? WS_GC_LEFT : WS_GC_REMOVED, bytes,
		       "%s", rc < 0 ? err.msg : "no snapshot has it any more");
}

static void remove_pools(struct store *st)
{
	struct ws_err err = WS_ERR_INIT;
	WS_AUTO_CLOSE int pools = ws_root_dir(st->run->root, "pools", &err);

	for (size_t i = 0; pools >= 0 && i < st->pools.n; i++)
		if (ws_text_ends(st->pools.v[i], ".git") &&
		    !ws_refs_count(&st->run->pools, st->pools.v[i]) &&
		    !ws_refs_count(&st->in_pools, st->pools.v[i]) &&
		    !ws_gc_time_over(st->run))
			remove_pool(st, pools, st->pools.v[i]);
}

int ws_gc_store(struct ws_gc_run *run, struct ws_err *err)
{
	__attribute__((cleanup(store_release))) struct store st = { .run = run };

	if (run->unsure || ws_gc_time_over(run))
		return 0;
	if (read_store(&st, err) < 0)
		return -1;
	remove_old_snapshots(&st);
	ws_gc_setups_clean(&st.setups);
	make_room(&st);
	if (st.unsure || st.setups.unsure)
		return 0;
	remove_strays(&st);
	remove_pools(&st);
	return 0;
}
