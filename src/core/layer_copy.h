/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_LAYER_COPY_H
#define WS_CORE_LAYER_COPY_H

#include "base/err.h"
#include "core/stack.h"

enum ws_layer_copy {
	WS_LAYER_CLONE, /* files share no inode: reflinks where possible, holes kept */
	WS_LAYER_LINK,	/* files are links: for layers, which never change */
};

/*
 * What the layers FIRST to LAST of STACK have to say, as one layer below TO, an empty
 * folder: whiteouts, opaque folders, modes, times, user xattrs and special files
 * included; hard links become files of their own. Follows nothing; any depth and mode.
 */
int ws_layer_copy(const struct ws_stack *stack, unsigned first, unsigned last, int to,
		  enum ws_layer_copy how, struct ws_err *err);

#endif
