/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_FILE_MERGE_H
#define WS_CORE_FILE_MERGE_H

#include "core/git_talk.h"

/* Three-way merges of files' bytes, by one wsiso-git for all of them. */
struct ws_file_merger {
	struct ws_git_talk talk;
	const char *ours, *theirs; /* behind the markers; no blanks, up to 128 bytes */
};

enum ws_file_merged { WS_MERGED_CLEAN, WS_MERGED_CONFLICT, WS_MERGED_BINARY };

/* More than this is as good as binary. */
#define WS_FILE_MERGE_MAX ((size_t)256 << 20)

#define WS_FILE_MERGER_INIT \
	((struct ws_file_merger){ .talk = { .word = "merge", .to = -1, .from = -1 } })

void ws_file_merger_release(struct ws_file_merger *m);
/* SIDES: base, ours, theirs. RET: the merged bytes, with markers on a conflict. */
int ws_file_merge(struct ws_file_merger *m, const struct ws_buf sides[3],
		  enum ws_file_merged *ret_how, struct ws_buf *ret, struct ws_err *err);

#endif
