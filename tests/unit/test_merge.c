/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees in a line: "path=SIDE" separated by blanks, where a side is "d" (a folder), "l" (a
 * link), or a number, which is content, with "x" behind it if executable. A path that is
 * not named in a tree is not there. The plan in a line: what is done to each path.
 */
#include "core/merge_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/strv.h"
#include "check.h"

static struct ws_merge_side read_side(const char *tree, const char *path)
{
	WS_AUTO_FREE char *name = ws_format(" %s=", path);
	WS_AUTO_FREE char *padded = ws_format(" %s ", tree);
	const char *at = strstr(padded, name);
	struct ws_merge_side s = { 0 };
	char *end;

	if (!at)
		return s;
	at += strlen(name);
	if (*at == 'd') {
		s.mode = at[1] == 'p' ? S_IFDIR | 0700 : S_IFDIR | 0755;
		return s;
	}
	s.mode = *at == 'l' ? S_IFLNK | 0777 : S_IFREG | 0644;
	s.same = (unsigned)strtoul(at + (*at == 'l'), &end, 10);
	if (*end == 'x')
		s.mode |= 0111;
	if (*end == 'p')
		s.mode = S_IFREG | 0600;
	return s;
}

static void add_names(struct ws_strv *paths, const char *tree)
{
	WS_AUTO_FREE char *copy = ws_strdup(tree);
	char *save = NULL;

	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		*strchr(w, '=') = '\0';
		if (!ws_strv_has(paths, w))
			ws_strv_push(paths, w);
	}
}

struct row {
	const char *base, *ours, *theirs;
	const char *answers; /* "path=ours" ... */
	const char *plan;
};

static enum ws_merge_answer read_answer(const char *answers, const char *path)
{
	static const char *const words[] = { "none", "ours", "theirs", "delete", "file" };
	WS_AUTO_FREE char *name = ws_format("%s=", path);
	const char *at = answers ? strstr(answers, name) : NULL;

	for (size_t i = 1; at && i < WS_ARRAY_SIZE(words); i++)
		if (!strncmp(at + strlen(name), words[i], strlen(words[i])))
			return (enum ws_merge_answer)i;
	return WS_ANSWER_NONE;
}

static const char *plan_of(const struct row *r)
{
	static const char *const words[] = { "keep", "take", "delete",	"mode",
					     "join", "file", "conflict" };
	static char text[512];
	WS_AUTO(ws_strv) struct ws_strv paths = WS_STRV_INIT;
	WS_AUTO_FREE struct ws_merge_path *v = NULL;

	add_names(&paths, r->base);
	add_names(&paths, r->ours);
	add_names(&paths, r->theirs);
	ws_strv_sort(&paths);
	v = ws_alloc((paths.n + 1) * sizeof(*v));
	for (size_t i = 0; i < paths.n; i++)
		v[i] = (struct ws_merge_path){
			.path = paths.v[i],
			.base = read_side(r->base, paths.v[i]),
			.ours = read_side(r->ours, paths.v[i]),
			.theirs = read_side(r->theirs, paths.v[i]),
			.answer = read_answer(r->answers, paths.v[i]),
		};
	ws_merge_plan(v, paths.n);
	text[0] = '\0';
	for (size_t i = 0; i < paths.n; i++) {
		bool clash = v[i].action == WS_MERGE_CONFLICT;
		bool mode = v[i].action == WS_MERGE_JOIN || v[i].action == WS_MERGE_MODE;

		if (!ws_merge_acts(&v[i]))
			continue;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s",
			 *text ? ", " : "",
			 clash ? ws_merge_clash_name(v[i].clash) : words[v[i].action],
			 v[i].path);
		if (mode)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " %o",
				 (unsigned)v[i].mode);
	}
	return text;
}

