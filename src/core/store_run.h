/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_STORE_RUN_H
#define WS_CORE_STORE_RUN_H

#include "core/refs.h"
#include "core/store.h"

/* One check of a store, for its parts: store.c, store_sessions.c, store_shared.c. */
enum ws_store_row {
	WS_STORE_SPACE,
	WS_STORE_LINKS,
	WS_STORE_LEFTOVERS,
	WS_STORE_SESSIONS,
	WS_STORE_STACKS,
	WS_STORE_FOLDERS,
	WS_STORE_SNAPSHOTS,
	WS_STORE_SETUPS,
	WS_STORE_LAYERS,
	WS_STORE_HOMES,
	WS_STORE_POOLS,
	WS_STORE_ROWS,
};

struct ws_store_run {
	const struct ws_root *root;
	bool repair;
	struct ws_store_report *report;
	/* listed before any record was read: what comes meanwhile is not judged */
	struct ws_strv layers, homes;
	struct ws_refs named_layers, named_homes, named_pools; /* by records */
	bool unsure; /* a record could not be read: it may name anything */
	size_t seen[WS_STORE_ROWS], found[WS_STORE_ROWS];
};

/* What is wrong with SUBJECT; DETAIL as printf has it. REMEDY: NULL or the caller's. */
void ws_store_note(struct ws_store_run *run, enum ws_store_row row,
		   enum ws_store_status status, const char *subject, const char *remedy,
		   const char *detail, ...) __attribute__((format(printf, 6, 7)));
/*
 * The same where it could be repaired: RC 0, it was; 1: it was not tried, since nobody
 * asked; -1: that failed, with errno.
 */
void ws_store_note_repair(struct ws_store_run *run, enum ws_store_row row,
			  enum ws_store_status otherwise, const char *subject, int rc,
			  const char *detail);

/*
 * Names in a folder of the root; one that cannot be read, a link for one, may hold
 * anything, and is told.
 */
void ws_store_list(struct ws_store_run *run, const char *folder, struct ws_strv *ret);

void ws_store_sessions(struct ws_store_run *run);
/* Snapshots and setups, before the sessions; layers, HOMEs and pools, after them. */
void ws_store_records(struct ws_store_run *run);
void ws_store_shared(struct ws_store_run *run);

#endif
