/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sync.h"

#include "scratch.h"

static int dir;

static void facts_of_trees(void)
{
	int before = open_descriptors(), at, next;
	char name[16];

	MUST(mkdirat(dir, "t", 0700) == 0 && mkdirat(dir, "t/d", 0700) == 0);
	scratch_write(dir, "t/d/f", "hello");
	MUST(symlinkat("none", dir, "t/link") == 0 && mkfifoat(dir, "t/fifo", 0600) == 0);
	CHECK_INT(ws_sync_tree(dir), 0);
	/* what cannot be opened */
	scratch_write(dir, "t/secret", "hello");
	MUST(fchmodat(dir, "t/secret", 0, 0) == 0);
	CHECK_INT(ws_sync_tree(dir), 0);
	/* too many to do it one by one */
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "t/%d", i);
		scratch_write(dir, name, "");
	}
	CHECK_INT(ws_sync_tree(dir), 0);
	/* too deep */
	MUST(mkdirat(dir, "deep", 0700) == 0);
	at = openat(dir, "deep", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 100; i++, at = next) {
		MUST(mkdirat(at, "d", 0700) == 0);
		next = openat(at, "d", O_RDONLY | O_CLOEXEC);
		MUST(next >= 0);
		close(at);
	}
	close(at);
	at = openat(dir, "deep", O_RDONLY | O_CLOEXEC);
	CHECK_INT(ws_sync_tree(at), 0);
	close(at);
	CHECK_INT(open_descriptors(), before);
}

static void facts_of_lists(void)
{
	struct ws_unsynced u = WS_UNSYNCED_INIT;
	int before = open_descriptors(), fd, null;

	fd = openat(dir, "t/d/f", O_RDONLY | O_CLOEXEC);
	ws_unsynced_take(&u, &fd);
	CHECK_INT(fd, -1);
	CHECK_INT(ws_unsynced_settle(&u), 0);
	CHECK_INT((int)u.n, 0);
	CHECK_INT(open_descriptors(), before);
	/* what cannot be synced stays in it */
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ws_unsynced_take(&u, &null);
	CHECK_INT(ws_unsynced_settle(&u), -1);
	CHECK_INT((int)u.n, 1);
	ws_unsynced_release(&u);
	CHECK_INT(open_descriptors(), before);
}

int main(void)
{
	dir = scratch_make();
	facts_of_trees();
	facts_of_lists();
	scratch_remove(dir);
	return CHECK_DONE();
}
