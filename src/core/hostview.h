/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_HOSTVIEW_H
#define WS_CORE_HOSTVIEW_H

#include "base/err.h"
#include "core/plan.h"
#include "core/root.h"
#include "core/session.h"

/*
 * What mode host_readonly has to cover on this host, at this moment.
 *
 * A mount that lies over a name goes when somebody on the host renames another file to
 * that name, and a name that is not there cannot be covered. So each HOME is shown as a
 * tmpfs with what may be seen of it bound back, and so is each folder in it that holds
 * credentials beside other things: what comes later does not appear. Everything else
 * (MASK, the state root, and what links lead to) is covered where it is. All this at
 * each place where the host shows the same files: other mounts of the filesystem, and
 * /tmp/host.
 *
 * Nothing is asked of a mount that may hang, unless it is HOME's, the root's or the
 * launch folder's, or an alias of one; then host-unsupported if it does not answer.
 */
int ws_hostview_look(const struct ws_root *root, const struct ws_session *s,
		     struct ws_hostview *ret, struct ws_err *err);
void ws_hostview_release(struct ws_hostview *v);

/* DIR (NULL: where we are) as the session keeps it: resolved, and good for this mode. */
int ws_launch_dir(const struct ws_root *root, const struct ws_spec *spec, char **ret,
		  struct ws_err *err);

#endif
