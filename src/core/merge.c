/* SPDX-License-Identifier: Apache-2.0 */
#include "core/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "core/flatten.h"
#include "core/frozen.h"
#include "core/layer.h"
#include "core/merge_join.h"
#include "core/merge_layer.h"
#include "core/merge_live.h"
#include "core/pause.h"
#include "core/resolver.h"

#define FLATTEN_AT 48  /* layers, long before there are too many for a fork or a merge */
#define STOP_TRIES 3   /* of two seconds each */
#define ASKED_MAX 1000 /* questions; a parent that moves on may bring new ones */

/* What is held while a plan is made and carried out. */
struct hands {
	struct ws_fork parent, child;
	struct ws_pause pause;	    /* of the parent's live commands */
	struct ws_fork_state state; /* the child's */
	bool kept;		    /* its record names what of STATE is a copy */
};

static void hands_release(struct hands *h)
{
	struct ws_err ignored = WS_ERR_INIT; /* gc removes it, too */

	if (h->state.copied && !h->kept)
		ws_layer_discard(h->child.root, h->state.stack.v[h->state.stack.n - 1],
				 &ignored);
	ws_fork_state_release(&h->state);
	ws_pause_release(&h->pause);
	ws_fork_release(&h->child);
	ws_fork_release(&h->parent);
}

void ws_merge_release(struct ws_merge *m)
{
	ws_freep(&m->child);
	ws_freep(&m->parent);
	ws_strv_release(&m->resolver);
	ws_merge_commits_release(&m->commits);
	ws_merge_trees_release(&m->trees);
	ws_merge_room_release(&m->room);
}

/* ---- whose, and into what ---- */

static int check_child(const struct ws_session *s, struct ws_err *err)
{
	if (s->alias) {
		ws_fail(err, WS_USAGE,
			"session '%s' is a second name of '%s': what it does is done there",
			s->id, s->alias);
		return ws_hint(err, "with \"subagent_isolation\": \"isolated\" a child "
				    "has work of its own");
	}
	if (s->parent)
		return 0;
	ws_fail(err, WS_USAGE, "session '%s' is nobody's child", s->id);
	return ws_hint(err, "wsiso create ID --parent PARENT makes one");
}

static int check_parent(const struct ws_session *child, const struct ws_session *parent,
			struct ws_err *err)
{
	if (child->parent_created && child->parent_created != parent->created) {
		ws_fail(err, WS_SESSION_MISSING,
			"the parent of '%s' is gone; this '%s' is another session",
			child->id, parent->id);
		return ws_hint(err, "wsiso diff %s shows its work", child->id);
	}
	if (child->spec.integration.enabled && parent->spec.integration.enabled)
		return 0;
	ws_fail(err, WS_DISABLED, "merging is switched off");
	return ws_hint(err, "set \"integration\": {\"enabled\": true}");
}

static int find(const struct ws_root *root, const char *id, struct ws_merge *m,
		struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;

	m->root = root;
	m->child = ws_strdup(id);
	if (ws_session_open_name(root, id, &s, err) < 0 || check_child(&s, err) < 0)
		return -1;
	m->parent = ws_strdup(s.parent);
	return 0;
}

static int open_parent(const struct ws_merge *m, struct hands *h, struct ws_err *err)
{
	if (ws_fork_open(m->root, m->parent, &h->parent, err) == 0)
		return 0;
	if (err->kind == WS_SESSION_MISSING || err->kind == WS_SESSION_EXPIRED)
		ws_hint(err, "the child keeps its work: wsiso diff %s shows it",
			m->child);
	return ws_fail_within(err, "parent of '%s'", m->child);
}

static int find_resolver(struct ws_merge *m, const struct ws_spec *spec,
			 struct ws_err *err)
{
	ws_strv_clear(&m->resolver);
	if (spec->integration.ai_merge)
		ws_strv_extend(&m->resolver, &spec->integration.resolver);
	if (!m->resolver.n || m->resolver.v[0][0] == '/')
		return 0;
	ws_fail(err, WS_SPEC_INVALID,
		"'integration.resolver': '%.200s' is no absolute path", m->resolver.v[0]);
	return ws_hint(err, "it is never searched for: name the program by its path");
}

/* What a merge takes from ours, and does to it, is of one moment. */
static int stop_parent(struct hands *h, struct ws_err *err)
{
	const char *id = h->parent.parent.id;

	if (!ws_fork_is_live(&h->parent))
		return 0;
	for (int i = 0; i < STOP_TRIES; i++) {
		ws_pause_release(&h->pause);
		if (ws_pause_begin(&h->parent.live, &h->pause, err) < 0)
			return -1;
		if (h->pause.all)
			return 0;
	}
	ws_fail(err, WS_SESSION_BUSY, "not all commands of session '%s' could be stopped",
		id);
	return ws_hint(err, "try again, or merge when they have ended: wsiso ps %s", id);
}

