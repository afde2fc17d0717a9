/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_CREDENTIALS_H
#define WS_CORE_CREDENTIALS_H

#include <stddef.h>

/* What of a HOME mode host_readonly hides, be it there or not. Pure. */
struct ws_credential {
	const char *path; /* below HOME */
	const char *why;
};

extern const struct ws_credential ws_credentials[];
extern const size_t ws_credential_count;

#endif
