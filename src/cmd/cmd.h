/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CMD_CMD_H
#define WS_CMD_CMD_H

#include "base/err.h"
#include "base/opt.h"
#include "base/strv.h"

/* What stands before the command's name. */
struct ws_global {
	const char *root; /* --root, WSISO_ROOT, or NULL for the default */
};

/*
 * A command: one file that ends in its row. run returns the exit status, or -1
 * with ERR filled; only main prints that. status_of maps the error's class to the
 * exit status.
 */
struct ws_cmd {
	const char *name;
	const char *args; /* "ID [OPTIONS] [--] CMD..." */
	const char *help; /* one line, lower case */
	int npos;	  /* positionals before a payload; -1: no payload */
	int (*run)(const struct ws_cmd *cmd, const struct ws_global *global, int argc,
		   char **argv, struct ws_err *err);
	const int *status_of;
};

extern const int WS_STATUS_PLAIN[WS_CLASS_COUNT]; /* 1, 2, 3 */
extern const int WS_STATUS_EXEC[WS_CLASS_COUNT];  /* 125 */

/*
 * Parses the command's options into their targets and the rest into ARGS. Returns
 * 0; 1 when --help was asked for and printed (the command returns 0 then); -1.
 */
int ws_cmd_options(const struct ws_cmd *cmd, int argc, char **argv,
		   const struct ws_opt *opts, struct ws_strv *args, struct ws_err *err);

#endif
