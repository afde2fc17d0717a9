/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No recursion; of the folders on the way down only the lowest WINDOW are open, the
 * others are opened anew on the way up.
 */
#include "core/walk.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/strv.h"

#define WINDOW 32

struct level {
	char *name;
	unsigned layer; /* its topmost one */
	bool open;
	bool hides;   /* there is such a folder below the layers that are walked ... */
	bool has_low; /* ... and it shows through */
	struct ws_stack_dir at, low;
	struct ws_strv names;
	size_t next;
	bool rest; /* whiteouts are through */
};

struct walker {
	const struct ws_walk *w;
	struct level *levels;
	size_t depth, cap;
	size_t low; /* levels below this index are closed */
	struct ws_buf path;
};

static void level_close(struct level *l)
{
	ws_stack_dir_release(&l->at);
	ws_stack_dir_release(&l->low);
	l->open = false;
}

static void level_release(struct level *l)
{
	level_close(l);
	ws_freep(&l->name);
	ws_strv_release(&l->names);
}

static void walker_release(struct walker *k)
{
	while (k->depth)
		level_release(&k->levels[--k->depth]);
	ws_freep(&k->levels);
	ws_buf_release(&k->path);
}

/* The path of NAME in the lowest level; good until the next call. */
static const char *path_of(struct walker *k, const char *name)
{
	size_t len = k->path.len;

	if (len)
		ws_buf_addch(&k->path, '/');
	ws_buf_addstr(&k->path, name);
	k->path.len = len;
	return k->path.data;
}

/* What vanished: from the upper, or the user's own folder, as it may; or from a layer. */
static int gone(struct walker *k, unsigned layer, const char *name, struct ws_err *err)
{
	int error = errno;
	bool is_gone = error == ENOENT || error == ENOTDIR || error == ELOOP;
	const struct ws_stack *st = k->w->stack;
	WS_AUTO_FREE char *path = ws_format("%.300s", path_of(k, name));

	if (is_gone && (layer == 0 || (st->names && st->names[layer])))
		return 0;
	errno = error;
	ws_fail_errno(err, "read '%s'", path);
	if (is_gone)
		err->kind = WS_BASE_MISSING;
	return -1;
}

/* ---- levels ---- */

static int open_top(struct walker *k, struct level *l)
{
	const struct ws_walk *w = k->w;

	if (ws_stack_top(w->stack, w->first, w->last, &l->at) < 0)
		return -1;
	l->has_low = w->what == WS_WALK_CHANGES && !l->at.cut;
	if (l->has_low &&
	    ws_stack_top(w->stack, w->last + 1, (unsigned)w->stack->n, &l->low) < 0)
		return -1;
	l->open = true;
	return 0;
}

static int enter(const struct level *above, const char *name, struct level *l)
{
	if (ws_stack_enter(&above->at, name, &l->at) < 0)
		return -1;
	l->hides = above->has_low && ws_stack_enter(&above->low, name, &l->low) == 0;
	l->has_low = l->hides && !l->at.cut;
	if (!l->has_low)
		ws_stack_dir_release(&l->low);
	l->open = true;
	return 0;
}

/* The lowest level is open again, and what is needed to get there was. */
static int reopen(struct walker *k)
{
	struct level *l = k->levels;
	size_t at = k->depth - 1;

	if (l[at].open)
		return 0;
	for (size_t i = 0; i <= at; i++) {
		if (l[i].open)
			continue;
		if ((i ? enter(&l[i - 1], l[i].name, &l[i]) : open_top(k, &l[0])) < 0)
			return -1;
		if (i >= WINDOW)
			level_close(&l[i - WINDOW]);
	}
	k->low = at >= WINDOW ? at - WINDOW + 1 : 0;
	return 0;
}

static void push(struct walker *k, struct level *l)
{
	if (k->depth == k->cap) {
		k->cap = k->cap ? k->cap * 2 : 64;
		k->levels = ws_grow(k->levels, k->cap, sizeof(*k->levels));
	}
	if (l->name)
		ws_buf_addf(&k->path, "%s%s", k->path.len ? "/" : "", l->name);
	k->levels[k->depth++] = *l;
	*l = (struct level){ 0 };
	if (k->depth - k->low > WINDOW)
		level_close(&k->levels[k->low++]);
}

static void pop(struct walker *k)
{
	struct level *l = &k->levels[k->depth - 1];

	if (l->name) {
		size_t len = strlen(l->name);

		k->path.len -= k->path.len > len ? len + 1 : len;
	}
	level_release(l);
	k->depth--;
	if (k->low > k->depth)
		k->low = k->depth;
}

/* ---- one name ---- */

