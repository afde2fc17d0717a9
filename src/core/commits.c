/* SPDX-License-Identifier: Apache-2.0 */
#include "core/commits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "core/vcs_git.h"

#define ID_LEN 40
#define REF_MAX 4096
#define PACKED_MAX ((size_t)64 << 20)
#define REF_DEPTH 5
#define TIMEOUT_MS 120000
#define HEX "0123456789abcdef"

void ws_commits_release(struct ws_commits *c)
{
	for (size_t i = 0; i < c->n; i++) {
		ws_freep(&c->v[i].id);
		ws_freep(&c->v[i].parents);
		ws_freep(&c->v[i].author);
		ws_freep(&c->v[i].email);
		ws_freep(&c->v[i].subject);
	}
	ws_freep(&c->v);
	ws_freep(&c->head);
	ws_freep(&c->branch);
	ws_diff_release(&c->diff);
	c->n = 0;
}

void ws_commits_room_release(struct ws_commits_room *room)
{
	struct ws_err ignored = WS_ERR_INIT; /* what stays is swept later */
	WS_AUTO_CLOSE int tmp =
		room->fd >= 0 ? ws_root_dir(room->root, "tmp", &ignored) : -1;

	if (tmp >= 0)
		ws_root_discard(room->root, tmp, room->name, &ignored);
	ws_closep(&room->fd);
}

int ws_commits_room_open(const struct ws_root *root, struct ws_stack *stack,
			 struct ws_commits_room *room, struct ws_err *err)
{
	if (room->fd >= 0)
		return 0;
	room->root = root;
	if (ws_root_scratch(root, "diff", room->name, &room->fd, err) < 0)
		return -1;
	if (ws_mkdir(room->fd, "blobs", 0700) == 0)
		stack->blobs = ws_open_dir(room->fd, "blobs");
	if (stack->blobs < 0)
		return ws_fail_errno(err, "make a folder in '%s/tmp'", root->path);
	return 0;
}

/* ---- refs ---- */

static bool is_id(const char *s)
{
	return strlen(s) == ID_LEN && strspn(s, HEX) == ID_LEN;
}

/* As far as a path is concerned; what else git forbids cannot be found anyway. */
static bool is_ref_name(const char *s)
{
	return ws_text_starts(s, "refs/") && !strstr(s, "..") && !strstr(s, "//") &&
	       strlen(s) < 1000 && !ws_text_ends(s, "/");
}

static void trim(struct ws_buf *b)
{
	while (b->len && strchr(" \t\r\n", b->data[b->len - 1]))
		b->data[--b->len] = '\0';
}

/* The id in the line "ID NAME", or NULL. */
static char *find_packed(const struct ws_buf *packed, const char *name)
{
	WS_AUTO_FREE char *end = ws_format(" %s\n", name);
	const char *at = packed->len ? strstr(packed->data, end) : NULL;

	for (; at; at = strstr(at + 1, end))
		if (at - packed->data >= ID_LEN &&
		    (at - packed->data == ID_LEN || at[-ID_LEN - 1] == '\n'))
			return ws_strndup(at - ID_LEN, ID_LEN);
	return NULL;
}

static int read_git_file(const struct ws_stack *stack, const char *repo, const char *name,
			 size_t max, struct ws_buf *ret)
{
	WS_AUTO_FREE char *path = ws_format("%s/.git/%s", repo, name);

	return ws_stack_read(stack, path, max, ret);
}

/* Follows NAME; *RET_ID stays NULL where there is no commit yet. */
static int resolve(const struct ws_stack *stack, const char *repo, const char *name,
		   char **ret_id, char **ret_branch)
{
	WS_AUTO_FREE char *at = ws_strdup(name);

	for (int i = 0; i < REF_DEPTH; i++) {
		WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
		WS_AUTO(ws_buf) struct ws_buf packed = WS_BUF_INIT;

		if (read_git_file(stack, repo, at, REF_MAX, &text) < 0) {
			if (errno != ENOENT || i == 0)
				return -1;
			if (read_git_file(stack, repo, "packed-refs", PACKED_MAX,
					  &packed) == 0)
				*ret_id = find_packed(&packed, at);
			return 0;
		}
		trim(&text);
		if (is_id(ws_buf_str(&text))) {
			*ret_id = ws_strdup(text.data);
			return 0;
		}
		errno = EINVAL;
		if (!ws_text_starts(ws_buf_str(&text), "ref: ") ||
		    !is_ref_name(text.data + strlen("ref: ")))
			return -1;
		ws_freep(&at);
		at = ws_strdup(text.data + strlen("ref: "));
		if (i == 0 && ws_text_starts(at, "refs/heads/"))
			*ret_branch = ws_strdup(at + strlen("refs/heads/"));
	}
	errno = ELOOP;
	return -1;
}

