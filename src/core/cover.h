/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_COVER_H
#define WS_CORE_COVER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strv.h"
#include "core/mount_table.h"
#include "core/plan.h"

/* Places to cover, and the mounts that do it. */
struct ws_cover {
	char *source;	      /* on the host */
	char *target;	      /* inside */
	struct ws_strv names; /* paths below it that are left out; none: all is hidden */
	bool folder;
};

struct ws_cover_list {
	struct ws_cover *v;
	size_t n;
};

void ws_cover_list_release(struct ws_cover_list *list);
/* A second one for the same target is joined to the first. */
void ws_cover_list_add(struct ws_cover_list *list, const char *source, const char *target,
		       const struct ws_strv *names, bool folder);
/*
 * The mounts. What is at or below LAUNCH, if that is laid OVER the host, is for LATE:
 * there each name that exists is hidden, since what the overlay shows beside it is to
 * stay writable. spec-invalid if LAUNCH itself is hidden.
 */
int ws_cover_list_plan(struct ws_cover_list *list, const struct ws_mount_table *table,
		       const char *launch, bool over, struct ws_plan *covers,
		       struct ws_plan *late, struct ws_err *err);

#endif