static int hold(struct ws_merge *m, struct hands *h, struct ws_err *err)
{
	if (ws_fork_open(m->root, m->child, &h->child, err) < 0 ||
	    open_parent(m, h, err) < 0 ||
	    check_parent(&h->child.parent, &h->parent.parent, err) < 0 ||
	    find_resolver(m, &h->child.parent.spec, err) < 0 ||
	    ws_fork_hold(&h->parent, err) < 0 || ws_fork_hold(&h->child, err) < 0)
		return -1;
	return stop_parent(h, err);
}

/* ---- what was merged before ---- */

static bool has_come(const struct ws_session *parent, const char *layer)
{
	return ws_strv_has(&parent->stack, layer) ||
	       (parent->arrived && !strcmp(parent->arrived, layer));
}

/* A merge that was killed: it has come to the parent, or not. */
static int settle(struct hands *h, struct ws_err *err)
{
	struct ws_session *s = &h->child.parent;

	if (!s->merge_layer)
		return 0;
	if (has_come(&h->parent.parent, s->merge_layer)) {
		ws_strv_release(&s->merged);
		s->merged = s->merging;
		s->merging = WS_STRV_INIT;
	}
	ws_strv_release(&s->merging);
	s->merging = WS_STRV_INIT;
	ws_freep(&s->merge_layer);
	return ws_session_save(s, err);
}

static void find_base(const struct ws_session *child, struct ws_strv *ret)
{
	if (child->merged.n) {
		ws_strv_extend(ret, &child->merged);
		return;
	}
	for (size_t i = 0; i < child->stack.n - child->frozen; i++)
		ws_strv_push(ret, child->stack.v[i]);
}

static unsigned common(const struct ws_strv *a, const struct ws_strv *b)
{
	size_t n = 0;

	while (n < a->n && n < b->n && !strcmp(a->v[n], b->v[n]))
		n++;
	return (unsigned)n;
}

/* ---- the plan ---- */

static int open_trees(const struct ws_merge *m, struct hands *h, struct ws_merge_trees *t,
		      struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv base = WS_STRV_INIT;
	const struct ws_session *child = &h->child.parent;
	unsigned both;

	find_base(child, &base);
	if (ws_fork_state(&h->child, m->child, &h->state, err) < 0 ||
	    ws_stack_open(m->root, &h->parent.parent, &t->stack[WS_TREE_OURS], err) < 0 ||
	    ws_stack_open_layers(m->root, child, &base, &t->stack[WS_TREE_BASE], err) <
		    0 ||
	    ws_stack_open_layers(m->root, child, &h->state.stack,
				 &t->stack[WS_TREE_THEIRS], err) < 0)
		return -1;
	both = common(&base, &h->state.stack);
	t->stack[WS_TREE_BASE].own = (unsigned)base.n - both;
	t->stack[WS_TREE_THEIRS].own = (unsigned)h->state.stack.n - both;
	return 0;
}

static void find_hidden(const struct ws_session *s, struct ws_strv *ret)
{
	for (size_t i = 0; i < s->nrepos; i++)
		if (!strcmp(s->repos[i].vcs, "git"))
			ws_strv_addf(ret, "%s/.git", s->repos[i].name);
}

static int plan(struct ws_merge *m, struct hands *h, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv hidden = WS_STRV_INIT;
	struct ws_merge_trees *t = &m->trees;

	find_hidden(&h->child.parent, &hidden);
	if (open_trees(m, h, t, err) < 0 || ws_merge_read(t, &hidden, err) < 0 ||
	    ws_merge_room_recall(&m->room, t, err) < 0)
		return -1;
	ws_merge_plan(t->v, t->n);
	return ws_merge_join(t, m->parent, m->child, err);
}

static enum ws_merge_result judge(const struct ws_merge *m)
{
	const struct ws_merge_trees *t = &m->trees;
	enum ws_merge_result result =
		ws_merge_commits_any(&m->commits) ? WS_MERGE_MERGED : WS_MERGE_NOOP;

	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].action == WS_MERGE_CONFLICT)
			return WS_MERGE_CONFLICTS;
		if (ws_merge_acts(&t->v[i]))
			result = WS_MERGE_MERGED;
	}
	return result;
}

/* ---- doing it ---- */

/* What a layer is made of. */
struct making {
	const struct ws_merge *merge;
	struct ws_session *parent;
};

static int fill(void *data, int scratch, struct ws_err *err)
{
	const struct making *m = data;
	WS_AUTO_CLOSE int top = -1;

	if (ws_fork_make_root(m->parent, scratch, err) < 0)
		return -1;
	top = ws_open_dir(scratch, "root");
	if (top < 0)
		return ws_fail_errno(err, "open the layer of a merge");
	return ws_merge_layer_make(&m->merge->trees, &m->merge->commits.extras, top, err);
}

