/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_USER_H
#define WS_CORE_USER_H

#include <sys/types.h>

#include "base/err.h"

/* Who runs wsiso, and how that looks inside: same uid and gid, HOME at /home/NAME. */
struct ws_user {
	uid_t uid;
	gid_t gid;
	char *name; /* passwd entry's, made safe for a path; "uN" without one */
	char *group;
	char *home;	 /* inside: "/home/NAME" */
	char *host_home; /* HOME, or the passwd entry's */
};

void ws_user_release(struct ws_user *u);
int ws_user_self(struct ws_user *ret, struct ws_err *err);

#endif
