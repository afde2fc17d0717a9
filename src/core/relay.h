/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_RELAY_H
#define WS_CORE_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A relay moves bytes one way, from one descriptor to another, and never waits: its owner
 * polls for it and calls step. What was read is written before more is read, so a slow
 * reader slows down the writer, as with a pipe. SIGPIPE must be ignored.
 *
 * Large amounts go by splice(2) where both ends allow it, small ones are copied: splicing
 * takes a slot of the reader's pipe for each piece, and sixteen short lines would fill
 * it.
 */
struct ws_relay {
	int from, to; /* owned by the relay; -1: closed */
	bool from_socket, to_socket;
	bool from_waits; /* FROM could block: one read when it polls ready */
	bool to_waits;	 /* TO could block: a little when it polls ready */
	bool bulk;	 /* splice may be tried; false: the reader gets copies only */
	bool grown;	 /* the pipes were made larger: the writer is fast */
	bool blocked;	 /* TO took nothing when it was last asked */
	bool to_tty;	 /* set it, and FROM's end of file is typed, not a close */
	bool stopping;
	bool reader_gone; /* nobody reads TO any more: both are closed */
	int read_error;	  /* errno: FROM failed, which ended it */
	int write_error;  /* errno: TO failed; FROM is read on and dropped */
	uint64_t left;	  /* with STOPPING: bytes still to be read */
	uint64_t *room;	  /* bytes that TO still takes, if not NULL */
	char *buf;
	size_t off, len;
};

#define WS_RELAY_INIT ((struct ws_relay){ .from = -1, .to = -1 })

/*
 * An end of ours, which nobody else has: it is made non-blocking. Returns FD, or -1 and
 * errno.
 */
int ws_relay_own(int fd);
/*
 * A descriptor that the caller of wsiso shares with others: opened anew where that makes
 * it non-blocking for us alone, else duplicated. WRITE: it is a target. -1 and errno.
 */
int ws_relay_borrow(int fd, bool write);

/* Takes both descriptors; from FROM = -1 nothing ever comes. */
void ws_relay_init(struct ws_relay *r, int from, int to);
void ws_relay_release(struct ws_relay *r);
/* Fills the two entries; fd -1 where there is nothing to wait for. */
void ws_relay_poll(const struct ws_relay *r, struct pollfd fds[2]);
/* After poll(2) on those two. */
void ws_relay_step(struct ws_relay *r, const struct pollfd fds[2]);
/*
 * The writer that counts has ended: what the kernel holds of it now will be
 * moved, and nothing after. Then it is settled.
 */
void ws_relay_stop(struct ws_relay *r);
/* Is all out that will be? */
bool ws_relay_settled(const struct ws_relay *r);
/* Has somebody still the other end of FROM open? */
bool ws_relay_has_writer(const struct ws_relay *r);

#endif
