/* SPDX-License-Identifier: Apache-2.0 */
#include "init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * In mode host_readonly /proc is the host's, and PIDs are the sandbox's. procps' ps
 * begins by looking for its own getpid() in /proc, and gives up where there is no such
 * number. So this stands in its place: it runs the real one, whose getpid() is answered,
 * through a listener of seccomp(2), by the number that /proc has for it.
 */
#define EXIT_NOT_FOUND 127
#define NUMBER_SIZE 24

static int64_t own_number(void)
{
	char text[NUMBER_SIZE] = "";
	int64_t n = 0;

	if (readlink("/proc/self", text, sizeof(text) - 1) <= 0)
		return -1;
	for (const char *c = text; *c >= '0' && *c <= '9'; c++)
		n = n * 10 + (*c - '0');
	return n;
}

static int listen_to_getpid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

/* The frame is made for other talk; all that counts is the descriptor, and the number. */
static _Noreturn void become_ps(int sock, char **argv)
{
	int64_t self = own_number();
	int listener = self > 0 ? listen_to_getpid() : -1;

	if (listener >= 0) {
		ws_wire_send(sock, 0, &self, sizeof(self), listener);
		close(listener);
	}
	close(sock);
	execve(WS_PS_PATH, argv, environ);
	_exit(EXIT_NOT_FOUND);
}

static void answer(int listener, int64_t number)
{
	struct seccomp_notif asked = { 0 };
	struct seccomp_notif_resp reply = { .val = number };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
		return;
	reply.id = asked.id;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

/* Until it is gone: then the listener hangs up. */
static void serve(int sock)
{
	struct ws_frame frame;
	struct pollfd p = { .fd = -1, .events = POLLIN };
	size_t nfds = 0;
	int64_t number;

	if (ws_wire_recv(sock, &frame, &p.fd, 1, &nfds) < 0 || nfds != 1 ||
	    frame.len != sizeof(number) ||
	    ws_wire_read(sock, &number, sizeof(number)) < 0)
		return;
	while (poll(&p, 1, -1) >= 0 || errno == EINTR) {
		if (p.revents & POLLIN)
			answer(p.fd, number);
		else if (p.revents)
			break;
	}
	close(p.fd);
}

void ws_ps_run(char **argv)
{
	int pair[2], status = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    (pid = fork()) < 0)
		_exit(EXIT_NOT_FOUND);
	if (pid == 0)
		become_ps(pair[1], argv);
	close(pair[1]);
	serve(pair[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFSIGNALED(status))
		kill(getpid(), WTERMSIG(status));
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}
