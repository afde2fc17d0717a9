/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_TREE_CURSOR_H
#define WS_CORE_TREE_CURSOR_H

#include "core/stack.h"

/*
 * A folder of a tree that stays open: of the next path asked for, only what is new of
 * its way is walked, so that sorted paths cost the same at any depth.
 */
struct ws_tree_cursor {
	const struct ws_stack *stack;
	char *folder; /* NULL: nowhere yet */
	bool there;
	struct ws_stack_dir dir; /* if it is there */
};

void ws_tree_cursor_release(struct ws_tree_cursor *c);
/* To FOLDER, "" for the top, whether it is there or not. -1 and errno. */
int ws_tree_cursor_go(struct ws_tree_cursor *c, const char *folder);
/* What is at PATH; st_mode 0: nothing. -1 and errno. */
int ws_tree_cursor_look(struct ws_tree_cursor *c, const char *path,
			struct ws_stack_entry *ret);

/* Is PATH below the folder TOP ("": everything is)? Then it is the rest of it. */
const char *ws_tree_below(const char *top, const char *path);

#endif
