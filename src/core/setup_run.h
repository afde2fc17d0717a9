/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SETUP_RUN_H
#define WS_CORE_SETUP_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/enter.h"
#include "core/root.h"
#include "core/session.h"
#include "core/snapshot_make.h"

/*
 * One run of a setup script: a run (run.h) with a workspace, whose folder is thrown away
 * but for what the script has made below /workspace/NAME.
 */
struct ws_setup_job {
	struct ws_session session; /* kind "run", with its stack; no folder yet */
	struct ws_enter_plan plan;
	const char *name;    /* of the repo, below /workspace */
	bool own_git;	     /* its .git belongs to each session: it is not kept */
	uint64_t timeout_ms; /* 0: none */
	int log;	     /* for what it says */
};

#define WS_SETUP_JOB_INIT       \
	((struct ws_setup_job){ \
		.session = WS_SESSION_INIT, .plan = WS_ENTER_PLAN_INIT, .log = -1 })

void ws_setup_job_release(struct ws_setup_job *j);
/*
 * 1: it succeeded, and the scratch folder LAYER has root/NAME; 0: it failed, and the
 * caller frees *ret_cause; -1: it could not be run, or somebody asked us to end. Nothing
 * of it lives on.
 */
int ws_setup_run(const struct ws_root *root, struct ws_setup_job *j,
		 const struct ws_scratch *layer, char **ret_cause, struct ws_err *err);

#endif
