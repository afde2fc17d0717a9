/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_REFS_H
#define WS_CORE_REFS_H

#include <stddef.h>

/* How often names are used: pure. First all are added, then counted. */
struct ws_refs {
	struct ws_ref {
		char *name;
		size_t n;
	} * v;
	size_t n, room;
};

#define WS_REFS_INIT ((struct ws_refs){ 0 })

void ws_refs_release(struct ws_refs *r);
void ws_refs_add(struct ws_refs *r, const char *name);
/* Ends the adding: sorts, and makes one of what is equal. */
void ws_refs_settle(struct ws_refs *r);
size_t ws_refs_count(const struct ws_refs *r, const char *name); /* 0: not there */
/* One use less; what is left of them. */
size_t ws_refs_drop(struct ws_refs *r, const char *name);

#endif
