/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_KEYED_H
#define WS_CORE_KEYED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/jsonw.h"
#include "base/strv.h"
#include "core/root.h"

/*
 * What is kept once for a key, and can be made again: its record FOLDER/KEY.json, and its
 * lock FOLDER/KEY.lock (flock). The lock is held exclusively by who makes or removes the
 * thing, and shared by who is on his way to use it. A remover takes the file away, so
 * whoever has it looks whether it is still the one of that name. Its time stamp is the
 * last use.
 */
struct ws_keyed {
	const char *folder; /* below the root */
	const char *noun;   /* "snapshot"; wsiso NOUN list shows the keys */
	const struct ws_json_field *fields;
	uint64_t version; /* of the record; a later one is refused */
	size_t max;	  /* bytes of it */
};

/* ---- the record ---- */

/* Hexadecimal digits of a SHA-256. */
#define WS_KEY_LEN 32
int ws_keyed_check(const struct ws_keyed *sort, const char *key, struct ws_err *err);
/*
 * 1: RECORD is filled, also in part where it is not 1, so it is to be released; 0: there
 * is none, or it is damaged, which is as good and warned of; -1.
 */
int ws_keyed_load(const struct ws_root *root, const struct ws_keyed *sort,
		  const char *key, void *record, struct ws_err *err);
/* The warning for what only the caller can see of it. Returns 0. */
int ws_keyed_damaged(const struct ws_keyed *sort, const char *key, const char *why);
int ws_keyed_save(const struct ws_root *root, const struct ws_keyed *sort,
		  const char *key, const void *record, bool sync, struct ws_err *err);
/* Keys of all that have a record, sorted. */
int ws_keyed_list(const struct ws_root *root, const struct ws_keyed *sort,
		  struct ws_strv *ret, struct ws_err *err);

/* ---- the lock ---- */

/* Waits up to TIMEOUT_MS (0: not at all); session-busy. The descriptor, or -1. */
int ws_keyed_lock(const struct ws_root *root, const struct ws_keyed *sort,
		  const char *key, bool exclusive, uint64_t timeout_ms,
		  struct ws_err *err);
/* Records use; ns since 1970 of the last one, CREATED if there was none. */
void ws_keyed_touch(const struct ws_root *root, const struct ws_keyed *sort,
		    const char *key);
/*
 * Ends a shared hold, and records that it was one until now: a gc that read the sessions
 * before what the hold was for was among them sees by this that somebody came.
 */
void ws_keyed_let_go(int *hold);
uint64_t ws_keyed_last_use(const struct ws_root *root, const struct ws_keyed *sort,
			   const char *key, uint64_t created);

#endif
