/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SETUP_H
#define WS_CORE_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strv.h"
#include "core/root.h"

#define WS_SETUP_VERSION 1

/*
 * What is known of one setup, a repo's script over a base under a policy: the record
 * setups/KEY.json. Its lock is setups/KEY.lock, what the script wrote setups/KEY.log.
 * "running" with the lock free: its maker has died, and LAYER, if it is there, is
 * nobody's.
 */
struct ws_setup {
	uint64_t version;
	char *key;
	char *state;	/* "running", "done" or "failed" */
	char *attempt;	/* tells one run of the script from the next */
	char *repo;	/* resolved path of the host's repo */
	char *name;	/* below /workspace */
	char *revision; /* of the base that it ran over */
	char *script;
	char *layer;	   /* its name below layers/; of a failed one NULL */
	char *cause;	   /* of a failed one */
	uint64_t bytes;	   /* on disk */
	uint64_t created;  /* ns since 1970: when the script was started, and ... */
	uint64_t finished; /* ... when that was over, or 0 */
};

#define WS_SETUP_INIT ((struct ws_setup){ 0 })

void ws_setup_release(struct ws_setup *s);
/* usage error unless KEY could be one. */
int ws_setup_check_key(const char *key, struct ws_err *err);
/* 1 and RET filled, or 0 if there is none (a damaged one is as good as none), or -1. */
int ws_setup_load(const struct ws_root *root, const char *key, struct ws_setup *ret,
		  struct ws_err *err);
int ws_setup_save(const struct ws_root *root, const struct ws_setup *s,
		  struct ws_err *err);
/* Is there a layer to work with? */
bool ws_setup_is_done(const struct ws_root *root, const struct ws_setup *s);
bool ws_setup_has_failed(const struct ws_setup *s);
/* As those of a snapshot: see keyed.h. TIMEOUT_MS 0 does not wait. */
int ws_setup_lock(const struct ws_root *root, const char *key, bool exclusive,
		  uint64_t timeout_ms, struct ws_err *err);
void ws_setup_touch(const struct ws_root *root, const char *key);
uint64_t ws_setup_last_use(const struct ws_root *root, const struct ws_setup *s);
/* Layer, record, log and lock go; that one is held exclusively. */
int ws_setup_remove(const struct ws_root *root, const struct ws_setup *s,
		    struct ws_err *err);
/* Keys of all that have a record, sorted. */
int ws_setup_list(const struct ws_root *root, struct ws_strv *ret, struct ws_err *err);

/* A new, empty log, locked for as long as it is open for writing. */
int ws_setup_log_make(const struct ws_root *root, const char *key, int *ret_fd,
		      struct ws_err *err);
/* For reading; -1 and errno. ws_lock_try tells whether somebody still writes to it. */
int ws_setup_log_open(const struct ws_root *root, const char *key);
/* A line of wsiso's own. */
void ws_setup_log_say(int log, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
