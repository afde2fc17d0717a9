/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hostview.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "core/closed.h"
#include "core/cover.h"
#include "core/credentials.h"
#include "core/mount_table.h"
#include "core/user.h"

#define ANSWER_MS 3000
#define FIRST_USER 1000 /* people, not services */
#define LAST_USER 59999

void ws_hostview_release(struct ws_hostview *v)
{
	ws_plan_release(&v->covers);
	ws_plan_release(&v->late);
}

/* A folder with hidden names in it; without names: hidden itself. */
struct secret {
	char *base; /* resolved */
	struct ws_strv names;
};

struct look {
	const struct ws_session *session;
	struct ws_mount_table table;
	struct secret *secrets;
	size_t n;
	struct ws_strv answered; /* mounts that may hang, and do not */
	struct ws_cover_list places;
};

static void look_release(struct look *l)
{
	for (size_t i = 0; i < l->n; i++) {
		ws_freep(&l->secrets[i].base);
		ws_strv_release(&l->secrets[i].names);
	}
	ws_freep(&l->secrets);
	ws_strv_release(&l->answered);
	ws_cover_list_release(&l->places);
	ws_mount_table_release(&l->table);
}

static int no_answer(struct ws_err *err, const char *path)
{
	ws_fail(err, WS_HOST_UNSUPPORTED,
		"'%s' does not answer, and must be looked at to hide what is below it",
		path);
	return ws_hint(err, "look for the server of the mount there, or unmount it");
}

/* Before anything is asked about PATH: does every mount on the way to it answer? */
static int must_answer(struct look *l, const char *path, struct ws_err *err)
{
	for (size_t i = 0; i < l->table.n; i++) {
		const struct ws_mount_entry *m = &l->table.v[i];

		if (!ws_path_below(path, m->target) || !ws_mount_may_hang(m) ||
		    ws_strv_has(&l->answered, m->target))
			continue;
		if (!ws_path_answers(m->target, ANSWER_MS))
			return no_answer(err, m->target);
		ws_strv_push(&l->answered, m->target);
	}
	return 0;
}

static struct secret *add_secret(struct look *l, const char *base)
{
	l->secrets = ws_grow(l->secrets, l->n + 1, sizeof(*l->secrets));
	l->secrets[l->n] = (struct secret){ .base = ws_strdup(base) };
	return &l->secrets[l->n++];
}

/* ---- what is to be hidden ---- */

/* A resolved PATH, which may not be there: *ret NULL. */
static int resolve(struct look *l, const char *path, char **ret, struct ws_err *err)
{
	*ret = NULL;
	if (must_answer(l, path, err) < 0)
		return -1;
	*ret = ws_path_resolve(path, ANSWER_MS);
	return !*ret && errno == ETIMEDOUT ? no_answer(err, path) : 0;
}

static int add_home(struct look *l, const char *home, struct ws_err *err)
{
	WS_AUTO_FREE char *real = NULL;
	struct secret *s;

	if (resolve(l, home, &real, err) < 0)
		return -1;
	if (!real || !strcmp(real, "/"))
		return 0;
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->secrets[i].base, real))
			return 0;
	s = add_secret(l, real);
	for (size_t i = 0; i < ws_credential_count; i++)
		ws_strv_push(&s->names, ws_credentials[i].path);
	return 0;
}

/* HOME, and what passwd says; root, who reads everybody's, has everybody's. */
static int add_homes(struct look *l, struct ws_err *err)
{
	WS_AUTO(ws_user) struct ws_user user = { 0 };
	const struct passwd *pw;
	int rc = 0;

	if (ws_user_self(&user, err) < 0)
		return -1;
	if (user.host_home && add_home(l, user.host_home, err) < 0)
		return -1;
	setpwent();
	while (rc == 0 && (pw = getpwent()))
		if (pw->pw_uid == user.uid ||
		    (user.uid == 0 && pw->pw_uid >= FIRST_USER &&
		     pw->pw_uid <= LAST_USER))
			rc = add_home(l, pw->pw_dir, err);
	endpwent();
	return rc;
}

/* A resolved path: a name of a home, or hidden where it is. */
static void hide(struct look *l, const char *real)
{
	for (size_t i = 0; i < l->n; i++) {
		struct secret *s = &l->secrets[i];
		const char *rest = ws_path_below(real, s->base);

		if (!rest || !s->names.n)
			continue;
		if (*rest)
			ws_strv_push(&s->names, rest);
		else
			ws_strv_clear(&s->names); /* all of it */
		return;
	}
	add_secret(l, real);
}