static void set_layers(struct ws_strv *to, const struct ws_strv *from)
{
	ws_strv_clear(to);
	ws_strv_extend(to, from);
}

/* From now on the next call can tell whether it was merged. */
static int announce(struct hands *h, const char *name, struct ws_err *err)
{
	struct ws_session *s = &h->child.parent;

	set_layers(&s->merging, &h->state.stack);
	s->merge_layer = ws_strdup(name);
	s->version = WS_SESSION_VERSION;
	h->kept = true;
	return ws_session_save_after(s, &h->child.unsynced, err);
}

/* What the child had by now is the base of its next merge. */
static int note_merged(struct hands *h, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv base = WS_STRV_INIT;
	struct ws_session *s = &h->child.parent;

	find_base(s, &base);
	if (ws_strv_equal(&base, &h->state.stack) && !s->merge_layer)
		return 0;
	set_layers(&s->merged, &h->state.stack);
	ws_strv_clear(&s->merging);
	ws_freep(&s->merge_layer);
	s->version = WS_SESSION_VERSION;
	h->kept = true;
	return ws_session_save_after(s, &h->child.unsynced, err);
}

/* The parent's commands stay stopped and NAME has room, or its upper is a layer. */
static int make_ready(struct hands *h, const char *name, struct ws_err *err)
{
	struct ws_session *p = &h->parent.parent;

	if (!ws_fork_is_live(&h->parent))
		return ws_fork_freeze(&h->parent, err);
	if (ws_merge_check_space(h->parent.root, name, err) < 0 ||
	    ws_sandbox_join(p, &h->parent.live, err) < 0)
		return -1;
	if (!ws_pause_holds(&h->parent.live))
		return ws_fail(err, WS_SESSION_BUSY,
			       "commands of session '%s' did not stay stopped", p->id);
	return 0;
}

/* Until it is named as incoming nothing has happened; from then on it will. */
static int apply_live(struct hands *h, const char *name, struct ws_err *err)
{
	struct ws_session *p = &h->parent.parent;

	ws_freep(&p->incoming);
	p->incoming = ws_strdup(name);
	p->version = WS_SESSION_VERSION;
	if (ws_session_save(p, err) < 0)
		return -1;
	return ws_merge_finish(&h->parent, err);
}

static int apply_idle(struct hands *h, const char *name, struct ws_err *err)
{
	struct ws_session *p = &h->parent.parent;

	ws_strv_push(&p->stack, name);
	p->frozen++;
	/* here it happens */
	return ws_session_save_after(p, &h->parent.unsynced, err);
}

static int apply(struct ws_merge *m, struct hands *h, struct ws_err *err)
{
	struct making making = { m, &h->parent.parent };
	char name[WS_LAYER_NAME_MAX];

	ws_layer_private_name(WS_LAYER_FROZEN, m->parent, name);
	if (ws_frozen_make(m->root, name, fill, &making, NULL, err) < 0)
		return -1;
	if (announce(h, name, err) < 0 || make_ready(h, name, err) < 0) {
		struct ws_err ignored = WS_ERR_INIT;

		ws_layer_discard(m->root, name, &ignored);
		return -1;
	}
	return ws_fork_is_live(&h->parent) ? apply_live(h, name, err)
					   : apply_idle(h, name, err);
}

static void note_done(const struct ws_merge *m)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	size_t n = 0;

	for (size_t i = 0; i < m->trees.n; i++)
		n += ws_merge_acts(&m->trees.v[i]);
	ws_buf_addf(&text, "into %s: %zu path%s", m->parent, n, n == 1 ? "" : "s");
	ws_journal(m->root, "merge", m->child, text.data);
}

static int finish(struct ws_merge *m, struct hands *h, struct ws_err *err)
{
	struct ws_err late = WS_ERR_INIT;

	if (m->result == WS_MERGE_MERGED && apply(m, h, err) < 0)
		return -1;
	/* it is merged; that this is not noted is mended by the next one */
	if (note_merged(h, &late) < 0 ||
	    ws_merge_room_remove(m->root, &h->child.parent, &late) < 0)
		ws_warn("%s", late.msg);
	ws_session_touch(&h->parent.parent);
	if (m->result == WS_MERGE_MERGED)
		note_done(m);
	return 0;
}

/* ---- conflicts ---- */

static int wait_for_answers(struct ws_merge *m, const struct hands *h, struct ws_err *err)
{
	if (m->room.fd < 0) {
		ws_merge_room_release(&m->room);
		m->room = WS_MERGE_ROOM_INIT;
		if (ws_merge_room_open(&h->child.parent, true, &m->room, err) < 0)
			return -1;
	}
	return ws_merge_room_lay_out(&m->room, &m->trees, err);
}

