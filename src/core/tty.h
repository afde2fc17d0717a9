/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_TTY_H
#define WS_CORE_TTY_H

#include <sys/ioctl.h>

/*
 * The caller's terminal while a command with a pty of its own runs. One at a time.
 */
/* The first of descriptors 0-2 that is a terminal, or -1. */
int ws_tty_find(void);
/* Its size; 80 by 24 where there is no terminal, or it does not know. */
struct winsize ws_tty_size(void);
/*
 * FD goes into raw mode: what is typed are bytes, for the pty inside to judge. It is
 * put back by ws_tty_restore, and when the process exits. -1 and errno.
 */
int ws_tty_raw(int fd);
/* Raw again: the shell had the terminal while we were stopped. */
void ws_tty_resume(void);
void ws_tty_restore(void);

#endif
