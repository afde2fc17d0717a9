/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_ENV_H
#define WS_CORE_ENV_H

#include "base/strv.h"
#include "core/spec.h"

/*
 * The environment a command gets: pure. HOST is the caller's environment, EXTRA the -e
 * and --env-file values as NAME=VALUE in their order (the last one wins).
 *
 * What wsiso makes: PATH HOME USER LOGNAME SHELL LANG TERM TZ TMPDIR. Of HOST come those
 * that the spec lets in, and never those that name the host's places (HOME, PWD...). What
 * the spec denies comes neither from HOST nor from EXTRA.
 */
struct ws_env_facts {
	const char *user; /* login name inside */
	const char *home; /* "/home/USER" */
	const char *term; /* TERM of the caller with a tty, else NULL: "dumb" */
	const char *tz;	  /* TZ of the caller, or NULL: unset, the system's */
};

/* Is it one of those nine? */
bool ws_env_is_own(const char *name);
void ws_env_build(const struct ws_spec_sandbox *spec, const struct ws_env_facts *facts,
		  char *const *host, const struct ws_strv *extra, struct ws_strv *ret);

#endif
