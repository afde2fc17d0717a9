/* SPDX-License-Identifier: Apache-2.0 */
#include "core/snapshots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/text.h"
#include "base/tree.h"
#include "core/gate.h"
#include "core/layer.h"
#include "core/repos.h"
#include "core/session.h"
#include "core/setup_make.h"
#include "core/spec_file.h"
#include "core/users.h"

#define USAGE_FILE "usage"
#define USAGE_MAX 128

static void info_release(struct ws_snapshot_info *i)
{
	ws_snapshot_release(&i->snapshot);
	ws_freep(&i->setup);
	ws_strv_release(&i->users);
	ws_drift_release(&i->drift);
}

void ws_snapshots_release(struct ws_snapshots *s)
{
	for (size_t i = 0; i < s->n; i++)
		info_release(&s->v[i]);
	ws_freep(&s->v);
	s->n = 0;
}

static struct ws_snapshot_info *add(struct ws_snapshots *all)
{
	all->v = ws_grow(all->v, all->n + 1, sizeof(*all->v));
	all->v[all->n] = (struct ws_snapshot_info){ 0 };
	return &all->v[all->n++];
}

/* ---- who uses what ---- */

static bool stands_on(const struct ws_session *s, const struct ws_snapshot *snapshot)
{
	for (size_t i = 0; i < s->nrepos; i++)
		if (s->repos[i].snapshot && !strcmp(s->repos[i].snapshot, snapshot->key))
			return true;
	for (size_t i = 0; i < snapshot->made.n; i++)
		if (ws_strv_has(&s->stack, snapshot->made.v[i]))
			return true;
	return false;
}

static void note_user(void *arg, const struct ws_session *s)
{
	struct ws_snapshots *all = arg;

	for (size_t i = 0; i < all->n; i++)
		if (stands_on(s, &all->v[i].snapshot))
			ws_strv_push(&all->v[i].users, s->id);
}

static int load_all(const struct ws_root *root, struct ws_snapshots *ret,
		    struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv keys = WS_STRV_INIT;

	if (ws_snapshot_list(root, &keys, err) < 0)
		return -1;
	for (size_t i = 0; i < keys.n; i++) {
		WS_AUTO(ws_snapshot) struct ws_snapshot s = WS_SNAPSHOT_INIT;
		int rc = ws_snapshot_load(root, keys.v[i], &s, err);

		if (rc < 0)
			return -1;
		if (rc == 0)
			continue; /* half-made, or its layers are gone */
		add(ret)->snapshot = s;
		s = WS_SNAPSHOT_INIT;
	}
	return 0;
}

/* ---- list ---- */

/* Measured once: a layer does not change. What is linked elsewhere is not its own. */
static int measure(const struct ws_root *root, const char *layer, uint64_t *ret_bytes,
		   uint64_t *ret_linked, struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("layers/%s/" USAGE_FILE, layer);
	WS_AUTO_FREE char *name = ws_format("layers/%s", layer);
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_err ignored = WS_ERR_INIT;
	unsigned long long bytes, linked;
	WS_AUTO_CLOSE int dir = -1;

	if (ws_read_file(root->fd, path, USAGE_MAX, &text) == 0 &&
	    sscanf(ws_buf_str(&text), "%llu %llu", &bytes, &linked) == 2) {
		*ret_bytes = bytes;
		*ret_linked = linked;
		return 0;
	}
	if (ws_tree_usage_linked(root->fd, name, ret_bytes, ret_linked, err) < 0)
		return -1;
	ws_buf_clear(&text);
	ws_buf_addf(&text, "%llu %llu\n", (unsigned long long)*ret_bytes,
		    (unsigned long long)*ret_linked);
	/* without room for it, it is measured again the next time */
	dir = ws_open_dir(root->fd, name);
	if (dir >= 0)
		ws_write_atomic(dir, USAGE_FILE, &text, false, &ignored);
	return 0;
}

static bool shares(const struct ws_snapshots *all, const struct ws_snapshot_info *but,
		   const char *layer)
{
	for (size_t i = 0; i < all->n; i++)
		if (&all->v[i] != but && ws_strv_has(&all->v[i].snapshot.layers, layer))
			return true;
	return false;
}

static int look_at(const struct ws_root *root, const struct ws_snapshots *all,
		   struct ws_snapshot_info *info, struct ws_err *err)
{
	const struct ws_snapshot *s = &info->snapshot;

	info->last_use = ws_snapshot_last_use(root, s);
	for (size_t i = 0; i < s->layers.n; i++) {
		uint64_t bytes = 0, linked = 0;

		if (measure(root, s->layers.v[i], &bytes, &linked, err) < 0 ||
		    ws_drift_find(root, s->layers.v[i], &info->drift, err) < 0)
			return -1;
		if (shares(all, info, s->layers.v[i]))
			linked = bytes;
		info->own += bytes - linked;
		info->shared += linked;
	}
	return 0;
}

