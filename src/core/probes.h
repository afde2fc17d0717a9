/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_PROBES_H
#define WS_CORE_PROBES_H

#include "core/check.h"

/* The rows of `wsiso check`: each is run in a child, and fills its item. */
struct ws_probe_host {
	const struct ws_root *root;
	const struct ws_spec *spec;
};

struct ws_probe {
	const char *id;
	void (*run)(const struct ws_probe_host *host, struct ws_check_item *item);
};

extern const struct ws_probe ws_probes[];
extern const size_t ws_probe_count;

/* What a probe says in the end; the later word wins. */
void ws_probe_say(struct ws_check_item *item, enum ws_check_status status,
		  const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Probes that build a sandbox (probe_sandbox.c). */
void ws_probe_userns(const struct ws_probe_host *host, struct ws_check_item *item);
void ws_probe_overlay(const struct ws_probe_host *host, struct ws_check_item *item);
void ws_probe_network(const struct ws_probe_host *host, struct ws_check_item *item);
void ws_probe_enter(const struct ws_probe_host *host, struct ws_check_item *item);
/* Those of the host that do not answer (probe_mounts.c). */
void ws_probe_mounts(const struct ws_probe_host *host, struct ws_check_item *item);

/*
 * Has an overlay been mounted and written in this root since the boot? If not, it is
 * tried now. overlay-unavailable, naming the filesystem.
 */
int ws_overlay_check(const struct ws_root *root, const struct ws_spec *spec,
		     struct ws_err *err);

#endif
