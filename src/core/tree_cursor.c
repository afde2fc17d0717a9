/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tree_cursor.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

const char *ws_tree_below(const char *top, const char *path)
{
	size_t len = strlen(top);

	if (!len)
		return *path ? path : NULL;
	return strncmp(path, top, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

void ws_tree_cursor_release(struct ws_tree_cursor *c)
{
	ws_stack_dir_release(&c->dir);
	ws_freep(&c->folder);
	c->there = false;
}

static int step(struct ws_tree_cursor *c, const char *name)
{
	struct ws_stack_dir next = WS_STACK_DIR_INIT;

	if (ws_stack_enter(&c->dir, name, &next) == 0) {
		ws_stack_dir_release(&c->dir);
		c->dir = next;
		return 0;
	}
	c->there = false;
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
}

int ws_tree_cursor_go(struct ws_tree_cursor *c, const char *folder)
{
	const char *rest = c->folder ? ws_tree_below(c->folder, folder) : NULL;
	WS_AUTO_FREE char *way = NULL;
	char *save = NULL;

	if (c->folder && !strcmp(c->folder, folder))
		return 0;
	if (!rest) {
		ws_tree_cursor_release(c);
		if (ws_stack_top(c->stack, 0, (unsigned)c->stack->n, &c->dir) < 0)
			return -1;
		c->there = true;
		rest = folder;
	}
	way = ws_strdup(rest);
	for (char *name = strtok_r(way, "/", &save); c->there && name;
	     name = strtok_r(NULL, "/", &save))
		if (step(c, name) < 0) {
			ws_tree_cursor_release(c);
			return -1;
		}
	ws_freep(&c->folder);
	c->folder = ws_strdup(folder);
	return 0;
}

int ws_tree_cursor_look(struct ws_tree_cursor *c, const char *path,
			struct ws_stack_entry *ret)
{
	const char *slash = strrchr(path, '/');
	WS_AUTO_FREE char *folder = ws_strndup(path, slash ? (size_t)(slash - path) : 0);

	*ret = (struct ws_stack_entry){ 0 };
	if (ws_tree_cursor_go(c, folder) < 0)
		return -1;
	return c->there ? ws_stack_lookup(&c->dir, slash ? slash + 1 : path, ret) : 0;
}
