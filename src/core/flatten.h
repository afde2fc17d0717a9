/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_FLATTEN_H
#define WS_CORE_FLATTEN_H

#include "base/err.h"
#include "core/root.h"
#include "core/session.h"

#define WS_FLATTEN_FROM 12 /* so many layers are few */

/*
 * Makes one layer of uppers of S that were frozen one upon the other; what it shows stays
 * the same. Only of a session without a sandbox, under its mutex. *RET_N: so many layers
 * fewer; 0: it was not to be done now. The old ones stay until nobody has them.
 */
int ws_flatten(const struct ws_root *root, const char *id, size_t *ret_n,
	       struct ws_err *err);

#endif
