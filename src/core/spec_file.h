/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SPEC_FILE_H
#define WS_CORE_SPEC_FILE_H

#include "base/err.h"
#include "base/json.h"

/*
 * Reads the spec that the caller named: a file, a pipe, or "-" for stdin. Bounded in
 * size, and in time too if it is no regular file. The error is spec-invalid whatever went
 * wrong. *ret is the caller's: ws_json_free().
 */
int ws_spec_file_read(const char *path, struct ws_json **ret, struct ws_err *err);
/* What messages call it: "<stdin>" for "-". */
const char *ws_spec_file_name(const char *path);

#endif
