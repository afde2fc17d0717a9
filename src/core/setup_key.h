/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SETUP_KEY_H
#define WS_CORE_SETUP_KEY_H

#include "base/err.h"
#include "base/strv.h"
#include "core/keyed.h"
#include "core/root.h"
#include "core/setup.h"
#include "core/spec.h"
#include "core/vcs.h"

/* What a setup depends on; all of it stays the caller's. */
struct ws_setup_source {
	const struct ws_root *root;
	const struct ws_spec *spec;   /* the session's: script and inputs */
	const struct ws_spec *policy; /* what the script runs under */
	const struct ws_strv *env;    /* what it gets of it */
	const struct ws_repo *repo;   /* with its snapshot */
};

/*
 * Reads the base: what to execute, and the key. Two setups of one key would make the
 * same: it covers the script, the inputs (without any: the whole base), the policy and
 * the environment, the architecture, the place inside, and what the host's toolchains
 * look like.
 */
int ws_setup_key(const struct ws_setup_source *src, struct ws_strv *ret_argv,
		 char ret_key[WS_KEY_LEN + 1], struct ws_err *err);

#endif
