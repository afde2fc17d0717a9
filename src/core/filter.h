/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_FILTER_H
#define WS_CORE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "core/spec.h"

/*
 * The system call filters: which of them a spec asks for, and what they must be. Pure;
 * seccomp.h has their bytes. They are programs for the kernel, made from seccomp/rules.c
 * when wsiso is released, one for each of these and each architecture.
 */
#define WS_FILTER_FOLDER PKGDATADIR "/seccomp"

enum ws_filter {
	WS_FILTER_LOG,	   /* sandbox.seccomp "log": records, allows */
	WS_FILTER_ENFORCE, /* "enforce": refuses */
	WS_FILTER_HOST,	   /* host_readonly: refuses unix sockets and foreign ABIs */
	WS_FILTERS
};

/* In the order in which they are loaded. */
struct ws_filter_list {
	enum ws_filter v[WS_FILTERS];
	size_t n;
};

/* What SPEC asks for; "default" is "log". */
void ws_filter_of_spec(const struct ws_spec *spec, struct ws_filter_list *ret);
/* "log", "enforce" or "off": what "default" means is said. */
const char *ws_filter_mode(const struct ws_spec *spec);

/* The machine that this build is for, as files are named; NULL: there are none for it. */
const char *ws_filter_machine(void);
const char *ws_filter_name(enum ws_filter filter);
/* The name of FILTER's file in WS_FILTER_FOLDER; caller frees. NULL: no machine. */
char *ws_filter_file(enum ws_filter filter);
/* The SHA-256 that the file must have, as hex, or NULL. */
const char *ws_filter_sum(enum ws_filter filter);
/* The name of the file that has this SHA-256, be it another machine's, or NULL. */
const char *ws_filter_known(const char *sum);

#endif
