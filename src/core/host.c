/* SPDX-License-Identifier: Apache-2.0 */
#include "core/host.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "core/user.h"

static const char *const top_dirs[] = {
	"bin", "sbin", "lib", "lib32", "lib64", "libx32"
};

static void look_at_dir(struct ws_host *h, const char *name)
{
	WS_AUTO_FREE char *path = ws_format("/%s", name);
	char text[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0)
		return;
	h->dirs = ws_grow(h->dirs, h->ndirs + 1, sizeof(*h->dirs));
	h->dirs[h->ndirs] = (struct ws_host_dir){ .name = ws_strdup(name) };
	if (S_ISLNK(st.st_mode) && (n = readlink(path, text, sizeof(text))) > 0)
		h->dirs[h->ndirs].link = ws_strndup(text, (size_t)n);
	h->ndirs++;
}

int ws_host_look(struct ws_host *ret, struct ws_err *err)
{
	WS_AUTO(ws_user) struct ws_user user = { 0 };
	char hostname[HOST_NAME_MAX + 1] = "";

	*ret = WS_HOST_INIT;
	if (ws_user_self(&user, err) < 0)
		return -1;
	ret->uid = user.uid;
	ret->gid = user.gid;
	ret->user = ws_steal_ptr(&user.name);
	ret->group = ws_steal_ptr(&user.group);
	ret->home = ws_steal_ptr(&user.home);
	for (size_t i = 0; i < WS_ARRAY_SIZE(top_dirs); i++)
		look_at_dir(ret, top_dirs[i]);
	if (gethostname(hostname, sizeof(hostname) - 1) < 0 || !hostname[0])
		memcpy(hostname, "localhost", sizeof("localhost"));
	ret->hostname = ws_strdup(hostname);
	ret->resolv_conf = ws_realpath("/etc/resolv.conf");
	ret->ps = ws_realpath("/usr/bin/ps");
	if (ret->ps && !ws_text_ends(ret->ps, "/ps")) /* busybox needs no help */
		ws_freep(&ret->ps);
	return 0;
}

void ws_host_source(const struct ws_root *root, const struct ws_session *s,
		    struct ws_plan_source *ret)
{
	WS_AUTO_FREE char *shared = s->home ? ws_session_home(root, s) : NULL;

	*ret = (struct ws_plan_source){
		.spec = &s->spec,
		.root = root->path,
		.folder = s->path,
		.home = shared ? ws_format("%s/%s", root->path, shared)
			       : ws_format("%s/home", s->path),
		.init = PKGLIBEXECDIR "/wsiso-init",
		/* of runs only a setup has a workspace, and that over a base */
		.stack = ws_session_is_run(s) && !s->stack.n ? NULL : &s->stack,
		.launch_dir = s->launch_dir,
	};
	for (size_t i = 0; i < s->nrepos; i++) {
		if (s->repos[i].live) {
			ws_strv_push(&ret->lives, s->repos[i].name);
			ws_strv_push(&ret->live_paths, s->repos[i].path);
		}
		if (!s->repos[i].pool)
			continue;
		ws_strv_push(&ret->repos, s->repos[i].name);
		ws_strv_push(&ret->pools, s->repos[i].pool);
	}
}

void ws_plan_source_release(struct ws_plan_source *src)
{
	ws_freep(&src->home);
	ws_strv_release(&src->repos);
	ws_strv_release(&src->pools);
	ws_strv_release(&src->lives);
	ws_strv_release(&src->live_paths);
}
