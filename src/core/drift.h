/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_DRIFT_H
#define WS_CORE_DRIFT_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "core/root.h"
#include "core/session.h"

/*
 * Drift: a layer's file that is a hard link of the host's shows what the host writes into
 * it in place, and its mode and owner too. layers/NAME/linked says what each of them
 * looked like when it was frozen.
 */
#define WS_DRIFT_FILE "linked"
#define WS_DRIFT_NAMES 5

struct ws_drift {
	uint64_t linked;      /* files that could drift */
	uint64_t changed;     /* those that have */
	struct ws_strv names; /* the first few, below the repo's folder */
};

#define WS_DRIFT_INIT ((struct ws_drift){ 0 })

void ws_drift_release(struct ws_drift *d);
/* Adds the record of one file to LINKED, the bytes of WS_DRIFT_FILE. */
void ws_drift_note(struct ws_buf *linked, const char *path, const struct stat *st);
/* Adds the drift of a layer to RET; a layer without links has none. */
int ws_drift_find(const struct ws_root *root, const char *layer, struct ws_drift *ret,
		  struct ws_err *err);
/*
 * Before a sandbox starts: is all there that the session stands on (base-missing if not)?
 * What has drifted is a warning.
 */
int ws_drift_check(const struct ws_root *root, const struct ws_session *s,
		   struct ws_err *err);

#endif
