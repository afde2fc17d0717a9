/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_TESTS_UNIT_CHECK_H
#define WS_TESTS_UNIT_CHECK_H

/*
 * A unit test is a list of facts: CHECK(condition) and its kin print one TAP line
 * each; main ends with return CHECK_DONE(), which prints the plan and returns 0 or 1.
 * A fact whose preparation failed is no fact: MUST(condition) gives up.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_count, check_failed;

static inline bool check_note(bool ok, const char *fact, const char *file, int line)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++check_count, fact);
	if (!ok) {
		printf("# %s:%d\n", file, line);
		check_failed++;
	}
	fflush(stdout); /* what follows may crash */
	return ok;
}

static inline void check_str(const char *got, const char *want, const char *fact,
			     const char *file, int line)
{
	bool ok = got && want ? strcmp(got, want) == 0 : got == want;

	if (!check_note(ok, fact, file, line))
		printf("#  got: %s\n# want: %s\n", got ? got : "NULL",
		       want ? want : "NULL");
}

static inline void check_int(int64_t got, int64_t want, const char *fact,
			     const char *file, int line)
{
	if (!check_note(got == want, fact, file, line))
		printf("#  got: %" PRId64 "\n# want: %" PRId64 "\n", got, want);
}

static inline void check_u64(uint64_t got, uint64_t want, const char *fact,
			     const char *file, int line)
{
	if (!check_note(got == want, fact, file, line))
		printf("#  got: %" PRIu64 "\n# want: %" PRIu64 "\n", got, want);
}

static inline int check_done(void)
{
	printf("1..%d\n", check_count);
	return check_failed || check_count == 0;
}

#define CHECK(fact) check_note((fact), #fact, __FILE__, __LINE__)
#define CHECK_STR(got, want) \
	check_str((got), (want), #got " is " #want, __FILE__, __LINE__)
#define CHECK_INT(got, want) \
	check_int((got), (want), #got " is " #want, __FILE__, __LINE__)
#define CHECK_U64(got, want) \
	check_u64((got), (want), #got " is " #want, __FILE__, __LINE__)
#define CHECK_SKIP(fact, why) \
	printf("ok %d - %s # SKIP %s\n", ++check_count, (fact), (why))
#define CHECK_DONE() check_done()

/* For what the facts stand on: a folder that could not be made, a thread that did not
 * start. */
#define MUST(condition)                                                                  \
	do {                                                                             \
		if (!(condition)) {                                                      \
			printf("Bail out! %s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

#endif
