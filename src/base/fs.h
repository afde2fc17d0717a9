/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_FS_H
#define WS_BASE_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "base/sync.h"

/*
 * Files relative to a trusted directory descriptor. Wrappers of one call return -1
 * and errno; the others fill ERR. Every descriptor is O_CLOEXEC.
 */

/* openat2(2) with RESOLVE_BENEATH|NO_SYMLINKS|NO_MAGICLINKS; MODE for O_CREAT. */
int ws_open_beneath(int dir, const char *path, int flags, mode_t mode);
/* O_RDONLY|O_DIRECTORY, beneath as above. */
int ws_open_dir(int dir, const char *path);
/*
 * Reads a regular file of at most MAX bytes (EFBIG beyond; EINVAL if it is no
 * regular file; never blocks on a FIFO). Follows nothing. Appends to BUF.
 */
int ws_read_file(int dir, const char *path, size_t max, struct ws_buf *buf);
/* The rest of a descriptor, up to MAX bytes (EFBIG). */
int ws_read_fd(int fd, size_t max, struct ws_buf *buf);
/* All of it, EINTR and short writes handled. */
int ws_write_all(int fd, const void *data, size_t len);
/*
 * Replace DIR/NAME with the bytes of BUF: readers see the old file or the new
 * one, never a part. Mode 0600. SYNC: fsync the file before and DIR after the rename.
 * Returns 0, or -1 with ERR filled and the old file untouched (unless only the last
 * fsync failed). A crash may leave a file whose name begins with WS_TMP_PREFIX.
 */
#define WS_TMP_PREFIX ".tmp-"
int ws_write_atomic(int dir, const char *name, const struct ws_buf *buf, bool sync,
		    struct ws_err *err);
/*
 * The same, synced, and what is in BEFORE is on the disk before it has its name; NULL:
 * nothing is synced.
 */
int ws_write_after(int dir, const char *name, const struct ws_buf *buf,
		   struct ws_unsynced *before, struct ws_err *err);
/* mkdirat that accepts a folder that is already there (but nothing else: ENOTDIR). */
int ws_mkdir(int dir, const char *name, mode_t mode);
/* mkdir -p below DIR, mode for each new one; no symlinks on the way. */
int ws_mkdirs(int dir, const char *path, mode_t mode);
/* Adds the names of all entries of the folder DIR/NAME; one that is absent has none. */
int ws_dir_list(int dir, const char *name, struct ws_strv *ret, struct ws_err *err);
/*
 * Has DIR/NAME, a folder, nothing in it but empty folders, one in the other up to DEPTH
 * of them, or is there none? False if it cannot be read.
 */
bool ws_dir_is_empty(int dir, const char *name, int depth);
/* Size of free space (for this user) in bytes on the filesystem of FD. */
int ws_fs_free(int fd, uint64_t *ret);
/* "ext4", "overlay", "nfs", or "0x..." for FD; a static string or BUF of 32. */
const char *ws_fs_type(int fd, char buf[32]);
/* An anonymous file (memfd) with these bytes, offset 0, CLOEXEC. */
int ws_memfd(const char *name, const void *data, size_t len);
/* realpath(3), owned by the caller; NULL and errno. */
char *ws_realpath(const char *path);
/* A pipe, both ends O_CLOEXEC. */
int ws_pipe(int *ret_read, int *ret_write);

#endif
