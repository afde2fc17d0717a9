/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_LANDLOCK_H
#define WS_CORE_LANDLOCK_H

/* From this ABI on (Linux 6.12) signals and abstract unix sockets can be scoped. */
#define WS_LANDLOCK_SCOPES 6

/* What this kernel can do; 0: it has no Landlock, or it is switched off. */
int ws_landlock_abi(void);

#endif
