/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_GIT_TALK_H
#define WS_CORE_GIT_TALK_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * A conversation with one wsiso-git about many runs of bytes: it sees no path and no
 * repository.
 */
struct ws_git_talk {
	const char *word; /* what it is about: "hunks" */
	pid_t pid;	  /* 0: not started; the first question starts it */
	int to, from;
};

#define WS_GIT_TALK_LINE 256

/* Ends it; the caller's errors come first. */
void ws_git_talk_release(struct ws_git_talk *t);
/* HEAD, a line, and what comes behind it. helper-missing, internal. */
int ws_git_talk_ask(struct ws_git_talk *t, const char *head, const struct ws_buf *parts,
		    size_t nparts, struct ws_err *err);
/* The line that precedes an answer, without its end; then its LEN bytes. */
int ws_git_talk_head(struct ws_git_talk *t, char line[WS_GIT_TALK_LINE],
		     struct ws_err *err);
int ws_git_talk_body(struct ws_git_talk *t, size_t len, struct ws_buf *ret,
		     struct ws_err *err);
/* For an answer that cannot be read. */
int ws_git_talk_fail(struct ws_err *err);

#endif
