/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_CGROUP_H
#define WS_CORE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/jsonw.h"
#include "core/spec.h"

/*
 * The cgroup (v2) that holds the sum of a session: its sandbox is started in it, and each
 * command enters it before it is confined. It is made below the nearest cgroup that was
 * delegated to us and has no processes of its own, for the kernel gives controllers only
 * to the children of such a one (cgroups(7), "no internal processes"). Nobody else's
 * process is ever moved; wsiso itself moves into a leaf if it is alone.
 * Limits asked for that cannot be set: limits-unavailable, with the remedy.
 *
 * A cgroup is named by its folder's path. What stands in records is checked by its name.
 */
bool ws_cgroup_wanted(const struct ws_spec_limits *limits);

/* Could it be made here? Nothing is moved or left. *ret_base: below which one. */
int ws_cgroup_try(const struct ws_spec_limits *limits, char **ret_base,
		  struct ws_err *err);

/*
 * A new one for session ID, without limits yet. The caller itself is in it from now on,
 * so that what it starts is born there, until ws_cgroup_leave, which takes it back to
 * where it was.
 */
struct ws_cgroup {
	char *path; /* of the new one, or NULL: none */
	int home;   /* the cgroup.procs of where the caller was, or -1 */
};

#define WS_CGROUP_INIT ((struct ws_cgroup){ .home = -1 })

void ws_cgroup_release(struct ws_cgroup *cg);
int ws_cgroup_make(const struct ws_spec_limits *limits, const char *id,
		   struct ws_cgroup *ret, struct ws_err *err);
int ws_cgroup_leave(struct ws_cgroup *cg, struct ws_err *err);
int ws_cgroup_limit(const char *path, const struct ws_spec_limits *limits,
		    struct ws_err *err);

/*
 * What takes the writer of "0" into it, for a command on its way in. That is allowed only
 * within what was delegated to both; ws_cgroup_closed says so, by errno. sandbox-lost
 * with ESRCH in err->sys: it is gone.
 */
int ws_cgroup_open(const char *path, int *ret_procs, struct ws_err *err);
int ws_cgroup_closed(struct ws_err *err);
/* Kills all that is in it, at once. */
void ws_cgroup_kill(const char *path);
/* When its last process is gone. It may be gone already. */
void ws_cgroup_remove(const char *path);
/* How many of its processes the kernel has killed for want of memory. */
uint64_t ws_cgroup_oom_kills(const char *path);
/* Read back: an object with memory_max, pids_max, cpu_max as the kernel shows them. */
void ws_cgroup_print(struct ws_jsonw *w, const char *key, const char *path);

#endif
