/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/diff_print.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/jsonw.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd/common.h"
#include "cmd/pager.h"
#include "core/patch.h"

#define STAT_BAR 40 /* columns of plus and minus signs */

struct printer {
	const struct ws_diff_output *o;
	struct ws_patcher patcher;
	struct ws_buf out;
	bool terminal, colour;
	size_t left_out; /* changes that a patch cannot say */
};

static void printer_release(struct printer *p)
{
	ws_patcher_release(&p->patcher);
	ws_buf_release(&p->out);
}

static void colour(struct printer *p, const char *code)
{
	if (p->colour)
		ws_buf_addf(&p->out, "\033[%sm", code);
}

/* With a slash behind a folder's name. */
static void print_path(struct printer *p, const char *path, mode_t mode)
{
	WS_AUTO_FREE char *shown = ws_path_shown(p->o->base, path);
	WS_AUTO_FREE char *full = ws_format("%s%s", shown, S_ISDIR(mode) ? "/" : "");

	ws_path_quote(&p->out, full);
}

static mode_t mode_of(const struct ws_change *c)
{
	return c->new.mode ? c->new.mode : c->old.mode;
}

static bool is_special(mode_t mode)
{
	return !S_ISREG(mode) && !S_ISLNK(mode) && !S_ISDIR(mode);
}

/* ---- names ---- */

static const char *colour_of(enum ws_change_kind kind)
{
	switch (kind) {
	case WS_CHANGE_ADDED:
		return "32";
	case WS_CHANGE_DELETED:
		return "31";
	case WS_CHANGE_MODIFIED:
		return "33";
	case WS_CHANGE_RENAMED:
		return "36";
	case WS_CHANGE_TYPE:
		break;
	}
	return "35";
}

static void print_summary(struct printer *p)
{
	struct ws_diff_counts n;
	const struct {
		size_t n;
		const char *word;
	} parts[] = {
		{ 0, "added" },	  { 0, "changed" },	    { 0, "deleted" },
		{ 0, "renamed" }, { 0, "of another type" },
	};
	size_t counts[WS_ARRAY_SIZE(parts)];
	const char *between = "";

	ws_diff_count(p->o->changes, &n);
	counts[0] = n.added;
	counts[1] = n.modified;
	counts[2] = n.deleted;
	counts[3] = n.renamed;
	counts[4] = n.retyped;
	for (size_t i = 0; i < WS_ARRAY_SIZE(parts); i++) {
		if (!counts[i])
			continue;
		ws_buf_addf(&p->out, "%s%zu %s", between, counts[i], parts[i].word);
		between = ", ";
	}
	ws_buf_addstr(&p->out, *between ? "\n" : "no changes\n");
}

static void print_names(struct printer *p)
{
	for (size_t i = 0; i < p->o->changes->n; i++) {
		const struct ws_change *c = &p->o->changes->v[i];

		colour(p, colour_of(c->kind));
		ws_buf_addf(&p->out, "%c%s\t", c->kind, c->from ? "100" : "");
		if (c->from) {
			print_path(p, c->from, c->old.mode);
			ws_buf_addch(&p->out, '\t');
		}
		print_path(p, c->path, mode_of(c));
		if (is_special(mode_of(c)))
			ws_buf_addf(&p->out, "\t%s", ws_change_type(mode_of(c)));
		colour(p, "0");
		ws_buf_addch(&p->out, '\n');
	}
	if (p->terminal)
		print_summary(p);
}

/* ---- what a patch cannot say ---- */

static void leave_out(struct printer *p, const struct ws_change *c, const char *why)
{
	WS_AUTO(ws_buf) struct ws_buf name = WS_BUF_INIT;
	WS_AUTO_FREE char *shown = ws_path_shown(p->o->base, c->path);

	ws_path_quote(&name, shown);
	ws_warn("the patch leaves out %s: %s", ws_buf_str(&name), why);
	p->left_out++;
}

/* A folder that is empty, or of another mode, is no more than git itself would drop. */
static bool can_say(struct printer *p, const struct ws_change *c)
{
	if (S_ISDIR(mode_of(c))) {
		leave_out(p, c, c->content ? "it is an empty folder" : "a folder's mode");
		p->left_out--;
		return false;
	}
	if (!ws_change_is_patch(c)) {
		leave_out(p, c, ws_change_type(mode_of(c)));
		return false;
	}
	return true;
}

static int take_piece(struct printer *p, const struct ws_change *c, struct ws_buf *piece,
		      struct ws_patch_counts *counts, struct ws_err *err)
{
	if (ws_patch_change(&p->patcher, c, piece, counts, err) == 0)
		return 1;
	if (err->kind != WS_IO || !err->sys)
		return -1;
	leave_out(p, c, err->sys == EFBIG ? "it is too large" : strerror(err->sys));
	return 0;
}

/* ---- stat ---- */

