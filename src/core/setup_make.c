/* SPDX-License-Identifier: Apache-2.0 */
#include "core/setup_make.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sync.h"
#include "base/text.h"
#include "base/tree.h"
#include "core/binds.h"
#include "core/exec_plan.h"
#include "core/gate.h"
#include "core/layer.h"
#include "core/setup.h"
#include "core/setup_key.h"
#include "core/setup_run.h"
#include "core/spec_tighten.h"

#define TRIES 8
#define NS_PER_S 1000000000ull
#define WAIT_MORE_MS 600000ull /* for another's script, beyond the time that it has */

/* ---- the policy ---- */

/*
 * project_setup.network alone opens the network: what the session has is another matter,
 * and so is what a profile says.
 */
static int apply_profile(struct ws_spec *spec, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv warnings = WS_STRV_INIT;
	bool isolate = spec->project_setup.network != WS_NETWORK_SHARE;
	int rc;

	spec->sandbox.unshare_net = isolate;
	rc = ws_spec_floor_check(spec, err);
	if (rc == 0)
		rc = ws_profile_apply(spec, WS_PROFILE_SETUP_NAME, WS_PROFILE_SETUP,
				      &warnings, err);
	for (size_t i = 0; i < warnings.n; i++)
		ws_warn("%s", warnings.v[i]);
	if (rc < 0)
		return -1;
	if (!isolate || spec->sandbox.unshare_net)
		return 0;
	ws_fail(err, WS_SPEC_INVALID,
		"'profiles.setup' opens the network, which 'project_setup.network' "
		"isolates");
	return ws_hint(err, "say so there: \"network\": \"share\"");
}

/* What a script runs under; those of the one profile are its own by now. */
static int make_policy(const struct ws_root *root, const struct ws_spec *session,
		       struct ws_spec *ret, struct ws_err *err)
{
	WS_AUTO(ws_spec) struct ws_spec spec = { 0 };

	if (ws_spec_copy(session, &spec, err) < 0 || apply_profile(&spec, err) < 0)
		return -1;
	ws_freep(&spec.profiles);
	spec.profiles = ws_strdup("{}");
	spec.persistent_home = spec.session_tmp = true; /* of its folder, which goes */
	if (ws_gate(&spec, err) < 0 || ws_binds_check(root, &spec, err) < 0)
		return -1;
	*ret = spec;
	spec = (struct ws_spec){ 0 };
	return 0;
}

static bool is_wanted(const struct ws_spec *spec, const struct ws_repo *r)
{
	return spec->project_setup.enabled && r->has_setup;
}

int ws_setup_check(const struct ws_root *root, const struct ws_spec *spec,
		   const struct ws_repos *repos, struct ws_err *err)
{
	WS_AUTO(ws_spec) struct ws_spec policy = { 0 };
	bool any = false;

	for (size_t i = 0; i < repos->n; i++) {
		const struct ws_repo *r = &repos->v[i];

		if (!is_wanted(spec, r))
			continue;
		any = true;
		if (!r->live)
			continue;
		ws_fail(err, WS_SETUP_FAILED,
			"repo '%s': a live folder has no committed base to take '%s' from",
			r->spec->name, spec->project_setup.script);
		return ws_hint(err, "set \"project_setup\": {\"enabled\": false}, or "
				    "snapshots.enabled true");
	}
	if (any && make_policy(root, spec, &policy, err) < 0)
		return ws_fail_within(err, "project setup");
	return 0;
}

/* ---- one repo's ---- */

struct work {
	const struct ws_root *root;
	const struct ws_spec *spec; /* the session's */
	const struct ws_setup_opts *opts;
	struct ws_repo *repo;
	struct ws_setup_job job;
	uint64_t failed_ttl_s;
	char key[WS_KEY_LEN + 1];
	char *forgiven; /* the failed attempt that a retry passes over, or NULL */
};

static void work_release(struct work *w)
{
	ws_setup_job_release(&w->job);
	ws_freep(&w->forgiven);
}

static void tell(const struct work *w, const char *event, uint64_t ms)
{
	const struct ws_progress_event e = { .work = "setup",
					     .event = event,
					     .repo = w->repo->spec->name,
					     .key = w->key,
					     .ms = ms };

	ws_progress_tell(w->opts->progress, &e);
}

