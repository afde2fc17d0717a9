/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runaway BEATFILE: a tree that does its best not to be found: daemons in sessions of
 * their own, without environment, not dumpable, deaf to what can be ignored, and one that
 * moves to a new PID all the time. Each lengthens BEATFILE for as long as it lives.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void beat(const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd >= 0 && write(fd, ".", 1) == 1)
		close(fd);
}

static void hide(void)
{
	setsid();
	clearenv();
	prctl(PR_SET_DUMPABLE, 0);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_IGN);
}

static void daemon_loop(const char *file)
{
	hide();
	if (fork() > 0)
		_exit(0);
	for (;;) {
		beat(file);
		usleep(20000);
	}
}

static void hopper_loop(const char *file)
{
	hide();
	for (;;) {
		beat(file);
		usleep(2000);
		if (fork() > 0)
			_exit(0);
		setsid();
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			daemon_loop(argv[1]);
	if (fork() == 0)
		hopper_loop(argv[1]);
	for (;;)
		pause();
}
