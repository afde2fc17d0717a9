/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_INIT_INIT_H
#define WS_INIT_INIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "init/protocol.h"

/*
 * wsiso-init: all of wsiso that runs inside a sandbox. Static, libc alone, no heap.
 *
 *   main.c      boot, enter, or in the place of ps
 *   pid1.c      boot: PID 1, which keeps the sandbox until it has been idle enough
 *   enter.c     enter: from the exec by the host's wsiso to the exec of the command
 *   confine.c   what is taken away on that way
 *   label.c     the label of AppArmor or SELinux
 *   shepherd.c  a command's keeper: its status, its signals, its end
 *   ps.c        ps, for a /proc of another PID namespace
 *   tree.c      all descendants of this process
 *   file.c      file: a session's files for who asks from outside
 *   lay.c       file lay: what a merge does to them
 *   wire.c      frames, and the plan that comes as one
 *
 * Everything returns -1 and errno on failure, if nothing else is said.
 */

/* A command as its plan describes it; points into the plan's bytes. */
struct ws_command {
	struct ws_plan_head head;
	const struct ws_rlimit *rlimits;
	char *cwd, *home, *label;
	char **argv, **envp; /* NULL-terminated */
	void *filters[WS_PLAN_FILTERS_MAX];
	void *strings; /* the mapping of argv and envp */
	size_t strings_size;
};

/* One frame, with FD on it if that is not -1. */
int ws_wire_send(int sock, uint32_t type, const void *data, uint32_t len, int fd);
/*
 * Waits for a frame's head. At most MAX descriptors came along (more: EPROTO).
 * ECONNRESET at EOF.
 */
int ws_wire_recv(int sock, struct ws_frame *ret, int *fds, size_t max, size_t *ret_nfds);
/* Exactly LEN bytes of a frame's body. */
int ws_wire_read(int sock, void *data, size_t len);
/* Decodes a plan in place: EPROTO unless every one of the LEN bytes is understood. */
int ws_command_decode(void *data, size_t len, struct ws_command *ret);
void ws_command_release(struct ws_command *c);

/* The mains never return. */
_Noreturn void ws_file_run(int argc, char **argv);
/* Parts of it: TOP is a folder that is one of the session's. */
_Noreturn void ws_file_fail(enum ws_file_problem problem);
void ws_file_fill(void *data, size_t len); /* from stdin; fails at its end */
_Noreturn void ws_lay_run(int top);
_Noreturn void ws_pid1_run(void);
_Noreturn void ws_enter_run(void);
/* In the place of ps, where /proc has other PIDs than we have. */
_Noreturn void ws_ps_run(char **argv);

/* /dev/null as descriptors 0 to 2. */
int ws_confine_stdio(void);
/* Everything that shepherd and command have in common; *ret_step is set on failure. */
int ws_confine_shepherd(const struct ws_command *c, enum ws_step *ret_step);
/* The rest, in the command's own process; SHEPHERD is its parent. */
int ws_confine_command(const struct ws_command *c, pid_t shepherd,
		       enum ws_step *ret_step);
/* The very last: no system call but exec is sure after it. */
int ws_confine_filters(const struct ws_command *c);
/* LABEL (may be empty, may end in AppArmor's mode) from the next exec on. */
int ws_label_set(const char *label);

/*
 * Keeps COMMAND and all its descendants, and returns when none is left. STARTED is a
 * pipe: a struct ws_failed from the command, or EOF by its exec.
 */
void ws_shepherd_run(int control, int started, pid_t command, uint32_t kill_after_ms);

/* TERM and CONT to every descendant. */
void ws_tree_term(void);
/* KILL; to be repeated until there is no child any more. */
void ws_tree_kill(void);

/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t ws_now_ms(void);
/*
 * libc's start has mapped nearly all of the program's code; what is needed from now on,
 * for as long as the sandbox lives, is little, and comes back by itself.
 */
void ws_forget_startup(void);

#endif
