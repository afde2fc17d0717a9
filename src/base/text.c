/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

bool ws_text_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool ws_text_ends(const char *s, const char *suffix)
{
	size_t len = strlen(s), n = strlen(suffix);

	return len >= n && memcmp(s + len - n, suffix, n) == 0;
}

const char *ws_text_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Table 3-7 of the Unicode standard: the second byte's range depends on the first. */
size_t ws_text_utf8_char(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned char low = 0x80, high = 0xbf;
	size_t need;

	if (len == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	need = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (len < need || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return need;
}

bool ws_text_utf8(const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = ws_text_utf8_char(s + i, len - i);
		if (n == 0)
			return false;
	}
	return true;
}

bool ws_text_is_control(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	return (n == 1 && (p[0] < 0x20 || p[0] == 0x7f)) ||
	       (n == 2 && p[0] == 0xc2 && p[1] < 0xa0);
}

void ws_text_escape(struct ws_buf *b, const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = ws_text_utf8_char(s + i, len - i);
		if (n > 0 && !ws_text_is_control(s + i, n)) {
			ws_buf_add(b, s + i, n);
			continue;
		}
		n = n ? n : 1;
		for (size_t j = 0; j < n; j++)
			ws_buf_addf(b, "\\x%02x", (unsigned char)s[i + j]);
	}
}

/* An '=' is left bare in options only: a first word A=b would be an assignment. */
static bool is_plain_word(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+:,./-";
	size_t n = strspn(s, plain);

	while (s[0] == '-' && s[n] == '=')
		n += 1 + strspn(s + n + 1, plain);
	return n > 0 && s[n] == '\0';
}

void ws_text_shell_quote(struct ws_buf *b, const char *s)
{
	if (is_plain_word(s)) {
		ws_buf_addstr(b, s);
		return;
	}
	ws_buf_addch(b, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			ws_buf_addstr(b, "'\\''");
		else
			ws_buf_addch(b, *s);
	}
	ws_buf_addch(b, '\'');
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* One row of the usual matrix. No name that we know is longer than it. */
#define DISTANCE_MAX 64

size_t ws_text_distance(const char *a, const char *b)
{
	size_t row[DISTANCE_MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > DISTANCE_MAX || lb > DISTANCE_MAX)
		return la > lb ? la : lb;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			bool same = tolower((unsigned char)a[i - 1]) ==
				    tolower((unsigned char)b[j - 1]);
			size_t above = row[j];

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + !same);
			diagonal = above;
		}
	}
	return row[lb];
}

const char *ws_text_nearer(const char *word, const char *best, const char *candidate)
{
	size_t distance = ws_text_distance(word, candidate);
	size_t len = strlen(word);
	size_t limit = len < 3 ? 1 : len < 8 ? 2 : 3;

	if (distance > limit || distance >= len)
		return best;
	if (best && ws_text_distance(word, best) <= distance)
		return best;
	return candidate;
}

int ws_text_u64(const char *s, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (*s == '\0') {
		errno = EINVAL;
		return -1;
	}
	for (const char *p = s; *p; p++) {
		if (*p < '0' || *p > '9') {
			errno = EINVAL;
			return -1;
		}
	}
	for (; *s; s++) {
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value)) {
			errno = ERANGE;
			return -1;
		}
	}
	if (value > max) {
		errno = ERANGE;
		return -1;
	}
	*ret = value;
	return 0;
}

/* Digits after the point count to the millisecond, upwards: 0.0001 is not "none". */
int ws_text_seconds(const char *s, uint64_t *ret_ms)
{
	size_t whole = strspn(s, "0123456789");
	const char *fraction = s[whole] == '.' ? s + whole + 1 : NULL;
	uint64_t seconds = 0, ms = 0, scale = 100;
	char digits[24];

	if (whole >= sizeof(digits)) {
		errno = ERANGE;
		return -1;
	}
	memcpy(digits, s, whole);
	digits[whole] = '\0';
	if (ws_text_u64(digits, UINT64_MAX / 1000000u, &seconds) < 0)
		return -1;
	if (fraction ? !*fraction || fraction[strspn(fraction, "0123456789")]
		     : s[whole]) {
		errno = EINVAL;
		return -1;
	}
	for (; fraction && *fraction; fraction++, scale /= 10) {
		ms += (uint64_t)(*fraction - '0') * scale;
		if (scale == 0 && *fraction != '0') {
			ms++;
			break;
		}
	}
	*ret_ms = seconds * 1000u + ms;
	return 0;
}

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP },     { "INT", SIGINT },	{ "QUIT", SIGQUIT },
	{ "ILL", SIGILL },     { "TRAP", SIGTRAP },	{ "ABRT", SIGABRT },
	{ "IOT", SIGIOT },     { "BUS", SIGBUS },	{ "FPE", SIGFPE },
	{ "KILL", SIGKILL },   { "USR1", SIGUSR1 },	{ "SEGV", SIGSEGV },
	{ "USR2", SIGUSR2 },   { "PIPE", SIGPIPE },	{ "ALRM", SIGALRM },
	{ "TERM", SIGTERM },   { "CHLD", SIGCHLD },	{ "CONT", SIGCONT },
	{ "STOP", SIGSTOP },   { "TSTP", SIGTSTP },	{ "TTIN", SIGTTIN },
	{ "TTOU", SIGTTOU },   { "URG", SIGURG },	{ "XCPU", SIGXCPU },
	{ "XFSZ", SIGXFSZ },   { "VTALRM", SIGVTALRM }, { "PROF", SIGPROF },
	{ "WINCH", SIGWINCH }, { "IO", SIGIO },		{ "POLL", SIGIO },
	{ "PWR", SIGPWR },     { "SYS", SIGSYS },
};

int ws_text_signal(const char *s, int *ret)
{
	uint64_t number;

	if (ws_text_u64(s, (uint64_t)SIGRTMAX, &number) == 0 && number > 0) {
		*ret = (int)number;
		return 0;
	}
	if (strncasecmp(s, "SIG", 3) == 0)
		s += 3;
	for (size_t i = 0; i < WS_ARRAY_SIZE(signals); i++) {
		if (strcasecmp(s, signals[i].name) == 0) {
			*ret = signals[i].number;
			return 0;
		}
	}
	errno = EINVAL;
	return -1;
}

void ws_text_size(struct ws_buf *b, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes;
	int unit = -1;

	if (bytes < 1024) {
		ws_buf_addf(b, "%" PRIu64 " B", bytes);
		return;
	}
	while (value >= 1023.95 && units[unit + 1]) {
		value /= 1024;
		unit++;
	}
	ws_buf_addf(b, "%.1f %ciB", value, units[unit]);
}

void ws_text_random(char *out, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char chunk[32];
	size_t used = sizeof(chunk);

	for (size_t i = 0; i < n; i++) {
		if (used == sizeof(chunk)) {
			/* up to 256 bytes are never cut short once the pool is ready */
			while (getrandom(chunk, sizeof(chunk), 0) < 0)
				if (errno != EINTR)
					abort();
			used = 0;
		}
		out[2 * i] = digits[chunk[used] >> 4];
		out[2 * i + 1] = digits[chunk[used] & 15];
		used++;
	}
	out[2 * n] = '\0';
}
