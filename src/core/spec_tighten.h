/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SPEC_TIGHTEN_H
#define WS_CORE_SPEC_TIGHTEN_H

#include "base/err.h"
#include "core/spec.h"

/*
 * What may only be tightened: a session's spec under the floor of wsiso.json, a child's
 * under its parent's, a command's flags and profile under its session's. Which of two
 * values protects more is a column of the table of fields. Pure.
 *
 * Specs are compared as they are after ws_spec_finish. A child's profile is bound by its
 * parent's of that name, and where that is silent by the parent's spec; under a floor it
 * is bound by both.
 */

/*
 * Is SPEC, in every key that protects, as tight as BOUND? If not: spec-invalid that
 * names the key, with PREFIX before it ("" or "profiles.x."), and both values.
 */
int ws_spec_tightens(const struct ws_spec *bound, const struct ws_spec *spec,
		     const char *prefix, struct ws_err *err);

/*
 * Has the child CHILD what is fixed when a session is made, its own notes aside, as its
 * parent has it? If not: spec-invalid that names the key. (spec_child.c)
 */
int ws_spec_same_base(const struct ws_spec *parent, const struct ws_spec *child,
		      struct ws_err *err);

/* The same of SPEC and its own floor, in those keys that the floor names. */
int ws_spec_floor_check(const struct ws_spec *spec, struct ws_err *err);

/*
 * Makes SPEC as tight as its floor where it is looser: what nobody has asked for is no
 * error. PROFILE: the one that SPEC is the effective spec of, or NULL.
 */
int ws_spec_floor_raise(struct ws_spec *spec, const char *profile, struct ws_err *err);
/* Only the lists of what is kept out: there the floor adds to what a session says. */
int ws_spec_floor_add(struct ws_spec *spec, struct ws_err *err);

#endif
