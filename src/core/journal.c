/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "core/root.h"

#define JOURNAL "journal.jsonl"
#define JOURNAL_OLD "journal.jsonl.1"
#define JOURNAL_MAX (8 << 20)

/* The file to append to, locked; a full one is renamed first. */
static int open_journal(const struct ws_root *root)
{
	for (;;) {
		WS_AUTO_CLOSE int fd =
			openat(root->fd, JOURNAL,
			       O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			       0600);
		struct stat st, now;

		if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
			return -1;
		if (fstatat(root->fd, JOURNAL, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
		    now.st_ino != st.st_ino)
			continue; /* somebody rotated it meanwhile */
		if (st.st_size < JOURNAL_MAX)
			return ws_steal_fd(&fd);
		if (renameat(root->fd, JOURNAL, root->fd, JOURNAL_OLD) < 0)
			return -1;
	}
}

void ws_journal(const struct ws_root *root, const char *event, const char *id,
		const char *detail)
{
	WS_AUTO(ws_buf) struct ws_buf line = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = open_journal(root);
	struct ws_jsonw w;

	ws_jsonw_init(&w, &line, false);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_time(&w, "time", ws_clock_wall_ns());
	ws_jsonw_str(&w, "event", event);
	ws_jsonw_str(&w, "session", id);
	ws_jsonw_int(&w, "pid", getpid());
	if (detail)
		ws_jsonw_str(&w, "detail", detail);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
	if (fd < 0 || ws_write_all(fd, line.data, line.len) < 0)
		ws_warn("the journal could not be written: %m");
}
