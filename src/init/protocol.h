/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_INIT_PROTOCOL_H
#define WS_INIT_PROTOCOL_H

#include <stdint.h>

/*
 * What wsiso outside and wsiso-init inside say to each other: the only header that
 * both include. A live sandbox is entered only if its protocol number is ours.
 *
 * Every message is a frame: struct ws_frame, then LEN bytes, on an AF_UNIX SOCK_STREAM
 * socket. Descriptors ride on a frame's first byte (SCM_RIGHTS). The outside has
 * SO_PASSCRED on, and so learns the host's PID of whoever sent a frame.
 * What comes from inside has the one length that its type has; anything else ends the
 * talk.
 */
#define WS_PROTOCOL 4
#define WS_INIT_PATH "/run/wsiso/init"
/* host_readonly: the host's ps, in whose place wsiso-init is */
#define WS_PS_PATH "/run/wsiso/ps"

/*
 * bwrap passes these on to "init boot" (PID 1). LOCK is the session's mutex, an open file
 * description of init's own; USE the lease, the very description the starter locked.
 */
#define WS_BOOT_FD_CONTROL 3
#define WS_BOOT_FD_LOCK 4
#define WS_BOOT_FD_USE 5
/* stage 2 of enter, "init enter", has its control socket here. */
#define WS_ENTER_FD_CONTROL 3

enum ws_frame_type {
	/* Boot: init -> starter, starter -> init. */

	/* struct ws_hello; init waits for GO, and exits at EOF */
	WS_FRAME_READY = 1,
	/* struct ws_go; the sandbox record is in place */
	WS_FRAME_GO = 2,

	/* Enter: shepherd -> supervisor. */

	/* struct ws_hello, from the shepherd: it is hardened, send the plan */
	WS_FRAME_HELLO = 10,
	/* empty, with the pty's master */
	WS_FRAME_TTY = 11,
	/* empty, from the command's own process, confined, before its exec */
	WS_FRAME_CHILD = 12,
	/* empty: the exec has succeeded */
	WS_FRAME_STARTED = 13,
	/* struct ws_failed: nothing ran; then EOF */
	WS_FRAME_FAILED = 14,
	/* struct ws_exited; survivors may go on: EOF comes after the last */
	WS_FRAME_EXITED = 15,

	/* Enter: supervisor -> shepherd. */

	/* struct ws_plan_head and its tail; with the stdio, see there */
	WS_FRAME_PLAN = 20,
	/* struct ws_signal; with the pty's master, if there is one */
	WS_FRAME_SIGNAL = 21,
	/* empty: end the whole tree, TERM first, KILL after kill_after_ms */
	WS_FRAME_END = 22,
};

struct ws_frame {
	uint32_t type;
	uint32_t len;
};

#define WS_FRAME_MAX (8u << 20)

struct ws_hello {
	uint32_t protocol;
};

/*
 * BOUND: the sandbox belongs to whoever has the other end of this socket: at its EOF all
 * get TERM, and after GRACE_MS it ends. Else the socket is closed now.
 */
struct ws_go {
	uint64_t linger_ms;
	uint64_t grace_ms;
	uint32_t bound;
	uint32_t pad;
};

/* Where a command failed before it ran; status 126 and 127 come from EXEC alone. */
enum ws_step {
	WS_STEP_PROTOCOL = 1,
	WS_STEP_MOUNT,	 /* the per-command tmpfs */
	WS_STEP_CONFINE, /* descriptors, capabilities, no_new_privs */
	WS_STEP_LABEL,	 /* AppArmor's or SELinux's */
	WS_STEP_FILTER,	 /* seccomp */
	WS_STEP_RLIMIT,
	WS_STEP_TTY,
	WS_STEP_CWD,
	WS_STEP_FORK,
	WS_STEP_EXEC,
	WS_STEP_SCOPE, /* Landlock */
};

struct ws_failed {
	uint32_t step;
	int32_t error; /* errno */
};

struct ws_exited {
	int32_t status; /* as wait(2) gives it */
};

/* To the command's process group and, if a pty came along, to its foreground group. */
struct ws_signal {
	int32_t sig;
};

enum ws_plan_flags {
	WS_PLAN_TTY = 1 << 0, /* stdio is a new pty; the master goes out with TTY */
	WS_PLAN_PRIVATE_HOME = 1 << 1, /* an empty tmpfs over HOME, this command's own */
	WS_PLAN_PRIVATE_TMP = 1 << 2,  /* likewise /tmp */
	WS_PLAN_STDIN = 1 << 3, /* a pipe for stdin comes along, else it is /dev/null */
	WS_PLAN_HOLD = 1 << 4,	/* after CHILD it waits for a byte on a pipe of its own */
	/*
	 * No signal and no abstract unix socket beyond its own tree (Landlock). Only
	 * where that tree is all of the sandbox: two commands would be apart as well.
	 */
	WS_PLAN_SCOPED = 1 << 5,
	WS_PLAN_NEW_SESSION = 1 << 6, /* setsid; with a pty always */
};
#define WS_PLAN_FLAGS 0x7fu

