/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/diff.h"

#include "check.h"

static struct ws_change *add(struct ws_diff *d, enum ws_change_kind kind,
			     const char *path, uint64_t size)
{
	struct ws_change *c = ws_diff_add(d, kind, path);
	struct ws_change_side *s = kind == WS_CHANGE_DELETED ? &c->old : &c->new;

	s->mode = S_IFREG | 0644;
	s->size = size;
	c->content = true;
	return c;
}

/* The letters and names, one line each. */
static const char *shown(const struct ws_diff *d)
{
	static char text[1024];

	text[0] = '\0';
	for (size_t i = 0; i < d->n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%c %s%s%s;",
			 d->v[i].kind, d->v[i].from ? d->v[i].from : "",
			 d->v[i].from ? ">" : "", d->v[i].path);
	return text;
}

static unsigned asked;

/* As if the content were the first letter of the name. */
static void digest(void *arg, struct ws_change *c)
{
	const char *slash = strrchr(c->path, '/');

	(void)arg;
	asked++;
	c->digest = ws_strndup(slash ? slash + 1 : c->path, 1);
}

static void test_renames(void)
{
	WS_AUTO(ws_diff) struct ws_diff d = WS_DIFF_INIT;

	add(&d, WS_CHANGE_DELETED, "old/x1", 5);
	add(&d, WS_CHANGE_DELETED, "old/x2", 5);
	add(&d, WS_CHANGE_ADDED, "new/x2", 5);
	add(&d, WS_CHANGE_ADDED, "new/x9", 5);
	add(&d, WS_CHANGE_ADDED, "new/y", 5);
	add(&d, WS_CHANGE_ADDED, "alone", 7);
	add(&d, WS_CHANGE_DELETED, "empty", 0);
	add(&d, WS_CHANGE_ADDED, "void", 0);
	ws_diff_find_renames(&d, digest, NULL);
	CHECK_STR(shown(&d), "A alone;D empty;R old/x2>new/x2;R old/x1>new/x9;A new/y;"
			     "A void;");
	CHECK(asked == 5);
}

static void test_order(void)
{
	WS_AUTO(ws_diff) struct ws_diff d = WS_DIFF_INIT;

	add(&d, WS_CHANGE_ADDED, "d/x", 1);
	add(&d, WS_CHANGE_ADDED, "d", 2);
	add(&d, WS_CHANGE_DELETED, "d", 3);
	ws_diff_sort(&d);
	CHECK_STR(shown(&d), "D d;A d;A d/x;");
}

static void test_select(void)
{
	WS_AUTO(ws_diff) struct ws_diff d = WS_DIFF_INIT;
	WS_AUTO(ws_diff) struct ws_diff rest = WS_DIFF_INIT;
	WS_AUTO(ws_strv) struct ws_strv paths = WS_STRV_INIT;

	add(&d, WS_CHANGE_DELETED, "app/xa", 5);
	add(&d, WS_CHANGE_ADDED, "lib/xb", 5);
	add(&d, WS_CHANGE_ADDED, "apple", 6);
	add(&d, WS_CHANGE_ADDED, "app/f", 7);
	ws_diff_find_renames(&d, digest, NULL);
	CHECK_STR(shown(&d), "A app/f;A apple;R app/xa>lib/xb;");
	ws_strv_push(&paths, "app");
	ws_diff_select(&d, &paths, &rest);
	CHECK_STR(shown(&d), "A app/f;D app/xa;");
	CHECK_STR(shown(&rest), "A apple;A lib/xb;");
}

static bool same_size(void *arg, const char *path, const struct ws_change_side *a,
		      const struct ws_change_side *b)
{
	(void)arg;
	(void)path;
	return a->size == b->size;
}

static void test_between(void)
{
	WS_AUTO(ws_diff) struct ws_diff committed = WS_DIFF_INIT;
	WS_AUTO(ws_diff) struct ws_diff work = WS_DIFF_INIT;
	WS_AUTO(ws_diff) struct ws_diff d = WS_DIFF_INIT;

	add(&committed, WS_CHANGE_ADDED, "kept", 1);
	add(&work, WS_CHANGE_ADDED, "kept", 1);
	add(&committed, WS_CHANGE_ADDED, "edited", 1);
	add(&work, WS_CHANGE_ADDED, "edited", 2);
	add(&committed, WS_CHANGE_ADDED, "gone", 1);
	add(&committed, WS_CHANGE_DELETED, "back", 1);
	add(&work, WS_CHANGE_ADDED, "new", 1);
	add(&work, WS_CHANGE_DELETED, "removed", 1);
	ws_diff_sort(&committed);
	ws_diff_sort(&work);
	ws_diff_between(&committed, &work, same_size, NULL, &d);
	CHECK_STR(shown(&d), "A back;M edited;D gone;A new;D removed;");
}

static void check_quoted(const char *path, const char *want)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;

	ws_path_quote(&b, path);
	CHECK_STR(ws_buf_str(&b), want);
}

static void test_paths(void)
{
	WS_AUTO_FREE char *in = ws_path_shown("app", "app/x/y");
	WS_AUTO_FREE char *out = ws_path_shown("app", "apple");
	WS_AUTO_FREE char *top = ws_path_shown("", "app/x");

	CHECK_STR(in, "x/y");
	CHECK_STR(out, "/workspace/apple");
	CHECK_STR(top, "app/x");
	check_quoted("a b'c", "a b'c");
	check_quoted("a\tb\"c\\d\x01\xff", "\"a\\tb\\\"c\\\\d\\001\\377\"");
}

static void test_json(void)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &b, false);
	ws_jsonw_object(&w, NULL);
	ws_path_json(&w, "path", "a\xff");
	ws_path_json(&w, "from", "b");
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	CHECK_STR(
		ws_buf_str(&b),
		"{\"path\":\"a\xef\xbf\xbd\",\"path_base64\":\"Yf8=\",\"from\":\"b\"}\n");
}

int main(void)
{
	test_renames();
	test_order();
	test_select();
	test_between();
	test_paths();
	test_json();
	return CHECK_DONE();
}
