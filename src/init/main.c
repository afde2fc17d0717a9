/* SPDX-License-Identifier: Apache-2.0 */
#include "init/init.h"

#include <string.h>
#include <sys/prctl.h>

#define EXIT_USAGE 125

/*
 * exec has made the process dumpable, which lets the sandbox's others look into
 * it: undone before anything else, the capabilities it still has protect it until then.
 */
int main(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;

	if (argc && !strcmp(slash ? slash + 1 : argv[0], "ps"))
		ws_ps_run(argv);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || argc < 2)
		return EXIT_USAGE;
	if (!strcmp(argv[1], "file"))
		ws_file_run(argc - 2, argv + 2);
	if (argc != 2)
		return EXIT_USAGE;
	if (!strcmp(argv[1], "boot"))
		ws_pid1_run();
	if (!strcmp(argv[1], "enter"))
		ws_enter_run();
	return EXIT_USAGE;
}
