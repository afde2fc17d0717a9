/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_LAYER_COPY_H
#define WS_CORE_LAYER_COPY_H

#include <linux/limits.h>

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

/* What it is made of. All return -1 and errno. */
/* DIR/NAME, new, with the bytes and xattrs of FROM, the mode and times of ST. */
int ws_layer_clone_file(int from, int dir, const char *name, const struct stat *st);
/* DIR/NAME as another name of FROM. */
int ws_layer_link_file(int from, int dir, const char *name);
/* User xattrs, but for those that overlayfs means something by. */
typedef int ws_layer_xattr(void *data, const char *name, const void *value, size_t size);
int ws_layer_each_xattr(int from, ws_layer_xattr *take, void *data);
int ws_layer_copy_xattrs(int from, int to);
/* How NAME, as a layer has it, is called through the mount. */
void ws_layer_xattr_inside(const char *name, char ret[XATTR_NAME_MAX + 1]);

#endif