static void print_bar(struct printer *p, const struct ws_patch_counts *n, uint64_t most)
{
	uint64_t scale = most > STAT_BAR ? most : STAT_BAR;
	uint64_t plus = (n->added * STAT_BAR + scale - 1) / scale;
	uint64_t minus = (n->removed * STAT_BAR + scale - 1) / scale;

	ws_buf_addf(&p->out, "%llu ", (unsigned long long)(n->added + n->removed));
	colour(p, "32");
	for (uint64_t i = 0; i < plus; i++)
		ws_buf_addch(&p->out, '+');
	colour(p, "31");
	for (uint64_t i = 0; i < minus; i++)
		ws_buf_addch(&p->out, '-');
	colour(p, "0");
}

static void print_stat_line(struct printer *p, const struct ws_change *c,
			    const struct ws_patch_counts *n, uint64_t most)
{
	ws_buf_addch(&p->out, ' ');
	if (c->from) {
		print_path(p, c->from, c->old.mode);
		ws_buf_addstr(&p->out, " => ");
	}
	print_path(p, c->path, mode_of(c));
	ws_buf_addstr(&p->out, " | ");
	if (is_special(mode_of(c)) || S_ISDIR(mode_of(c)))
		ws_buf_addstr(&p->out, ws_change_type(mode_of(c)));
	else if (n->binary)
		ws_buf_addf(&p->out, "Bin %llu -> %llu bytes",
			    (unsigned long long)c->old.size,
			    (unsigned long long)c->new.size);
	else
		print_bar(p, n, most);
	ws_buf_addch(&p->out, '\n');
}

static int print_stat(struct printer *p, struct ws_err *err)
{
	const struct ws_diff *d = p->o->changes;
	WS_AUTO_FREE struct ws_patch_counts *counts =
		ws_alloc((d->n + 1) * sizeof(*counts));
	uint64_t most = 0, added = 0, removed = 0;

	for (size_t i = 0; i < d->n; i++) {
		if (!ws_change_is_patch(&d->v[i]))
			continue;
		if (take_piece(p, &d->v[i], NULL, &counts[i], err) < 0)
			return -1;
		added += counts[i].added;
		removed += counts[i].removed;
		if (counts[i].added + counts[i].removed > most)
			most = counts[i].added + counts[i].removed;
	}
	for (size_t i = 0; i < d->n; i++)
		print_stat_line(p, &d->v[i], &counts[i], most);
	if (d->n)
		ws_buf_addf(&p->out,
			    " %zu changed, %llu insertions(+), %llu deletions(-)\n", d->n,
			    (unsigned long long)added, (unsigned long long)removed);
	return 0;
}

/* ---- patch ---- */

static const char *line_colour(const char *line)
{
	static const struct {
		const char *begin, *code;
	} lines[] = {
		{ "+++ ", "1" },    { "--- ", "1" },	 { "diff ", "1" },
		{ "index ", "1" },  { "@@ ", "36" },	 { "+", "32" },
		{ "-", "31" },	    { "new ", "1" },	 { "old ", "1" },
		{ "rename ", "1" }, { "deleted ", "1" },
	};

	for (size_t i = 0; i < WS_ARRAY_SIZE(lines); i++)
		if (ws_text_starts(line, lines[i].begin))
			return lines[i].code;
	return NULL;
}

/* Control bytes come out as text, tabs stay. */
static void print_line(struct printer *p, const char *line, size_t len)
{
	const char *code = line_colour(line);

	if (code)
		colour(p, code);
	for (size_t i = 0; i < len;) {
		size_t n = strcspn(line + i, "\t\n");

		n = n < len - i ? n : len - i;
		ws_text_escape(&p->out, line + i, n);
		i += n;
		if (i < len && line[i] == '\t') {
			ws_buf_addch(&p->out, '\t');
			i++;
		} else if (i < len) { /* a NUL */
			ws_text_escape(&p->out, line + i++, 1);
		}
	}
	if (code)
		colour(p, "0");
	ws_buf_addch(&p->out, '\n');
}

static void print_escaped(struct printer *p, const struct ws_buf *piece)
{
	for (size_t at = 0; at < piece->len;) {
		const char *line = piece->data + at;
		const char *end = memchr(line, '\n', piece->len - at);
		size_t len = end ? (size_t)(end - line) : piece->len - at;

		print_line(p, line, len);
		at += len + 1;
	}
}

static int print_piece(struct printer *p, const struct ws_change *c, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf piece = WS_BUF_INIT;
	struct ws_patch_counts counts;
	int rc;

	if (!can_say(p, c))
		return 0;
	rc = take_piece(p, c, &piece, &counts, err);
	if (rc <= 0)
		return rc;
	if (!p->terminal)
		return ws_out_write(&piece, err);
	print_escaped(p, &piece);
	return 0;
}