struct ws_rlimit {
	uint32_t resource;
	uint32_t pad;
	uint64_t soft, hard;
};

#define WS_PLAN_RLIMITS_MAX 16
#define WS_PLAN_FILTERS_MAX 4

/*
 * The tail: nrlimits struct ws_rlimit; then NUL-terminated strings: cwd, home, label (may
 * be empty), argc arguments, envc variables; then the seccomp filters, loaded in this
 * order (arrays of struct sock_filter; a length of 0: none). Nothing is left over.
 *
 * The descriptors: none with WS_PLAN_TTY, else stdin (with WS_PLAN_STDIN), stdout,
 * stderr; then, with WS_PLAN_HOLD, the pipe: at its EOF nothing runs.
 */
struct ws_plan_head {
	uint32_t protocol;
	uint32_t flags;
	uint32_t argc, envc;
	uint32_t nrlimits;
	uint32_t kill_after_ms;
	uint32_t umask;
	uint32_t pad;
	uint32_t filter_len[WS_PLAN_FILTERS_MAX]; /* bytes */
	uint64_t tmpfs_size;			  /* bytes of each private tmpfs */
	uint16_t rows, cols;			  /* of the pty */
	uint32_t pad2;
};

/*
 * "init file HOME OP PATH [MODE STAMP FLAGS]", run inside like any command: the files of
 * the session, as its commands see them, for who asks from outside.
 *
 *   read    stdout: struct ws_file_entry of the file, then its bytes
 *   list    stdout: an entry for PATH itself (no name), then one for each thing in it
 *   write   stdin: chunks, a uint32_t length before each; one of no bytes is the end.
 *           Without that nothing is changed. stdout: the entry of the new file.
 *   pack    becomes tar -c of a folder
 *   unpack  becomes tar -x into a folder
 *   lay     stdin: chunks, as for write, which together are a run of struct ws_file_lay:
 *           each is done at its path below PATH, a folder, in this order
 *
 * MODE of a new file is octal. STAMP: "-", or "none": it must not be there, or what
 * WS_FILE_STAMP prints of the entry that it must still be. FLAGS: "p" makes what folders
 * are missing. On failure the status is WS_FILE_STATUS and stderr has a
 * struct ws_file_failed.
 */
struct ws_file_entry {
	uint32_t mode;		       /* with its type */
	uint32_t name_len, target_len; /* bytes that follow: name, target of a link */
	uint32_t pad;
	uint64_t ino, size;
	uint64_t mtime_ns, ctime_ns;
};

enum ws_file_lay_kind {
	WS_LAY_END,    /* all came */
	WS_LAY_GONE,   /* nothing is there, nor below */
	WS_LAY_FOLDER, /* what else is there makes room; 0700 until a MODE */
	WS_LAY_FILE,   /* its bytes, anew; 0600 until a MODE */
	WS_LAY_LINK,   /* its target */
	WS_LAY_XATTR,  /* of what is there, a file or a folder: a name, 0, a value */
	WS_LAY_MODE,   /* of what is there, a file or a folder */
};

/* Its path and its bytes follow. No link on the way is followed. */
struct ws_file_lay {
	uint32_t kind, mode;
	uint32_t path_len, pad;
	uint64_t size; /* of the bytes */
};

#define WS_FILE_STAMP "%llu.%llu.%llu.%llu" /* ino, size, mtime, ctime */
#define WS_FILE_STATUS 121

enum ws_file_problem {
	WS_FILE_ERRNO = 1, /* error says it */
	WS_FILE_OUTSIDE,   /* it is not in /workspace, HOME or /tmp */
	WS_FILE_FOLDER,	   /* it is a folder, and a file is wanted */
	WS_FILE_NO_FOLDER, /* it is no folder, and one is wanted */
	WS_FILE_SPECIAL,   /* a FIFO, a socket or a device is never opened */
	WS_FILE_STALE,	   /* it is no more what STAMP says */
	WS_FILE_CUT_OFF,   /* the end of stdin came too early */
	WS_FILE_NO_TAR,
};

struct ws_file_failed {
	uint32_t problem;
	int32_t error; /* errno */
};

#endif
