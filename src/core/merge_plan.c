/* SPDX-License-Identifier: Apache-2.0 */
#include "core/merge_plan.h"

#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

#define PERMISSIONS 07777u

static mode_t perm(const struct ws_merge_side *s)
{
	return s->mode & PERMISSIONS;
}

static mode_t type(const struct ws_merge_side *s)
{
	return s->mode & S_IFMT;
}

/* A link has no permissions of its own, a folder no bytes. */
static bool equal(const struct ws_merge_side *a, const struct ws_merge_side *b)
{
	if (type(a) != type(b) || !a->mode)
		return type(a) == type(b);
	if (S_ISDIR(a->mode))
		return perm(a) == perm(b);
	return a->same == b->same && (S_ISLNK(a->mode) || perm(a) == perm(b));
}

struct ws_merge_path *ws_merge_find(const struct ws_merge_path *paths, size_t n,
				    const char *path)
{
	size_t low = 0;

	while (low < n) {
		size_t mid = low + (n - low) / 2;
		int order = strcmp(paths[mid].path, path);

		if (order == 0)
			return (struct ws_merge_path *)(uintptr_t)&paths[mid];
		if (order < 0)
			low = mid + 1;
		else
			n = mid;
	}
	return NULL;
}

/* The folder above P, or NULL. */
static struct ws_merge_path *above(const struct ws_merge_path *paths, size_t n,
				   const char *path)
{
	const char *slash = strrchr(path, '/');
	WS_AUTO_FREE char *dir = slash ? ws_strndup(path, (size_t)(slash - path)) : NULL;

	return dir ? ws_merge_find(paths, n, dir) : NULL;
}

static void take(struct ws_merge_path *p)
{
	p->action = p->theirs.mode ? WS_MERGE_TAKE : WS_MERGE_DELETE;
	p->mode = perm(&p->theirs);
}

/* ---- conflicts ---- */

bool ws_merge_is_half_folder(const struct ws_merge_path *p)
{
	return S_ISDIR(p->ours.mode) != S_ISDIR(p->theirs.mode);
}

bool ws_merge_may_answer(const struct ws_merge_path *p, enum ws_merge_answer answer)
{
	if (answer == WS_ANSWER_OURS || answer == WS_ANSWER_THEIRS)
		return true;
	return !S_ISDIR(p->ours.mode) && !S_ISDIR(p->theirs.mode);
}

void ws_merge_clash(struct ws_merge_path *p, enum ws_merge_clash clash)
{
	p->clash = clash;
	switch (p->answer) {
	case WS_ANSWER_OURS:
		p->action = WS_MERGE_KEEP;
		break;
	case WS_ANSWER_THEIRS:
		take(p);
		break;
	case WS_ANSWER_DELETE:
		p->action = p->ours.mode ? WS_MERGE_DELETE : WS_MERGE_KEEP;
		break;
	case WS_ANSWER_FILE:
		p->action = WS_MERGE_ANSWER;
		p->mode = S_ISREG(p->ours.mode)	    ? perm(&p->ours)
			  : S_ISREG(p->theirs.mode) ? perm(&p->theirs)
						    : 0644;
		break;
	case WS_ANSWER_NONE:
		p->action = WS_MERGE_CONFLICT;
		break;
	}
}

/* ---- what is no folder on either side ---- */

static void join_files(struct ws_merge_path *p)
{
	bool known = S_ISREG(p->base.mode);
	mode_t ours = perm(&p->ours), theirs = perm(&p->theirs);
	unsigned was = known ? p->base.same : 0;

	if (ours == theirs || (known && theirs == perm(&p->base)))
		p->mode = ours;
	else if (known && ours == perm(&p->base))
		p->mode = theirs;
	else {
		ws_merge_clash(p, WS_CLASH_MODE);
		return;
	}
	if (p->ours.same == p->theirs.same || p->theirs.same == was)
		p->action = p->mode == ours ? WS_MERGE_KEEP : WS_MERGE_MODE;
	else if (p->ours.same == was)
		p->action = WS_MERGE_TAKE;
	else
		p->action = WS_MERGE_JOIN;
}

static void decide(struct ws_merge_path *p)
{
	if (equal(&p->theirs, &p->base) || equal(&p->theirs, &p->ours))
		p->action = WS_MERGE_KEEP;
	else if (equal(&p->ours, &p->base))
		take(p);
	else if (!p->theirs.mode && S_ISDIR(p->base.mode))
		p->action = WS_MERGE_KEEP; /* the folder went on both sides */
	else if (!p->ours.mode && S_ISDIR(p->base.mode))
		take(p);
	else if (!p->ours.mode || !p->theirs.mode)
		ws_merge_clash(p, WS_CLASH_DELETED);
	else if (type(&p->ours) != type(&p->theirs))
		ws_merge_clash(p, WS_CLASH_TYPE);
	else if (S_ISREG(p->ours.mode))
		join_files(p);
	else
		ws_merge_clash(p, p->base.mode ? WS_CLASH_LINK : WS_CLASH_ADDED);
}

/* ---- folders ---- */

