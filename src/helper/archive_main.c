/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/fs.h"
#include "helper/archive.h"

#define MEMORY_MAX ((rlim_t)2 << 30) /* zstd may want 128 MiB of window, and no more */

/*
 * What is read may be anybody's: whoever gets this program to run code of his finds no
 * file to open, no program to start, and no memory to fill.
 */
static int give_up(struct ws_err *err)
{
	const struct rlimit none = { 0, 0 };
	const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0)
		return ws_fail_errno(err, "give up what is not needed");
	signal(SIGPIPE, SIG_IGN);
#ifdef __SANITIZE_ADDRESS__ /* its shadow is larger, and it opens files */
	(void)memory;
	return 0;
#else
	if (setrlimit(RLIMIT_NOFILE, &none) < 0 || setrlimit(RLIMIT_AS, &memory) < 0)
		return ws_fail_errno(err, "give up what is not needed");
	return 0;
#endif
}

static int work(int argc, char **argv, struct ws_err *err)
{
	/* names are bytes; those that are UTF-8 stand in a tar archive as such */
	setlocale(LC_CTYPE, "C.UTF-8");
	if (give_up(err) < 0)
		return -1;
	if (argc == 3 && !strcmp(argv[1], "write"))
		return ws_archive_write(argv[2], err);
	if (argc == 2 && !strcmp(argv[1], "read"))
		return ws_archive_read(err);
	return ws_fail(err, WS_INTERNAL, "wsiso-archive serves wsiso alone");
}

/* One line on stderr: the kind, a blank, the message. */
int main(int argc, char **argv)
{
	struct ws_err err = WS_ERR_INIT;

	if (work(argc, argv, &err) == 0)
		return 0;
	fprintf(stderr, "%s %s\n", ws_kind_name(err.kind), err.msg);
	return 1;
}
