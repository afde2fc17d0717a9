/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_MOUNTS_H
#define WS_CORE_MOUNTS_H

#include <sys/types.h>

#include "base/err.h"
#include "base/strv.h"
#include "core/plan.h"

/*
 * The mounts of a process, seen from outside. A mount namespace belongs to the user
 * namespace it was made in (ioctl_ns(2), NS_GET_USERNS), and only from there its
 * propagation can be cut.
 */
/*
 * After this no mount made on the host appears in INIT's mount namespace any more, and
 * PLAN's tmpfs are bounded in inodes as well.
 */
int ws_mounts_cut(pid_t init, const struct ws_plan *plan, struct ws_err *err);
/* host-unsupported if a mount there may be written and is not in WRITABLE. */
int ws_mounts_verify(pid_t init, const struct ws_strv *writable, struct ws_err *err);
/*
 * The first mount point strictly below PATH on this host: 1 and *ret (caller's), or 0, or
 * -1.
 */
int ws_mounts_below(const char *path, char **ret, struct ws_err *err);

#endif
