/* SPDX-License-Identifier: Apache-2.0 */
#include "base/room.h"

#include <sys/statvfs.h>

#include "base/text.h"

#define LOOK_EACH ((uint64_t)64 << 20)
#define LOOK_EACH_INODES ((uint64_t)16384)
#define LEAST_INODES 1000

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int look(struct ws_room *r, uint64_t bytes, struct ws_err *err)
{
	uint64_t left, spared, step = bytes > LOOK_EACH ? bytes : LOOK_EACH;
	struct statvfs fs;

	if (fstatvfs(r->fd, &fs) < 0)
		return ws_fail_errno(err, "look for free space");
	left = (uint64_t)fs.f_bavail * fs.f_frsize;
	r->bytes = left > r->floor ? least(left - r->floor, step) : 0;
	/* of a filesystem that makes them as it goes there are none to count */
	spared = fs.f_files / 100 > LEAST_INODES ? fs.f_files / 100 : LEAST_INODES;
	r->inodes = LOOK_EACH_INODES;
	if (fs.f_files)
		r->inodes = fs.f_favail > spared
				    ? least(fs.f_favail - spared, LOOK_EACH_INODES)
				    : 0;
	return 0;
}

int ws_room_take(struct ws_room *r, uint64_t bytes, uint64_t inodes, struct ws_err *err)
{
	if (r->fd < 0)
		return 0;
	if ((bytes > r->bytes || inodes > r->inodes) && look(r, bytes, err) < 0)
		return -1;
	if (bytes > r->bytes)
		return ws_fail(err, WS_DISK_FULL,
			       "no room is left: %llu MiB are to stay free",
			       (unsigned long long)(r->floor >> 20));
	if (inodes > r->inodes)
		return ws_fail(err, WS_DISK_FULL, "there is no room for more files");
	r->bytes -= bytes;
	r->inodes -= inodes;
	return 0;
}
