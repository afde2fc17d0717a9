/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_FORK_H
#define WS_CORE_FORK_H

#include "base/err.h"
#include "base/json.h"
#include "core/pause.h"
#include "core/root.h"
#include "core/sandbox.h"
#include "core/session.h"

/*
 * A child session from its parent's state of this moment. An idle parent's sandbox ends;
 * its upper becomes a layer of both, and both go on with a new one. The parent's record
 * names the layer while that is still empty; then one rename exchanges the upper and the
 * layer's folder. So what the parent shows is the same at every moment, whenever we are
 * killed. A parent with live commands keeps its upper: they are stopped for as long as
 * it takes to copy it.
 */
struct ws_fork {
	const struct ws_root *root;
	struct ws_session parent;
	int lock;		     /* its mutex */
	int use;		     /* its lease, exclusively; -1: it has a sandbox */
	int store;		     /* see shared.h; held until the child has a record */
	struct ws_unsynced unsynced; /* what the child's record is to be saved after */
	struct ws_sandbox live;
};

/* clang-format off */
#define WS_FORK_INIT ((struct ws_fork){ .parent = WS_SESSION_INIT, .lock = -1, \
					.use = -1, .store = -1, .live = WS_SANDBOX_INIT })
/* clang-format on */

void ws_fork_release(struct ws_fork *f);
/* Opens the parent; refusals as those of exec. Nothing is held or changed yet. */
int ws_fork_open(const struct ws_root *root, const char *parent, struct ws_fork *ret,
		 struct ws_err *err);
/*
 * What the child's spec is: its parent's, and over it what the file PATH (NULL: none)
 * adds, which may only tighten. *RET_DOC is the caller's. (fork_spec.c)
 */
int ws_fork_spec(const struct ws_fork *f, const char *path, struct ws_json **ret_doc,
		 struct ws_spec *ret, struct ws_err *err);
/*
 * The parent stands still: without a sandbox (USE is held), or, with live commands, under
 * its mutex alone. Its record is read anew; a merge into it that was killed is finished.
 */
int ws_fork_hold(struct ws_fork *f, struct ws_err *err);
/* One that is held has live commands. */
bool ws_fork_is_live(const struct ws_fork *f);
/*
 * The layers that show all of the parent's state of this moment, none of which changes
 * any more. Where it has live commands the topmost may be a copy, OWNER's by its name,
 * which no record has yet.
 */
struct ws_fork_state {
	struct ws_strv stack;
	bool copied, torn;
};

void ws_fork_state_release(struct ws_fork_state *st);
int ws_fork_state(struct ws_fork *f, const char *owner, struct ws_fork_state *ret,
		  struct ws_err *err);
/* Its upper becomes a layer, if there is anything in it. It has no sandbox. */
int ws_fork_freeze(struct ws_fork *f, struct ws_err *err);
/* DIR gets a folder "root" as an upper of the session is that has nothing in it yet. */
int ws_fork_make_root(void *session, int dir, struct ws_err *err);
/* Fills the child's stack, repos and HOME. Until the release the parent stands still. */
int ws_fork_take(struct ws_fork *f, struct ws_session *child, struct ws_err *err);
/* The child is to be a second name of its parent; until the release that stays. */
int ws_fork_name(struct ws_fork *f, struct ws_session *child, struct ws_err *err);
/*
 * Puts each git repo of the child, which has its folders by now, onto a branch of its
 * own: wsiso/ID. (fork_git.c)
 */
int ws_fork_branches(struct ws_fork *f, struct ws_session *child, struct ws_err *err);

#endif