/* What a link leads to is as secret as the link. */
static int follow_links(struct look *l, struct ws_err *err)
{
	size_t homes = l->n;

	for (size_t i = 0; i < homes; i++)
		for (size_t k = 0; k < l->secrets[i].names.n; k++) {
			WS_AUTO_FREE char *path = ws_format("%s/%s", l->secrets[i].base,
							    l->secrets[i].names.v[k]);
			WS_AUTO_FREE char *real = NULL;

			if (resolve(l, path, &real, err) < 0)
				return -1;
			if (real && strcmp(real, path) != 0)
				hide(l, real);
		}
	return 0;
}

static int add_masks(struct look *l, const struct ws_root *root, struct ws_err *err)
{
	const struct ws_strv *mask = &l->session->spec.host_readonly.mask;

	hide(l, root->path);
	for (size_t i = 0; i < mask->n; i++) {
		WS_AUTO_FREE char *real = NULL;

		if (resolve(l, mask->v[i], &real, err) < 0)
			return -1;
		if (!real && errno != EACCES)
			ws_warn("'host_readonly.mask' '%s' is not there: outside HOME it "
				"shows if it comes while the sandbox lives",
				mask->v[i]);
		if (real)
			hide(l, real);
		if (!real || strcmp(real, mask->v[i]) != 0)
			for (size_t k = 0; k < l->n; k++) {
				const char *rest =
					ws_path_below(mask->v[i], l->secrets[k].base);

				if (rest && *rest && l->secrets[k].names.n)
					ws_strv_push(&l->secrets[k].names, rest);
			}
	}
	return 0;
}

