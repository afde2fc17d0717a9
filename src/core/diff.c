/* SPDX-License-Identifier: Apache-2.0 */
#include "core/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

void ws_diff_release(struct ws_diff *diff)
{
	for (size_t i = 0; i < diff->n; i++) {
		ws_freep(&diff->v[i].path);
		ws_freep(&diff->v[i].from);
		ws_freep(&diff->v[i].digest);
	}
	ws_freep(&diff->v);
	ws_strv_release(&diff->omitted);
	diff->n = diff->cap = 0;
}

void ws_diff_take(struct ws_diff *diff, struct ws_change *c)
{
	if (diff->n == diff->cap) {
		diff->cap = diff->cap ? diff->cap * 2 : 64;
		diff->v = ws_grow(diff->v, diff->cap, sizeof(*diff->v));
	}
	diff->v[diff->n++] = *c;
	*c = (struct ws_change){ 0 };
}

struct ws_change *ws_diff_add(struct ws_diff *diff, enum ws_change_kind kind,
			      const char *path)
{
	struct ws_change c = { .kind = kind, .path = ws_strdup(path) };

	ws_diff_take(diff, &c);
	return &diff->v[diff->n - 1];
}

/* The end of a rename that went, as a change of its own. */
static void split_rename(struct ws_diff *to, struct ws_change *c)
{
	struct ws_change *went = ws_diff_add(to, WS_CHANGE_DELETED, c->from);

	went->old = c->old;
	went->content = true;
	ws_freep(&c->from);
	c->kind = WS_CHANGE_ADDED;
	c->content = true;
	c->old = (struct ws_change_side){ 0 };
}

void ws_diff_select(struct ws_diff *diff, const struct ws_strv *paths,
		    struct ws_diff *rest)
{
	struct ws_diff kept = WS_DIFF_INIT;

	for (size_t i = 0; i < diff->n; i++) {
		struct ws_change *c = &diff->v[i];
		bool in = ws_path_selected(paths, c->path);
		bool from_in = c->from ? ws_path_selected(paths, c->from) : in;

		if (in != from_in)
			split_rename(from_in ? &kept : rest, c);
		ws_diff_take(in ? &kept : rest, c);
	}
	for (size_t i = 0; i < diff->omitted.n; i++)
		if (ws_path_selected(paths, diff->omitted.v[i]))
			ws_strv_push(&kept.omitted, diff->omitted.v[i]);
	ws_diff_release(diff);
	*diff = kept;
	ws_diff_sort(diff);
	ws_diff_sort(rest);
}

/* At one path what went comes before what came. */
static int by_path(const void *a, const void *b)
{
	const struct ws_change *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (order)
		return order;
	return (x->kind != WS_CHANGE_DELETED) - (y->kind != WS_CHANGE_DELETED);
}

void ws_diff_sort(struct ws_diff *diff)
{
	if (diff->n)
		qsort(diff->v, diff->n, sizeof(*diff->v), by_path);
}

/* ---- renames ---- */

static uint64_t size_of(const struct ws_change *c)
{
	return c->kind == WS_CHANGE_DELETED ? c->old.size : c->new.size;
}

static bool may_be_rename(const struct ws_change *c)
{
	mode_t mode = c->kind == WS_CHANGE_DELETED ? c->old.mode : c->new.mode;

	return (c->kind == WS_CHANGE_DELETED || c->kind == WS_CHANGE_ADDED) &&
	       S_ISREG(mode) && size_of(c) > 0;
}

/* Equal ones stand together, those of one file name next to each other. */
static int by_content(const void *a, const void *b)
{
	const struct ws_change *x = *(struct ws_change *const *)a;
	const struct ws_change *y = *(struct ws_change *const *)b;
	int order;

	if (size_of(x) != size_of(y))
		return size_of(x) < size_of(y) ? -1 : 1;
	order = strcmp(x->digest ? x->digest : "", y->digest ? y->digest : "");
	if (!order)
		order = strcmp(ws_text_basename(x->path), ws_text_basename(y->path));
	return order ? order : by_path(x, y);
}

/* The end of the run that begins at I. */
static size_t run_of(struct ws_change **v, size_t n, size_t i, bool digests)
{
	size_t end = i + 1;

	while (end < n && size_of(v[end]) == size_of(v[i]) &&
	       (!digests || (v[i]->digest && v[end]->digest &&
			     !strcmp(v[i]->digest, v[end]->digest))))
		end++;
	return end;
}

static bool has_both(struct ws_change **v, size_t i, size_t end)
{
	bool went = false, came = false;

	for (; i < end; i++) {
		went = went || v[i]->kind == WS_CHANGE_DELETED;
		came = came || v[i]->kind == WS_CHANGE_ADDED;
	}
	return went && came;
}

static void make_rename(struct ws_change *went, struct ws_change *came)
{
	came->kind = WS_CHANGE_RENAMED;
	came->from = ws_strdup(went->path);
	came->old = went->old;
	came->content = false;
	ws_freep(&went->path); /* dropped below */
}

