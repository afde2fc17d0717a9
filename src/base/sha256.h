/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_SHA256_H
#define WS_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* SHA-256 (FIPS 180-4). */
#define WS_SHA256_HEX 65 /* 64 digits and NUL */

struct ws_sha256 {
	uint32_t h[8];
	uint64_t len;
	uint8_t block[64];
};

void ws_sha256_init(struct ws_sha256 *s);
void ws_sha256_update(struct ws_sha256 *s, const void *data, size_t len);
/* Adds the string and its NUL, so that two fields never run into each other. */
void ws_sha256_field(struct ws_sha256 *s, const char *text);
void ws_sha256_hex(struct ws_sha256 *s, char out[WS_SHA256_HEX]); /* finishes S */

#endif
