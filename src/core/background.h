/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_BACKGROUND_H
#define WS_CORE_BACKGROUND_H

/*
 * A process that is to go on in the background leaves what is the caller's: its session
 * and terminal, its folder, descriptors 0-2 (/dev/null from now on), and every other one
 * that came through our own exec. Those that wsiso opened stay: they are close-on-exec.
 */
void ws_background_enter(void);

#endif