/* clang-format off */
static const struct row rows[] = {
	/* one side alone */
	{ "f=1", "f=1", "f=1", NULL, "" },
	{ "f=1", "f=1", "f=2", NULL, "take f" },
	{ "f=1", "f=2", "f=1", NULL, "" },
	{ "", "", "f=1", NULL, "take f" },
	{ "", "f=1", "", NULL, "" },
	{ "f=1", "f=1", "", NULL, "delete f" },
	{ "f=1", "", "f=1", NULL, "" },
	{ "f=1", "f=1", "f=1x", NULL, "take f" },
	{ "f=1", "f=1", "f=l2", NULL, "take f" },
	{ "f=l1", "f=l1", "f=2", NULL, "take f" },
	{ "f=l1", "f=l1", "f=l2", NULL, "take f" },
	/* both alike */
	{ "f=1", "f=2", "f=2", NULL, "" },
	{ "f=1", "", "", NULL, "" },
	{ "", "f=1", "f=1", NULL, "" },
	{ "f=1", "f=1x", "f=1x", NULL, "" },
	/* both, differently */
	{ "f=1", "f=2", "f=3", NULL, "join f 644" },
	{ "f=1", "f=2", "f=3x", NULL, "join f 755" },
	{ "f=1", "f=2x", "f=3", NULL, "join f 755" },
	{ "f=1", "f=2", "f=1x", NULL, "mode f 755" },
	{ "f=1", "f=1x", "f=2", NULL, "take f" },
	{ "f=1", "f=2x", "f=2", NULL, "" },
	{ "f=1", "f=1p", "f=1x", NULL, "mode f" },
	{ "f=1", "f=2p", "f=3x", NULL, "mode f" },
	{ "", "f=1", "f=2", NULL, "join f 644" },
	{ "", "f=1", "f=1x", NULL, "mode f" },
	{ "f=1", "f=2", "", NULL, "modify-delete f" },
	{ "f=1", "", "f=2", NULL, "modify-delete f" },
	{ "f=1", "f=1x", "", NULL, "modify-delete f" },
	{ "f=l1", "f=l2", "f=l3", NULL, "link f" },
	{ "", "f=l1", "f=l2", NULL, "add-add f" },
	{ "", "f=1", "f=l2", NULL, "type f" },
	{ "f=1", "f=2", "f=l3", NULL, "type f" },
	{ "f=l1", "f=2", "f=3", NULL, "join f 644" },
	/* folders */
	{ "", "", "d=d d/f=1", NULL, "take d, take d/f" },
	{ "", "", "d=d", NULL, "take d" },
	{ "", "d=d d/g=1", "d=d d/f=1", NULL, "take d/f" },
	{ "d=d d/f=1", "d=d d/f=1", "", NULL, "delete d" },
	{ "d=d d/f=1", "d=d d/f=1 d/g=2", "", NULL, "delete d/f" },
	{ "d=d d/f=1", "d=d d/f=2", "", NULL, "modify-delete d/f" },
	{ "d=d d/f=1", "", "d=d d/f=1 d/g=2", NULL, "take d, take d/g" },
	{ "d=d d/f=1", "", "d=d d/f=1", NULL, "" },
	{ "d=d", "d=d", "d=dp", NULL, "mode d 700" },
	{ "d=d", "d=dp", "d=d", NULL, "" },
	{ "", "d=dp", "d=d", NULL, "mode d" },
	{ "d=d d/e=d d/e/f=1", "d=d d/e=d d/e/f=1", "d=d", NULL, "delete d/e" },
	{ "d=d d/e=d d/e/f=1", "d=d d/e=d d/e/f=1", "", NULL, "delete d" },
	{ "d=d d/e=d d/e/f=1", "d=d d/e=d d/e/f=1 d/x=5", "", NULL, "delete d/e" },
	/* a folder here, something else there */
	{ "d=d d/f=1", "d=d d/f=1", "d=2", NULL, "take d" },
	{ "d=d d/f=1", "d=d d/f=1 d/g=3", "d=2", NULL, "directory-file d, delete d/f" },
	{ "d=d d/f=1", "d=2", "", NULL, "" },
	{ "d=d d/f=1", "d=2", "d=d d/f=1", NULL, "" },
	{ "d=d d/f=1", "d=2", "d=d d/f=1 d/g=3", NULL, "directory-file d, take d/g" },
	{ "f=1", "f=1", "f=d f/x=2", NULL, "take f, take f/x" },
	{ "f=1", "f=3", "f=d f/x=2", NULL, "directory-file f, take f/x" },
	{ "f=1", "f=d f/x=2", "f=3", NULL, "directory-file f" },
	{ "f=1", "f=d f/x=2", "", NULL, "" },
	{ "", "f=3", "f=d f/x=2", NULL, "directory-file f, take f/x" },
	{ "", "f=d f/x=2", "f=3", NULL, "directory-file f" },
	{ "d=d d/f=1", "d=d d/f=1", "d=l2", NULL, "take d" },
	/* what stands beside a folder in the order of bytes */
	{ "d=d d-x=1 d/f=1", "d=d d-x=1 d/f=1", "d-x=1", NULL, "delete d" },
	{ "d=d d-x=1 d/f=1", "d=d d-x=1 d/f=1", "d=d d-x=2 d/f=2", NULL,
	  "take d-x, take d/f" },
	/* answers */
	{ "f=1", "f=2", "", "f=ours", "" },
	{ "f=1", "f=2", "", "f=theirs", "delete f" },
	{ "f=1", "", "f=2", "f=theirs", "take f" },
	{ "f=1", "", "f=2", "f=delete", "" },
	{ "f=1", "f=2", "", "f=delete", "delete f" },
	{ "f=l1", "f=l2", "f=l3", "f=file", "file f" },
	{ "f=1", "f=1", "f=2", "f=ours", "take f" },
	{ "d=d d/f=1", "d=d d/f=1 d/g=3", "d=2", "d=theirs", "take d" },
	{ "d=d d/f=1", "d=d d/f=1 d/g=3", "d=2", "d=ours", "" },
	{ "", "f=3", "f=d f/x=2", "f=theirs", "take f, take f/x" },
	{ "d=d d/f=1 d/h=7", "d=2", "d=d d/f=1 d/h=7 d/g=3", "d=theirs",
	  "take d, take d/f, take d/g, take d/h" },
	{ "", "f=3", "f=d f/x=2", "f=ours", "" },
};
/* clang-format on */

int main(void)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(rows); i++) {
		const char *plan = plan_of(&rows[i]);

		if (strcmp(plan, rows[i].plan) != 0)
			printf("# %s | %s | %s\n", rows[i].base, rows[i].ours,
			       rows[i].theirs);
		CHECK_STR(plan, rows[i].plan);
	}
	return CHECK_DONE();
}
