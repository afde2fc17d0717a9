/* SPDX-License-Identifier: Apache-2.0 */
#include "init/init.h"

#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_MAX 16 /* of what is sent from inside */
#define FDS_MAX 4   /* stdin, stdout, stderr, what it waits on */

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

static int fail(int error)
{
	errno = error;
	return -1;
}

int ws_wire_send(int sock, uint32_t type, const void *data, uint32_t len, int fd)
{
	const struct ws_frame head = { type, len };
	char bytes[sizeof(head) + BODY_MAX];
	union control control = { 0 };
	struct iovec iov = { bytes, sizeof(head) + len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (len > BODY_MAX)
		return fail(EMSGSIZE);
	memcpy(bytes, &head, sizeof(head));
	if (len)
		memcpy(bytes + sizeof(head), data, len);
	if (fd >= 0) {
		struct cmsghdr *c = &control.align;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(fd));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	return (size_t)n == iov.iov_len ? 0 : fail(EPROTO);
}

int ws_wire_read(int sock, void *data, size_t len)
{
	char *at = data;

	while (len) {
		ssize_t n = recv(sock, at, len, 0);

		if (n == 0)
			return fail(ECONNRESET);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The descriptors of MSG; those beyond MAX are closed. Returns how many there were. */
static size_t take_fds(struct msghdr *msg, int *fds, size_t max)
{
	size_t found = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++, found++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (found < max)
				fds[found] = fd;
			else
				close(fd);
		}
	}
	return found;
}

int ws_wire_recv(int sock, struct ws_frame *ret, int *fds, size_t max, size_t *ret_nfds)
{
	union control control;
	struct iovec iov = { ret, sizeof(*ret) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	size_t found;
	ssize_t n;

	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -1 : fail(ECONNRESET);
	found = take_fds(&msg, fds, max);
	*ret_nfds = found < max ? found : max;
	if (found <= max && !(msg.msg_flags & MSG_CTRUNC))
		return ws_wire_read(sock, (char *)ret + n, sizeof(*ret) - (size_t)n);
	for (size_t i = 0; i < *ret_nfds; i++)
		close(fds[i]);
	*ret_nfds = 0;
	return fail(EPROTO);
}

/* What has not been decoded yet. */
struct cursor {
	char *at;
	size_t left;
};

static void *take(struct cursor *cur, size_t len)
{
	void *taken = cur->at;

	if (len > cur->left)
		return NULL;
	cur->at += len;
	cur->left -= len;
	return taken;
}

static char *take_string(struct cursor *cur)
{
	const char *end = memchr(cur->at, '\0', cur->left);

	return end ? take(cur, (size_t)(end - cur->at) + 1) : NULL;
}

static int take_vector(struct cursor *cur, char **v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		v[i] = take_string(cur);
		if (!v[i])
			return fail(EPROTO);
	}
	v[n] = NULL;
	return 0;
}

static int check_head(const struct ws_plan_head *h, size_t tail)
{
	if (h->protocol != WS_PROTOCOL || h->flags & ~WS_PLAN_FLAGS ||
	    h->umask & ~0777U || h->argc < 1 || h->argc > tail || h->envc > tail ||
	    h->pad || h->pad2 || h->nrlimits > WS_PLAN_RLIMITS_MAX)
		return fail(EPROTO);
	for (size_t i = 0; i < WS_PLAN_FILTERS_MAX; i++)
		if (h->filter_len[i] % sizeof(struct sock_filter) ||
		    h->filter_len[i] / sizeof(struct sock_filter) > BPF_MAXINSNS)
			return fail(EPROTO);
	return 0;
}

static int take_filters(struct cursor *cur, struct ws_command *c)
{
	for (size_t i = 0; i < WS_PLAN_FILTERS_MAX; i++) {
		c->filters[i] = take(cur, c->head.filter_len[i]);
		if (!c->filters[i])
			return fail(EPROTO);
	}
	return cur->left ? fail(EPROTO) : 0;
}

static int map_vectors(struct ws_command *c)
{
	void *map;

	c->strings_size = ((size_t)c->head.argc + c->head.envc + 2) * sizeof(char *);
	map = mmap(NULL, c->strings_size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return -1;
	c->strings = map;
	c->argv = map;
	c->envp = c->argv + c->head.argc + 1;
	return 0;
}

int ws_command_decode(void *data, size_t len, struct ws_command *ret)
{
	struct ws_command c = { 0 };
	struct cursor cur = { data, len };
	const struct ws_plan_head *head = take(&cur, sizeof(*head));

	if (!head || check_head(head, cur.left) < 0)
		return fail(EPROTO);
	c.head = *head;
	c.rlimits = take(&cur, head->nrlimits * sizeof(*c.rlimits));
	c.cwd = c.rlimits ? take_string(&cur) : NULL;
	c.home = c.cwd ? take_string(&cur) : NULL;
	c.label = c.home ? take_string(&cur) : NULL;
	if (!c.label || c.cwd[0] != '/' || c.home[0] != '/')
		return fail(EPROTO);
	if (map_vectors(&c) < 0)
		return -1;
	if (take_vector(&cur, c.argv, head->argc) == 0 &&
	    take_vector(&cur, c.envp, head->envc) == 0 && take_filters(&cur, &c) == 0) {
		*ret = c;
		return 0;
	}
	ws_command_release(&c);
	return fail(EPROTO);
}

void ws_command_release(struct ws_command *c)
{
	if (c->strings)
		munmap(c->strings, c->strings_size);
	*c = (struct ws_command){ 0 };
}