static int give(const struct ws_merge *m, const struct ws_merge_given *g,
		struct ws_err *err)
{
	struct ws_merge_path *p = ws_merge_find(m->trees.v, m->trees.n, g->path);

	if (!p || !p->clash) {
		ws_fail(err, WS_USAGE, "'%.200s' is no conflict of this merge", g->path);
		return ws_hint(err, "wsiso merge %s lists them", m->child);
	}
	if (!ws_merge_may_answer(p, g->answer)) {
		ws_fail(err, WS_USAGE, "'%.200s' is a folder on one side", g->path);
		return ws_hint(err, "answer with @ours or @theirs");
	}
	if (ws_merge_room_key(&m->trees, p, err) < 0)
		return -1;
	return ws_merge_room_answer(&m->room, p, g->answer, &g->bytes, err);
}

/* ---- once ---- */

static void start_anew(struct ws_merge *m)
{
	ws_merge_commits_release(&m->commits);
	m->commits = WS_MERGE_COMMITS_INIT;
	ws_merge_trees_release(&m->trees);
	m->trees = WS_MERGE_TREES_INIT;
	ws_merge_room_release(&m->room);
	m->room = WS_MERGE_ROOM_INIT;
}

/* Answers are kept for a plan that is made anew then, and so checked by it. */
static int once(struct ws_merge *m, const struct ws_merge_opts *opts,
		const struct ws_merge_given *given, size_t ngiven, struct ws_err *err)
{
	__attribute__((cleanup(hands_release))) struct hands h = {
		.parent = WS_FORK_INIT,
		.child = WS_FORK_INIT,
		.pause = WS_PAUSE_INIT,
	};

	start_anew(m);
	if (hold(m, &h, err) < 0 || settle(&h, err) < 0 ||
	    ws_merge_room_open(&h.child.parent, false, &m->room, err) < 0)
		return -1;
	if ((opts->proceed || ngiven) && m->room.fd < 0) {
		ws_fail(err, WS_USAGE, "no merge of '%s' waits for answers", m->child);
		return ws_hint(err, "wsiso merge %s begins one", m->child);
	}
	if (plan(m, &h, err) < 0)
		return -1;
	m->torn = h.state.torn;
	for (size_t i = 0; i < ngiven; i++)
		if (give(m, &given[i], err) < 0)
			return -1;
	if (ngiven)
		return 0;
	m->result = judge(m);
	if (m->result == WS_MERGE_CONFLICTS)
		return wait_for_answers(m, &h, err);
	if (opts->commits && ws_merge_commits_read(m->root, &h.child.parent, &m->trees,
						   &m->commits, err) < 0)
		return -1;
	m->result = judge(m);
	return finish(m, &h, err);
}

/* Each merge is a layer more or two. */
static void spare_layers(const struct ws_merge *m)
{
	struct ws_err err = WS_ERR_INIT;
	size_t n = 0;

	if (m->trees.stack[WS_TREE_OURS].n > FLATTEN_AT &&
	    ws_flatten(m->root, m->parent, &n, &err) < 0)
		ws_warn("the layers of session '%s' could not be made fewer: %s",
			m->parent, err.msg);
}

int ws_merge(const struct ws_root *root, const struct ws_merge_opts *opts,
	     struct ws_merge *ret, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv asked = WS_STRV_INIT;
	int answers;

	ret->resolver_ms = opts->resolver_ms;
	if (find(root, opts->child, ret, err) < 0 ||
	    (opts->commits && ws_auto_commit(root, opts->child, err) < 0))
		return -1;
	if (opts->ngiven && once(ret, opts, opts->given, opts->ngiven, err) < 0)
		return -1;
	do {
		if (once(ret, opts, NULL, 0, err) < 0)
			return -1;
		if (ret->result != WS_MERGE_CONFLICTS) {
			spare_layers(ret);
			return 0;
		}
		answers = ws_resolver_ask(ret, &asked, err);
	} while (answers > 0 && asked.n < ASKED_MAX);
	return answers < 0 ? -1 : 0;
}

int ws_merge_abort(const struct ws_root *root, const char *child, bool *ret_was,
		   struct ws_err *err)
{
	WS_AUTO(ws_session) struct ws_session s = WS_SESSION_INIT;
	WS_AUTO(ws_merge_room) struct ws_merge_room room = WS_MERGE_ROOM_INIT;
	WS_AUTO_CLOSE int lock = -1;

	if (ws_session_open_name(root, child, &s, err) < 0 || check_child(&s, err) < 0 ||
	    ws_session_lock(root, &s, &lock, err) < 0 ||
	    ws_merge_room_open(&s, false, &room, err) < 0)
		return -1;
	*ret_was = room.fd >= 0;
	return ws_merge_room_remove(root, &s, err);
}