/* A session of the one repo, as far as a run has need of it. */
static void describe(const struct ws_repo *r, struct ws_session *s)
{
	s->id = ws_strdup("setup");
	s->kind = ws_strdup("run");
	s->profile = ws_strdup(WS_PROFILE_SETUP_NAME);
	ws_strv_extend(&s->stack, &r->snapshot.layers);
	s->repos = ws_alloc(sizeof(*s->repos));
	s->nrepos = 1;
	s->repos[0] = (struct ws_session_repo){
		.name = ws_strdup(r->spec->name),
		.path = ws_strdup(r->path),
		.vcs = ws_strdup(r->kind->word),
		.revision = ws_strdup(r->revision),
		.snapshot = ws_strdup(r->snapshot.key),
		.pool = ws_strdup(r->snapshot.pool),
	};
}

static int plan(struct work *w, struct ws_err *err)
{
	WS_AUTO_FREE char *cwd = ws_format("/workspace/%s", w->repo->spec->name);
	WS_AUTO(ws_user) struct ws_user user = { 0 };
	const struct ws_session *s = &w->job.session;
	struct ws_exec_opts opts = WS_EXEC_OPTS_INIT;
	const struct ws_exec_source from = { .session = s,
					     .spec = &s->spec,
					     .row = ws_profile_find(s->profile),
					     .user = &user };
	const struct ws_setup_source source = { .root = w->root,
						.spec = w->spec,
						.policy = &s->spec,
						.env = &w->job.plan.env,
						.repo = w->repo };

	opts.cwd = cwd;
	if (ws_user_self(&user, err) < 0 ||
	    ws_exec_plan(&from, &opts, &w->job.plan, err) < 0)
		return -1;
	return ws_setup_key(&source, &w->job.plan.argv, w->key, err);
}

static int begin(struct work *w, struct ws_err *err)
{
	struct ws_session *s = &w->job.session;

	describe(w->repo, s);
	if (make_policy(w->root, w->spec, &s->spec, err) < 0)
		return -1;
	w->job.name = w->repo->spec->name;
	w->job.own_git = w->repo->kind->vcs == WS_VCS_GIT;
	w->job.timeout_ms = w->spec->project_setup.timeout_s * 1000;
	return plan(w, err);
}

/* ---- failures ---- */

static int fail(const struct work *w, const char *cause, const char *when,
		struct ws_err *err)
{
	ws_fail(err, WS_SETUP_FAILED, "setup of '%s' failed%s: '%s': %s",
		w->repo->spec->name, when, w->spec->project_setup.script, cause);
	return ws_hint(err,
		       "wsiso setup log %s shows what it wrote; create --retry runs it "
		       "again",
		       w->key);
}

static bool is_remembered(const struct work *w, const struct ws_setup *rec)
{
	uint64_t now = ws_clock_wall_ns();

	if (!ws_setup_has_failed(rec) ||
	    (w->forgiven && !strcmp(w->forgiven, rec->attempt)))
		return false;
	return now < rec->finished || (now - rec->finished) / NS_PER_S < w->failed_ttl_s;
}

static int fail_remembered(const struct work *w, const struct ws_setup *rec,
			   struct ws_err *err)
{
	uint64_t now = ws_clock_wall_ns();
	WS_AUTO_FREE char *when = NULL;
	char age[WS_TIME_LEN];

	ws_clock_age(now > rec->finished ? (now - rec->finished) / NS_PER_S : 0, age);
	when = ws_format(" %s ago", age);
	return fail(w, rec->cause ? rec->cause : "nobody knows why", when, err);
}

/* ---- sharing it ---- */

/* While another runs the script, which may take long. */
static int hold_shared(const struct work *w, struct ws_err *err)
{
	uint64_t most = w->spec->project_setup.timeout_s * 1000 + WAIT_MORE_MS;
	struct ws_err busy = WS_ERR_INIT;
	int fd = ws_setup_lock(w->root, w->key, false, 0, &busy);

	if (fd >= 0 || busy.kind != WS_SESSION_BUSY) {
		if (fd < 0)
			*err = busy;
		return fd;
	}
	tell(w, "waiting", 0);
	return ws_setup_lock(w->root, w->key, false, most, err);
}