static int print_patch(struct printer *p, struct ws_err *err)
{
	for (size_t i = 0; i < p->o->changes->n; i++)
		if (print_piece(p, &p->o->changes->v[i], err) < 0)
			return -1;
	for (size_t i = 0; p->o->rest && i < p->o->rest->n; i++)
		leave_out(p, &p->o->rest->v[i], "it is outside the repo");
	return 0;
}

/* ---- JSON ---- */

static void print_counts(struct ws_jsonw *w, const struct ws_diff *d)
{
	struct ws_diff_counts n;

	ws_diff_count(d, &n);
	ws_jsonw_object(w, "summary");
	ws_jsonw_u64(w, "added", n.added);
	ws_jsonw_u64(w, "modified", n.modified);
	ws_jsonw_u64(w, "deleted", n.deleted);
	ws_jsonw_u64(w, "renamed", n.renamed);
	ws_jsonw_u64(w, "type_changed", n.retyped);
	ws_jsonw_end(w, '}');
}

static void print_commit(struct ws_jsonw *w, const struct ws_commit *c)
{
	ws_jsonw_object(w, NULL);
	ws_jsonw_str(w, "id", c->id);
	ws_jsonw_str(w, "parents", c->parents);
	ws_jsonw_str(w, "author", c->author);
	ws_jsonw_str(w, "email", c->email);
	ws_jsonw_time(w, "time", c->time > 0 ? (uint64_t)c->time * 1000000000u : 0);
	ws_jsonw_str(w, "subject", c->subject);
	ws_jsonw_end(w, '}');
}

static void print_repos(struct ws_jsonw *w, const struct ws_diff_output *o)
{
	ws_jsonw_array(w, "repos");
	for (size_t i = 0; i < o->session->nrepos; i++) {
		const struct ws_session_repo *repo = &o->session->repos[i];
		const struct ws_commits *c = &o->commits[i];

		ws_jsonw_object(w, NULL);
		ws_jsonw_str(w, "name", repo->name);
		ws_jsonw_str(w, "vcs", repo->vcs);
		ws_jsonw_str(w, "base", repo->revision);
		ws_jsonw_str(w, "head", c->head);
		ws_jsonw_str(w, "branch", c->branch);
		ws_jsonw_array(w, "commits");
		for (size_t k = 0; k < c->n; k++)
			print_commit(w, &c->v[k]);
		ws_jsonw_end(w, ']');
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, ']');
}

static void print_json(struct printer *p)
{
	const struct ws_diff *d = p->o->changes;
	struct ws_jsonw w;

	ws_jsonw_init(&w, &p->out, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "id", p->o->session->id);
	print_counts(&w, d);
	ws_jsonw_array(&w, "changes");
	for (size_t i = 0; i < d->n; i++) {
		ws_jsonw_object(&w, NULL);
		ws_change_json(&w, &d->v[i]);
		ws_jsonw_end(&w, '}');
	}
	ws_jsonw_end(&w, ']');
	print_repos(&w, p->o);
	ws_jsonw_array(&w, "omitted");
	for (size_t i = 0; i < d->omitted.n; i++) {
		ws_jsonw_object(&w, NULL);
		ws_path_json(&w, "path", d->omitted.v[i]);
		ws_jsonw_end(&w, '}');
	}
	ws_jsonw_end(&w, ']');
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}

/* ---- all of it ---- */

static void warn_omitted(const struct printer *p)
{
	for (size_t i = 0; i < p->o->changes->omitted.n; i++) {
		WS_AUTO(ws_buf) struct ws_buf name = WS_BUF_INIT;

		ws_path_quote(&name, p->o->changes->omitted.v[i]);
		ws_warn("/workspace/%s is not shown: it is a git folder",
			ws_buf_str(&name));
	}
}

static int print(struct printer *p, struct ws_err *err)
{
	switch (p->o->format) {
	case WS_DIFF_NAMES:
		print_names(p);
		break;
	case WS_DIFF_STAT:
		if (print_stat(p, err) < 0)
			return -1;
		break;
	case WS_DIFF_PATCH:
		if (print_patch(p, err) < 0)
			return -1;
		break;
	case WS_DIFF_JSON:
		print_json(p);
		return ws_out_write(&p->out, err);
	}
	warn_omitted(p);
	return p->o->pager ? ws_pager_show(&p->out, err) : ws_out_write(&p->out, err);
}

int ws_diff_print(const struct ws_diff_output *o, struct ws_err *err)
{
	__attribute__((cleanup(printer_release))) struct printer p = {
		.o = o,
		.patcher = WS_PATCHER_INIT,
		.terminal = ws_out_terminal(),
		.colour = ws_out_colour(),
	};

	p.patcher.stack = o->stack;
	p.patcher.base = o->base;
	if (print(&p, err) < 0)
		return -1;
	if (!p.left_out || o->format == WS_DIFF_STAT)
		return 0;
	ws_fail(err, WS_IO, "the patch is not complete: %zu changes are left out",
		p.left_out);
	return ws_hint(err, "--format json tells of all of them; the warnings above say "
			    "which and why");
}
