/* SPDX-License-Identifier: Apache-2.0 */
#include "core/repos.h"

#include <pthread.h>
#include <string.h>

#include "base/log.h"
#include "core/mounts.h"

#define TOGETHER_MAX 8

void ws_repos_release(struct ws_repos *repos)
{
	for (size_t i = 0; i < repos->n; i++) {
		ws_git_source_release(&repos->v[i].source);
		ws_snapshot_release(&repos->v[i].snapshot);
		ws_freep(&repos->v[i].layer);
	}
	ws_freep(&repos->v);
	repos->n = 0;
}

/* ---- side by side ---- */

/* What is done for one repo, knowing what all need. */
struct job {
	const struct ws_root *root;
	const struct ws_spec *spec;
	const char *id;
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

static bool lies_in(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(path, folder, len) && (path[len] == '/' || path[len] == '\0');
}

/*
 * An overlay over a tree that holds its own upper, or other mounts, is no snapshot of
 * it.
 */
static int check_place(const struct ws_root *root, const char *path, struct ws_err *err)
{
	WS_AUTO_FREE char *mount = NULL;
	int rc;

	if (lies_in(root->path, path)) {
		ws_fail(err, WS_REPO_UNUSABLE,
			"the state folder '%s' lies inside the repository '%s'",
			root->path, path);
		return ws_hint(
			err, "name a state folder outside of it by --root or WSISO_ROOT");
	}
	if (lies_in(path, root->path))
		return ws_fail(err, WS_REPO_UNUSABLE,
			       "the repository '%s' lies inside the state folder '%s'",
			       path, root->path);
	rc = ws_mounts_below(path, &mount, err);
	if (rc <= 0)
		return rc;
	ws_fail(err, WS_REPO_UNUSABLE, "'%s' is a mount point inside the repository '%s'",
		mount, path);
	return ws_hint(err, "unmount it, or name a clone of the repository without it");
}

static int check_setup(const struct ws_spec *spec, const struct ws_git_source *g,
		       struct ws_err *err)
{
	if (!spec->project_setup.enabled || !g->has)
		return 0;
	ws_fail(err, WS_SETUP_FAILED,
		"the revision has the setup script '%s', and running it is not built yet",
		spec->project_setup.script);
	return ws_hint(err,
		       "set \"project_setup\": {\"enabled\": false} to work without it");
}

static int resolve(struct job *j)
{
	struct ws_git_source *g = &j->repo->source;

	if (ws_git_resolve(j->repo->spec, j->spec->project_setup.script, g, &j->err) < 0)
		return -1;
	if (check_place(j->root, g->path, &j->err) < 0 ||
	    check_setup(j->spec, g, &j->err) < 0)
		return ws_fail_within(&j->err, "repo '%s'", j->repo->spec->name);
	return 0;
}

int ws_repos_resolve(const struct ws_root *root, const struct ws_spec *spec,
		     struct ws_repos *ret, struct ws_err *err)
{
	const struct job shared = { .root = root, .spec = spec, .work = resolve };

	ret->v = ws_alloc((spec->nrepos + 1) * sizeof(*ret->v));
	ret->n = spec->nrepos;
	for (size_t i = 0; i < ret->n; i++)
		ret->v[i].spec = &spec->repos[i];
	if (run_all(&shared, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->n; i++)
		for (size_t k = 0; k < ret->v[i].source.warnings.n; k++)
			ws_warn("%s", ret->v[i].source.warnings.v[k]);
	return 0;
}

/* ---- build ---- */

static int build(struct job *j)
{
	struct ws_repo *r = j->repo;

	if (ws_git_snapshot(j->root, r->spec, &r->source, &r->snapshot, &j->err) < 0)
		return -1;
	return ws_git_private(j->root, j->id, r->spec, &r->source, &r->layer, &j->err);
}

int ws_repos_build(const struct ws_root *root, const char *id, struct ws_repos *repos,
		   struct ws_err *err)
{
	const struct job shared = { .root = root, .id = id, .work = build };

	return run_all(&shared, repos, err);
}
