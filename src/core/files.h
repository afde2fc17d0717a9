/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_FILES_H
#define WS_CORE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "core/root.h"
#include "core/session.h"

/*
 * Files of a session for who asks from outside. Everything goes through the session's own
 * mounts, by a process inside (init/file.c): a host path is never in reach, links lead
 * where the session's commands would be led, and what a running command wrote is seen at
 * once. RESCUE reads from outside instead (stack.h), where no sandbox can be started;
 * no link is followed then.
 */
struct ws_file_ref {
	char *id;   /* NULL: a path of the host, or "-" */
	char *path; /* of a session: as given; relative to where commands start */
};

/* What a file is. NAME and TARGET only in a list. */
struct ws_file_info {
	char *name, *target;
	mode_t mode;
	uint64_t size, ino, mtime_ns, ctime_ns;
	char sha256[WS_SHA256_HEX]; /* of what was read or written; else "" */
};

struct ws_file_list {
	struct ws_file_info self; /* of the path itself */
	struct ws_file_info *v;	  /* what is in it, sorted; of a folder */
	size_t n;
};

/* What a write may not do, and what it may. */
struct ws_file_write {
	mode_t mode;	      /* of a new file; one that is there keeps its own */
	const char *if_match; /* SHA-256 that must be there, "none", or NULL */
	bool parents;	      /* make the folders that are missing */
};

void ws_file_ref_release(struct ws_file_ref *ref);
void ws_file_info_release(struct ws_file_info *info);
void ws_file_list_release(struct ws_file_list *list);
/* INFO is the list's from now on. */
void ws_file_list_add(struct ws_file_list *list, const struct ws_file_info *info);
void ws_file_list_sort(struct ws_file_list *list);

/* "ID:PATH", "-" or a path of the host: one with a colon needs a slash before it. */
void ws_file_ref_parse(const char *arg, struct ws_file_ref *ret);

/* Its bytes go to OUT, which is the caller's. With RESCUE as said above. */
int ws_files_read(const struct ws_root *root, const struct ws_session *s,
		  const char *path, bool rescue, int out, struct ws_file_info *ret,
		  struct ws_err *err);
int ws_files_list(const struct ws_root *root, const struct ws_session *s,
		  const char *path, bool rescue, struct ws_file_list *ret,
		  struct ws_err *err);
/*
 * What IN holds becomes the file, by rename. stale: it is not, or no more, what IF_MATCH
 * says; nothing is changed then.
 */
int ws_files_write(const struct ws_root *root, const struct ws_session *s,
		   const char *path, const struct ws_file_write *how, int in,
		   struct ws_file_info *ret, struct ws_err *err);
/* A file without a name, in the root, for what is on its way. */
int ws_files_spool(const struct ws_root *root, struct ws_err *err);
/* A folder as a tar stream to OUT, and one from IN into a folder. */
int ws_files_pack(const struct ws_root *root, const struct ws_session *s,
		  const char *path, int out, struct ws_err *err);
int ws_files_unpack(const struct ws_root *root, const struct ws_session *s,
		    const char *path, bool parents, int in, struct ws_err *err);

#endif
