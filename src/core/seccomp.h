/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SECCOMP_H
#define WS_CORE_SECCOMP_H

#include "base/buf.h"
#include "base/err.h"
#include "core/filter.h"
#include "core/spec.h"
#include "init/protocol.h"

/*
 * Loading filters. Everything fails closed, with seccomp-unavailable: a file that is
 * missing, empty, cut off, damaged or another machine's, or a kernel without filters. An
 * installed file must have the SHA-256 that was compiled in.
 */

/* The bytes of one filter: an array of struct sock_filter. RET is replaced. */
int ws_seccomp_load(enum ws_filter filter, struct ws_buf *ret, struct ws_err *err);
/*
 * All that LIST asks for, in its order; what is beyond stays empty. As they are in struct
 * ws_enter_plan.
 */
int ws_seccomp_load_list(const struct ws_filter_list *list,
			 struct ws_buf ret[WS_PLAN_FILTERS_MAX], struct ws_err *err);
/* "sha256:..." of all the bytes in their order; "" if there are none. Caller frees. */
char *ws_seccomp_digest(const struct ws_buf filters[WS_PLAN_FILTERS_MAX]);
/* Does the kernel keep a record of what the filter "log" lets through? */
bool ws_seccomp_is_recorded(void);

#endif
