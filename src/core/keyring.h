/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_KEYRING_H
#define WS_CORE_KEYRING_H

#include "base/err.h"

/*
 * A session keyring for each sandbox: PID 1 and all commands have it, nobody else, and
 * the caller's own is out of reach. One for all of them, since each is a key of the 200
 * that a user may have (kernel.keys.maxkeys), and found by its name: keyrings are named
 * per user namespace, so both of these are done before a sandbox's is entered. What is
 * then executed inherits it. Where there are no keyrings, or a filter around us forbids
 * them, there is nothing to reach either, and both succeed.
 */
#define WS_KEYRING_NAME_MAX 32

/* A new one becomes this process's; NAME is "" if there is none. */
int ws_keyring_make(char name[WS_KEYRING_NAME_MAX], struct ws_err *err);
/* This process's becomes the one of that NAME (NULL or "": a new one). -1 and errno. */
int ws_keyring_join(const char *name);
/* What to do about EDQUOT. */
int ws_keyring_hint(struct ws_err *err);

#endif