int ws_snapshots_list(const struct ws_root *root, struct ws_snapshots *ret,
		      struct ws_err *err)
{
	if (load_all(root, ret, err) < 0 ||
	    ws_users_visit(root, false, note_user, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->n; i++)
		if (look_at(root, ret, &ret->v[i], err) < 0)
			ws_warn("snapshot '%s': %s", ret->v[i].snapshot.key, err->msg);
	return 0;
}

/* ---- create ---- */

static int read_spec(const struct ws_root *root, const char *file, struct ws_spec *spec,
		     struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (ws_spec_file_read(file, &doc, err) < 0 ||
	    ws_root_spec(root, doc, ws_spec_file_name(file), false, spec, err) < 0 ||
	    ws_gate(spec, err) < 0)
		return -1;
	if (spec->snapshots.enabled && spec->snapshots.shared)
		return 0;
	ws_fail(err, WS_SPEC_INVALID, "sessions of this spec share no snapshot");
	return ws_hint(err, "'snapshots.enabled' and 'snapshots.shared' must be true");
}

/* Leaves only the repo of that name in the spec. */
static int pick(struct ws_spec *spec, const char *name, struct ws_err *err)
{
	for (size_t i = 0; name && i < spec->nrepos; i++) {
		struct ws_spec_repo first = spec->repos[0];

		if (strcmp(spec->repos[i].name, name) != 0)
			continue;
		spec->repos[0] = spec->repos[i];
		spec->repos[i] = first;
		return 0;
	}
	return name ? ws_fail(err, WS_USAGE, "the spec has no repo '%s'", name) : 0;
}

/* A caller that always asks for it is told where the spec says no. */
static int set_up(const struct ws_root *root, const struct ws_spec *spec,
		  const struct ws_snapshots_opts *opts, struct ws_repos *repos,
		  struct ws_err *err)
{
	const struct ws_setup_opts setup = { .progress = opts->progress };

	if (spec->project_setup.enabled && spec->project_setup.auto_build)
		return ws_setup_make(root, spec, &setup, repos, err);
	ws_warn("no setup script is run: 'project_setup.%s' is false",
		spec->project_setup.enabled ? "auto_build" : "enabled");
	return 0;
}

static int make(const struct ws_root *root, struct ws_spec *spec,
		const struct ws_snapshots_opts *opts, struct ws_snapshots *ret,
		struct ws_err *err)
{
	WS_AUTO(ws_repos) struct ws_repos repos = { 0 };
	size_t all = spec->nrepos;
	int rc;

	if (opts->repo)
		spec->nrepos = 1; /* the one that was picked */
	ws_root_sweep(root, NULL);
	rc = ws_repos_resolve(root, spec, &repos, err);
	if (rc == 0 && opts->setup)
		rc = ws_setup_check(root, spec, &repos, err);
	if (rc == 0)
		rc = ws_repos_build(root, spec, NULL, &repos, err);
	if (rc == 0 && opts->setup)
		rc = set_up(root, spec, opts, &repos, err);
	spec->nrepos = all;
	for (size_t i = 0; rc == 0 && i < repos.n; i++) {
		struct ws_snapshot_info *info = add(ret);

		info->snapshot = repos.v[i].snapshot;
		repos.v[i].snapshot = WS_SNAPSHOT_INIT;
		info->setup = ws_steal_ptr(&repos.v[i].setup);
	}
	return rc;
}

int ws_snapshots_create(const struct ws_root *root, const struct ws_snapshots_opts *opts,
			struct ws_snapshots *ret, struct ws_err *err)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };

	if (read_spec(root, opts->spec, &spec, err) < 0 ||
	    pick(&spec, opts->repo, err) < 0)
		return -1;
	return make(root, &spec, opts, ret, err);
}

/* ---- remove ---- */

static struct ws_snapshot_info *find(struct ws_snapshots *all, const char *key)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->v[i].snapshot.key, key))
			return &all->v[i];
	return NULL;
}

/* The manifest goes first: a session that comes now makes a new one, with new layers. */
static int remove_it(const struct ws_root *root, const struct ws_snapshots *all,
		     const struct ws_snapshot_info *info, struct ws_err *err)
{
	const struct ws_strv *layers = &info->snapshot.layers;

	if (ws_snapshot_forget(root, info->snapshot.key, err) < 0)
		return -1;
	for (size_t i = 0; i < layers->n; i++)
		if (!shares(all, info, layers->v[i]) &&
		    ws_layer_discard(root, layers->v[i], err) < 0)
			return -1;
	ws_journal(root, "snapshot-remove", "-", info->snapshot.key);
	return 0;
}

int ws_snapshots_remove(const struct ws_root *root, const char *key, struct ws_err *err)
{
	WS_AUTO(ws_snapshots) struct ws_snapshots all = { 0 };
	WS_AUTO_CLOSE int lock = -1;
	struct ws_snapshot_info *info;

	if (ws_snapshot_check_key(key, err) < 0 || load_all(root, &all, err) < 0)
		return -1;
	if (!find(&all, key))
		return ws_fail(err, WS_BASE_MISSING, "there is no snapshot '%s'", key);
	lock = ws_snapshot_try(root, key, true, err);
	if (lock < 0)
		return ws_fail_within(err, "snapshot '%s'", key);
	/* only now nobody is on his way to use it */
	ws_snapshots_release(&all);
	if (load_all(root, &all, err) < 0 ||
	    ws_users_visit(root, true, note_user, &all, err) < 0)
		return -1;
	info = find(&all, key);
	if (!info)
		return ws_fail(err, WS_BASE_MISSING, "there is no snapshot '%s'", key);
	return info->users.n ? ws_users_refuse("snapshot", key, &info->users, err)
			     : remove_it(root, &all, info, err);
}
