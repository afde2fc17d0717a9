/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include "check.h"

/* The examples of FIPS 180-4 and NIST's CAVP, and lengths around a block's end. */
static const char empty[] =
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char abc[] =
	"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char two[] =
	"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
static const char million[] =
	"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static const char *digest(const char *data, size_t len, size_t step)
{
	static char out[WS_SHA256_HEX];
	struct ws_sha256 s;

	ws_sha256_init(&s);
	for (size_t i = 0; i < len; i += step)
		ws_sha256_update(&s, data + i, len - i < step ? len - i : step);
	ws_sha256_hex(&s, out);
	return out;
}

static void facts_of_steps(char *data)
{
	bool same = true;

	for (size_t len = 0; len < 200; len++) {
		char whole[WS_SHA256_HEX];

		strcpy(whole, digest(data, len, 1000));
		same = same && strcmp(whole, digest(data, len, 1)) == 0 &&
		       strcmp(whole, digest(data, len, 63)) == 0;
	}
	CHECK(same);
}

static void facts_of_fields(void)
{
	char one[WS_SHA256_HEX], other[WS_SHA256_HEX];
	struct ws_sha256 s;

	ws_sha256_init(&s);
	ws_sha256_field(&s, "ab");
	ws_sha256_field(&s, "c");
	ws_sha256_hex(&s, one);
	ws_sha256_init(&s);
	ws_sha256_field(&s, "a");
	ws_sha256_field(&s, "bc");
	ws_sha256_hex(&s, other);
	CHECK(strcmp(one, other) != 0);
	CHECK_STR(one, digest("ab\0c", 5, 5));
}

int main(void)
{
	char *a = malloc(1000000);

	MUST(a);
	memset(a, 'a', 1000000);
	CHECK_STR(digest("", 0, 1), empty);
	CHECK_STR(digest("abc", 3, 3), abc);
	CHECK_STR(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
			 7),
		  two);
	CHECK_STR(digest(a, 1000000, 1000000), million);
	CHECK_STR(digest(a, 1000000, 977), million);
	facts_of_steps(a);
	facts_of_fields();
	free(a);
	return CHECK_DONE();
}
