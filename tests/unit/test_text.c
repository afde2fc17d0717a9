/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "check.h"

static void facts_of_prefixes(void)
{
	CHECK(ws_text_starts("abc", "ab") && !ws_text_starts("a", "ab"));
	CHECK(ws_text_starts("", "") && ws_text_ends("", ""));
	CHECK(ws_text_ends("abc", "bc") && !ws_text_ends("c", "bc"));
}

#define UTF8(s) ws_text_utf8((s), sizeof(s) - 1)

static void facts_of_utf8(void)
{
	CHECK(UTF8(""));
	CHECK(UTF8("a\0b"));
	CHECK(UTF8("gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x98\x80"));
	CHECK(UTF8("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"));
	CHECK(!UTF8("\x80"));
	CHECK(!UTF8("\xc3"));
	CHECK(!UTF8("\xc0\x80")); /* overlong */
	CHECK(!UTF8("\xc1\xbf"));
	CHECK(!UTF8("\xe0\x9f\xbf"));
	CHECK(!UTF8("\xf0\x8f\xbf\xbf"));
	CHECK(!UTF8("\xed\xa0\x80"));	  /* a surrogate */
	CHECK(!UTF8("\xf4\x90\x80\x80")); /* above U+10FFFF */
	CHECK(!UTF8("\xf5\x80\x80\x80"));
	CHECK(!UTF8("\xe2\x82"));
	CHECK(!UTF8("\xe2\x82x"));
}

static const char *escaped(const char *s)
{
	static struct ws_buf b = WS_BUF_INIT;

	ws_buf_clear(&b);
	ws_text_escape(&b, s, strlen(s));
	return ws_buf_str(&b);
}

static const char *quoted(const char *s)
{
	static struct ws_buf b = WS_BUF_INIT;

	ws_buf_clear(&b);
	ws_text_shell_quote(&b, s);
	return ws_buf_str(&b);
}

static void facts_of_escapes(void)
{
	CHECK_STR(escaped("plain gr\xc3\xbcn"), "plain gr\xc3\xbcn");
	CHECK_STR(escaped("a\033[31m\n\x7f"), "a\\x1b[31m\\x0a\\x7f");
	CHECK_STR(escaped("\xc2\x9b"
			  "31m"),
		  "\\xc2\\x9b31m"); /* CSI as one character */
	CHECK_STR(escaped("\xff\xc3"), "\\xff\\xc3");
	CHECK_STR(quoted("plain/-._:,+@%1"), "plain/-._:,+@%1");
	CHECK_STR(quoted(""), "''");
	CHECK_STR(quoted("a b"), "'a b'");
	CHECK_STR(quoted("it's"), "'it'\\''s'");
	CHECK_STR(quoted("$x`y`\"*~"), "'$x`y`\"*~'");
	CHECK_STR(quoted("--size=5"), "--size=5");
	CHECK_STR(quoted("A=b"), "'A=b'");
	CHECK_STR(quoted("-x=$y"), "'-x=$y'");
}

static void facts_of_nearness(void)
{
	char longer[2000];

	CHECK_INT((int64_t)ws_text_distance("kitten", "sitting"), 3);
	CHECK_INT((int64_t)ws_text_distance("", "abc"), 3);
	CHECK_INT((int64_t)ws_text_distance("Same", "sAME"), 0);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	CHECK_INT((int64_t)ws_text_distance(longer, "x"), 1999);
	CHECK_STR(ws_text_nearer("creat", NULL, "create"), "create");
	CHECK(ws_text_nearer("xyz", NULL, "create") == NULL);
	CHECK(ws_text_nearer("a", NULL, "b") == NULL);
	CHECK_STR(ws_text_nearer("stat", "state", "start"), "state");
	CHECK_STR(ws_text_nearer("stops", "stage", "stop"), "stop");
}

static int u64_errno(const char *s, uint64_t max)
{
	uint64_t value = 77;

	errno = 0;
	if (ws_text_u64(s, max, &value) == 0)
		return 0;
	return value == 77 ? errno : -1;
}

static void facts_of_numbers(void)
{
	uint64_t value;

	CHECK(ws_text_u64("18446744073709551615", UINT64_MAX, &value) == 0 &&
	      value == UINT64_MAX);
	CHECK(ws_text_u64("007", 10, &value) == 0 && value == 7);
	CHECK_INT(u64_errno("18446744073709551616", UINT64_MAX), ERANGE);
	CHECK_INT(u64_errno("99999999999999999999999", UINT64_MAX), ERANGE);
	CHECK_INT(u64_errno("11", 10), ERANGE);
	CHECK_INT(u64_errno("10", 10), 0);
	CHECK_INT(u64_errno("", 10), EINVAL);
	CHECK_INT(u64_errno("-1", 10), EINVAL);
	CHECK_INT(u64_errno("+1", 10), EINVAL);
	CHECK_INT(u64_errno(" 1", 10), EINVAL);
	CHECK_INT(u64_errno("1 ", 10), EINVAL);
	CHECK_INT(u64_errno("0x1", 10), EINVAL);
	CHECK_INT(u64_errno("99999999999999999999999z", UINT64_MAX), EINVAL);
}