/* 1: it is there, and the repo's; 0: it is to be made; -1. */
static int share(struct work *w, struct ws_err *err)
{
	WS_AUTO(ws_setup) struct ws_setup rec = WS_SETUP_INIT;
	WS_AUTO_CLOSE int hold = hold_shared(w, err);
	int rc = hold < 0 ? -1 : ws_setup_load(w->root, w->key, &rec, err);

	if (rc <= 0)
		return rc;
	if (w->opts->retry && !w->forgiven && ws_setup_has_failed(&rec))
		w->forgiven = ws_strdup(rec.attempt);
	if (is_remembered(w, &rec))
		return fail_remembered(w, &rec, err);
	if (!ws_setup_is_done(w->root, &rec))
		return 0;
	ws_setup_touch(w->root, w->key);
	w->repo->setup = ws_strdup(w->key);
	w->repo->setup_layer = ws_strdup(rec.layer);
	w->repo->setup_hold = ws_steal_fd(&hold);
	return 1;
}

/* ---- making it ---- */

static void begin_record(const struct work *w, struct ws_setup *rec)
{
	char random[17];

	ws_text_random(random, 8);
	*rec = (struct ws_setup){
		.version = WS_SETUP_VERSION,
		.key = ws_strdup(w->key),
		.state = ws_strdup("running"),
		.attempt = ws_strdup(random),
		.repo = ws_strdup(w->repo->path),
		.name = ws_strdup(w->repo->spec->name),
		.revision = ws_strdup(w->repo->revision),
		.script = ws_strdup(w->spec->project_setup.script),
		.layer = ws_format("setup-%.16s-%s", w->key, random),
		.created = ws_clock_wall_ns(),
	};
}

static int end_record(const struct work *w, struct ws_setup *rec, const char *state,
		      struct ws_err *err)
{
	ws_freep(&rec->state);
	rec->state = ws_strdup(state);
	rec->finished = ws_clock_wall_ns();
	return ws_setup_save(w->root, rec, err);
}

static uint64_t took_ms(const struct ws_setup *rec)
{
	return rec->finished > rec->created ? (rec->finished - rec->created) / 1000000
					    : 0;
}

/* Remembered, unless that cannot be written: then the next one finds out anew. */
static int keep_failure(struct work *w, struct ws_setup *rec, const char *cause,
			struct ws_err *err)
{
	ws_freep(&rec->layer);
	rec->cause = ws_strdup(cause);
	if (end_record(w, rec, "failed", err) < 0)
		ws_warn("the failure of a setup could not be recorded: %s", err->msg);
	ws_setup_log_say(w->job.log, "failed after %.1f s: %s",
			 (double)took_ms(rec) / 1e3, cause);
	ws_journal(w->root, "setup-failed", "-", w->key);
	tell(w, "failed", took_ms(rec));
	return fail(w, cause, "", err);
}

/* The record has named the layer since before it was begun, so gc knows whose it is. */
static int keep_layer(struct work *w, struct ws_setup *rec,
		      const struct ws_scratch *layer, struct ws_err *err)
{
	WS_AUTO_FREE char *kind = ws_strdup("setup");
	const struct ws_layer_meta meta = { .version = WS_LAYER_VERSION,
					    .kind = kind,
					    .repo = rec->name,
					    .source = rec->repo,
					    .revision = rec->revision,
					    .created = rec->created };
	uint64_t entries;

	if (ws_tree_usage(layer->fd, "root", &rec->bytes, &entries, err) < 0)
		return -1;
	if (ws_sync_tree(layer->fd) < 0)
		return ws_fail_errno(err, "sync what the setup made");
	if (ws_layer_publish(w->root, layer->name, rec->layer, &meta, NULL, err) < 0 ||
	    end_record(w, rec, "done", err) < 0)
		return -1;
	ws_setup_log_say(w->job.log, "done after %.1f s", (double)took_ms(rec) / 1e3);
	ws_journal(w->root, "setup", "-", w->key);
	tell(w, "done", took_ms(rec));
	return 0;
}

/* 0: it is kept; -1: it failed, which is kept, too, unless *RET_KEPT stays false. */
static int run(struct work *w, struct ws_setup *rec, bool *ret_kept, struct ws_err *err)
{
	struct ws_scratch layer = { .fd = -1 };
	WS_AUTO_FREE char *cause = NULL;
	int rc = ws_root_scratch(w->root, "layer", layer.name, &layer.fd, err);

	if (rc == 0)
		rc = ws_setup_run(w->root, &w->job, &layer, &cause, err);
	*ret_kept = rc >= 0;
	if (rc > 0)
		rc = keep_layer(w, rec, &layer, err);
	else if (rc == 0)
		rc = keep_failure(w, rec, cause, err);
	else
		ws_fail_within(err, "setup of '%s'", rec->name);
	*ret_kept = *ret_kept && (rc == 0 || cause);
	ws_closep(&layer.fd);
	ws_scratch_discard(w->root, layer.name); /* unless it was published */
	return rc;
}

