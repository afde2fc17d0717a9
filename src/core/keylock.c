/* SPDX-License-Identifier: Apache-2.0 */
#include "core/keylock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/lock.h"
#include "base/mem.h"

/* 1: locked, and still the file of that name (a remover takes it away); 0; -1. */
static int lock_once(int dir, const char *name, const struct ws_keylock *sort,
		     bool exclusive, uint64_t timeout_ms, int *ret_fd, struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = ws_lock_open(dir, name);
	struct stat ours, named;

	if (fd < 0)
		return ws_fail_errno(err, "open the lock '%s'", name);
	if (timeout_ms && ws_lock_wait(fd, exclusive, timeout_ms, sort->what, err) < 0)
		return -1;
	if (!timeout_ms && ws_lock_try(fd, exclusive) < 0)
		return ws_fail(err, WS_SESSION_BUSY,
			       "%s is being made or taken right now", sort->what);
	if (fstat(fd, &ours) < 0)
		return ws_fail_errno(err, "look at the lock '%s'", name);
	if (fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	    named.st_ino != ours.st_ino || named.st_dev != ours.st_dev)
		return 0;
	*ret_fd = ws_steal_fd(&fd);
	return 1;
}

int ws_keylock_take(const struct ws_root *root, const struct ws_keylock *sort,
		    const char *key, bool exclusive, uint64_t timeout_ms,
		    struct ws_err *err)
{
	WS_AUTO_CLOSE int dir = ws_root_dir(root, sort->folder, err);
	WS_AUTO_FREE char *name = ws_format("%s.lock", key);
	int fd = -1, rc = dir < 0 ? -1 : 0;

	while (rc == 0)
		rc = lock_once(dir, name, sort, exclusive, timeout_ms, &fd, err);
	return rc < 0 ? -1 : fd;
}

void ws_keylock_touch(const struct ws_root *root, const struct ws_keylock *sort,
		      const char *key)
{
	WS_AUTO_FREE char *lock = ws_format("%s/%s.lock", sort->folder, key);

	utimensat(root->fd, lock, NULL, AT_SYMLINK_NOFOLLOW);
}

void ws_keylock_let_go(int *hold)
{
	if (*hold >= 0 && futimens(*hold, NULL) < 0)
		errno = 0; /* where nothing can be written gc removes nothing */
	ws_closep(hold);
}

uint64_t ws_keylock_last_use(const struct ws_root *root, const struct ws_keylock *sort,
			     const char *key)
{
	WS_AUTO_FREE char *lock = ws_format("%s/%s.lock", sort->folder, key);
	struct stat st;

	if (fstatat(root->fd, lock, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}