int ws_commits_head(const struct ws_stack *stack, const struct ws_session_repo *repo,
		    struct ws_commits *ret, struct ws_err *err)
{
	if (resolve(stack, repo->name, "HEAD", &ret->head, &ret->branch) == 0) {
		if (!ret->head || is_id(ret->head))
			return 0;
		errno = EINVAL;
	}
	ws_fail_errno(err, "read HEAD of repo '%s'", repo->name);
	err->kind = WS_REPO_UNUSABLE;
	return -1;
}

/* ---- objects ---- */

/* A plain file of the session under another name; whatever else it is stays away. */
static int link_object(const struct ws_stack *stack, const struct ws_stack_dir *from,
		       const char *path, const char *name, int to)
{
	WS_AUTO_FREE char *full = ws_format("%s/%s", path, name);
	WS_AUTO_CLOSE int fd = -1;
	struct ws_stack_entry e;
	char self[40];

	if (ws_stack_lookup(from, name, &e) < 0 || !S_ISREG(e.st.st_mode))
		return 0;
	fd = ws_stack_open_file(stack, e.layer, full);
	if (fd < 0)
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, to, name, AT_SYMLINK_FOLLOW);
}

static bool is_object_folder(const char *name)
{
	return !strcmp(name, "pack") || (strlen(name) == 2 && strspn(name, HEX) == 2);
}

static int link_folder(const struct ws_stack *stack, const struct ws_stack_dir *objects,
		       const char *path, const char *name, int to)
{
	WS_AUTO_FREE char *full = ws_format("%s/%s", path, name);
	WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;
	WS_AUTO_CLOSE int sub = -1;

	if (ws_stack_enter(objects, name, &dir) < 0)
		return errno == ENOTDIR || errno == ENOENT ? 0 : -1;
	if (ws_stack_names(&dir, false, &names) < 0 || ws_mkdir(to, name, 0700) < 0)
		return -1;
	sub = ws_open_dir(to, name);
	for (size_t i = 0; i < names.n; i++)
		if (sub < 0 || link_object(stack, &dir, full, names.v[i], sub) < 0)
			return -1;
	return 0;
}

static int link_objects(const struct ws_stack *stack, const char *repo, int to)
{
	WS_AUTO_FREE char *path = ws_format("%s/.git/objects", repo);
	WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;

	if (ws_stack_walk(stack, 0, (unsigned)stack->n, path, &dir) < 0 ||
	    ws_stack_names(&dir, false, &names) < 0 || ws_mkdir(to, "pack", 0700) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++)
		if (is_object_folder(names.v[i]) &&
		    link_folder(stack, &dir, path, names.v[i], to) < 0)
			return -1;
	return 0;
}

int ws_commits_lay_out(const struct ws_commits_room *room, const struct ws_stack *stack,
		       const char *repo, struct ws_err *err)
{
	WS_AUTO_FREE char *name = ws_format("objects-%s", repo);
	WS_AUTO_CLOSE int objects = -1;

	if (ws_mkdir(room->fd, name, 0700) == 0)
		objects = ws_open_dir(room->fd, name);
	if (objects >= 0 && link_objects(stack, repo, objects) == 0)
		return 0;
	ws_fail_errno(err, "read the objects of repo '%s'", repo);
	err->kind = WS_REPO_UNUSABLE;
	return -1;
}

/* ---- the answer ---- */

/* The text up to the next NUL. */
static char *next_text(const struct ws_buf *b, size_t *at)
{
	const char *start = b->data + *at;
	const char *end = memchr(start, '\0', b->len - *at);

	if (!end)
		return NULL;
	*at = (size_t)(end - b->data) + 1;
	return ws_strndup(start, (size_t)(end - start));
}

/* The line; AT is behind it then. */
static const char *next_line(const struct ws_buf *b, size_t *at)
{
	char *start = b->data + *at;
	char *end = memchr(start, '\n', b->len - *at);

	if (!end)
		return NULL;
	*end = '\0';
	*at = (size_t)(end - b->data) + 1;
	return start;
}

