/* SPDX-License-Identifier: Apache-2.0 */
#include "core/patch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/changes.h"

#define ID_LEN 40
#define ID_NONE "0000000000000000000000000000000000000000"

/* ---- the helper ---- */

void ws_patcher_release(struct ws_patcher *p)
{
	ws_git_talk_release(&p->talk);
}

struct answer {
	struct ws_patch_counts counts;
	char old_id[ID_LEN + 1], new_id[ID_LEN + 1];
	struct ws_buf body;
};

static void answer_release(struct answer *a)
{
	ws_buf_release(&a->body);
}

static int parse_head(const char *line, struct answer *a, size_t *ret_len)
{
	unsigned long long added, removed;
	int binary;

	if (sscanf(line, "%llu %llu %d %40s %40s %zu", &added, &removed, &binary,
		   a->old_id, a->new_id, ret_len) != 6)
		return -1;
	a->counts = (struct ws_patch_counts){ .added = added,
					      .removed = removed,
					      .binary = binary };
	return 0;
}

static int ask(struct ws_patcher *p, const struct ws_buf sides[2], struct answer *ret,
	       struct ws_err *err)
{
	WS_AUTO_FREE char *head = ws_format("%zu %zu\n", sides[0].len, sides[1].len);
	char line[WS_GIT_TALK_LINE];
	size_t len;

	if (ws_git_talk_ask(&p->talk, head, sides, 2, err) < 0 ||
	    ws_git_talk_head(&p->talk, line, err) < 0)
		return -1;
	if (parse_head(line, ret, &len) < 0)
		return ws_git_talk_fail(err);
	return ws_git_talk_body(&p->talk, len, &ret->body, err);
}

/* ---- text ---- */

/* As git knows modes: a file may be executable, and that is all. */
static unsigned git_mode(mode_t mode)
{
	if (S_ISLNK(mode))
		return 0120000;
	return mode & 0100 ? 0100755 : 0100644;
}

static void print_name(struct ws_buf *out, const char *side, const char *path)
{
	WS_AUTO_FREE char *name = ws_format("%s%s", side, path);

	ws_path_quote(out, name);
}

/* The lines of a git header that say what became of modes and names. */
static void print_modes(struct ws_buf *out, const struct ws_change *c, const char *from,
			const char *path)
{
	if (!c->old.mode)
		ws_buf_addf(out, "new file mode %06o\n", git_mode(c->new.mode));
	else if (!c->new.mode)
		ws_buf_addf(out, "deleted file mode %06o\n", git_mode(c->old.mode));
	else if (git_mode(c->old.mode) != git_mode(c->new.mode))
		ws_buf_addf(out, "old mode %06o\nnew mode %06o\n", git_mode(c->old.mode),
			    git_mode(c->new.mode));
	if (!c->from)
		return;
	ws_buf_addstr(out, "similarity index 100%\nrename from ");
	ws_path_quote(out, from);
	ws_buf_addstr(out, "\nrename to ");
	ws_path_quote(out, path);
	ws_buf_addch(out, '\n');
}

/* patch(1) takes a tab for the end of a name with blanks. */
static void print_file(struct ws_buf *out, const char *mark, const char *side,
		       const char *path, bool there)
{
	ws_buf_addstr(out, mark);
	if (there)
		print_name(out, side, path);
	else
		ws_buf_addstr(out, "/dev/null");
	if (there && strchr(path, ' '))
		ws_buf_addch(out, '\t');
	ws_buf_addch(out, '\n');
}

static void print_body(struct ws_buf *out, const struct ws_change *c,
		       const struct answer *a, const char *path)
{
	ws_buf_addf(out, "index %s..%s", c->old.mode ? a->old_id : ID_NONE,
		    c->new.mode ? a->new_id : ID_NONE);
	if (c->old.mode && c->new.mode &&git_mode(c->old.mode) == git_mode(c->new.mode))
		ws_buf_addf(out, " %06o", git_mode(c->new.mode));
	ws_buf_addch(out, '\n');
	if (!a->counts.binary && a->body.len) {
		print_file(out, "--- ", "a/", path, c->old.mode);
		print_file(out, "+++ ", "b/", path, c->new.mode);
	}
	ws_buf_add(out, ws_buf_str(&a->body), a->body.len);
}

static void print_change(struct ws_buf *out, const struct ws_change *c,
			 const struct answer *a, const char *base)
{
	WS_AUTO_FREE char *path = ws_path_shown(base, c->path);
	WS_AUTO_FREE char *from = ws_path_shown(base, c->from ? c->from : c->path);

	ws_buf_addstr(out, "diff --git ");
	print_name(out, "a/", from);
	ws_buf_addch(out, ' ');
	print_name(out, "b/", path);
	ws_buf_addch(out, '\n');
	print_modes(out, c, from, path);
	if (a)
		print_body(out, c, a, path);
}

/* ---- one change ---- */

struct sides {
	struct ws_buf v[2]; /* old, new */
};

static void sides_release(struct sides *s)
{
	ws_buf_release(&s->v[0]);
	ws_buf_release(&s->v[1]);
}

static int load(struct ws_patcher *p, const struct ws_change *c,
		const struct ws_change_side *side, struct ws_buf *ret, struct ws_err *err)
{
	int error;

	if (!side->mode ||
	    ws_changes_load(p->stack, c->path, side, WS_PATCH_FILE_MAX, ret) == 0)
		return 0;
	error = errno;
	ws_fail_errno(err, "read '/workspace/%.300s'", c->path);
	err->sys = error;
	return -1;
}

/* NEW and OLD may be of two types: then git wants the one to go and the other to come. */
static int print_sides(struct ws_patcher *p, const struct ws_change *c,
		       struct ws_buf *out, struct ws_patch_counts *ret,
		       struct ws_err *err)
{
	WS_AUTO(sides) struct sides s = { 0 };
	WS_AUTO(answer) struct answer a = { .body = WS_BUF_INIT };

	if (load(p, c, &c->old, &s.v[0], err) < 0 ||
	    load(p, c, &c->new, &s.v[1], err) < 0 || ask(p, s.v, &a, err) < 0)
		return -1;
	ret->added += a.counts.added;
	ret->removed += a.counts.removed;
	ret->binary = ret->binary || a.counts.binary;
	if (out)
		print_change(out, c, &a, p->base);
	return 0;
}

int ws_patch_change(struct ws_patcher *p, const struct ws_change *c, struct ws_buf *out,
		    struct ws_patch_counts *ret, struct ws_err *err)
{
	struct ws_change went = *c, came = *c;

	*ret = (struct ws_patch_counts){ 0 };
	if (c->kind == WS_CHANGE_RENAMED || !c->content) {
		if (out && (c->from || git_mode(c->old.mode) != git_mode(c->new.mode)))
			print_change(out, c, NULL, p->base);
		return 0;
	}
	if (c->kind != WS_CHANGE_TYPE)
		return print_sides(p, c, out, ret, err);
	went.new.mode = came.old.mode = 0;
	if (print_sides(p, &went, out, ret, err) < 0)
		return -1;
	return print_sides(p, &came, out, ret, err);
}
