/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mount_table.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"
#include "base/text.h"

#define MOUNTINFO_MAX (16u << 20)
#define FIELDS 6

void ws_mount_table_release(struct ws_mount_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		ws_freep(&t->v[i].device);
		ws_freep(&t->v[i].root);
		ws_freep(&t->v[i].target);
		ws_freep(&t->v[i].options);
		ws_freep(&t->v[i].type);
	}
	ws_freep(&t->v);
	t->n = 0;
}

/* Octal escapes: \040 is a blank. */
static char *unescape(const char *s, size_t len)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\\' && i + 3 < len && strspn(s + i + 1, "01234567") >= 3) {
			ws_buf_addch(&out,
				     (char)((s[i + 1] - '0') << 6 |
					    (s[i + 2] - '0') << 3 | (s[i + 3] - '0')));
			i += 3;
		} else {
			ws_buf_addch(&out, s[i]);
		}
	}
	return ws_buf_steal(&out);
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw". */
static int parse_line(const char *line, struct ws_mount_entry *m)
{
	const char *field[FIELDS + 1] = { line };
	const char *type;

	for (int i = 1; i <= FIELDS; i++) {
		const char *blank = strchr(field[i - 1], ' ');

		if (!blank)
			return -1;
		field[i] = blank + 1;
	}
	type = strstr(field[FIELDS] - 1, " - ");
	if (!type)
		return -1;
	type += 3;
#define LENGTH(i) ((size_t)(field[(i) + 1] - field[i] - 1))
	*m = (struct ws_mount_entry){
		.device = ws_strndup(field[2], LENGTH(2)),
		.root = unescape(field[3], LENGTH(3)),
		.target = unescape(field[4], LENGTH(4)),
		.options = ws_strndup(field[5], LENGTH(5)),
		.type = ws_strndup(type, strcspn(type, " ")),
	};
	for (const char *c = line; *c >= '0' && *c <= '9'; c++)
		m->id = m->id * 10 + (uint64_t)(*c - '0');
	return 0;
}

int ws_mount_table_read(const char *path, struct ws_mount_table *ret, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO(ws_mount_table) struct ws_mount_table t = { 0 };
	WS_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *rest = NULL;

	if (fd < 0 || ws_read_fd(fd, MOUNTINFO_MAX, &text) < 0)
		return ws_fail_errno(err, "read '%s'", path);
	for (char *l = text.len ? strtok_r(text.data, "\n", &rest) : NULL; l;
	     l = strtok_r(NULL, "\n", &rest)) {
		t.v = ws_grow(t.v, t.n + 1, sizeof(*t.v));
		if (parse_line(l, &t.v[t.n]) < 0)
			return ws_fail(err, WS_INTERNAL, "'%s' cannot be read", path);
		t.n++;
	}
	*ret = t;
	t = (struct ws_mount_table){ 0 };
	return 0;
}

const char *ws_path_below(const char *path, const char *dir)
{
	size_t len = strcmp(dir, "/") ? strlen(dir) : 0;

	if (strncmp(path, dir, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return path[len] ? path + len + 1 : path + len;
}

const struct ws_mount_entry *ws_mount_table_at(const struct ws_mount_table *t,
					       const char *path)
{
	const struct ws_mount_entry *best = NULL;

	for (size_t i = 0; i < t->n; i++)
		if (ws_path_below(path, t->v[i].target) &&
		    (!best || strlen(t->v[i].target) >= strlen(best->target)))
			best = &t->v[i];
	return best;
}

bool ws_mount_may_hang(const struct ws_mount_entry *m)
{
	static const char *const types[] = { "fuse",   "fuseblk", "nfs",     "nfs4",
					     "cifs",   "smb3",	  "9p",	     "ceph",
					     "autofs", "afs",	  "coda",    "lustre",
					     "gfs2",   "ocfs2",	  "orangefs" };

	for (size_t i = 0; i < WS_ARRAY_SIZE(types); i++)
		if (strcmp(m->type, types[i]) == 0)
			return true;
	return ws_text_starts(m->type, "fuse.");
}

bool ws_path_answers(const char *path, int timeout_ms)
{
	pid_t pid = fork();
	WS_AUTO_CLOSE int handle = -1;
	struct stat st;

	if (pid == 0)
		_exit(fstatat(AT_FDCWD, path, &st,
			      AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 &&
		      errno == EINTR);
	handle = pid < 0 ? -1 : ws_pidfd_open(pid);
	if (handle >= 0 && ws_pidfd_gone(handle, timeout_ms)) {
		waitpid(pid, NULL, 0);
		return true;
	}
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, WNOHANG); /* it may not even be able to die */
	}
	return false;
}

/* Links are followed by a child: whatever it waits for, we do not. */
static char *resolve_apart(const char *path, int timeout_ms)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_CLOSE int from = -1;
	WS_AUTO_CLOSE int to = -1;
	WS_AUTO_CLOSE int handle = -1;
	pid_t pid = ws_pipe(&from, &to) < 0 ? -1 : fork();
	int status = 0;

	if (pid == 0) {
		char *real = ws_realpath(path);

		_exit(real ? ws_write_all(to, real, strlen(real)) < 0 : errno);
	}
	ws_closep(&to);
	handle = pid < 0 ? -1 : ws_pidfd_open(pid);
	if (handle < 0 || !ws_pidfd_gone(handle, timeout_ms)) {
		if (pid > 0)
			kill(pid, SIGKILL);
		errno = ETIMEDOUT;
		return NULL;
	}
	waitpid(pid, &status, 0);
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	if (status != 0 || ws_read_fd(from, PATH_MAX, &text) < 0)
		return NULL;
	return ws_buf_steal(&text);
}

char *ws_path_resolve(const char *path, int timeout_ms)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	WS_AUTO_CLOSE int fd =
		(int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0 && errno != ELOOP)
		return NULL;
	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode) &&
	    !strstr(path, "/.") && !strstr(path, "//"))
		return ws_strdup(path);
	return resolve_apart(path, timeout_ms);
}