static struct ws_change_side blob_side(unsigned mode, const char *id,
				       unsigned long long size)
{
	struct ws_change_side s = { .mode = mode, .size = size };

	if (mode)
		snprintf(s.blob, sizeof(s.blob), "%.40s", id);
	return s;
}

static int take_change(const struct ws_buf *b, size_t *at, const char *repo,
		       struct ws_diff *diff)
{
	const char *line = next_line(b, at);
	WS_AUTO_FREE char *path = line ? next_text(b, at) : NULL;
	WS_AUTO_FREE char *full = path ? ws_format("%s/%s", repo, path) : NULL;
	unsigned modes[2];
	char ids[2][ID_LEN + 1];
	unsigned long long sizes[2];
	enum ws_change_kind kind;
	struct ws_change *c;

	if (!full || sscanf(line, "%o %o %40s %40s %llu %llu", &modes[0], &modes[1],
			    ids[0], ids[1], &sizes[0], &sizes[1]) != 6)
		return -1;
	kind = !modes[0]				    ? WS_CHANGE_ADDED
	       : !modes[1]				    ? WS_CHANGE_DELETED
	       : (modes[0] & S_IFMT) != (modes[1] & S_IFMT) ? WS_CHANGE_TYPE
							    : WS_CHANGE_MODIFIED;
	c = ws_diff_add(diff, kind, full);
	c->old = blob_side(modes[0], ids[0], sizes[0]);
	c->new = blob_side(modes[1], ids[1], sizes[1]);
	c->content = strcmp(ids[0], ids[1]) != 0;
	return 0;
}

static int take_commit(const struct ws_buf *b, size_t *at, struct ws_commits *c)
{
	const char *line = next_line(b, at);
	struct ws_commit *m;
	long long time;
	char id[ID_LEN + 1];

	if (!line || sscanf(line, "%40s %lld", id, &time) != 2)
		return -1;
	c->v = ws_grow(c->v, c->n + 1, sizeof(*c->v));
	m = &c->v[c->n++];
	*m = (struct ws_commit){ .id = ws_strdup(id), .time = time };
	m->parents = next_text(b, at);
	m->author = m->parents ? next_text(b, at) : NULL;
	m->email = m->author ? next_text(b, at) : NULL;
	m->subject = m->email ? next_text(b, at) : NULL;
	return m->subject ? 0 : -1;
}

static int parse_answer(const struct ws_buf *b, const char *repo, struct ws_commits *c)
{
	size_t at = 0, changes, commits;
	const char *line = b->len ? next_line(b, &at) : NULL;

	if (!line || sscanf(line, "%zu %zu", &changes, &commits) != 2)
		return -1;
	for (size_t i = 0; i < changes; i++)
		if (take_change(b, &at, repo, &c->diff) < 0)
			return -1;
	for (size_t i = 0; i < commits; i++)
		if (take_commit(b, &at, c) < 0)
			return -1;
	ws_diff_sort(&c->diff);
	return 0;
}

static int ask(const struct ws_commits_room *room, const struct ws_session_repo *repo,
	       struct ws_commits *c, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv argv = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf answer = WS_BUF_INIT;
	const char *root = room->root->path;

	ws_strv_add(&argv, "changes", "--from", repo->revision, "--to", c->head, NULL);
	ws_strv_addf(&argv, "--objects=%s/tmp/%s/objects-%s", root, room->name,
		     repo->name);
	ws_strv_addf(&argv, "--blobs=%s/tmp/%s/blobs", root, room->name);
	ws_strv_addf(&argv, "--pool=%s/pools/%s/objects", root, repo->pool);
	if (ws_git_ask(&argv, NULL, 0, TIMEOUT_MS, &answer, err) < 0)
		return -1;
	if (parse_answer(&answer, repo->name, c) < 0)
		return ws_fail(err, WS_INTERNAL, "wsiso-git's answer cannot be read");
	return 0;
}

int ws_commits_read(const struct ws_commits_room *room, const struct ws_stack *stack,
		    const struct ws_session_repo *repo, struct ws_commits *ret,
		    struct ws_err *err)
{
	if (!ret->head || !strcmp(ret->head, repo->revision))
		return 0;
	if (ws_commits_lay_out(room, stack, repo->name, err) < 0 ||
	    ask(room, repo, ret, err) < 0)
		return ws_fail_within(err, "commits of '%s'", repo->name);
	return 0;
}
