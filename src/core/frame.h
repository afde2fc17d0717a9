/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_FRAME_H
#define WS_CORE_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "init/protocol.h"

/*
 * The outside's end of protocol.h. All return -1 and errno: ECONNRESET at EOF, EPROTO for
 * what no init of ours says, EAGAIN when a time limit set by ws_frame_timeout is over.
 */

/* A connected pair, both CLOEXEC; *ret_outside learns who sends. */
int ws_frame_pair(int *ret_outside, int *ret_inside);
/* For each later send and receive; 0: waits for ever, as at first. */
int ws_frame_timeout(int sock, uint64_t ms);
int ws_frame_send(int sock, uint32_t type, const void *data, uint32_t len, const int *fds,
		  size_t nfds);
/*
 * Waits for one frame from inside. DATA is replaced by its body, which has the length of
 * its type. *ret_fd (may be NULL): the descriptor that came along with TTY, else
 * -1; *ret_pid (may be NULL): the sender, as the host knows it.
 */
int ws_frame_recv(int sock, uint32_t *ret_type, struct ws_buf *data, int *ret_fd,
		  pid_t *ret_pid);

#endif
