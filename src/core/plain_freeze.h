/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_PLAIN_FREEZE_H
#define WS_CORE_PLAIN_FREEZE_H

#include "base/err.h"
#include "core/plain_tree.h"
#include "core/spec.h"

/*
 * Copies what TREE lists into the folder DIR/BELOW, which is made, each file as it says;
 * what cannot be linked after all is copied. With COPY reflink, what cannot be cloned is
 * an error. Modes come along but for set-id bits, times too, user.* attributes with a
 * copy. LINKED gets what was hard-linked, for ws_drift_find.
 * Kind stale: a file changed since TREE was looked at.
 */
int ws_plain_freeze(const struct ws_plain_tree *tree, int dir, const char *below,
		    enum ws_copy copy, struct ws_buf *linked, struct ws_err *err);

#endif
