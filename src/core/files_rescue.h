/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_FILES_RESCUE_H
#define WS_CORE_FILES_RESCUE_H

#include "core/files.h"

/*
 * The same reading from outside, without a sandbox: of /workspace as the stack shows it,
 * of HOME and /tmp as they lie. No link is followed, "..", FIFOs and devices are refused.
 */
int ws_rescue_read(const struct ws_root *root, const struct ws_session *s,
		   const char *path, int out, struct ws_file_info *ret,
		   struct ws_err *err);
int ws_rescue_list(const struct ws_root *root, const struct ws_session *s,
		   const char *path, struct ws_file_list *ret, struct ws_err *err);

#endif