static int64_t seconds(const char *s)
{
	uint64_t ms;

	return ws_text_seconds(s, &ms) < 0 ? -errno : (int64_t)ms;
}

static void facts_of_seconds(void)
{
	CHECK_INT(seconds("90"), 90000);
	CHECK_INT(seconds("1.5"), 1500);
	CHECK_INT(seconds("0.25"), 250);
	CHECK_INT(seconds("0"), 0);
	CHECK_INT(seconds("0.0001"), 1); /* not 0, which is "none" */
	CHECK_INT(seconds("0.000000000000000000000000000001"), 1);
	CHECK_INT(seconds("0.999001"), 1000);
	CHECK_INT(seconds("0.0000"), 0);
	CHECK_INT(seconds(""), -EINVAL);
	CHECK_INT(seconds("."), -EINVAL);
	CHECK_INT(seconds(".5"), -EINVAL);
	CHECK_INT(seconds("5."), -EINVAL);
	CHECK_INT(seconds("1s"), -EINVAL);
	CHECK_INT(seconds("1.5x"), -EINVAL);
	CHECK_INT(seconds("-1"), -EINVAL);
	CHECK_INT(seconds("1e3"), -EINVAL);
	CHECK_INT(seconds("99999999999999999999999999"), -ERANGE);
	CHECK_INT(seconds("18446744073709551615"), -ERANGE);
}

static int number_of(const char *s)
{
	int sig;

	return ws_text_signal(s, &sig) < 0 ? -errno : sig;
}

static void facts_of_signals(void)
{
	CHECK_INT(number_of("TERM"), SIGTERM);
	CHECK_INT(number_of("SIGTERM"), SIGTERM);
	CHECK_INT(number_of("sigkill"), SIGKILL);
	CHECK_INT(number_of("9"), SIGKILL);
	CHECK_INT(number_of("64"), 64);
	CHECK_INT(number_of("0"), -EINVAL);
	CHECK_INT(number_of("65"), -EINVAL);
	CHECK_INT(number_of("SIG"), -EINVAL);
	CHECK_INT(number_of("-9"), -EINVAL);
	CHECK_INT(number_of(""), -EINVAL);
}

static const char *size(uint64_t bytes)
{
	static struct ws_buf b = WS_BUF_INIT;

	ws_buf_clear(&b);
	ws_text_size(&b, bytes);
	return ws_buf_str(&b);
}

static void facts_of_units(void)
{
	char out[WS_TIME_LEN], a[33], b[33];

	CHECK_STR(size(0), "0 B");
	CHECK_STR(size(1023), "1023 B");
	CHECK_STR(size(1024), "1.0 KiB");
	CHECK_STR(size(1288490189), "1.2 GiB");
	CHECK_STR(size((1u << 20) - 1), "1.0 MiB");
	CHECK_STR(size(UINT64_MAX), "16.0 EiB");
	ws_clock_rfc3339(1796075109123456789u, out);
	CHECK_STR(out, "2026-11-30T21:45:09.123456Z");
	ws_clock_rfc3339(0, out);
	CHECK_STR(out, "1970-01-01T00:00:00.000000Z");
	ws_clock_age(119, out);
	CHECK_STR(out, "119 s");
	ws_clock_age(200, out);
	CHECK_STR(out, "3 min");
	ws_clock_age(7300, out);
	CHECK_STR(out, "2 h");
	ws_clock_age(5 * 86400, out);
	CHECK_STR(out, "5 d");
	ws_text_random(a, 16);
	ws_text_random(b, 16);
	CHECK(strlen(a) == 32 && strspn(a, "0123456789abcdef") == 32 &&
	      strcmp(a, b) != 0);
	ws_text_random(a, 0);
	CHECK_STR(a, "");
	CHECK(ws_clock_boot_ms() >= ws_clock_mono_ms() - 1000);
	CHECK(ws_clock_wall_ns() > 1600000000000000000u);
}

int main(void)
{
	facts_of_prefixes();
	facts_of_utf8();
	facts_of_escapes();
	facts_of_nearness();
	facts_of_numbers();
	facts_of_seconds();
	facts_of_signals();
	facts_of_units();
	return CHECK_DONE();
}
