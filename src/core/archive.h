/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_ARCHIVE_H
#define WS_CORE_ARCHIVE_H

#include <sys/types.h>

#include "base/entry.h"
#include "base/err.h"

/*
 * wsiso-archive at work: an archive is written from entries, or read as such. It has the
 * archive's descriptor and a pipe to us, and sees no path of the host.
 */
struct ws_archive {
	pid_t pid; /* 0: not started */
	int line;  /* entries */
	int complaint;
	const char *verb;
};

#define WS_ARCHIVE_INIT ((struct ws_archive){ .line = -1, .complaint = -1 })

/* Ends the helper without asking how it went. */
void ws_archive_release(struct ws_archive *a);
/* COMPRESSION: "gzip", "zstd" or "none". OUT and IN stay the caller's. */
int ws_archive_write(const char *compression, int out, struct ws_archive *ret,
		     struct ws_err *err);
int ws_archive_read(int in, struct ws_archive *ret, struct ws_err *err);

/* base/entry.h, with what the helper says where it has gone. */
int ws_archive_send(struct ws_archive *a, const struct ws_entry *e, struct ws_err *err);
int ws_archive_send_block(struct ws_archive *a, uint64_t at, const void *data, size_t len,
			  struct ws_err *err);
int ws_archive_take(struct ws_archive *a, struct ws_entry *e, struct ws_err *err);
int ws_archive_take_block(struct ws_archive *a, uint64_t *ret_at, void *block,
			  size_t *ret_len, struct ws_err *err);
/* All entries have been sent, or taken: the archive is whole, or ERR says why not. */
int ws_archive_end(struct ws_archive *a, struct ws_err *err);

#endif
