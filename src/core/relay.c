/* SPDX-License-Identifier: Apache-2.0 */
#include "core/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"

#define BUFFER_SIZE 65536
#define BULK_MIN 32768	      /* below this a copy is as fast, and kinder to the reader */
#define LITTLE PIPE_BUF	      /* what a pipe that polls ready takes without waiting */
#define TTY_TAIL 131072	      /* more than a pty ever holds */
#define ROUNDS 16	      /* in one step, so that nobody else has to wait */
#define PIPE_SIZE (256 << 10) /* larger ones are slower, and a user's share is 64 MiB */

int ws_relay_own(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	return fd;
}

static mode_t type_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

int ws_relay_borrow(int fd, bool write)
{
	int flags = (write ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	char path[40];
	int again = -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (type_of(fd) == S_IFIFO || isatty(fd))
		again = open(path, flags);
	return again >= 0 ? again : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* Files never wait, sockets are asked not to. */
static bool may_wait(int fd, mode_t type)
{
	return fd >= 0 && (type == S_IFIFO || type == S_IFCHR) &&
	       !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

void ws_relay_init(struct ws_relay *r, int from, int to)
{
	mode_t in = type_of(from), out = type_of(to);
	bool tty = to >= 0 && isatty(to);

	*r = (struct ws_relay){ .from = from, .to = to, .buf = ws_alloc(BUFFER_SIZE) };
	r->from_socket = in == S_IFSOCK;
	r->to_socket = out == S_IFSOCK;
	r->from_waits = may_wait(from, in);
	r->to_waits = (out == S_IFIFO || tty) && may_wait(to, out);
	r->bulk = in == S_IFIFO && (out == S_IFIFO || out == S_IFREG || out == S_IFCHR) &&
		  !tty;
}

void ws_relay_release(struct ws_relay *r)
{
	ws_closep(&r->from);
	ws_closep(&r->to);
	ws_freep(&r->buf);
}

static void finish(struct ws_relay *r)
{
	r->off = r->len = 0;
	r->blocked = false;
	ws_closep(&r->from);
	ws_closep(&r->to);
}

static bool pending(const struct ws_relay *r)
{
	return r->off < r->len;
}

bool ws_relay_settled(const struct ws_relay *r)
{
	return (r->from < 0 || (r->stopping && r->left == 0)) && !pending(r);
}

bool ws_relay_has_writer(const struct ws_relay *r)
{
	struct pollfd p = { .fd = r->from, .events = POLLIN };

	if (r->from < 0 || poll(&p, 1, 0) < 0)
		return false;
	return !(p.revents & POLLHUP);
}

void ws_relay_poll(const struct ws_relay *r, struct pollfd fds[2])
{
	fds[0] = (struct pollfd){ .fd = -1 };
	fds[1] = (struct pollfd){ .fd = r->to };
	if (pending(r) || r->blocked)
		fds[1].events = POLLOUT;
	else if (!ws_relay_settled(r))
		fds[0] = (struct pollfd){ .fd = r->from, .events = POLLIN };
}

/* A reader that went away ends the relay; a file that cannot take it does not. */
static void target_failed(struct ws_relay *r, int error)
{
	bool hung_up = error == EIO && type_of(r->to) == S_IFCHR;

	if (error == EPIPE || error == ECONNRESET || hung_up) {
		r->reader_gone = true;
		finish(r);
		return;
	}
	r->write_error = error;
	r->off = r->len = 0;
	ws_closep(&r->to);
}

/* One write of what is pending; what finds no room is dropped. -1 and errno. */
static int write_some(struct ws_relay *r)
{
	size_t n = r->len - r->off;
	ssize_t done;

	if (r->room && *r->room < n)
		n = (size_t)*r->room;
	if (r->to < 0 || n == 0) {
		r->off = r->len;
		return 0;
	}
	if (r->to_waits && n > LITTLE)
		n = LITTLE;
	if (r->to_socket)
		done = send(r->to, r->buf + r->off, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		done = write(r->to, r->buf + r->off, n);
	if (done < 0)
		return -1;
	r->off += (size_t)done;
	if (r->room)
		*r->room -= (uint64_t)done;
	return 0;
}

/* False: TO has to be asked again first, or is closed. */
static bool flush(struct ws_relay *r)
{
	while (pending(r)) {
		if (write_some(r) == 0) {
			if (pending(r) && r->to_waits)
				return false;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN)
			r->blocked = true;
		else
			target_failed(r, errno);
		return false;
	}
	r->off = r->len = 0;
	return true;
}

/*
 * What a line discipline takes for the end of its input; twice, since the first only
 * ends a line that was begun.
 */
static void type_eof(struct ws_relay *r)
{
	struct termios t;

	r->to_tty = false;
	ws_closep(&r->from);
	if (tcgetattr(r->to, &t) < 0 || !(t.c_lflag & ICANON))
		return;
	r->buf[0] = r->buf[1] = (char)t.c_cc[VEOF];
	r->len = 2;
}

static void source_ended(struct ws_relay *r, int error)
{
	/* a pty whose other side is closed; a peer that went away */
	if (error != EIO && error != ECONNRESET)
		r->read_error = error;
	if (r->to_tty && r->to >= 0)
		type_eof(r);
	else
		finish(r);
}

/* False: nothing there now, or no more. */
static bool fill(struct ws_relay *r)
{
	size_t want = BUFFER_SIZE;
	ssize_t n;

	if (r->stopping && r->left < want)
		want = (size_t)r->left;
	do
		n = r->from_socket ? recv(r->from, r->buf, want, MSG_DONTWAIT)
				   : read(r->from, r->buf, want);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN) {
		r->left = 0;
		return false;
	}
	if (n <= 0) {
		source_ended(r, n < 0 ? errno : 0);
		return pending(r);
	}
	r->len = (size_t)n;
	if (r->stopping)
		r->left -= (uint64_t)n;
	return true;
}

/* For who fills a pipe faster than it is emptied: fewer and larger turns. */
static void grow(int fd)
{
	int size = fcntl(fd, F_GETPIPE_SZ);

	if (size > 0 && size < PIPE_SIZE)
		fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
}

/* 1: moved something; 0: a copy has to do it; -1: TO is full, or nobody reads it. */
static int splice_some(struct ws_relay *r)
{
	int avail = 0;
	ssize_t n;

	if (!r->bulk || r->room || r->to < 0 || ioctl(r->from, FIONREAD, &avail) < 0)
		return 0;
	if (r->stopping && (uint64_t)avail > r->left)
		avail = (int)r->left;
	if (avail < BULK_MIN)
		return 0;
	if (!r->grown) {
		r->grown = true;
		grow(r->from);
		grow(r->to);
	}
	n = splice(r->from, NULL, r->to, NULL, (size_t)avail,
		   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	if (n > 0) {
		if (r->stopping)
			r->left -= (uint64_t)n;
		return 1;
	}
	if (n < 0 && errno == EAGAIN) {
		r->blocked = true;
		return -1;
	}
	r->bulk = false; /* write(2) will say what is wrong, if anything is */
	return 0;
}

/* READY: FROM has polled ready, and one read of it will not wait. */
static void move(struct ws_relay *r, bool ready)
{
	for (int round = 0; r->stopping || round < ROUNDS; round++) {
		int spliced;

		if (!flush(r) || ws_relay_settled(r))
			return;
		if (r->from_waits && !ready)
			return;
		ready = false;
		spliced = splice_some(r);
		if (spliced < 0 || (spliced == 0 && !fill(r)))
			return;
		if (pending(r) && r->to_waits)
			return;
	}
}

void ws_relay_step(struct ws_relay *r, const struct pollfd fds[2])
{
	bool ready = fds[0].fd >= 0 && fds[0].revents;

	if (fds[1].fd >= 0 && fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) {
		r->reader_gone = true;
		finish(r);
		return;
	}
	if (ready || (fds[1].fd >= 0 && fds[1].revents & POLLOUT)) {
		r->blocked = false;
		move(r, ready);
	}
	if (r->from < 0 && !pending(r))
		finish(r);
}

void ws_relay_stop(struct ws_relay *r)
{
	int avail = TTY_TAIL;

	if (type_of(r->from) == S_IFIFO && ioctl(r->from, FIONREAD, &avail) < 0)
		avail = 0;
	r->stopping = true;
	r->left = r->from < 0 ? 0 : (uint64_t)avail;
	if (!r->blocked && !(pending(r) && r->to_waits))
		move(r, r->left > 0 && !r->from_waits);
}
