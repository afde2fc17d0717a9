/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fork.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/text.h"
#include "core/frozen.h"
#include "core/gate.h"
#include "core/layer.h"
#include "core/layer_copy.h"
#include "core/merge_live.h"
#include "core/procs.h"
#include "core/shared.h"

#define QUIET_TIMEOUT_MS 10000
#define IDLE_TIMEOUT_MS 1000
#define END_MS 100
#define LAYERS_MAX 150 /* bwrap takes about 220 */

void ws_fork_release(struct ws_fork *f)
{
	ws_unsynced_release(&f->unsynced);
	ws_closep(&f->store);
	ws_closep(&f->use);
	ws_closep(&f->lock);
	ws_sandbox_release(&f->live);
	ws_session_release(&f->parent);
}

int ws_fork_open(const struct ws_root *root, const char *parent, struct ws_fork *ret,
		 struct ws_err *err)
{
	ret->root = root;
	if (ws_session_open(root, parent, &ret->parent, err) < 0)
		return -1;
	return ws_gate_session(&ret->parent, err);
}

/* ---- the parent stands still ---- */

/* Under the mutex the record is read again: what another call saved is in it. */
static int lock_parent(struct ws_fork *f, struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session now = WS_SESSION_INIT;

	if (ws_session_lock(f->root, &f->parent, &f->lock, err) < 0 ||
	    ws_session_open(f->root, f->parent.id, &now, err) < 0 ||
	    ws_gate_session(&now, err) < 0)
		return -1;
	ws_session_release(&f->parent);
	f->parent = now;
	now = WS_SESSION_INIT;
	return 0;
}

/* A shepherd that is about to go, or comes, is none: in a moment there is more to see. */
static bool has_commands(const struct ws_sandbox *sb)
{
	WS_AUTO(ws_procs) struct ws_procs procs = WS_PROCS_INIT;
	struct ws_err ignored = WS_ERR_INIT;

	if (ws_procs_list(sb, &procs, &ignored) < 0)
		return true;
	for (size_t i = 0; i < procs.n; i++)
		if (!procs.v[i].ours && procs.v[i].state != 'Z')
			return true;
	return false;
}

/* 1: it has no sandbox, and gets none; 2: it has one with commands; 0: look again. */
static int look_once(struct ws_fork *f, bool patient, struct ws_err *err)
{
	int live;

	ws_sandbox_release(&f->live);
	f->live = WS_SANDBOX_INIT;
	live = ws_sandbox_peek(&f->parent, &f->live, err);
	if (live < 0)
		return -1;
	if (live && (!patient || has_commands(&f->live)))
		return 2;
	if (live)
		return 0;
	f->use = ws_lock_open(f->parent.dir, "use");
	if (f->use < 0)
		return ws_fail_errno(err, "open the lease of session '%s'", f->parent.id);
	if (ws_lock_try(f->use, true) == 0)
		return 1;
	ws_closep(&f->use);
	return 0;
}

/*
 * An idle sandbox ends by itself, which takes the mutex and nobody on his way in: so it
 * is asked to, and no command is killed.
 */
static int stand_still(struct ws_fork *f, struct ws_err *err)
{
	uint64_t begun = ws_clock_mono_ms(), waited = 0;

	do {
		int rc = lock_parent(f, err);

		if (rc == 0)
			rc = look_once(f, waited < IDLE_TIMEOUT_MS, err);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
		ws_closep(&f->lock);
		if (f->live.pidfd >= 0) {
			ws_pidfd_signal(f->live.pidfd, SIGUSR1);
			ws_pidfd_gone(f->live.pidfd, END_MS);
		} else {
			ws_clock_sleep_ms(2);
		}
		waited = ws_clock_mono_ms() - begun;
	} while (waited < QUIET_TIMEOUT_MS);
	ws_fail(err, WS_SESSION_BUSY,
		"session '%s' is held by a sandbox that does not end", f->parent.id);
	return ws_hint(err, "wsiso stop %s; wsiso ps %s shows what runs", f->parent.id,
		       f->parent.id);
}

/* ---- its upper ---- */

static bool is_live_repo(const struct ws_session *s, const char *name)
{
	for (size_t i = 0; i < s->nrepos; i++)
		if (s->repos[i].live && !strcmp(s->repos[i].name, name))
			return true;
	return false;
}

