/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_TEXT_H
#define WS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Pure helpers on strings. */
bool ws_text_starts(const char *s, const char *prefix);
bool ws_text_ends(const char *s, const char *suffix);
/* What is behind the last slash of PATH, or all of it. */
const char *ws_text_basename(const char *path);
/* Is the run of bytes valid UTF-8 (no surrogates, no overlong forms)? */
bool ws_text_utf8(const char *s, size_t len);
/* Length in bytes of the valid UTF-8 character at S (at most LEN), 0 if there is none. */
size_t ws_text_utf8_char(const char *s, size_t len);
/* Is the character of N bytes at S a control character (C0, DEL, C1)? */
bool ws_text_is_control(const char *s, size_t n);
/* Appends S with control characters and what is not UTF-8 as \xNN, for people to read. */
void ws_text_escape(struct ws_buf *b, const char *s, size_t len);
/* Appends S so that a POSIX shell reads it back as one word; plain words stay bare. */
void ws_text_shell_quote(struct ws_buf *b, const char *s);
/*
 * Levenshtein distance, for "did you mean"; case is ignored. Where one is longer
 * than any name we know (64 bytes): the longer one's length.
 */
size_t ws_text_distance(const char *a, const char *b);
/*
 * The nearer of two to WORD; BEST may be NULL, and CANDIDATE counts only if it is near
 * enough to be a slip. For each name: best = ws_text_nearer(word, best, name).
 */
const char *ws_text_nearer(const char *word, const char *best, const char *candidate);
/* Decimal without sign, blanks or leading plus; -1 with errno EINVAL or ERANGE. */
int ws_text_u64(const char *s, uint64_t max, uint64_t *ret);
/* "90", "1.5" seconds to milliseconds, rounded up; -1 with errno EINVAL or ERANGE. */
int ws_text_seconds(const char *s, uint64_t *ret_ms);
/* "TERM", "SIGTERM", "15" to 15; -1 with errno EINVAL. */
int ws_text_signal(const char *s, int *ret);
/* "1.2 GiB" */
void ws_text_size(struct ws_buf *b, uint64_t bytes);
/* N random bytes as lower-case hex (2N digits) plus NUL; OUT holds 2N+1. */
void ws_text_random(char *out, size_t n);

#endif
