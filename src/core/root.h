/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_ROOT_H
#define WS_CORE_ROOT_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"
#include "core/spec.h"

/*
 * The state folder. Below it, all wsiso's but config.json and wsiso.json:
 *
 *   wsiso.json                  defaults of all sessions (the caller's)
 *   sessions/ID/config.json     the spec (the caller's until create)
 *   sessions/ID/state.json      the session's record: without it there is no session
 *   sessions/ID/{upper,work}    the one writable layer of /workspace
 *   sessions/ID/{home,tmp}      HOME and /tmp
 *   homes/NAME                  HOME of a session that was forked, and of its children
 *   sessions/ID/{lock,use}      mutex and lease (flock)
 *   sessions/ID/used, seen      when it was last used, when gc found it idle
 *   sessions/ID/making          a child on its way
 *   sessions/ID/merge/          conflicts of its merge: their versions, the answers
 *   sessions/ID/expired.json    all that is left of one that gc removed
 *   sessions/ID/sandbox.json    the sandbox, live or not
 *   sessions/ID/execs/E.{jsonl,log}
 *   layers/NAME/{meta.json,root/}   published layers, never changed again
 *   snapshots/KEY.json, KEY.lock    manifests
 *   pools/KEY.git               object stores
 *   setups/KEY.json, KEY.lock, KEY.log   what setup scripts made, or why they failed
 *   tmp/                        what is being built; its builder holds a flock on it
 *   trash/                      what is being deleted
 *   live/ID                     marks of started sandboxes (idle.h)
 *   bwrap.json                  what bwrap answered (bwrap.h)
 *   overlay                     where overlays have been seen to work (probes.h)
 *   gc                          lock of gc; when it last ended
 *   journal.jsonl
 */
struct ws_root {
	int fd;
	char *path; /* absolute, resolved */
};

#define WS_ROOT_INIT ((struct ws_root){ .fd = -1 })

/* Bytes; with fewer free there create refuses. */
#define WS_ROOT_LEAST_FREE (256ull << 20)

/*
 * PATH, or WSISO_ROOT's value, NULL: the default below HOME (or the passwd entry's).
 * Made 0700 with its subfolders if CREATE. root-unsafe if it belongs to
 * another user or group or others have any access.
 */
int ws_root_open(const char *path, bool create, struct ws_root *ret, struct ws_err *err);
void ws_root_release(struct ws_root *root);
/* A folder below the root ("layers"), made if absent; -1 with ERR. */
int ws_root_dir(const struct ws_root *root, const char *name, struct ws_err *err);
/*
 * The effective spec: defaults, then wsiso.json, then DOC (NULL: none), named NAME in
 * messages. Warnings are logged. STRICT as in ws_spec_decode.
 */
int ws_root_spec(const struct ws_root *root, const struct ws_json *doc, const char *name,
		 bool strict, struct ws_spec *ret, struct ws_err *err);
/* The same over other defaults: those that DEFAULTS (JSON, NULL: none) changes. */
int ws_root_spec_on(const struct ws_root *root, const char *defaults,
		    const struct ws_json *doc, const char *name, bool strict,
		    struct ws_spec *ret, struct ws_err *err);
/* wsiso.json as it stands there; *ret stays NULL if there is none. */
int ws_root_file(const struct ws_root *root, struct ws_json **ret, struct ws_err *err);
/*
 * A new folder tmp/PREFIX-RANDOM, locked (flock) by *ret_fd for as long as it is open:
 * half-made, invisible, and swept by ws_root_sweep once its builder is gone. NAME holds
 * 64.
 */
int ws_root_scratch(const struct ws_root *root, const char *prefix, char *name,
		    int *ret_fd, struct ws_err *err);
/* Moves DIR/NAME into trash/ and deletes it there. */
int ws_root_discard(const struct ws_root *root, int dir, const char *name,
		    struct ws_err *err);
/* The same, and the bytes of disk that it freed (which takes longer). */
int ws_root_discard_counted(const struct ws_root *root, int dir, const char *name,
			    uint64_t *ret_bytes, struct ws_err *err);
/*
 * Deletes what dead builders and dead deleters left in tmp/ and trash/; errors are
 * warnings. REPORT, or NULL: what that was.
 */
struct ws_root_swept {
	bool look_only;	      /* the caller's wish: delete nothing */
	struct ws_strv names; /* "tmp/NAME" */
	uint64_t bytes;
};

void ws_root_sweep(const struct ws_root *root, struct ws_root_swept *report);
/*
 * One line for the journal (journal.c): time, event, session, detail; rotated at 8 MiB.
 */
void ws_journal(const struct ws_root *root, const char *event, const char *id,
		const char *detail);

#endif
