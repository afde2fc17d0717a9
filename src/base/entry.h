/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_ENTRY_H
#define WS_BASE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * A tree as a stream of entries, as it goes between wsiso and wsiso-archive, which knows
 * archives and no files: each entry is a head, its path, a link's target, and of a file
 * the runs that are no holes, and then its bytes in blocks. Both ends are of one build,
 * and neither believes the other: what is too long or of no known type is an error.
 *
 * The calls return -1 and errno; EPROTO: that is no stream.
 */
enum ws_entry_type {
	WS_ENTRY_FILE = 'f',
	WS_ENTRY_FOLDER = 'd',
	WS_ENTRY_LINK = 'l',
	WS_ENTRY_FIFO = 'p',
	WS_ENTRY_GONE = 'w', /* a whiteout, as overlayfs has it */
	WS_ENTRY_END = 'e',  /* of the stream: without it, it was cut off */
};

#define WS_ENTRY_PATH_MAX 1000000 /* of a path and a target together, for tar readers */
#define WS_ENTRY_RUNS_MAX (1u << 20)
#define WS_ENTRY_BLOCK ((size_t)1 << 18)

struct ws_entry_run {
	uint64_t at, len;
};

struct ws_entry {
	enum ws_entry_type type;
	uint32_t mode; /* its permissions, 07777 at most */
	bool opaque;   /* of a folder: it shows nothing of one below it */
	uint64_t size; /* of a file */
	int64_t mtime;
	uint32_t mtime_ns;
	struct ws_buf path, target;
	struct ws_entry_run
		*runs; /* in order; none: all of it is data, or nobody knows */
	uint32_t nruns;
};

#define WS_ENTRY_INIT ((struct ws_entry){ 0 })

void ws_entry_release(struct ws_entry *e);
void ws_entry_add_run(struct ws_entry *e, uint64_t at, uint64_t len);

int ws_entry_send(int fd, const struct ws_entry *e);
/* LEN bytes of the file that was sent last; LEN 0 ends it, also if there were none. */
int ws_entry_send_block(int fd, uint64_t at, const void *data, size_t len);

/* E is emptied first. */
int ws_entry_take(int fd, struct ws_entry *e);
/* BLOCK holds WS_ENTRY_BLOCK; *ret_len 0: the file ends. */
int ws_entry_take_block(int fd, uint64_t *ret_at, void *block, size_t *ret_len);

#endif
