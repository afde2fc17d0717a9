/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CMD_COMMON_H
#define WS_CMD_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "cmd/cmd.h"

/* What commands share besides their options: counting arguments, and output. */

/* Usage error, with the command's synopsis, unless MIN <= args->n <= MAX. */
int ws_cmd_count(const struct ws_cmd *cmd, const struct ws_strv *args, size_t min,
		 size_t max, struct ws_err *err);

/* --format: "json" sets *JSON, "table" leaves it; anything else is a usage error. */
int ws_cmd_format(const char *format, bool *json, struct ws_err *err);

/*
 * The first argument of a command that has verbs. CALL is the command's own, with what
 * its options say.
 */
struct ws_verb {
	const char *word;
	int (*run)(const void *call, struct ws_err *err);
};

/* NULL: WORD is none, which is a usage error. */
const struct ws_verb *ws_cmd_verb(const char *word, const struct ws_verb *verbs, size_t n,
				  struct ws_err *err);

/* Is stdout a terminal? JSON is indented then, and tables are aligned. */
bool ws_out_terminal(void);
/* Also not if NO_COLOR is set. */
bool ws_out_colour(void);
/* Bytes to stdout, flushed at once; -1 and an io error if they did not all go. */
int ws_out_write(const struct ws_buf *buf, struct ws_err *err);
/*
 * For who prints by stdio and goes on for long (logs -f): ends its loop when nobody reads
 * any more. SIGPIPE is ignored in this process; main turns EPIPE into that death.
 */
int ws_out_flush(struct ws_err *err);

/*
 * For who writes to descriptor 1 past stdio, and failed: if nobody reads there any more,
 * stdout says so from now on, too. Returns -1.
 */
int ws_out_failed(const struct ws_err *err);

/* Rows of cells for people: control characters escaped, columns aligned, a header. */
struct ws_table {
	size_t ncols;
	struct ws_strv cells; /* row by row, the header first */
};

enum ws_table_form {
	WS_TABLE_AUTO, /* aligned on a terminal; else no header, tabs between */
	WS_TABLE_ALIGNED,
};

#define WS_TABLE_INIT ((struct ws_table){ 0 })

void ws_table_release(struct ws_table *t);
void ws_table_head(struct ws_table *t, ...) __attribute__((sentinel));
void ws_table_cell(struct ws_table *t, const char *text); /* NULL or "": a dash */
void ws_table_cellf(struct ws_table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* How long ago that was, in ns since 1970; how many bytes, for people. */
void ws_table_age(struct ws_table *t, uint64_t since);
void ws_table_size(struct ws_table *t, uint64_t bytes);
/* The number of cells must be a multiple of the header's. */
int ws_table_print(const struct ws_table *t, enum ws_table_form form, struct ws_err *err);

#endif
