/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "helper/archive.h"

static int work(int argc, char **argv, struct ws_err *err)
{
	/* names are bytes; those that are UTF-8 stand in a tar archive as such */
	setlocale(LC_CTYPE, "C.UTF-8");
	if (ws_archive_give_up(err) < 0)
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
