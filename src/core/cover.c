/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cover.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "core/plan_parts.h"

#define ENTRIES_MAX 1000 /* each is a mount, and bwrap's time grows with their square */

void ws_cover_list_release(struct ws_cover_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		ws_freep(&list->v[i].source);
		ws_freep(&list->v[i].target);
		ws_strv_release(&list->v[i].names);
	}
	ws_freep(&list->v);
	list->n = 0;
}

void ws_cover_list_add(struct ws_cover_list *list, const char *source, const char *target,
		       const struct ws_strv *names, bool folder)
{
	struct ws_cover *c;

	for (size_t i = 0; i < list->n; i++) {
		c = &list->v[i];
		if (strcmp(c->target, target) != 0)
			continue;
		if (!names->n || !c->names.n)
			ws_strv_clear(&c->names);
		else
			ws_strv_extend(&c->names, names);
		return;
	}
	list->v = ws_grow(list->v, list->n + 1, sizeof(*list->v));
	c = &list->v[list->n++];
	*c = (struct ws_cover){ .source = ws_strdup(source),
				.target = ws_strdup(target),
				.folder = folder };
	ws_strv_extend(&c->names, names);
}

struct covering {
	const struct ws_mount_table *table;
	const char *launch;
	bool over; /* the launch folder is laid over the host, with all that is in it */
	struct ws_plan *covers, *late;
	struct ws_strv hidden, hidden_late; /* nothing can be mounted below these */
};

static bool is_below_any(const char *path, const struct ws_strv *dirs)
{
	for (size_t i = 0; i < dirs->n; i++)
		if (ws_path_below(path, dirs->v[i]))
			return true;
	return false;
}

static void hide(struct ws_plan *p, const char *target, bool folder)
{
	if (folder) {
		ws_plan_tmpfs(p, target, 0555, WS_PLAN_SMALL_TMPFS);
		ws_plan_add(p, WS_MOUNT_REMOUNT_RO, NULL, target);
	} else {
		ws_plan_data(p, target, "");
	}
}

/* ---- a folder shown without some names ---- */

/* Is NAME left out, or does it hold such names? These become *ret_inner. */
static bool is_left_out(const struct ws_strv *names, const char *name,
			struct ws_strv *ret_inner)
{
	bool left_out = false;

	for (size_t i = 0; i < names->n; i++) {
		const char *below = ws_path_below(names->v[i], name);

		if (below && *below)
			ws_strv_push(ret_inner, below);
		else if (below)
			left_out = true;
	}
	return left_out;
}

static int show_without(struct covering *c, const char *source, const char *target,
			const struct ws_strv *names, struct ws_err *err);

static int show_entry(struct covering *c, int dir, const char *name, const char *source,
		      const char *target, const struct ws_strv *names, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv inner = WS_STRV_INIT;
	WS_AUTO_FREE char *from = ws_format("%s/%s", source, name);
	WS_AUTO_FREE char *to = ws_format("%s/%s", target, name);
	const struct ws_mount_entry *m = ws_mount_table_at(c->table, from);
	char text[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (is_left_out(names, name, &inner))
		return 0;
	if (m && !strcmp(m->target, from) && ws_mount_may_hang(m)) {
		ws_debug("'%s', a mount of type %s, is not shown", from, m->type);
		return 0;
	}
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return 0;
	/* over the launch folder comes its overlay: only its place is made there */
	if (S_ISDIR(st.st_mode) && inner.n && !(c->over && !strcmp(to, c->launch)))
		return show_without(c, from, to, &inner, err);
	if (S_ISLNK(st.st_mode) &&
	    (n = readlinkat(dir, name, text, sizeof(text) - 1)) > 0) {
		text[n] = '\0';
		ws_plan_add(c->covers, WS_MOUNT_SYMLINK, text, to);
	} else if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) {
		ws_plan_add(c->covers, WS_MOUNT_RO_BIND_TRY, from, to);
	}
	return 0;
}

