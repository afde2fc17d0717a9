/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_BINDS_H
#define WS_CORE_BINDS_H

#include "base/err.h"
#include "core/plan.h"
#include "core/root.h"

/*
 * The files and folders of the host that a spec and its profiles ask for, opened: what
 * is bound is what was looked at, whoever may meanwhile rename or link what.
 */
struct ws_binds {
	struct ws_plan_bind *v; /* outer targets first */
	size_t n;
};

#define WS_BINDS_INIT ((struct ws_binds){ 0 })

void ws_binds_release(struct ws_binds *b);
/*
 * spec-invalid, with the reason, for a source that no command may have: the host's own
 * folders, HOME itself, the state folder; writable also what is not the caller's, and
 * where wsiso or bwrap are installed. A link on the way is followed only if root alone
 * could have made it: what a command left in a folder that was bound writable
 * may be a link.
 */
int ws_binds_open(const struct ws_root *root, const struct ws_spec *spec,
		  struct ws_binds *ret, struct ws_err *err);
/* Adds them to P, which holds their descriptors as long as they live. */
int ws_binds_plan(const struct ws_binds *b, struct ws_plan *p, struct ws_err *err);
/* Could the sandbox of SPEC be started with them? For create: nothing is kept. */
int ws_binds_check(const struct ws_root *root, const struct ws_spec *spec,
		   struct ws_err *err);

#endif
