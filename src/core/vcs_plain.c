/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain folder as a base layer. It has no revision: its digest (plain_tree.h) stands in
 * for one, so that sessions over an unchanged folder share a snapshot.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "core/drift.h"
#include "core/keyed.h"
#include "core/layer.h"
#include "core/plain_freeze.h"
#include "core/plain_tree.h"
#include "core/vcs.h"

#define REVISION_LEN 40
#define NAMES_SHOWN 5
#define TRIES 5

/* The snapshot that is made of it. */
struct make {
	const struct ws_vcs_call *call;
	struct ws_repo *r;
	int tmp; /* the state folder's, where clones are tried out */
};

static struct ws_plain_tree *tree_of(const struct ws_repo *r)
{
	return r->source;
}

/* ---- resolve ---- */

static void warn_left_out(struct ws_repo *r, const struct ws_strv *names,
			  const char *what)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;

	if (!names->n)
		return;
	for (size_t i = 0; i < names->n && i < NAMES_SHOWN; i++)
		ws_buf_addf(&text, "%s'%s'", i ? ", " : "", names->v[i]);
	if (names->n > NAMES_SHOWN)
		ws_buf_addf(&text, " and %zu more", names->n - NAMES_SHOWN);
	ws_strv_addf(&r->warnings, "repo '%s': left out, since %s: %s", r->spec->name,
		     what, ws_buf_str(&text));
}

static int look(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err)
{
	WS_AUTO_CLOSE int tmp = ws_root_dir(call->root, "tmp", err);
	char digest[WS_SHA256_HEX];

	if (tmp < 0)
		return -1;
	ws_plain_tree_release(tree_of(r));
	*tree_of(r) = WS_PLAIN_TREE_INIT;
	if (ws_plain_tree_look(r->path, tmp, call->root->fd, call->spec->snapshots.copy,
			       tree_of(r), err) < 0)
		return -1;
	ws_plain_tree_digest(tree_of(r), digest);
	ws_freep(&r->revision);
	r->revision = ws_strndup(digest, REVISION_LEN);
	return 0;
}

static int check_spec(const struct ws_spec_repo *repo, struct ws_err *err)
{
	if (!repo->revision && !repo->branch)
		return 0;
	ws_fail(err, WS_REPO_UNUSABLE,
		"'%s' is a plain folder: it has no revision and no branch", repo->path);
	return ws_hint(err, "leave out 'revision' and 'branch'");
}

static bool has_file(const struct ws_plain_tree *t, const char *path)
{
	struct stat st;

	return fstatat(t->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int resolve(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err)
{
	struct ws_plain_tree *t = ws_alloc(sizeof(*t));

	*t = WS_PLAIN_TREE_INIT;
	r->source = t;
	if (check_spec(r->spec, err) < 0)
		return -1;
	r->path = ws_realpath(r->spec->path);
	if (!r->path)
		return ws_fail(err, WS_REPO_UNUSABLE, "there is no folder '%s': %m",
			       r->spec->path);
	if (ws_vcs_check_place(call->root, r->path, err) < 0 || look(call, r, err) < 0)
		return -1;
	r->has_setup = has_file(t, call->spec->project_setup.script);
	warn_left_out(r, &t->special, "it is no file, folder or link");
	warn_left_out(r, &t->unreadable, "it cannot be read");
	return 0;
}

/* ---- snapshot ---- */

static int write_linked(int dir, const struct ws_buf *linked, struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = -1;

	if (!linked->len)
		return 0;
	fd = openat(dir, WS_DRIFT_FILE,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || ws_write_all(fd, linked->data, linked->len) < 0)
		return ws_fail_errno(err, "write '" WS_DRIFT_FILE "'");
	return 0;
}

/*
 * A second look must show what the first one did: then all that was copied is of one
 * time.
 */
static int check_unchanged(const struct make *m, struct ws_err *err)
{
	WS_AUTO(ws_plain_tree) struct ws_plain_tree now = WS_PLAIN_TREE_INIT;
	char digest[WS_SHA256_HEX];

	if (ws_plain_tree_look(m->r->path, m->tmp, m->call->root->fd,
			       m->call->spec->snapshots.copy, &now, err) < 0)
		return -1;
	ws_plain_tree_digest(&now, digest);
	if (!strncmp(digest, m->r->revision, REVISION_LEN))
		return 0;
	return ws_fail(err, WS_STALE, "'%s' changed while it was copied", m->r->path);
}

static int fill(struct ws_snapshot_maker *maker, const struct ws_scratch *layers,
		int lock, struct ws_err *err)
{
	const struct make *m = maker->data;
	WS_AUTO_FREE char *below = ws_format("root/%s", m->r->spec->name);
	WS_AUTO(ws_buf) struct ws_buf linked = WS_BUF_INIT;

	(void)lock;
	if (ws_plain_freeze(tree_of(m->r), layers[0].fd, below,
			    m->call->spec->snapshots.copy, &linked, err) < 0 ||
	    write_linked(layers[0].fd, &linked, err) < 0)
		return -1;
	return check_unchanged(m, err);
}

static void describe(struct ws_repo *r)
{
	char hex[WS_SHA256_HEX];
	struct ws_sha256 sum;

	ws_sha256_init(&sum);
	ws_sha256_field(&sum, "plain snapshot 1");
	ws_sha256_field(&sum, r->path);
	ws_sha256_field(&sum, r->spec->name);
	ws_sha256_field(&sum, r->revision);
	ws_sha256_hex(&sum, hex);
	ws_snapshot_release(&r->snapshot);
	r->snapshot = (struct ws_snapshot){ .key = ws_strndup(hex, WS_KEY_LEN),
					    .repo = ws_strdup(r->path),
					    .name = ws_strdup(r->spec->name),
					    .vcs = ws_strdup("none"),
					    .revision = ws_strdup(r->revision) };
}

static int obtain(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err)
{
	WS_AUTO_CLOSE int tmp = ws_root_dir(call->root, "tmp", err);
	struct make make = { .call = call, .r = r, .tmp = tmp };
	struct ws_snapshot_maker m = { .sorts = { &WS_LAYER_BASE },
				       .fill = fill,
				       .data = &make };

	if (tmp < 0)
		return -1;
	for (int i = 0; i < TRIES; i++) {
		describe(r);
		if (ws_vcs_obtain(call, &m, r, err) == 0)
			return 0;
		if (err->kind != WS_STALE || look(call, r, err) < 0)
			return -1;
	}
	ws_fail(err, WS_REPO_UNUSABLE, "'%s' keeps changing while it is copied", r->path);
	return ws_hint(err, "try again when nothing writes there, or name a copy of it");
}

static int snapshot(const struct ws_vcs_call *call, struct ws_repo *r, struct ws_err *err)
{
	if (obtain(call, r, err) == 0)
		return 0;
	return ws_fail_within(err, "snapshot of '%s'", r->spec->name);
}

static void release(void *source)
{
	ws_plain_tree_release(source);
	free(source);
}

const struct ws_vcs_kind ws_vcs_plain = {
	.word = "none",
	.vcs = WS_VCS_NONE,
	.resolve = resolve,
	.snapshot = snapshot,
	.release = release,
};
