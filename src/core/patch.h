/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_PATCH_H
#define WS_CORE_PATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/diff.h"
#include "core/git_talk.h"
#include "core/stack.h"

/* A file beyond this is not carried in a patch. */
#define WS_PATCH_FILE_MAX ((size_t)256 << 20)

/*
 * Changes as a unified patch that git apply takes, and patch(1) as far as it is about
 * text. The differences come from wsiso-git, one process for all of them: it sees
 * bytes, never a path or a repository.
 */
struct ws_patcher {
	const struct ws_stack *stack; /* the caller's */
	const char *base;	      /* paths are relative to it: "" or "app" */
	struct ws_git_talk talk;
};

#define WS_PATCHER_INIT \
	((struct ws_patcher){ .talk = { .word = "hunks", .to = -1, .from = -1 } })

struct ws_patch_counts {
	uint64_t added, removed; /* lines */
	bool binary;
};

/* Ends the helper; the caller's errors come first. */
void ws_patcher_release(struct ws_patcher *p);
/*
 * The text of one change (ws_change_is_patch) is added to OUT, which may be NULL: only
 * the counts are wanted. A file that vanished or has become too large is an io error
 * whose sys is ENOENT or EFBIG.
 */
int ws_patch_change(struct ws_patcher *p, const struct ws_change *c, struct ws_buf *out,
		    struct ws_patch_counts *ret, struct ws_err *err);

#endif