/* Under the lock: 0 to look once more; -1. */
static int make_locked(struct work *w, struct ws_err *err)
{
	WS_AUTO(ws_setup) struct ws_setup old = WS_SETUP_INIT;
	WS_AUTO(ws_setup) struct ws_setup rec = WS_SETUP_INIT;
	struct ws_err other = WS_ERR_INIT;
	int rc = ws_setup_load(w->root, w->key, &old, err);
	bool kept = false;

	if (rc < 0)
		return -1;
	if (rc && (ws_setup_is_done(w->root, &old) || is_remembered(w, &old)))
		return 0; /* somebody has been faster */
	if (rc && old.layer && ws_layer_discard(w->root, old.layer, err) < 0)
		return -1; /* of one who died */
	begin_record(w, &rec);
	if (ws_setup_save(w->root, &rec, err) < 0)
		return -1;
	rc = ws_setup_log_make(w->root, w->key, &w->job.log, err);
	if (rc == 0) {
		ws_setup_log_say(w->job.log, "setup of '%s' by '%s'", rec.name,
				 rec.script);
		tell(w, "started", 0);
		rc = run(w, &rec, &kept, err);
	}
	if (rc < 0 && !kept && ws_setup_remove(w->root, &rec, &other) < 0)
		ws_warn("%s", other.msg);
	return rc;
}

static int make(struct work *w, struct ws_err *err)
{
	uint64_t most = w->spec->project_setup.timeout_s * 1000 + WAIT_MORE_MS;
	WS_AUTO_CLOSE int lock = ws_setup_lock(w->root, w->key, true, most, err);

	return lock < 0 ? -1 : make_locked(w, err);
}

static int obtain(struct work *w, struct ws_err *err)
{
	bool made = false;

	for (int i = 0; i < TRIES; i++) {
		int rc = share(w, err);

		if (rc > 0 && !made)
			tell(w, "reused", 0);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
		if (make(w, err) < 0)
			return -1;
		made = true;
		/* between that lock and a shared one it may go again: look once more */
	}
	return ws_fail(err, WS_SETUP_FAILED, "setup '%s' comes and goes", w->key);
}

/* ---- all of them ---- */

/* It is about what sessions share: wsiso.json comes before what one session says. */
static int find_ttl(const struct ws_root *root, const struct ws_spec *spec, uint64_t *ret,
		    struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;
	WS_AUTO(ws_spec) struct ws_spec shared = { 0 };
	const struct ws_json *section;

	*ret = spec->project_setup.failed_ttl_s;
	if (ws_root_file(root, &doc, err) < 0)
		return -1;
	section = doc ? ws_json_get(doc, "project_setup") : NULL;
	if (!section || !ws_json_get(section, "failed_ttl_s"))
		return 0;
	if (ws_root_spec(root, NULL, NULL, false, &shared, err) < 0)
		return -1;
	*ret = shared.project_setup.failed_ttl_s;
	return 0;
}

static int set_up(const struct ws_root *root, const struct ws_spec *spec,
		  const struct ws_setup_opts *opts, uint64_t failed_ttl_s,
		  struct ws_repo *repo, struct ws_err *err)
{
	WS_AUTO(work)
	struct work w = { .root = root,
			  .spec = spec,
			  .opts = opts,
			  .repo = repo,
			  .job = WS_SETUP_JOB_INIT,
			  .failed_ttl_s = failed_ttl_s };

	return begin(&w, err) < 0 ? -1 : obtain(&w, err);
}

int ws_setup_make(const struct ws_root *root, const struct ws_spec *spec,
		  const struct ws_setup_opts *opts, struct ws_repos *repos,
		  struct ws_err *err)
{
	uint64_t failed_ttl_s;

	if (find_ttl(root, spec, &failed_ttl_s, err) < 0)
		return -1;
	for (size_t i = 0; i < repos->n; i++)
		if (is_wanted(spec, &repos->v[i]) &&
		    set_up(root, spec, opts, failed_ttl_s, &repos->v[i], err) < 0)
			return -1;
	return 0;
}
