/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "helper/git.h"

#define HEADS "refs/heads/"

/* Not refs/stash, nor what bisect, rebase and worktrees keep: that is somebody's work. */
static const char *const shown[] = { HEADS, "refs/tags/", "refs/remotes/",
				     "refs/notes/" };

void ws_git_refs_release(struct ws_git_refs *refs)
{
	for (size_t i = 0; i < refs->n; i++)
		ws_freep(&refs->v[i].name);
	ws_freep(&refs->v);
	refs->n = 0;
}

static void add(struct ws_git_refs *refs, const char *name, const git_oid *id)
{
	if ((refs->n & (refs->n - 1)) == 0) /* at a power of two: double */
		refs->v = ws_grow(refs->v, refs->n ? refs->n * 2 : 1, sizeof(*refs->v));
	refs->v[refs->n].name = ws_strdup(name);
	git_oid_cpy(&refs->v[refs->n].id, id);
	refs->n++;
}

static bool is_shown(const char *name)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(shown); i++)
		if (ws_text_starts(name, shown[i]))
			return true;
	return false;
}

int ws_git_refs_read(git_repository *repo, struct ws_git_refs *ret, struct ws_err *err)
{
	git_reference_iterator *it = NULL;
	git_reference *ref;
	git_odb *odb = NULL;
	int rc;

	if (git_repository_odb(&odb, repo) < 0 ||
	    git_reference_iterator_new(&it, repo) < 0) {
		git_odb_free(odb);
		return ws_git_fail(err, WS_REPO_UNUSABLE, "read the refs");
	}
	while ((rc = git_reference_next(&ref, it)) == 0) {
		const git_oid *id =
			git_reference_target(ref); /* NULL: symbolic, as origin/HEAD */

		/* a broken ref would make git inside complain for ever */
		if (id && is_shown(git_reference_name(ref)) && git_odb_exists(odb, id))
			add(ret, git_reference_name(ref), id);
		git_reference_free(ref);
	}
	git_reference_iterator_free(it);
	git_odb_free(odb);
	return rc == GIT_ITEROVER ? 0
				  : ws_git_fail(err, WS_REPO_UNUSABLE, "read the refs");
}

/* Does A name a folder of B? */
static bool is_above(const char *a, const char *b)
{
	size_t len = strlen(a);

	return !strncmp(a, b, len) && b[len] == '/';
}

int ws_git_refs_add_branch(struct ws_git_refs *refs, const char *branch,
			   const git_oid *id, struct ws_err *err)
{
	WS_AUTO_FREE char *name = ws_format(HEADS "%s", branch);

	for (size_t i = 0; i < refs->n; i++)
		if (is_above(refs->v[i].name, name) || is_above(name, refs->v[i].name))
			return ws_fail(
				err, WS_REPO_UNUSABLE,
				"branch '%s' cannot be made beside the branch '%s'",
				branch, refs->v[i].name + strlen(HEADS));
	add(refs, name, id);
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct ws_git_ref *)a)->name,
		      ((const struct ws_git_ref *)b)->name);
}

void ws_git_refs_print(struct ws_git_refs *refs, struct ws_buf *out)
{
	char hex[GIT_OID_HEXSZ + 1];

	/* "peeled" is not promised: that would mean to read every tag now */
	ws_buf_addstr(out, "# pack-refs with: sorted \n");
	if (refs->n)
		qsort(refs->v, refs->n, sizeof(*refs->v), compare);
	for (size_t i = 0; i < refs->n; i++) {
		git_oid_tostr(hex, sizeof(hex), &refs->v[i].id);
		ws_buf_addstr(out, hex);
		ws_buf_addch(out, ' ');
		ws_buf_addstr(out, refs->v[i].name);
		ws_buf_addch(out, '\n');
	}
}