/* What went and what came, each in order, until one side has no more. */
static void pair_run(struct ws_change **v, size_t n)
{
	size_t d = 0;

	for (size_t a = 0; a < n && d < n; a++) {
		if (v[a]->kind != WS_CHANGE_ADDED)
			continue;
		while (d < n && !(v[d]->kind == WS_CHANGE_DELETED && v[d]->path))
			d++;
		if (d < n)
			make_rename(v[d], v[a]);
	}
}

/* First those whose file names agree, which stand together, then the others. */
static void pair_equal(struct ws_change **v, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n; end++)
			if (strcmp(ws_text_basename(v[i]->path),
				   ws_text_basename(v[end]->path)) != 0)
				break;
		pair_run(v + i, end - i);
	}
	pair_run(v, n);
}

static void drop_taken(struct ws_diff *diff)
{
	size_t kept = 0;

	for (size_t i = 0; i < diff->n; i++) {
		if (diff->v[i].path)
			diff->v[kept++] = diff->v[i];
		else
			ws_freep(&diff->v[i].digest);
	}
	diff->n = kept;
}

void ws_diff_find_renames(struct ws_diff *diff,
			  void (*digest)(void *arg, struct ws_change *change), void *arg)
{
	WS_AUTO_FREE struct ws_change **v = ws_grow(NULL, diff->n + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < diff->n; i++)
		if (may_be_rename(&diff->v[i]))
			v[n++] = &diff->v[i];
	qsort(v, n, sizeof(struct ws_change *), by_content);
	for (size_t i = 0, end; i < n; i = end) {
		end = run_of(v, n, i, false);
		for (size_t k = i; has_both(v, i, end) && k < end; k++)
			digest(arg, v[k]);
	}
	qsort(v, n, sizeof(struct ws_change *), by_content);
	for (size_t i = 0, end; i < n; i = end) {
		end = run_of(v, n, i, true);
		if (v[i]->digest && has_both(v, i, end))
			pair_equal(v + i, end - i);
	}
	drop_taken(diff);
	ws_diff_sort(diff);
}

/* ---- from one result to another ---- */

/* At most one of what may be two changes at a path: what was there, and what is. */
struct state {
	struct ws_change_side old, new;
	bool known;
};

/* Takes all changes of LIST at PATH, from *AT on. */
static struct state take_path(const struct ws_diff *list, size_t *at, const char *path)
{
	struct state s = { .known = false };

	for (; *at < list->n && !strcmp(list->v[*at].path, path); (*at)++) {
		const struct ws_change *c = &list->v[*at];

		s.known = true;
		if (c->old.mode)
			s.old = c->old;
		if (c->new.mode)
			s.new = c->new;
	}
	return s;
}

/* git knows whether a file is executable, and no folder. */
static mode_t known_mode(const struct ws_change_side *s)
{
	if (S_ISREG(s->mode))
		return S_IFREG | (s->mode & 0100);
	return s->mode & S_IFMT;
}

static void add_between(struct ws_diff *ret, const char *path,
			const struct ws_change_side *from,
			const struct ws_change_side *to, bool content)
{
	enum ws_change_kind kind = !from->mode ? WS_CHANGE_ADDED
				   : !to->mode ? WS_CHANGE_DELETED
				   : (from->mode & S_IFMT) != (to->mode & S_IFMT)
					   ? WS_CHANGE_TYPE
					   : WS_CHANGE_MODIFIED;
	struct ws_change *c = ws_diff_add(ret, kind, path);

	c->old = *from;
	c->new = *to;
	c->content = content;
}

void ws_diff_between(const struct ws_diff *committed, const struct ws_diff *work,
		     bool (*same)(void *arg, const char *path,
				  const struct ws_change_side *a,
				  const struct ws_change_side *b),
		     void *arg, struct ws_diff *ret)
{
	size_t i = 0, k = 0;

	while (i < committed->n || k < work->n) {
		const char *x = i < committed->n ? committed->v[i].path : NULL;
		const char *y = k < work->n ? work->v[k].path : NULL;
		const char *path = !y || (x && strcmp(x, y) < 0) ? x : y;
		struct state c = take_path(committed, &i, path);
		struct state w = take_path(work, &k, path);
		struct ws_change_side from = c.known ? c.new : w.old;
		struct ws_change_side to = w.known ? w.new : c.old;
		bool content = known_mode(&from) == 0 || known_mode(&to) == 0 ||
			       (from.mode & S_IFMT) != (to.mode & S_IFMT) ||
			       !same(arg, path, &from, &to);

		if (!from.mode && !to.mode)
			continue;
		if (content || known_mode(&from) != known_mode(&to))
			add_between(ret, path, &from, &to, content);
	}
}

/* ---- what it says ---- */

static const struct {
	mode_t type;
	const char *name;
} types[] = {
	{ S_IFREG, "file" },   { S_IFLNK, "link" },    { S_IFDIR, "folder" },
	{ S_IFIFO, "fifo" },   { S_IFSOCK, "socket" }, { S_IFCHR, "device" },
	{ S_IFBLK, "device" },
};

