/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_STACK_H
#define WS_CORE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "core/root.h"
#include "core/session.h"

/*
 * What overlayfs shows of a session's folders, read from outside and without a mount:
 * whiteouts and opaque folders in both of their forms, layer over layer. Everything is
 * opened by openat2 below the layers' own roots; no link is followed, nothing but regular
 * files and folders is opened, and neither depth nor mode of a tree stops the reader.
 *
 * Layers are numbered from the top: 0 is the upper, which a live session may be writing
 * to, 1 the topmost layer below it. Live repos, the user's own folders, come last.
 */
struct ws_stack {
	int *roots;
	char **names; /* of a layer that stands at /workspace/NAME (a live repo); NULL */
	size_t n;
	unsigned own; /* of them, from the top: what the session itself changed */
	int blobs;    /* a folder of blobs by their id, for a diff of commits; -1: none */
};

/* A folder of the view: the folders that make it up, top first. Empty: there is none. */
struct ws_stack_part {
	int fd;
	unsigned layer;
	bool host;   /* the user's own folder, whose modes are nobody else's business */
	bool mended; /* it could not be read: its mode is put back by the release */
	mode_t mode;
};

struct ws_stack_dir {
	struct ws_stack_part *v;
	size_t n;
	bool cut;		    /* nothing of a layer further down shows here */
	const struct ws_stack *top; /* of the topmost folder: where live repos are */
	unsigned first, last;	    /* with TOP: of these layers */
};

/* One name in a folder; st_mode 0: it is not there. */
struct ws_stack_entry {
	struct stat st;
	unsigned layer;
};

#define WS_STACK_INIT ((struct ws_stack){ .own = 1, .blobs = -1 })
#define WS_STACK_DIR_INIT ((struct ws_stack_dir){ 0 })

/*
 * The whole stack of S, its upper included, as its record has it at this moment.
 * base-missing.
 */
int ws_stack_open(const struct ws_root *root, const struct ws_session *s,
		  struct ws_stack *ret, struct ws_err *err);
/*
 * These LAYERS, bottom to top, over the live repos of S; there is no upper, and OWN is 0.
 */
int ws_stack_open_layers(const struct ws_root *root, const struct ws_session *s,
			 const struct ws_strv *layers, struct ws_stack *ret,
			 struct ws_err *err);
/* The folder FD by itself, which it takes over. */
void ws_stack_of(int fd, struct ws_stack *ret);
void ws_stack_release(struct ws_stack *stack);

/*
 * The topmost folder, of the layers FIRST to LAST (at most stack->n - 1) alone: 0, 0 is
 * the upper by itself, 1, n - 1 the view without it. -1 and errno.
 */
int ws_stack_top(const struct ws_stack *stack, unsigned first, unsigned last,
		 struct ws_stack_dir *ret);
void ws_stack_dir_release(struct ws_stack_dir *dir);
/* What stands at NAME. -1 and errno. */
int ws_stack_lookup(const struct ws_stack_dir *dir, const char *name,
		    struct ws_stack_entry *ret);
/* As its layers have it; a whiteout of either form sets *RET_WHITEOUT. */
int ws_stack_lookup_raw(const struct ws_stack_dir *dir, const char *name,
			struct ws_stack_entry *ret, bool *ret_whiteout);
/* The folder at NAME; ENOENT, ENOTDIR. */
int ws_stack_enter(const struct ws_stack_dir *dir, const char *name,
		   struct ws_stack_dir *ret);
/* The names in it, sorted by their bytes. RAW: whiteouts too. */
int ws_stack_names(const struct ws_stack_dir *dir, bool raw, struct ws_strv *ret);

/* PATH is relative, of any length, and names no "..". "" is the top. */
int ws_stack_walk(const struct ws_stack *stack, unsigned first, unsigned last,
		  const char *path, struct ws_stack_dir *ret);
/*
 * The regular file at PATH of one layer, for reading. EINVAL: it is none. One that
 * its mode forbids to read is read all the same, and keeps its mode.
 */
int ws_stack_open_file(const struct ws_stack *stack, unsigned layer, const char *path);
/* The same in the view of all layers, read as a whole: at most MAX bytes (EFBIG). */
int ws_stack_read(const struct ws_stack *stack, const char *path, size_t max,
		  struct ws_buf *ret);
/* The target of the link there; the caller frees; NULL and errno. */
char *ws_stack_read_link(const struct ws_stack *stack, unsigned layer, const char *path);

#endif
