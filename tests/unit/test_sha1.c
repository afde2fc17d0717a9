/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha1.h"

#include "check.h"

/* The examples of FIPS 180-4, and lengths around a block's end (by sha1sum). */
static const struct {
	const char *unit;
	size_t times;
	const char *digest;
} examples[] = {
	{ "", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
	{ "abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	  "84983e441c3bd26ebaae4aa1f95129e5e54670f1" },
	{ "a", 55, "c1c8bbdc22796e28c0e15163d20899b65621d65a" },
	{ "a", 63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5" },
	{ "a", 64, "0098ba824b5c16427bd7a1122a5a442a25ec644d" },
	{ "a", 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f" },
};

static const char *hex(const uint8_t digest[WS_SHA1_LEN])
{
	static char out[2 * WS_SHA1_LEN + 1];

	for (size_t i = 0; i < WS_SHA1_LEN; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
	return out;
}

int main(void)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		size_t len = strlen(examples[i].unit);
		char *text = malloc(len * examples[i].times + 1);
		uint8_t digest[WS_SHA1_LEN];

		MUST(text);
		for (size_t k = 0; k < examples[i].times; k++)
			memcpy(text + k * len, examples[i].unit, len);
		ws_sha1(text, len * examples[i].times, digest);
		CHECK_STR(hex(digest), examples[i].digest);
		free(text);
	}
	return CHECK_DONE();
}
