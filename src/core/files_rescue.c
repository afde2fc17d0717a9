/* SPDX-License-Identifier: Apache-2.0 */
#include "core/files_rescue.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "core/stack.h"
#include "core/user.h"

/* One of the three trees of a session, and a path in it. */
struct place {
	struct ws_stack stack;
	char *path; /* relative, in normal form; "": the top */
};

static void place_release(struct place *p)
{
	ws_stack_release(&p->stack);
	ws_freep(&p->path);
}

/* The rest of PATH behind TOP, or NULL. */
static const char *behind(const char *path, const char *top)
{
	size_t len = strlen(top);

	if (strncmp(path, top, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

/* ".." would have to ask what the links before it lead to. */
static char *normal_form(const char *path, struct ws_err *err)
{
	WS_AUTO_FREE char *copy = ws_strdup(path);
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	char *save = NULL;

	for (char *p = strtok_r(copy, "/", &save); p; p = strtok_r(NULL, "/", &save)) {
		if (!strcmp(p, "..")) {
			ws_fail(err, WS_USAGE, "'%s' has a '..' in it", path);
			ws_hint(err, "--rescue takes plain paths alone");
			return NULL;
		}
		if (strcmp(p, ".") != 0)
			ws_buf_addf(&out, "%s%s", out.len ? "/" : "", p);
	}
	return ws_buf_steal(&out);
}

static int open_single(const struct ws_session *s, int dir, const char *path,
		       struct place *p, struct ws_err *err)
{
	int fd = ws_open_dir(dir, path);

	if (fd < 0)
		return ws_fail_errno(err, "open '%s' of session '%s'", path, s->id);
	ws_stack_of(fd, &p->stack);
	return 0;
}

static int find_place(const struct ws_root *root, const struct ws_session *s,
		      const char *path, struct place *ret, struct ws_err *err)
{
	WS_AUTO(ws_user) struct ws_user user = { 0 };
	WS_AUTO_FREE char *full =
		path[0] == '/'	 ? ws_strdup(path)
		: s->nrepos == 1 ? ws_format("/workspace/%s/%s", s->repos[0].name, path)
				 : ws_format("/workspace/%s", path);
	const char *rest;

	if (ws_user_self(&user, err) < 0)
		return -1;
	if ((rest = behind(full, "/workspace"))) {
		if (ws_stack_open(root, s, &ret->stack, err) < 0)
			return -1;
	} else if ((rest = behind(full, user.home))) {
		WS_AUTO_FREE char *home = ws_session_home(root, s);

		if (open_single(s, root->fd, home, ret, err) < 0)
			return -1;
	} else if ((rest = behind(full, "/tmp"))) {
		if (open_single(s, s->dir, "tmp", ret, err) < 0)
			return -1;
	} else {
		return ws_fail(err, WS_USAGE,
			       "'%s' is outside of /workspace, HOME and /tmp", path);
	}
	ret->path = normal_form(rest, err);
	return ret->path ? 0 : -1;
}

static struct ws_file_info to_info(const char *name, const struct stat *st)
{
	return (struct ws_file_info){
		.name = ws_strdup(name),
		.mode = st->st_mode,
		.size = (uint64_t)st->st_size,
		.ino = st->st_ino,
		.mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u +
			    (uint64_t)st->st_mtim.tv_nsec,
		.ctime_ns = (uint64_t)st->st_ctim.tv_sec * 1000000000u +
			    (uint64_t)st->st_ctim.tv_nsec,
	};
}

/* What stands at the place; ENOENT. */
static int look(const struct place *p, struct ws_stack_entry *ret)
{
	WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;
	WS_AUTO_FREE char *above = ws_strdup(p->path);
	char *slash = strrchr(above, '/');
	unsigned last = (unsigned)p->stack.n;

	if (!*p->path) {
		*ret = (struct ws_stack_entry){ .st = { .st_mode = S_IFDIR | 0755 } };
		return 0;
	}
	if (slash)
		*slash = '\0';
	if (ws_stack_walk(&p->stack, 0, last, slash ? above : "", &dir) < 0 ||
	    ws_stack_lookup(&dir, slash ? slash + 1 : above, ret) < 0)
		return -1;
	errno = ENOENT;
	return ret->st.st_mode ? 0 : -1;
}

static int refuse(const struct place *p, const struct ws_stack_entry *e, const char *path,
		  struct ws_err *err)
{
	WS_AUTO_FREE char *target = NULL;
	WS_AUTO(ws_buf) struct ws_buf shown = WS_BUF_INIT;

	if (S_ISDIR(e->st.st_mode))
		return ws_fail(err, WS_USAGE, "read '%s': it is a folder", path);
	if (!S_ISLNK(e->st.st_mode))
		return ws_fail(err, WS_USAGE,
			       "read '%s': it is a FIFO, a socket or a device", path);
	target = ws_stack_read_link(&p->stack, e->layer, p->path);
	ws_text_escape(&shown, target ? target : "?", strlen(target ? target : "?"));
	return ws_fail(err, WS_USAGE, "read '%s': it is a link to '%.200s'", path,
		       ws_buf_str(&shown));
}

static int copy_out(int fd, int out, uint64_t size, struct ws_file_info *ret,
		    struct ws_err *err)
{
	static char block[65536];
	struct ws_sha256 sum;
	uint64_t left = size; /* a writer may go on for ever */
	ssize_t n;

	ws_sha256_init(&sum);
	while (left > 0 &&
	       (n = read(fd, block,
			 left < sizeof(block) ? (size_t)left : sizeof(block))) != 0) {
		if (n < 0)
			return ws_fail_errno(err, "read");
		left -= (uint64_t)n;
		ws_sha256_update(&sum, block, (size_t)n);
		if (out >= 0 && ws_write_all(out, block, (size_t)n) < 0) {
			ws_fail_errno(err, "write to the output");
			err->kind = WS_IO;
			return -1;
		}
	}
	ws_sha256_hex(&sum, ret->sha256);
	return 0;
}

int ws_rescue_read(const struct ws_root *root, const struct ws_session *s,
		   const char *path, int out, struct ws_file_info *ret,
		   struct ws_err *err)
{
	WS_AUTO(place) struct place p = { .stack = WS_STACK_INIT };
	WS_AUTO_CLOSE int fd = -1;
	struct ws_stack_entry e;

	if (find_place(root, s, path, &p, err) < 0)
		return -1;
	if (look(&p, &e) < 0)
		return ws_fail_errno(err, "read '%s'", path);
	if (!S_ISREG(e.st.st_mode))
		return refuse(&p, &e, path, err);
	fd = ws_stack_open_file(&p.stack, e.layer, p.path);
	if (fd < 0)
		return ws_fail_errno(err, "read '%s'", path);
	*ret = to_info("", &e.st);
	return copy_out(fd, out, (uint64_t)e.st.st_size, ret, err);
}

static void describe(const struct place *p, const char *name, const char *path,
		     const struct ws_stack_entry *e, struct ws_file_info *ret)
{
	*ret = to_info(name, &e->st);
	if (S_ISLNK(e->st.st_mode))
		ret->target = ws_stack_read_link(&p->stack, e->layer, path);
}

static int list_folder(const struct place *p, struct ws_file_list *ret)
{
	WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;

	if (ws_stack_walk(&p->stack, 0, (unsigned)p->stack.n, p->path, &dir) < 0 ||
	    ws_stack_names(&dir, false, &names) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		WS_AUTO_FREE char *path =
			ws_format("%s%s%s", p->path, *p->path ? "/" : "", names.v[i]);
		struct ws_stack_entry e;
		struct ws_file_info info;

		if (ws_stack_lookup(&dir, names.v[i], &e) < 0)
			return -1;
		if (!e.st.st_mode)
			continue;
		describe(p, names.v[i], path, &e, &info);
		ws_file_list_add(ret, &info);
	}
	return 0;
}

int ws_rescue_list(const struct ws_root *root, const struct ws_session *s,
		   const char *path, struct ws_file_list *ret, struct ws_err *err)
{
	WS_AUTO(place) struct place p = { .stack = WS_STACK_INIT };
	struct ws_stack_entry e;

	if (find_place(root, s, path, &p, err) < 0)
		return -1;
	if (look(&p, &e) < 0)
		return ws_fail_errno(err, "list '%s'", path);
	describe(&p, "", p.path, &e, &ret->self);
	if (S_ISDIR(e.st.st_mode) && list_folder(&p, ret) < 0)
		return ws_fail_errno(err, "list '%s'", path);
	ws_file_list_sort(ret);
	return 0;
}
