/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_RUN_SPEC_H
#define WS_CORE_RUN_SPEC_H

#include "core/run.h"

/*
 * The effective spec of a run: the profile's defaults, wsiso.json, the caller's spec,
 * the profile, and at last the options, which only tighten. Nothing in it is about a
 * workspace.
 */
int ws_run_spec(const struct ws_root *root, const struct ws_run_opts *opts,
		const char *profile, struct ws_spec *ret, struct ws_err *err);

#endif
