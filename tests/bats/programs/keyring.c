/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyring give NAME COMMAND...   the server: a key NAME in a session keyring and in @u,
 *                                its number in the file NAME.serial; then COMMAND
 * keyring take NAME SERIAL       the payload: "found: how" for each way to the key
 */
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long keyctl(int op, unsigned long a, unsigned long b, unsigned long c,
		   unsigned long d)
{
	return syscall(SYS_keyctl, op, a, b, c, d);
}

static int give(const char *name, char **command)
{
	const char secret[] = "TOPSECRET";
	char path[4096];
	long serial;
	FILE *f;

	if (keyctl(KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) < 0)
		return perror("keyring"), 77;
	serial = syscall(SYS_add_key, "user", name, secret, sizeof(secret),
			 KEY_SPEC_SESSION_KEYRING);
	if (serial < 0 || syscall(SYS_add_key, "user", name, secret, sizeof(secret),
				  KEY_SPEC_USER_KEYRING) < 0)
		return perror("add_key"), 77;
	snprintf(path, sizeof(path), "%s.serial", name);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%ld", serial) < 0 || fclose(f) < 0)
		return perror(path), 77;
	execvp(command[0], command);
	return perror(command[0]), 127;
}

static void take(const char *how, const char *name, long keyring)
{
	if (keyctl(KEYCTL_SEARCH, keyring, (unsigned long)"user", (unsigned long)name,
		   0) >= 0)
		printf("found: %s\n", how);
}

int main(int argc, char **argv)
{
	char buf[64];

	if (argc > 3 && strcmp(argv[1], "give") == 0)
		return give(argv[2], argv + 3);
	if (argc != 4)
		return 2;
	take("session keyring", argv[2], KEY_SPEC_SESSION_KEYRING);
	take("user keyring", argv[2], KEY_SPEC_USER_KEYRING);
	take("user session keyring", argv[2], KEY_SPEC_USER_SESSION_KEYRING);
	take("process keyring", argv[2], KEY_SPEC_PROCESS_KEYRING);
	if (keyctl(KEYCTL_READ, strtol(argv[3], NULL, 10), (unsigned long)buf,
		   sizeof(buf), 0) >= 0)
		printf("found: by number\n");
	printf("looked\n");
	return 0;
}
