/* SPDX-License-Identifier: Apache-2.0 */
#include "core/keyring.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

/* possessor: all; same user: find it by its name, no more */
#define PERMISSIONS 0x3f080000L

/* Is keyctl forbidden altogether: even a question that has an answer everywhere else? */
static bool is_forbidden(void)
{
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 0) <
		       0 &&
	       errno == EPERM;
}

int ws_keyring_join(const char *name)
{
	long key = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING,
			   name && *name ? name : NULL);

	if (key == 0) /* that is what the kernel says to one who has it already */
		return 0;
	if (key > 0)
		return (int)syscall(SYS_keyctl, KEYCTL_SETPERM, key, PERMISSIONS);
	if (errno == ENOSYS || (errno == EPERM && is_forbidden()))
		return 0;
	return -1;
}

int ws_keyring_make(char name[WS_KEYRING_NAME_MAX], struct ws_err *err)
{
	char random[17];

	ws_text_random(random, 8);
	snprintf(name, WS_KEYRING_NAME_MAX, "wsiso-%s", random);
	if (ws_keyring_join(name) == 0)
		return 0;
	ws_fail_errno(err, "take a new session keyring");
	err->kind = WS_HOST_UNSUPPORTED;
	return errno == EDQUOT ? ws_keyring_hint(err) : -1;
}

int ws_keyring_hint(struct ws_err *err)
{
	return ws_hint(err,
		       "a session may be using up this user's keys: wsiso list, wsiso "
		       "stop; \"seccomp\": \"enforce\" keeps commands from them; else "
		       "raise the sysctl kernel.keys.maxkeys");
}
