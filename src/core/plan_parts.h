/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_PLAN_PARTS_H
#define WS_CORE_PLAN_PARTS_H

#include "core/plan.h"

/* What plans of both modes are put together from. Pure. */
#define WS_PLAN_SMALL_TMPFS (1u << 20)

/* Appends a mount, which is the plan's. SOURCE may be NULL. */
struct ws_mount *ws_plan_add(struct ws_plan *p, enum ws_mount_kind kind,
			     const char *source, const char *target);
void ws_plan_tmpfs(struct ws_plan *p, const char *target, unsigned mode, uint64_t size);
void ws_plan_data(struct ws_plan *p, const char *target, const char *data);
/* Copies of all mounts of FROM. */
void ws_plan_append(struct ws_plan *p, const struct ws_plan *from);

void ws_plan_hide_keys(struct ws_plan *p);
void ws_plan_proc(struct ws_plan *p, const struct ws_host *host); /* its own */
void ws_plan_dev(struct ws_plan *p, uint64_t shm_size);

/* Mode host_readonly (plan_host.c): all mounts, and what of them may be writable. */
void ws_plan_host(struct ws_plan *p, const struct ws_plan_source *src,
		  const struct ws_host *host);

#endif
