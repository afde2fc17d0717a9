/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_EXPORT_H
#define WS_CORE_EXPORT_H

#include <stdbool.h>

#include "base/err.h"
#include "core/pack.h"
#include "core/root.h"
#include "core/session.h"

enum ws_export_format {
	WS_EXPORT_LAYER,   /* what changed, as a layer of an OCI image */
	WS_EXPORT_TAR,	   /* what is there, base and changes */
	WS_EXPORT_PATCH,   /* what diff prints as a patch */
	WS_EXPORT_SESSION, /* all that another host needs (import.h) */
	WS_EXPORT_BUNDLE,  /* commits, by git itself, inside */
};

struct ws_export_opts {
	enum ws_export_format format;
	const char *compression; /* of an archive */
	const char *repo;	 /* only this one; NULL: all */
	const char *ref, *base;	 /* of a bundle; or NULL */
};

/*
 * Writes it to OUT, and to RET what was in it and what was not. Nothing but a bundle
 * needs a sandbox, and nothing changes. What commands do meanwhile may be torn.
 */
int ws_export(const struct ws_root *root, const char *id,
	      const struct ws_export_opts *opts, int out, struct ws_export_report *ret,
	      struct ws_err *err);

/* The formats by themselves; the session is open, and has a workspace. */
struct ws_exporting {
	const struct ws_root *root;
	const struct ws_session *s;
	const struct ws_stack *stack;
	const struct ws_export_opts *opts;
	int out;
	struct ws_room *room; /* where OUT is */
	struct ws_export_report *report;
};

int ws_export_patch(const struct ws_exporting *x, struct ws_err *err);
int ws_export_bundle(const struct ws_exporting *x, struct ws_err *err);
int ws_export_session(const struct ws_exporting *x, struct ws_err *err);

#endif
