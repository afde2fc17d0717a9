/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_PROFILE_H
#define WS_CORE_PROFILE_H

#include <stdbool.h>

#include "base/err.h"
#include "core/spec.h"
#include "init/protocol.h"

/*
 * What a command is confined for. A profile is a row of changes to the effective spec;
 * a spec's `profiles` may lay more over a row, or make profiles of their own, which
 * begin as `tool`. Pure.
 */
enum ws_profile_use {
	WS_PROFILE_EXEC = 1 << 0,  /* a command of a session */
	WS_PROFILE_RUN = 1 << 1,   /* a sandbox for one command */
	WS_PROFILE_SETUP = 1 << 2, /* a setup script, which nobody can ask for by it */
};

#define WS_PROFILE_DEFAULT "tool"
#define WS_PROFILE_SETUP_NAME "setup"

struct ws_profile {
	const char *name;
	const char *help; /* what it is for */
	unsigned uses;
	/* As JSON in a spec's form, or NULL: laid below wsiso.json, so that whoever says
	 * something else is heard; laid over everything. */
	const char *below, *over;
	/* What limits may be at most (0: no word about it); where a cgroup is delegated.
	 */
	struct ws_spec_limits most, most_delegated;
	const struct ws_rlimit *rlimits; /* more than a spec can say */
	size_t nrlimits;
	size_t writable_max; /* binds; 0: any number */
	bool fresh_home;     /* empty, whatever --id says */
	bool serves;	     /* ends at EOF of its stdin, and with its caller */
	bool toolchains;     /* sees those of the host that lie beside /usr */
};

/* No limit of L is above MOST's; one that is not set there (0) says nothing. */
void ws_profile_limit(struct ws_spec_limits *l, const struct ws_spec_limits *most);
/* The row of NAME; that of `tool` for one that only the spec knows. */
const struct ws_profile *ws_profile_find(const char *name);
/*
 * Changes SPEC, which is finished, to what NAME makes of it. usage if there is no such
 * profile, or not for USE; with exec also if it changes what belongs to the session.
 */
int ws_profile_apply(struct ws_spec *spec, const char *name, enum ws_profile_use use,
		     struct ws_strv *warnings, struct ws_err *err);
/* Does NAME change anything of SPEC? */
bool ws_profile_changes(const struct ws_spec *spec, const char *name);
/*
 * ret->binds: those of SPEC and of every profile in it, each target once. *ret is the
 * caller's to release, and good for nothing else.
 */
int ws_profile_binds(const struct ws_spec *spec, struct ws_spec *ret, struct ws_err *err);

#endif
