/* SPDX-License-Identifier: Apache-2.0 */
/* silent_fuse DIR [allow_other]: a FUSE filesystem that never answers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	if (argc < 2 || fd < 0)
		return 1;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0%s%s", fd, argc > 2 ? "," : "",
		 argc > 2 ? argv[2] : "");
	if (mount("silent", argv[1], "fuse.silent", 0, options) < 0) {
		fprintf(stderr, "mount: %s\n", strerror(errno));
		return 1;
	}
	puts("mounted");
	fflush(stdout);
	for (;;)
		pause();
}