const char *ws_change_type(mode_t mode)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(types); i++)
		if ((mode & S_IFMT) == types[i].type)
			return types[i].name;
	return "unknown";
}

static bool is_patch_mode(mode_t mode)
{
	return !mode || S_ISREG(mode) || S_ISLNK(mode);
}

bool ws_change_is_patch(const struct ws_change *c)
{
	return is_patch_mode(c->old.mode) && is_patch_mode(c->new.mode);
}

void ws_diff_count(const struct ws_diff *diff, struct ws_diff_counts *ret)
{
	*ret = (struct ws_diff_counts){ 0 };
	for (size_t i = 0; i < diff->n; i++) {
		switch (diff->v[i].kind) {
		case WS_CHANGE_ADDED:
			ret->added++;
			break;
		case WS_CHANGE_DELETED:
			ret->deleted++;
			break;
		case WS_CHANGE_MODIFIED:
			ret->modified++;
			break;
		case WS_CHANGE_RENAMED:
			ret->renamed++;
			break;
		case WS_CHANGE_TYPE:
			ret->retyped++;
			break;
		}
	}
}

/* ---- paths ---- */

/* As git quotes with core.quotePath on: letters for those that have one, else octal */
static const char *escape_of(unsigned char c, char buf[8])
{
	static const char from[] = "\a\b\t\n\v\f\r\"\\", to[] = "abtnvfr\"\\";
	const char *at = c ? strchr(from, c) : NULL;

	if (at)
		snprintf(buf, 8, "\\%c", to[at - from]);
	else
		snprintf(buf, 8, "\\%03o", c);
	return buf;
}

static bool is_special(unsigned char c)
{
	return c < ' ' || c >= 0x7f || c == '"' || c == '\\';
}

void ws_path_quote(struct ws_buf *out, const char *path)
{
	bool quoted = false;
	char buf[8];

	for (const char *p = path; *p && !quoted; p++)
		quoted = is_special((unsigned char)*p);
	if (!quoted) {
		ws_buf_addstr(out, path);
		return;
	}
	ws_buf_addch(out, '"');
	for (const char *p = path; *p; p++)
		if (is_special((unsigned char)*p))
			ws_buf_addstr(out, escape_of((unsigned char)*p, buf));
		else
			ws_buf_addch(out, *p);
	ws_buf_addch(out, '"');
}

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !len ||
	       (!strncmp(path, folder, len) && (path[len] == '/' || path[len] == '\0'));
}

char *ws_path_shown(const char *base, const char *path)
{
	size_t len = strlen(base);

	if (!is_below(path, base))
		return ws_format("/workspace/%s", path);
	if (!path[len])
		return ws_strdup(".");
	return ws_strdup(path + len + (len && path[len] == '/'));
}

bool ws_path_selected(const struct ws_strv *paths, const char *path)
{
	for (size_t i = 0; i < paths->n; i++)
		if (is_below(path, paths->v[i]))
			return true;
	return paths->n == 0;
}

static void base64(struct ws_buf *out, const char *s, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = 0;

		for (size_t k = 0; k < 3; k++)
			v = v << 8 | (i + k < len ? (unsigned char)s[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			ws_buf_addch(out,
				     i + k > len ? '=' : digits[v >> (18 - 6 * k) & 63]);
	}
}

void ws_path_json(struct ws_jsonw *w, const char *key, const char *path)
{
	WS_AUTO(ws_buf) struct ws_buf exact = WS_BUF_INIT;
	WS_AUTO_FREE char *exact_key = NULL;

	ws_jsonw_str(w, key, path);
	if (ws_text_utf8(path, strlen(path)))
		return;
	exact_key = ws_format("%s_base64", key);
	base64(&exact, path, strlen(path));
	ws_jsonw_str(w, exact_key, ws_buf_str(&exact));
}

static void side_json(struct ws_jsonw *w, const char *key,
		      const struct ws_change_side *side)
{
	char mode[8];

	if (!side->mode)
		return;
	snprintf(mode, sizeof(mode), "%04o", (unsigned)(side->mode & 07777));
	ws_jsonw_object(w, key);
	ws_jsonw_str(w, "type", ws_change_type(side->mode));
	ws_jsonw_str(w, "mode", mode);
	if (S_ISREG(side->mode) || S_ISLNK(side->mode))
		ws_jsonw_u64(w, "size", side->size);
	ws_jsonw_end(w, '}');
}

void ws_change_json(struct ws_jsonw *w, const struct ws_change *c)
{
	const char kind[] = { (char)c->kind, '\0' };

	ws_jsonw_str(w, "status", kind);
	ws_path_json(w, "path", c->path);
	if (c->from)
		ws_path_json(w, "from", c->from);
	ws_jsonw_bool(w, "content", c->content);
	side_json(w, "old", &c->old);
	side_json(w, "new", &c->new);
}