/* What of a home is another filesystem's has aliases of its own. */
static void add_mounted(struct look *l)
{
	size_t homes = l->n;

	for (size_t i = 0; i < homes; i++)
		for (size_t k = 0; k < l->secrets[i].names.n; k++) {
			WS_AUTO_FREE char *path = ws_format("%s/%s", l->secrets[i].base,
							    l->secrets[i].names.v[k]);
			const struct ws_mount_entry *m =
				ws_mount_table_at(&l->table, path);
			const char *rest =
				m ? ws_path_below(m->target, l->secrets[i].base) : NULL;

			if (rest && *rest && !ws_mount_may_hang(m) &&
			    faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
				add_secret(l, path);
		}
}

/* ---- where it shows ---- */

/* A place on the host as it appears inside; NULL: it does not. */
static char *place_inside(const struct look *l, const char *path)
{
	static const char *const gone[] = { "/run", "/dev", "/proc" };
	const char *rest = ws_path_below(path, "/tmp");

	for (size_t i = 0; i < WS_ARRAY_SIZE(gone); i++)
		if (ws_path_below(path, gone[i]))
			return NULL;
	if (!rest)
		return ws_strdup(path);
	if (!l->session->spec.host_readonly.expose_host_tmp)
		return NULL;
	return *rest ? ws_format("/tmp/host/%s", rest) : ws_strdup("/tmp/host");
}

/* NAMES below REST: those that begin with it. A name that is REST, or above it: all. */
static bool names_below(const struct ws_strv *names, const char *rest,
			struct ws_strv *ret, bool *ret_all)
{
	*ret_all = names->n == 0;
	for (size_t i = 0; i < names->n; i++) {
		const char *below =
			*rest ? ws_path_below(names->v[i], rest) : names->v[i];

		if (ws_path_below(rest, names->v[i]) && *names->v[i] && *rest)
			*ret_all = true;
		else if (below)
			ws_strv_push(ret, below);
	}
	return *ret_all || ret->n;
}

/* The files at BASE/REST are to be seen at PATH too, if that is the same thing. */
static int add_place(struct look *l, const struct secret *s, const char *rest,
		     const char *path, struct ws_err *err)
{
	WS_AUTO_FREE char *original =
		*rest ? ws_format("%s/%s", s->base, rest) : ws_strdup(s->base);
	WS_AUTO_FREE char *inside = place_inside(l, path);
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;
	struct stat a, b;
	bool all;

	if (!inside || !names_below(&s->names, rest, &names, &all))
		return 0;
	if (must_answer(l, path, err) < 0)
		return -1;
	if (lstat(original, &a) < 0 || lstat(path, &b) < 0 || a.st_ino != b.st_ino ||
	    a.st_dev != b.st_dev)
		return 0;
	if (all)
		ws_strv_clear(&names);
	ws_cover_list_add(&l->places, path, inside, &names, S_ISDIR(b.st_mode));
	return 0;
}

static char *join(const char *dir, const char *rest)
{
	if (!*rest)
		return ws_strdup(dir);
	return ws_format("%s/%s", strcmp(dir, "/") ? dir : "", rest);
}

/* All mounts of the filesystem that show it, or a part of it. */
static int find_places(struct look *l, const struct secret *s, struct ws_err *err)
{
	const struct ws_mount_entry *m = ws_mount_table_at(&l->table, s->base);
	WS_AUTO_FREE char *within =
		m ? join(m->root, ws_path_below(s->base, m->target)) : NULL;

	if (!m)
		return ws_fail(err, WS_INTERNAL, "'%s' is in no mount", s->base);
	for (size_t i = 0; i < l->table.n; i++) {
		const struct ws_mount_entry *other = &l->table.v[i];
		const char *down = ws_path_below(within, other->root);
		const char *up = ws_path_below(other->root, within);
		WS_AUTO_FREE char *path = NULL;

		if (strcmp(other->device, m->device) != 0 || (!down && !up))
			continue;
		path = down ? join(other->target, down) : ws_strdup(other->target);
		if (add_place(l, s, down ? "" : up, path, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- the launch folder ---- */

static int refuse_dir(struct ws_err *err, const char *dir, const char *why,
		      const char *hint)
{
	ws_fail(err, WS_SPEC_INVALID, "'%s' cannot be the launch folder: %s", dir, why);
	return ws_hint(err, "%s", hint);
}

int ws_launch_dir(const struct ws_root *root, const struct ws_spec *spec, char **ret,
		  struct ws_err *err)
{
	static const char *const own[] = { "/run", "/dev", "/proc", "/sys", "/tmp/host" };
	const char *hint = "name another as host_readonly.launch_dir";
	const char *given = spec->host_readonly.launch_dir;
	WS_AUTO_FREE char *dir = NULL;
	struct stat st;

	if (given && !ws_path_answers(given, ANSWER_MS))
		return refuse_dir(err, given, "it does not answer", hint);
	dir = ws_realpath(given ? given : ".");
	if (!dir || stat(dir, &st) < 0 || faccessat(AT_FDCWD, dir, X_OK, AT_EACCESS) < 0)
		return refuse_dir(err, given ? given : ".", strerror(errno), hint);
	if (!S_ISDIR(st.st_mode))
		return refuse_dir(err, dir, "it is no folder", hint);
	for (size_t i = 0; i < WS_ARRAY_SIZE(own); i++)
		if (ws_path_below(dir, own[i]))
			return refuse_dir(err, dir, "inside this is another", hint);
	if (!strcmp(dir, "/tmp"))
		return refuse_dir(err, dir, "inside this is another", hint);
	if (ws_path_below(dir, root->path))
		return refuse_dir(err, dir, "it is in the state folder, which is hidden",
				  hint);
	if (spec->host_readonly.scratch_overlay && ws_path_below(root->path, dir))
		return refuse_dir(
			err, dir,
			"the state folder is in it, where its scratch copy is kept",
			"name a folder without it, move the state folder (--root), "
			"or set host_readonly.scratch_overlay to false");
	*ret = ws_steal_ptr(&dir);
	return 0;
}

/* In a user namespace overlayfs takes no folder in which something is mounted. */
static int check_mounts(const struct look *l, struct ws_err *err)
{
	const char *dir = l->session->launch_dir;

	for (size_t i = 0; i < l->table.n; i++) {
		const char *rest = ws_path_below(l->table.v[i].target, dir);

		if (!rest || !*rest)
			continue;
		ws_fail(err, WS_SPEC_INVALID,
			"'%s' cannot be the launch folder: '%s' is mounted in it, and its "
			"scratch overlay cannot hold that",
			dir, l->table.v[i].target);
		return ws_hint(err, "name a folder without mounts, or set "
				    "host_readonly.scratch_overlay to false");
	}
	return 0;
}

static int look_around(struct look *l, const struct ws_root *root, struct ws_err *err)
{
	if (ws_mount_table_read("/proc/self/mountinfo", &l->table, err) < 0 ||
	    must_answer(l, root->path, err) < 0 ||
	    must_answer(l, l->session->launch_dir, err) < 0 || add_homes(l, err) < 0)
		return -1;
	if (follow_links(l, err) < 0 || add_masks(l, root, err) < 0)
		return -1;
	add_mounted(l);
	for (size_t i = 0; i < l->n; i++)
		if (find_places(l, &l->secrets[i], err) < 0)
			return -1;
	return 0;
}

int ws_hostview_look(const struct ws_root *root, const struct ws_session *s,
		     struct ws_hostview *ret, struct ws_err *err)
{
	__attribute__((cleanup(look_release))) struct look l = { .session = s };
	const bool scratch = s->spec.host_readonly.scratch_overlay;
	bool over;

	*ret = (struct ws_hostview){ 0 };
	if (!s->launch_dir)
		return ws_fail(err, WS_STATE_CORRUPT,
			       "session '%s' has no launch folder on record", s->id);
	if (look_around(&l, root, err) < 0)
		return -1;
	if (scratch && check_mounts(&l, err) < 0)
		return -1;
	over = scratch || ws_path_below(s->launch_dir, "/tmp");
	if (ws_cover_list_plan(&l.places, &l.table, s->launch_dir, over, &ret->covers,
			       &ret->late, err) < 0)
		return -1;
	return ws_closed_cover(s->launch_dir, over, &ret->covers, &ret->late, err);
}
