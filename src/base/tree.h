/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_TREE_H
#define WS_BASE_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

/*
 * Whole trees on hostile ground: relative to descriptors, following nothing, any
 * depth (no recursion, no path string longer than a name, a bounded number of open
 * descriptors), folders of mode 000 included (their mode is mended, through the
 * descriptor's own entry, never through a link). A tree may change meanwhile. NAME
 * may have parents, reached as by ws_open_beneath().
 */

/*
 * Remove DIR/NAME, file or tree; absent is success. What is mounted below or at it
 * is not entered (error). After an error the rest is removed as far as can be; the first
 * one is told. *ret_bytes, if not NULL, gets the disk usage freed (links above 1
 * not counted); a removal that does not ask is faster.
 */
int ws_tree_remove(int dir, const char *name, uint64_t *ret_bytes, struct ws_err *err);

/*
 * Sum of st_blocks of DIR/NAME's tree in bytes (a file counts once per link), and number
 * of entries, NAME itself included. A mended mode is put back. Absent is an error.
 */
int ws_tree_usage(int dir, const char *name, uint64_t *ret_bytes, uint64_t *ret_entries,
		  struct ws_err *err);
/* The same; *ret_linked: the part of it whose files have more than one link. */
int ws_tree_usage_linked(int dir, const char *name, uint64_t *ret_bytes,
			 uint64_t *ret_linked, struct ws_err *err);

#endif
