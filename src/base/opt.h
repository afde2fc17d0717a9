/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_BASE_OPT_H
#define WS_BASE_OPT_H

#include <stdio.h>

#include "base/err.h"
#include "base/strv.h"

/*
 * Options are rows whose targets are locals of the command. Targets by kind:
 * FLAG bool *, NOFLAG bool * (set false), STR const char ** (points into argv),
 * LIST struct ws_strv * (copies), U64 uint64_t *, FD int * (checked to be open),
 * SECONDS uint64_t * (milliseconds), SIGNAL int *.
 */
enum ws_opt_kind {
	WS_OPT_END,
	WS_OPT_FLAG,
	WS_OPT_STR,
	WS_OPT_LIST,
	WS_OPT_U64,
	WS_OPT_FD,
	WS_OPT_SECONDS,
	WS_OPT_SIGNAL,
	WS_OPT_NOFLAG,
};

struct ws_opt {
	char letter;	  /* 0: none */
	const char *name; /* long name, or NULL */
	enum ws_opt_kind kind;
	void *target;
	const char *arg;  /* name of its value in the help, NULL for FLAG, NOFLAG */
	const char *help; /* one line; NULL: not in the help */
};

/*
 * Parses argv[1..]; argv[0] is the command's name. Accepts --name=V, --name V, -xV,
 * -x V, -xyz. Options may stand before and after positionals. "--" ends them. After
 * NPOS positionals the next one begins the payload and ends option parsing too;
 * NPOS < 0: no payload, options anywhere.
 * Positionals and payload are added to ARGS in order. An unknown option is kind usage,
 * with the nearest name as hint. -h and --help: returns 1, and the caller prints the
 * help.
 */
int ws_opt_parse(int argc, char **argv, int npos, const struct ws_opt *opts,
		 struct ws_strv *args, struct ws_err *err);
/* The rows as aligned lines "  -t, --tty           give the command a terminal". */
void ws_opt_print(FILE *out, const struct ws_opt *opts);

#endif