static int read_names(DIR *d, const char *path, struct ws_strv *ret, struct ws_err *err)
{
	const struct dirent *e;

	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			ws_strv_push(ret, e->d_name);
	if (ret->n > ENTRIES_MAX) {
		ws_fail(err, WS_HOST_UNSUPPORTED,
			"'%s' has %zu entries, more than the %d that can be shown one by one",
			path, ret->n, ENTRIES_MAX);
		return ws_hint(err,
			       "credentials are hidden by showing only the rest: tidy "
			       "up there, or hide the whole folder by "
			       "host_readonly.mask");
	}
	ws_strv_sort(ret);
	return 0;
}

/* A folder that cannot be read is hidden whole. */
static int show_without(struct covering *c, const char *source, const char *target,
			const struct ws_strv *names, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv entries = WS_STRV_INIT;
	int fd = open(source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct stat st;
	int rc;

	if (!d || fstat(fd, &st) < 0) {
		if (d)
			closedir(d);
		else
			ws_closep(&fd);
		ws_strv_push(&c->hidden, target);
		hide(c->covers, target, true);
		return 0;
	}
	ws_plan_tmpfs(c->covers, target, st.st_mode & 0777, WS_PLAN_SMALL_TMPFS);
	rc = read_names(d, source, &entries, err);
	for (size_t i = 0; rc == 0 && i < entries.n; i++)
		rc = show_entry(c, fd, entries.v[i], source, target, names, err);
	closedir(d);
	ws_plan_add(c->covers, WS_MOUNT_REMOUNT_RO, NULL, target);
	return rc;
}

/* ---- one place ---- */

static int refuse_launch(const struct covering *c, const char *hidden, struct ws_err *err)
{
	ws_fail(err, WS_SPEC_INVALID,
		"'%s' cannot be the launch folder: '%s' is hidden in this mode",
		c->launch, hidden);
	return ws_hint(err, "name another as host_readonly.launch_dir");
}

/* Over the launch folder's overlay, which would show it again. A link hides nothing. */
static void hide_late(struct covering *c, const char *path)
{
	struct stat st;

	if (!c->over || !ws_path_below(path, c->launch) ||
	    is_below_any(path, &c->hidden_late) ||
	    fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 ||
	    S_ISLNK(st.st_mode))
		return;
	ws_strv_push(&c->hidden_late, path);
	hide(c->late, path, S_ISDIR(st.st_mode));
}

static int cover_place(struct covering *c, const struct ws_cover *p, struct ws_err *err)
{
	bool under_overlay = c->over && ws_path_below(p->target, c->launch);
	bool covered = under_overlay || is_below_any(p->target, &c->hidden);

	for (size_t i = 0; i < p->names.n; i++) {
		WS_AUTO_FREE char *path = ws_format("%s/%s", p->source, p->names.v[i]);

		if (ws_path_below(c->launch, path))
			return refuse_launch(c, path, err);
		hide_late(c, path);
	}
	if (p->names.n) {
		if (covered)
			return 0;
		if (show_without(c, p->source, p->target, &p->names, err) < 0)
			return -1;
		for (size_t i = 0; i < p->names.n; i++)
			ws_strv_addf(&c->hidden, "%s/%s", p->target, p->names.v[i]);
		return 0;
	}
	if (ws_path_below(c->launch, p->source))
		return refuse_launch(c, p->source, err);
	hide_late(c, p->source);
	if (covered)
		return 0;
	ws_strv_push(&c->hidden, p->target);
	hide(c->covers, p->target, p->folder);
	return 0;
}

static int by_target(const void *a, const void *b)
{
	const struct ws_cover *x = a, *y = b;

	return strcmp(x->target, y->target);
}

int ws_cover_list_plan(struct ws_cover_list *list, const struct ws_mount_table *table,
		       const char *launch, bool over, struct ws_plan *covers,
		       struct ws_plan *late, struct ws_err *err)
{
	struct covering c = { .table = table,
			      .launch = launch,
			      .over = over,
			      .covers = covers,
			      .late = late };
	int rc = 0;

	if (list->n)
		qsort(list->v, list->n, sizeof(*list->v), by_target);
	for (size_t i = 0; rc == 0 && i < list->n; i++)
		rc = cover_place(&c, &list->v[i], err);
	ws_strv_release(&c.hidden);
	ws_strv_release(&c.hidden_late);
	return rc;
}
