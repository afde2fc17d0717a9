/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_HELPER_ARCHIVE_H
#define WS_HELPER_ARCHIVE_H

#include "base/err.h"

/*
 * wsiso-archive: the only program that links libarchive. It turns a stream of entries
 * (base/entry.h) into a tar archive, or one into the other way round, and opens no file:
 * all that it has is stdin, stdout, and stderr for what went wrong.
 *
 *   archive_main.c   which of both
 *   archive_jail.c   what it gives up before it reads a byte
 *   archive_write.c  "write": entries to tar, gzip or zstd
 *   archive_read.c   "read": tar to entries; what they mean is for wsiso to judge
 */

/*
 * What is read may be anybody's: whoever gets this program to run code of his finds no
 * file to open, no program or process to reach, and no memory to fill.
 */
int ws_archive_give_up(struct ws_err *err);
/* Compression is "gzip", "zstd" or "none". */
int ws_archive_write(const char *compression, struct ws_err *err);
int ws_archive_read(struct ws_err *err);

/* How a session's archive says in tar that a folder is opaque. */
#define WS_ARCHIVE_OPAQUE "user.overlay.opaque"

#endif
