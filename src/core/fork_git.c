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

/* The upper gets the folder PATH, as it is in the view, or 0755. */
static int add_folder(const struct ws_stack *st, const char *path)
{
	WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_nsec = UTIME_OMIT } };
	mode_t mode = 0755;
	struct stat info;

	if (faccessat(st->roots[0], path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (ws_stack_walk(st, 0, (unsigned)st->n, path, &dir) == 0 &&
	    fstat(dir.v[0].fd, &info) == 0) {
		mode = dir.v[0].mended ? dir.v[0].mode : info.st_mode & 07777;
		times[1] = info.st_mtim;
	} else if (errno != ENOENT) {
		return -1;
	}
	/* of a group of its own it could not be copied up */
	if (mkdirat(st->roots[0], path, 0700) < 0 ||
	    fchownat(st->roots[0], path, (uid_t)-1, getegid(), AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(st->roots[0], path, mode | 0700, 0) < 0)
		return -1;
	return utimensat(st->roots[0], path, times, AT_SYMLINK_NOFOLLOW);
}

/* PATH, new, in the upper, with the folders on the way. */
static int add_file(const struct ws_stack *st, const char *path, const char *text)
{
	WS_AUTO_FREE char *above = ws_strdup(path);
	WS_AUTO_CLOSE int fd = -1;

	for (char *end = strchr(above, '/'); end; end = strchr(end + 1, '/')) {
		*end = '\0';
		if (add_folder(st, above) < 0)
			return -1;
		*end = '/';
	}
	fd = ws_open_beneath(st->roots[0], path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	return fd < 0 || fchmod(fd, 0644) < 0 ||
			       ws_write_all(fd, text, strlen(text)) < 0 || fsync(fd) < 0
		       ? -1
		       : 0;
}

/* On the commit that the parent is on; if it has none yet, on none. */
static int put(const struct ws_stack *st, const struct ws_session_repo *r,
	       const struct ws_commits *at, const char *branch)
{
	WS_AUTO_FREE char *head = ws_format("%s/.git/HEAD", r->name);
	WS_AUTO_FREE char *ref = ws_format("%s/.git/refs/heads/%s", r->name, branch);
	WS_AUTO_FREE char *to = ws_format("ref: refs/heads/%s\n", branch);
	WS_AUTO_FREE char *id = at->head ? ws_format("%s\n", at->head) : NULL;

	if (id && add_file(st, ref, id) < 0)
		return -1;
	return add_file(st, head, to);
}

static int start(const struct ws_stack *st, const char *id, struct ws_session_repo *r,
		 struct ws_err *err)
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
	if (put(st, r, &at, branch) < 0)
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

int ws_fork_branches(const struct ws_root *root, struct ws_session *child,
		     struct ws_err *err)
{
	WS_AUTO(ws_stack) struct ws_stack st = WS_STACK_INIT;

	if (ws_stack_open(root, child, &st, err) < 0)
		return -1;
	for (size_t i = 0; i < child->nrepos; i++)
		if (!strcmp(child->repos[i].vcs, "git") &&
		    start(&st, child->id, &child->repos[i], err) < 0)
			return -1;
	return 0;
}