/* Nothing in it but the folders of live repos, which are empty? */
static int has_edits(const struct ws_session *s, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;

	if (ws_dir_list(s->dir, "upper", &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		WS_AUTO_FREE char *path = ws_format("upper/%s", names.v[i]);

		if (!is_live_repo(s, names.v[i]) || !ws_dir_is_empty(s->dir, path, 0))
			return 1;
	}
	return 0;
}

/* DIR/NAME, empty, as the folder FROM of the session is. */
static int make_like(const struct ws_session *s, const char *from, int dir,
		     const char *name, struct ws_err *err)
{
	struct stat st;

	if (fstatat(s->dir, from, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    mkdirat(dir, name, 0700) < 0 ||
	    fchownat(dir, name, (uid_t)-1, getegid(), AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(dir, name, st.st_mode & 07777, 0) < 0)
		return ws_fail_errno(err, "make a folder like '%s/%s'", s->path, from);
	return 0;
}

int ws_fork_make_root(void *session, int dir, struct ws_err *err)
{
	const struct ws_session *s = session;

	if (make_like(s, "upper", dir, "root", err) < 0)
		return -1;
	for (size_t i = 0; i < s->nrepos; i++) {
		WS_AUTO_FREE char *from = ws_format("upper/%s", s->repos[i].name);
		WS_AUTO_FREE char *to = ws_format("root/%s", s->repos[i].name);

		if (s->repos[i].live && make_like(s, from, dir, to, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * The parent has what was its upper as a layer, and an upper that is empty. To the parent
 * it is all the same if a power cut undoes this; to the child it is not, so it is synced
 * before that one has a record.
 */
static int exchange(struct ws_fork *f, const char *layer, struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("layers/%s", layer);
	WS_AUTO_CLOSE int dir = ws_open_dir(f->root->fd, path);

	if (dir < 0 ||
	    renameat2(f->parent.dir, "upper", dir, "root", RENAME_EXCHANGE) < 0)
		return ws_fail_errno(err, "freeze the upper of session '%s'",
				     f->parent.id);
	ws_unsynced_take(&f->unsynced, &dir);
	return 0;
}

/* What of the parent's record changes, besides: who has forked shares. */
static bool note_shared(struct ws_session *p)
{
	char random[17];
	bool changed = !p->forked;

	p->forked = true;
	p->version = WS_SESSION_VERSION;
	if (p->home || !p->spec.persistent_home)
		return changed;
	ws_text_random(random, 8);
	p->home = ws_format("%s-%s", p->id, random);
	return true;
}

/*
 * HOME is the parent's and all its children's. A fork that died may have left it, so it
 * is found in either place, and the move needs no sync.
 */
static int share_home(const struct ws_fork *f, struct ws_err *err)
{
	const struct ws_session *p = &f->parent;
	WS_AUTO_CLOSE int homes = -1;

	if (!p->home)
		return 0;
	homes = ws_root_dir(f->root, "homes", err);
	if (homes < 0)
		return -1;
	if (faccessat(homes, p->home, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (renameat2(p->dir, "home", homes, p->home, RENAME_NOREPLACE) < 0)
		return ws_fail_errno(err, "share the HOME of session '%s'", p->id);
	return 0;
}

int ws_fork_freeze(struct ws_fork *f, struct ws_err *err)
{
	struct ws_session *p = &f->parent;
	char name[WS_LAYER_NAME_MAX] = "";
	int edits = has_edits(p, err);
	bool changed = note_shared(p);

	if (edits < 0)
		return -1;
	if (edits) {
		ws_layer_private_name(WS_LAYER_FROZEN, p->id, name);
		if (ws_frozen_make(f->root, name, ws_fork_make_root, p, &f->unsynced,
				   err) < 0)
			return -1;
		ws_strv_push(&p->stack, name);
		p->frozen++;
	}
	if ((edits || changed) && ws_session_save_after(p, &f->unsynced, err) < 0)
		return -1;
	if (edits && exchange(f, name, err) < 0)
		return -1;
	return share_home(f, err);
}

/* ---- a copy, of an upper that is in use ---- */

struct copying {
	const struct ws_fork *f;
	bool torn;
};

static int copy_upper(const struct ws_fork *f, int scratch, struct ws_err *err)
{
	WS_AUTO(ws_stack) struct ws_stack upper = WS_STACK_INIT;
	WS_AUTO_CLOSE int to = -1;
	int fd = ws_open_dir(f->parent.dir, "upper");

	if (fd < 0)
		return ws_fail_errno(err, "open the upper of session '%s'", f->parent.id);
	ws_stack_of(fd, &upper);
	if (mkdirat(scratch, "root", 0700) == 0)
		to = ws_open_dir(scratch, "root");
	if (to < 0)
		return ws_fail_errno(err, "make the child's layer");
	return ws_layer_copy(&upper, 0, 0, to, WS_LAYER_CLONE, err);
}

/* Stopped no longer than needed: what is copied may be synced while they go on. */
static int copy_still(void *data, int scratch, struct ws_err *err)
{
	WS_AUTO(ws_pause) struct ws_pause pause = WS_PAUSE_INIT;
	struct copying *c = data;

	if (ws_pause_begin(&c->f->live, &pause, err) < 0 ||
	    copy_upper(c->f, scratch, err) < 0)
		return -1;
	c->torn = !pause.all || !ws_pause_holds(&c->f->live);
	return 0;
}

static int copy(struct ws_fork *f, const char *owner, struct ws_fork_state *ret,
		struct ws_err *err)
{
	struct ws_session *p = &f->parent;
	struct copying copying = { .f = f };
	char name[WS_LAYER_NAME_MAX];
	int edits = has_edits(p, err);

	if (edits < 0)
		return -1;
	ws_strv_extend(&ret->stack, &p->stack);
	if (edits) {
		ws_layer_private_name(WS_LAYER_FROZEN, owner, name);
		if (ws_frozen_make(f->root, name, copy_still, &copying, NULL, err) < 0)
			return -1;
		ws_strv_push(&ret->stack, name);
		ret->copied = true;
		ret->torn = copying.torn;
	}
	if (ret->torn)
		ws_warn("session '%s': not all of its commands could be stopped while its "
			"state was copied",
			p->id);
	if (note_shared(p) && ws_session_save(p, err) < 0)
		return -1;
	return share_home(f, err);
}

void ws_fork_state_release(struct ws_fork_state *st)
{
	ws_strv_release(&st->stack);
}

int ws_fork_state(struct ws_fork *f, const char *owner, struct ws_fork_state *ret,
		  struct ws_err *err)
{
	if (ws_fork_is_live(f))
		return copy(f, owner, ret, err);
	if (ws_fork_freeze(f, err) < 0)
		return -1;
	ws_strv_extend(&ret->stack, &f->parent.stack);
	return 0;
}

/* ---- the child ---- */

/* What update said about the parent's network holds, unless the child's is tighter. */
static void inherit_network(const struct ws_session *p, struct ws_session *child)
{
	if (p->network &&
	    (strcmp(p->network, "share") != 0 || !child->spec.sandbox.unshare_net))
		child->network = ws_strdup(p->network);
}

static int check_stack(const struct ws_session *p, struct ws_err *err)
{
	if (p->stack.n < LAYERS_MAX)
		return 0;
	ws_fail(err, WS_SESSION_BUSY, "session '%s' stands on %zu layers", p->id,
		p->stack.n);
	return ws_hint(
		err,
		"wsiso gc makes fewer of them, once wsiso stop %s has ended its sandbox",
		p->id);
}

bool ws_fork_is_live(const struct ws_fork *f)
{
	return f->use < 0;
}

int ws_fork_hold(struct ws_fork *f, struct ws_err *err)
{
	if (stand_still(f, err) < 0 || check_stack(&f->parent, err) < 0)
		return -1;
	f->store = ws_shared_lock(f->root, false, err);
	return f->store < 0 ? -1 : ws_merge_finish(f, err);
}

int ws_fork_take(struct ws_fork *f, struct ws_session *child, struct ws_err *err)
{
	WS_AUTO(ws_fork_state) struct ws_fork_state st = { 0 };

	if (ws_fork_hold(f, err) < 0)
		return -1;
	if (ws_fork_state(f, child->id, &st, err) < 0)
		return ws_fail_within(err, "fork of '%s'", f->parent.id);
	child->stack = st.stack;
	st.stack = WS_STRV_INIT;
	child->copied = st.copied;
	child->torn = st.torn;
	ws_session_copy_repos(&f->parent, child);
	inherit_network(&f->parent, child);
	child->home = ws_strdup(f->parent.home);
	child->parent = ws_strdup(f->parent.id);
	child->parent_created = f->parent.created;
	child->version = WS_SESSION_VERSION;
	ws_session_touch(&f->parent);
	return 0;
}

int ws_fork_name(struct ws_fork *f, struct ws_session *child, struct ws_err *err)
{
	struct ws_session *p = &f->parent;

	if (lock_parent(f, err) < 0)
		return -1;
	if (!p->forked) {
		p->forked = true;
		p->version = WS_SESSION_VERSION;
		if (ws_session_save(p, err) < 0)
			return -1;
	}
	child->parent = ws_strdup(p->id);
	child->alias = ws_strdup(p->id);
	child->alias_created = p->created;
	child->version = WS_SESSION_VERSION;
	ws_session_touch(p);
	return 0;
}