static void decide_two_folders(struct ws_merge_path *p)
{
	if (equal(&p->theirs, &p->base) || equal(&p->theirs, &p->ours))
		p->action = WS_MERGE_KEEP;
	else if (equal(&p->ours, &p->base))
		p->action = WS_MERGE_MODE;
	else
		ws_merge_clash(p, WS_CLASH_MODE);
	p->mode = perm(&p->theirs);
}

/* Theirs is a folder. */
static void decide_their_folder(struct ws_merge_path *p)
{
	bool was = S_ISDIR(p->base.mode);

	if (!p->ours.mode) {
		p->action = was && !p->needs ? WS_MERGE_KEEP : WS_MERGE_TAKE;
		p->mode = perm(&p->theirs);
	} else if (was && !p->needs) {
		p->action = WS_MERGE_KEEP;
	} else if (!was && equal(&p->ours, &p->base)) {
		take(p);
	} else {
		ws_merge_clash(p, WS_CLASH_FOLDER);
	}
}

/* Ours is a folder. */
static void decide_our_folder(struct ws_merge_path *p)
{
	bool was = S_ISDIR(p->base.mode);

	if (was && !p->holds)
		take(p);
	else if (!p->theirs.mode || equal(&p->theirs, &p->base))
		p->action = WS_MERGE_KEEP;
	else
		ws_merge_clash(p, WS_CLASH_FOLDER);
}

static void decide_any(struct ws_merge_path *p)
{
	if (p->forced == WS_ANSWER_OURS) {
		p->action = WS_MERGE_KEEP;
	} else if (p->forced) {
		take(p);
		if (!p->theirs.mode && !p->ours.mode)
			p->action = WS_MERGE_KEEP;
	} else if (!S_ISDIR(p->ours.mode) && !S_ISDIR(p->theirs.mode)) {
		decide(p);
	} else if (!S_ISDIR(p->ours.mode)) {
		decide_their_folder(p);
	} else if (!S_ISDIR(p->theirs.mode)) {
		decide_our_folder(p);
	} else {
		decide_two_folders(p);
	}
}

/* ---- all of them ---- */

/* What is answered for a folder goes for all that is in it. */
static void force(struct ws_merge_path *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ws_merge_path *p = &paths[i];
		const struct ws_merge_path *up = above(paths, n, p->path);

		if (!up)
			continue;
		if (up->forced)
			p->forced = up->forced;
		else if (up->answer && ws_merge_is_half_folder(up))
			p->forced = up->answer;
	}
}

static bool will_be(const struct ws_merge_path *p)
{
	return p->action == WS_MERGE_KEEP ? p->ours.mode != 0
					  : p->action != WS_MERGE_DELETE;
}

static bool has_to_put(const struct ws_merge_path *p)
{
	return p->action == WS_MERGE_TAKE || p->action == WS_MERGE_JOIN ||
	       p->action == WS_MERGE_ANSWER || p->action == WS_MERGE_CONFLICT;
}

static void tell_above(struct ws_merge_path *paths, size_t n,
		       const struct ws_merge_path *p)
{
	struct ws_merge_path *up = above(paths, n, p->path);

	for (; up; up = above(paths, n, up->path)) {
		up->holds = up->holds || will_be(p);
		up->needs = up->needs || has_to_put(p);
	}
}

static bool ends_here(const struct ws_merge_path *p)
{
	if (p->action == WS_MERGE_TAKE)
		return !S_ISDIR(p->theirs.mode);
	return p->action == WS_MERGE_DELETE || p->action == WS_MERGE_ANSWER;
}

void ws_merge_plan(struct ws_merge_path *paths, size_t n)
{
	force(paths, n);
	/* what is in a folder comes behind it */
	for (size_t i = n; i > 0; i--) {
		decide_any(&paths[i - 1]);
		tell_above(paths, n, &paths[i - 1]);
	}
	for (size_t i = 0; i < n; i++) {
		const struct ws_merge_path *up = above(paths, n, paths[i].path);

		paths[i].covered = up && (up->covered || ends_here(up));
	}
}

bool ws_merge_acts(const struct ws_merge_path *p)
{
	return !p->covered && p->action != WS_MERGE_KEEP;
}

const char *ws_merge_clash_name(enum ws_merge_clash clash)
{
	static const char *const names[WS_CLASH_COUNT] = {
		[WS_CLASH_NONE] = "none",
		[WS_CLASH_CONTENT] = "content",
		[WS_CLASH_BINARY] = "binary",
		[WS_CLASH_ADDED] = "add-add",
		[WS_CLASH_DELETED] = "modify-delete",
		[WS_CLASH_LINK] = "link",
		[WS_CLASH_MODE] = "mode",
		[WS_CLASH_TYPE] = "type",
		[WS_CLASH_FOLDER] = "directory-file",
	};

	return names[clash];
}

static const char *const answers[] = {
	[WS_ANSWER_NONE] = "none",     [WS_ANSWER_OURS] = "ours",
	[WS_ANSWER_THEIRS] = "theirs", [WS_ANSWER_DELETE] = "delete",
	[WS_ANSWER_FILE] = "file",
};

enum ws_merge_answer ws_merge_answer_of(const char *word)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(answers); i++)
		if (!strcmp(word, answers[i]))
			return (enum ws_merge_answer)i;
	return WS_ANSWER_NONE;
}

const char *ws_merge_answer_name(enum ws_merge_answer answer)
{
	return answers[answer];
}
