/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define FDS_MAX 4

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(FDS_MAX * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

static int fail(int error)
{
	errno = error;
	return -1;
}

int ws_frame_pair(int *ret_outside, int *ret_inside)
{
	const int on = 1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0) {
		ws_closep(&pair[0]);
		ws_closep(&pair[1]);
		return -1;
	}
	*ret_outside = pair[0];
	*ret_inside = pair[1];
	return 0;
}

int ws_frame_timeout(int sock, uint64_t ms)
{
	const struct timeval t = { .tv_sec = (time_t)(ms / 1000),
				   .tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	if (setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) < 0)
		return -1;
	return setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

static int send_all(int sock, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(sock, data, len, MSG_NOSIGNAL);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int ws_frame_send(int sock, uint32_t type, const void *data, uint32_t len, const int *fds,
		  size_t nfds)
{
	struct ws_frame head = { type, len };
	union control control = { 0 };
	struct iovec iov = { &head, sizeof(head) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (len > WS_FRAME_MAX || nfds > FDS_MAX)
		return fail(EMSGSIZE);
	if (nfds) {
		struct cmsghdr *c = &control.align;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0 || send_all(sock, (char *)&head + n, sizeof(head) - (size_t)n) < 0)
		return -1;
	return send_all(sock, data, len);
}

static int recv_all(int sock, char *data, size_t len)
{
	while (len) {
		ssize_t n = recv(sock, data, len, 0);

		if (n == 0)
			return fail(ECONNRESET);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The length that a frame from inside has; -1: no such frame comes from there. */
static int64_t length_of(uint32_t type)
{
	switch (type) {
	case WS_FRAME_READY:
	case WS_FRAME_HELLO:
		return sizeof(struct ws_hello);
	case WS_FRAME_TTY:
	case WS_FRAME_CHILD:
	case WS_FRAME_STARTED:
		return 0;
	case WS_FRAME_FAILED:
		return sizeof(struct ws_failed);
	case WS_FRAME_EXITED:
		return sizeof(struct ws_exited);
	default:
		return -1;
	}
}

/* What came with a frame: the sender, and at most one descriptor; more: EPROTO. */
static int take_control(struct msghdr *msg, int *ret_fd, pid_t *ret_pid)
{
	int rc = msg->msg_flags & MSG_CTRUNC ? fail(EPROTO) : 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t len = c->cmsg_len - CMSG_LEN(0);
		struct ucred cred;
		int fd;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && len == sizeof(cred)) {
			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			*ret_pid = cred.pid;
		}
		for (size_t at = 0; c->cmsg_type == SCM_RIGHTS && at < len;
		     at += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			if (*ret_fd < 0) {
				*ret_fd = fd;
			} else {
				ws_closep(&fd);
				rc = fail(EPROTO);
			}
		}
	}
	return rc;
}

int ws_frame_recv(int sock, uint32_t *ret_type, struct ws_buf *data, int *ret_fd,
		  pid_t *ret_pid)
{
	struct ws_frame head;
	union control control;
	struct iovec iov = { &head, sizeof(head) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	WS_AUTO_CLOSE int fd = -1;
	pid_t pid = -1;
	ssize_t n;

	if (ret_fd)
		*ret_fd = -1;
	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -1 : fail(ECONNRESET);
	if (take_control(&msg, &fd, &pid) < 0 ||
	    recv_all(sock, (char *)&head + n, sizeof(head) - (size_t)n) < 0)
		return -1;
	if (length_of(head.type) != head.len || (fd >= 0) != (head.type == WS_FRAME_TTY))
		return fail(EPROTO);
	ws_buf_clear(data);
	ws_buf_reserve(data, head.len);
	if (recv_all(sock, data->data, head.len) < 0)
		return -1;
	data->data[head.len] = '\0';
	data->len = head.len;
	*ret_type = head.type;
	if (ret_fd)
		*ret_fd = ws_steal_fd(&fd);
	if (ret_pid)
		*ret_pid = pid;
	return 0;
}
