/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_PLAN_H
#define WS_CORE_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "core/filter.h"
#include "core/spec.h"

/*
 * What a session's sandbox is made of: pure. A plan is made from the session and from
 * facts about the host that were gathered before; render.h turns it into bwrap's words.
 */
enum ws_mount_kind {
	WS_MOUNT_RO_BIND,     /* source, recursively read-only */
	WS_MOUNT_RO_BIND_TRY, /* the same, if the source is there */
	WS_MOUNT_BIND,	      /* source, writable */
	WS_MOUNT_RO_BIND_FD,  /* what fd stands for; source is its name, for people */
	WS_MOUNT_BIND_FD,     /* the same, writable */
	WS_MOUNT_TMPFS,	      /* always with a size */
	WS_MOUNT_DIR,	      /* an empty folder */
	WS_MOUNT_SYMLINK,     /* source is the link's text */
	WS_MOUNT_DATA,	      /* a read-only file with these bytes */
	WS_MOUNT_PROC,
	WS_MOUNT_DEV,
	WS_MOUNT_OVERLAY,    /* lowers bottom to top, source = upper, work */
	WS_MOUNT_REMOUNT_RO, /* target alone, not what is mounted below it */
};

struct ws_mount {
	enum ws_mount_kind kind;
	char *source;
	char *target;
	char *work;
	struct ws_strv lowers;
	char *data;
	unsigned mode; /* of a TMPFS or DIR; 0: 0755 */
	uint64_t size; /* bytes of a TMPFS */
	int fd;	       /* of a BIND_FD: somebody else's */
};

struct ws_plan {
	struct ws_mount *mounts; /* in the order in which they are made */
	size_t nmounts;
	uint64_t nsflags;	       /* CLONE_NEW* that differ from the host's */
	char *hostname;		       /* or NULL */
	struct ws_filter_list filters; /* of system calls */
	struct ws_strv
		writable; /* mount points that may be writable; all others are checked */
};

#define WS_PLAN_INIT ((struct ws_plan){ 0 })

/* A top-level folder of the host: /bin is a link to usr/bin, or a folder. */
struct ws_host_dir {
	char *name; /* "bin" */
	char *link; /* its text, or NULL: a folder */
};

struct ws_host {
	uid_t uid;
	gid_t gid;
	char *user, *group; /* names inside */
	char *home;	    /* "/home/USER" */
	struct ws_host_dir
		*dirs; /* of bin sbin lib lib32 lib64 libx32, those that exist */
	size_t ndirs;
	char *hostname;
	char *resolv_conf; /* resolved path, or NULL */
	char *ps;	   /* procps' ps, resolved, or NULL */
};

#define WS_HOST_INIT ((struct ws_host){ 0 })

void ws_host_release(struct ws_host *h);

/*
 * What of the host mode host_readonly covers (hostview.h finds it out): COVERS when the
 * host is in place, LATE over the launch folder's overlay.
 */
struct ws_hostview {
	struct ws_plan covers, late; /* their mounts alone */
};

/* What of a session a plan is made from; what it points to stays the caller's. */
struct ws_plan_source {
	const struct ws_spec *spec;
	const char *root;	     /* the state folder's path */
	const char *folder;	     /* the session's: upper, work, tmp */
	char *home;		     /* the folder of its HOME */
	const char *init;	     /* wsiso-init's path */
	const struct ws_strv *stack; /* layers, bottom to top; NULL: no /workspace */
	struct ws_strv repos;	     /* names of those with a pool ... */
	struct ws_strv pools;	     /* ... and their pools, in the same order */
	struct ws_strv lives;	   /* names of repos whose live folder is the lower ... */
	struct ws_strv live_paths; /* ... and those folders */
	const char *launch_dir;	   /* host_readonly alone, as the next */
	const struct ws_hostview *view;
};

#define WS_PLAN_SOURCE_INIT ((struct ws_plan_source){ 0 })

/* A file or folder of the host that is to appear inside; all of it stays the caller's. */
struct ws_plan_bind {
	char *source; /* where it is, for people */
	char *target;
	int fd; /* what is bound: from the check to the mount it is the same one */
	bool writable;
};

void ws_plan_release(struct ws_plan *p);
void ws_plan_make(const struct ws_plan_source *src, const struct ws_host *host,
		  struct ws_plan *ret);
/*
 * Adds a bind (plan_bind.c). spec-invalid if its target touches what the plan has
 * already: no bind covers or lies in what is wsiso's own, or lies below what a command
 * can write. Outer targets come first.
 */
int ws_plan_add_bind(struct ws_plan *p, const struct ws_plan_bind *bind,
		     struct ws_err *err);
/* The Nth of those mounts that bwrap makes from a descriptor, or NULL. */
const struct ws_mount *ws_plan_fd_mount(const struct ws_plan *p, size_t n);

#endif
