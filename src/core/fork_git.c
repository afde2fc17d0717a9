/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "core/commits.h"
#include "core/fork.h"
#include "core/spec_rules.h"
#include "core/stack.h"

#define PREFIX "wsiso"
#define PACKED_MAX ((size_t)64 << 20)

/* "wsiso/ID"; where git would not have that for a branch, without its dots. */
static char *branch_of(const char *id)
{
	WS_AUTO_FREE char *branch = ws_format(PREFIX "/%s", id);

	if (!ws_spec_rule_holds(&WS_RULE_BRANCH, branch))
		for (char *p = branch; *p; p++)
			*p = *p == '.' ? '_' : *p;
	return ws_steal_ptr(&branch);
}

/* Is there a branch whose name would have to be a folder now? */
static bool is_taken(const struct ws_stack *st, const char *repo)
{
	WS_AUTO_FREE char *loose = ws_format("%s/.git/refs/heads/" PREFIX, repo);
	WS_AUTO_FREE char *packed = ws_format("%s/.git/packed-refs", repo);
	WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	if (ws_stack_walk(st, 0, (unsigned)st->n, loose, &dir) < 0 && errno != ENOENT)
		return true;
	return ws_stack_read(st, packed, PACKED_MAX, &text) == 0 &&
	       strstr(ws_buf_str(&text), " refs/heads/" PREFIX "\n");
}

/* The upper gets the folder PATH, as it is in the view (SEEN), or 0755. */
static int add_folder(int upper, const char *path, const struct ws_stack_part *seen)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_nsec = UTIME_OMIT } };
	mode_t mode = 0755;
	struct stat info;

	if (seen) {
		if (fstat(seen->fd, &info) < 0)
			return -1;
		mode = seen->mended ? seen->mode : info.st_mode & 07777;
		times[1] = info.st_mtim;
	}
	/* of a group of its own it could not be copied up */
	if (mkdirat(upper, path, 0700) < 0 ||
	    fchownat(upper, path, (uid_t)-1, getegid(), AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(upper, path, mode | 0700, 0) < 0)
		return -1;
	return utimensat(upper, path, times, AT_SYMLINK_NOFOLLOW);
}

/*
 * All folders on the way to PATH: one walk through the view, however deep. Where that has
 * none, none can be below.
 */
static int add_folders(const struct ws_stack *st, const char *path)
{
	WS_AUTO_FREE char *above = ws_strdup(path);
	WS_AUTO(ws_stack_dir) struct ws_stack_dir at = WS_STACK_DIR_INIT;
	bool seen = true;
	char *name = above;

	if (ws_stack_top(st, 0, (unsigned)st->n, &at) < 0)
		return -1;
	for (char *end; (end = strchr(name, '/')); name = end + 1) {
		struct ws_stack_dir next = WS_STACK_DIR_INIT;

		*end = '\0';
		if (seen && ws_stack_enter(&at, name, &next) < 0) {
			if (errno != ENOENT)
				return -1;
			seen = false;
		}
		ws_stack_dir_release(&at);
		at = next;
		if (faccessat(st->roots[0], above, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
		    add_folder(st->roots[0], above, seen ? &at.v[0] : NULL) < 0)
			return -1;
		*end = '/';
	}
	return 0;
}

/* PATH, new, in the upper, whose folder is there; it is not synced yet. */
static int add_file(const struct ws_stack *st, const char *path, const char *text,
		    struct ws_unsynced *later)
{
	WS_AUTO_CLOSE int fd =
		ws_open_beneath(st->roots[0], path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd < 0 || fchmod(fd, 0644) < 0 || ws_write_all(fd, text, strlen(text)) < 0)
		return -1;
	ws_unsynced_take(later, &fd);
	return 0;
}

/* On the commit that the parent is on; if it has none yet, on none. */
static int put(const struct ws_stack *st, const struct ws_session_repo *r,
	       const struct ws_commits *at, const char *branch, struct ws_unsynced *later)
{
	WS_AUTO_FREE char *head = ws_format("%s/.git/HEAD", r->name);
	WS_AUTO_FREE char *ref = ws_format("%s/.git/refs/heads/%s", r->name, branch);
	WS_AUTO_FREE char *to = ws_format("ref: refs/heads/%s\n", branch);
	WS_AUTO_FREE char *id = at->head ? ws_format("%s\n", at->head) : NULL;

	if (add_folders(st, id ? ref : head) < 0 ||
	    (id && add_file(st, ref, id, later) < 0))
		return -1;
	return add_file(st, head, to, later);
}

static int start(const struct ws_stack *st, const char *id, struct ws_session_repo *r,
		 struct ws_unsynced *later, struct ws_err *err)
{
	WS_AUTO(ws_commits) struct ws_commits at = WS_COMMITS_INIT;
	WS_AUTO_FREE char *branch = branch_of(id);
	struct ws_err why = WS_ERR_INIT;

	if (ws_commits_head(st, r, &at, &why) < 0) {
		ws_warn("repo '%s' gets no branch '%s': %s", r->name, branch, why.msg);
		return 0;
	}
	if (is_taken(st, r->name)) {
		ws_warn("repo '%s' gets no branch '%s': there is a branch '" PREFIX "'",
			r->name, branch);
		return 0;
	}
	if (put(st, r, &at, branch, later) < 0)
		return ws_fail_errno(err, "make the branch '%s' of repo '%s'", branch,
				     r->name);
	ws_freep(&r->branch);
	r->branch = ws_steal_ptr(&branch);
	if (at.head && !r->live) {
		ws_freep(&r->revision);
		r->revision = ws_steal_ptr(&at.head);
	}
	return 0;
}

int ws_fork_branches(struct ws_fork *f, struct ws_session *child, struct ws_err *err)
{
	WS_AUTO(ws_stack) struct ws_stack st = WS_STACK_INIT;

	if (ws_stack_open(f->root, child, &st, err) < 0)
		return -1;
	for (size_t i = 0; i < child->nrepos; i++)
		if (!strcmp(child->repos[i].vcs, "git") &&
		    start(&st, child->id, &child->repos[i], &f->unsynced, err) < 0)
			return -1;
	return 0;
}
