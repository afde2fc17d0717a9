/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_SYNC_H
#define WS_BASE_SYNC_H

#include <stddef.h>

/*
 * All of the tree at DIR, which nobody changes meanwhile, is on the disk when this
 * returns 0; -1 with errno. A small tree is synced file by file; a large one, or one that
 * cannot be read, by syncfs(2), which waits for whatever else is not yet written in
 * that filesystem, too.
 */
int ws_sync_tree(int dir);

/*
 * Descriptors of what must be on the disk before a record that counts on it. One sync
 * after the other, with changes in between, is a commit of the filesystem's journal each
 * time; what is collected goes with one, which may be the record's own.
 */
struct ws_unsynced {
	int *v;
	size_t n;
};

#define WS_UNSYNCED_INIT ((struct ws_unsynced){ 0 })

void ws_unsynced_release(struct ws_unsynced *u);       /* syncs nothing */
void ws_unsynced_take(struct ws_unsynced *u, int *fd); /* owns it from now on */
/* fsync of all, and then the list is empty. -1 with errno. */
int ws_unsynced_settle(struct ws_unsynced *u);

#endif
