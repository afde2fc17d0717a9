/* SPDX-License-Identifier: Apache-2.0 */
/* racer DIR TARGET: names in DIR are files, links to TARGET and FIFOs in turn. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put_file(const char *name)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);

	if (fd < 0 || write(fd, "harmless\n", 9) != 9)
		_exit(1);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 3 || chdir(argv[1]) < 0)
		return 1;
	mkdir("rd", 0755);
	put_file("rd/f");
	for (unsigned i = 0;; i++) {
		char name[16];

		snprintf(name, sizeof(name), "r%u", i % 8);
		put_file("tmp-file");
		if (symlink(argv[2], "tmp-link") < 0 || mkfifo("tmp-fifo", 0644) < 0)
			return 1;
		if (rename("tmp-file", name) < 0 || rename("tmp-link", name) < 0 ||
		    rename("tmp-fifo", name) < 0)
			return 1;
		put_file("tmp-file");
		if (rename("tmp-file", name) < 0)
			return 1;
		/* a folder becomes a link to where the target is, and comes back */
		if (rename("rd", "re") < 0 || symlink("/", "rd") < 0 ||
		    unlink("rd") < 0 || rename("re", "rd") < 0)
			return 1;
	}
}