static int tell(struct walker *k, const char *path, const struct ws_stack_entry *e,
		bool whiteout, bool opaque, struct ws_err *err)
{
	const struct ws_walk_item item = {
		.path = path, .e = e, .whiteout = whiteout, .opaque = opaque
	};

	return k->w->visit(k->w->arg, &item, err);
}

static int visit_folder(struct walker *k, const char *name,
			const struct ws_stack_entry *e, struct ws_err *err)
{
	const struct level *above = &k->levels[k->depth - 1];
	struct level next = { .name = ws_strdup(name), .layer = e->layer };
	enum ws_walk_what what = k->w->what;
	bool opaque;
	int rc = enter(above, name, &next);

	if (rc == 0)
		rc = ws_stack_names(&next.at, what != WS_WALK_VIEW, &next.names);
	if (rc < 0) {
		rc = gone(k, e->layer, name, err);
		level_release(&next);
		return rc;
	}
	opaque = next.at.cut && !above->at.cut &&
		 (what == WS_WALK_MARKS || (what == WS_WALK_CHANGES && next.hides));
	rc = tell(k, path_of(k, name), e, false, opaque, err);
	if (rc != 0) {
		level_release(&next);
		return rc < 0 ? -1 : 0;
	}
	next.rest = what == WS_WALK_VIEW;
	push(k, &next);
	return 0;
}

static int visit_whiteout(struct walker *k, const char *name,
			  const struct ws_stack_entry *e, struct ws_err *err)
{
	const struct level *l = &k->levels[k->depth - 1];
	struct ws_stack_entry below;

	if (k->w->what == WS_WALK_CHANGES) {
		if (!l->has_low)
			return 0;
		if (ws_stack_lookup(&l->low, name, &below) < 0)
			return gone(k, e->layer, name, err);
		if (!below.st.st_mode)
			return 0;
	}
	return tell(k, path_of(k, name), e, true, false, err) < 0 ? -1 : 0;
}

static int visit(struct walker *k, const char *name, struct ws_err *err)
{
	struct level *l = &k->levels[k->depth - 1];
	struct ws_stack_entry e;
	bool whiteout = false;
	int rc = k->w->what == WS_WALK_VIEW
			 ? ws_stack_lookup(&l->at, name, &e)
			 : ws_stack_lookup_raw(&l->at, name, &e, &whiteout);

	if (rc < 0)
		return gone(k, e.layer, name, err);
	if (!e.st.st_mode || whiteout == l->rest)
		return 0; /* it has gone since, or its turn is another */
	if (whiteout)
		return visit_whiteout(k, name, &e, err);
	if (S_ISDIR(e.st.st_mode))
		return visit_folder(k, name, &e, err);
	return tell(k, path_of(k, name), &e, false, false, err) < 0 ? -1 : 0;
}

/* ---- the walk ---- */

static int begin(struct walker *k, struct ws_err *err)
{
	struct level first = { .layer = k->w->first, .rest = k->w->what == WS_WALK_VIEW };
	struct ws_stack_entry e = { .layer = k->w->first };
	int rc = open_top(k, &first);

	if (rc == 0)
		rc = first.at.n ? fstat(first.at.v[0].fd, &e.st) : 0;
	if (rc == 0)
		rc = ws_stack_names(&first.at, k->w->what != WS_WALK_VIEW, &first.names);
	if (rc == 0 && first.at.n && first.at.v[0].mended)
		e.st.st_mode = S_IFDIR | first.at.v[0].mode;
	if (rc == 0 && !first.at.n)
		e.st.st_mode = S_IFDIR | 0755; /* live repos have no layer at all */
	if (rc < 0)
		ws_fail_errno(err, "read the topmost folder");
	else
		rc = tell(k, "", &e, false, first.at.cut && k->w->what != WS_WALK_VIEW,
			  err);
	if (rc != 0) {
		level_release(&first);
		return rc < 0 ? -1 : 0;
	}
	push(k, &first);
	return 0;
}

static int walk(struct walker *k, struct ws_err *err)
{
	if (begin(k, err) < 0)
		return -1;
	while (k->depth) {
		struct level *l = &k->levels[k->depth - 1];

		if (l->next == l->names.n && !l->rest) {
			l->next = 0;
			l->rest = true;
		} else if (l->next == l->names.n) {
			pop(k);
		} else if (reopen(k) < 0) {
			if (gone(k, l->layer, "", err) < 0)
				return -1;
			pop(k); /* it was moved away */
		} else if (visit(k, l->names.v[l->next++], err) < 0) {
			return -1;
		}
	}
	return 0;
}

int ws_walk(const struct ws_walk *w, struct ws_err *err)
{
	__attribute__((cleanup(walker_release))) struct walker k = { .w = w };
	struct rlimit l;

	/* a level of a high stack has a descriptor per layer */
	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	return walk(&k, err);
}
