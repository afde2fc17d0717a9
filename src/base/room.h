/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_ROOM_H
#define WS_BASE_ROOM_H

#include <stdint.h>

#include "base/err.h"

/*
 * What may still be written to a filesystem by a hand that nobody vouches for: so much
 * that FLOOR bytes of it stay free, and some inodes. It is looked at again and again,
 * since others write, too, and since what a file takes is not what it says.
 */
struct ws_room {
	int fd; /* in that filesystem; the caller's. -1: nothing is bounded */
	uint64_t floor;
	uint64_t bytes, inodes; /* until it is looked at again */
};

#define WS_ROOM_INIT ((struct ws_room){ .fd = -1 })
#define WS_ROOM_BLOCK 4096 /* what the least file, or a piece of one, takes */

/* Takes so much, before it is written. disk-full: there is not so much. */
int ws_room_take(struct ws_room *r, uint64_t bytes, uint64_t inodes, struct ws_err *err);

#endif
