/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_SHA1_H
#define WS_BASE_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define WS_SHA1_LEN 20

/* SHA-1 (FIPS 180-4) of DATA, for formats that end in one: no protection of anything. */
void ws_sha1(const void *data, size_t len, uint8_t ret[WS_SHA1_LEN]);

#endif
