/* SPDX-License-Identifier: Apache-2.0 */
#include "core/repos.h"

#include <pthread.h>

#include "base/log.h"
#include "core/keyed.h"
#include "core/live.h"

#define TOGETHER_MAX 8

static void repo_release(struct ws_repo *r)
{
	if (r->source)
		r->kind->release(r->source);
	ws_snapshot_release(&r->snapshot);
	ws_strv_release(&r->warnings);
	ws_keyed_let_go(&r->hold);
	ws_keyed_let_go(&r->setup_hold);
	ws_freep(&r->setup);
	ws_freep(&r->setup_layer);
	ws_freep(&r->path);
	ws_freep(&r->revision);
	ws_freep(&r->branch);
	ws_freep(&r->layer);
}

void ws_repos_release(struct ws_repos *repos)
{
	for (size_t i = 0; i < repos->n; i++)
		repo_release(&repos->v[i]);
	ws_freep(&repos->v);
	repos->n = 0;
}

/* ---- side by side ---- */

/* What is done for one repo, knowing what all need. */
struct job {
	struct ws_vcs_call call;
	struct ws_repo *repo;
	int (*work)(struct job *j);
	int rc;
	struct ws_err err;
};

static void *job_run(void *data)
{
	struct job *j = data;

	j->rc = j->work(j);
	return NULL;
}

/* This thread takes the last of them, and those for which there was no thread. */
static void run_together(struct job *jobs, size_t n)
{
	pthread_t threads[TOGETHER_MAX];
	size_t started = 0;

	while (started + 1 < n &&
	       pthread_create(&threads[started], NULL, job_run, &jobs[started]) == 0)
		started++;
	for (size_t i = started; i < n; i++)
		job_run(&jobs[i]);
	while (started > 0)
		pthread_join(threads[--started], NULL);
}

/* The first error in the spec's order counts. */
static int run_all(const struct job *shared, struct ws_repos *repos, struct ws_err *err)
{
	WS_AUTO_FREE struct job *jobs = ws_alloc((repos->n + 1) * sizeof(*jobs));

	for (size_t i = 0; i < repos->n; i++) {
		jobs[i] = *shared;
		jobs[i].repo = &repos->v[i];
	}
	for (size_t i = 0; i < repos->n; i += TOGETHER_MAX)
		run_together(jobs + i,
			     repos->n - i < TOGETHER_MAX ? repos->n - i : TOGETHER_MAX);
	for (size_t i = 0; i < repos->n; i++) {
		if (jobs[i].rc < 0) {
			*err = jobs[i].err;
			return -1;
		}
	}
	return 0;
}

/* ---- resolve ---- */

static int resolve(struct job *j)
{
	struct ws_repo *r = j->repo;

	r->kind = ws_vcs_of(r->spec);
	r->live = !j->call.spec->snapshots.enabled;
	if ((r->live ? ws_live_resolve(&j->call, r, &j->err)
		     : r->kind->resolve(&j->call, r, &j->err)) < 0)
		return ws_fail_within(&j->err, "repo '%s'", r->spec->name);
	return 0;
}

int ws_repos_resolve(const struct ws_root *root, const struct ws_spec *spec,
		     struct ws_repos *ret, struct ws_err *err)
{
	const struct job shared = { .call = { .root = root, .spec = spec },
				    .work = resolve };

	ret->v = ws_alloc((spec->nrepos + 1) * sizeof(*ret->v));
	ret->n = spec->nrepos;
	for (size_t i = 0; i < ret->n; i++)
		ret->v[i] = (struct ws_repo){ .spec = &spec->repos[i],
					      .hold = -1,
					      .setup_hold = -1 };
	if (run_all(&shared, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->n; i++)
		for (size_t k = 0; k < ret->v[i].warnings.n; k++)
			ws_warn("%s", ret->v[i].warnings.v[k]);
	return 0;
}

/* ---- build ---- */

static int build(struct job *j)
{
	struct ws_repo *r = j->repo;

	if (r->live)
		return 0;
	if (r->kind->snapshot(&j->call, r, &j->err) < 0)
		return -1;
	return j->call.id && r->kind->own ? r->kind->own(&j->call, r, &j->err) : 0;
}

int ws_repos_build(const struct ws_root *root, const struct ws_spec *spec, const char *id,
		   struct ws_repos *repos, struct ws_err *err)
{
	const struct job shared = { .call = { .root = root, .spec = spec, .id = id },
				    .work = build };

	return run_all(&shared, repos, err);
}
