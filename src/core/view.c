/* SPDX-License-Identifier: Apache-2.0 */
#include "core/view.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/tree.h"
#include "core/execrec.h"
#include "core/profile.h"
#include "core/receipt.h"

#define OCI_VERSION "1.2.0"

void ws_view_release(struct ws_view *v)
{
	ws_sandbox_release(&v->sandbox);
}

int ws_view_make(const struct ws_session *s, struct ws_view *ret, struct ws_err *err)
{
	int live;

	*ret = (struct ws_view){ .session = s, .sandbox = WS_SANDBOX_INIT };
	live = ws_sandbox_peek(s, &ret->sandbox, err);
	if (live < 0)
		return -1;
	if (s->expired)
		ret->status = "expired";
	else if (!strcmp(s->status, "blocked"))
		ret->status = "blocked";
	else if (live)
		ret->status = "running";
	else if (faccessat(s->dir, "sandbox.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		ret->status = "stopped";
	else
		ret->status = "created";
	return 0;
}

static void print_repos(const struct ws_session *s, struct ws_jsonw *w)
{
	ws_jsonw_array(w, "snapshots");
	for (size_t i = 0; i < s->nrepos; i++) {
		const struct ws_session_repo *r = &s->repos[i];

		ws_jsonw_object(w, NULL);
		ws_jsonw_str(w, "repo", r->name);
		ws_jsonw_str(w, "path", r->path);
		ws_jsonw_str(w, "vcs", r->vcs);
		ws_jsonw_str(w, "revision", r->revision);
		ws_jsonw_str(w, "branch", r->branch);
		ws_jsonw_str(w, "snapshot", r->snapshot);
		ws_jsonw_str(w, "setup", r->setup);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, ']');
}

static int print_size(int dir, const char *path, const char *key, struct ws_jsonw *w,
		      struct ws_err *err)
{
	uint64_t bytes = 0;

	if (faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	    ws_tree_usage(dir, path, &bytes, NULL, err) < 0)
		return -1;
	ws_jsonw_u64(w, key, bytes);
	return 0;
}

static int print_sizes(const struct ws_session *s, struct ws_jsonw *w, struct ws_err *err)
{
	static const char *const parts[] = { "upper", "tmp", "execs" };
	const struct ws_root root = { .fd = openat(s->dir, "../..",
						   O_PATH | O_DIRECTORY | O_CLOEXEC) };
	WS_AUTO_CLOSE int fd = root.fd;
	WS_AUTO_FREE char *home = ws_session_home(&root, s);

	ws_jsonw_object(w, "sizes");
	for (size_t i = 0; i < WS_ARRAY_SIZE(parts); i++)
		if (print_size(s->dir, parts[i], parts[i], w, err) < 0)
			return -1;
	if (print_size(fd, home, "home", w, err) < 0)
		return -1;
	ws_jsonw_end(w, '}');
	return 0;
}

static void print_policy(const struct ws_view *v, struct ws_jsonw *w)
{
	WS_AUTO(ws_buf) struct ws_buf policy = WS_BUF_INIT;
	struct ws_sha256 sha;
	WS_AUTO_FREE char *digest = NULL;
	char hex[WS_SHA256_HEX];

	ws_spec_policy(&v->session->spec, &policy);
	ws_sha256_init(&sha);
	ws_sha256_update(&sha, ws_buf_str(&policy), policy.len);
	ws_sha256_hex(&sha, hex);
	digest = ws_format("sha256:%s", hex);
	ws_jsonw_str(w, "policy", digest);
}

static int print_execs(const struct ws_session *s, struct ws_jsonw *w, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv ids = WS_STRV_INIT;

	if (ws_execrec_list(s, &ids, err) < 0)
		return -1;
	ws_jsonw_strv(w, "execs", &ids);
	return 0;
}

static void print_cause(const struct ws_session *s, struct ws_jsonw *w)
{
	if (!s->cause)
		return;
	ws_jsonw_object(w, "cause");
	ws_jsonw_str(w, "kind", s->cause_kind);
	ws_jsonw_str(w, "message", s->cause);
	ws_jsonw_end(w, '}');
}

/* How the state of its parent came to it; NULL: it is nobody's child. */
static void print_fork(const struct ws_session *s, struct ws_jsonw *w)
{
	ws_jsonw_str(w, "name_of", s->name ? s->id : NULL);
	if (!s->parent || s->name) {
		ws_jsonw_null(w, "fork");
		return;
	}
	ws_jsonw_object(w, "fork");
	ws_jsonw_bool(w, "copied", s->copied);
	ws_jsonw_bool(w, "consistent", !s->torn);
	ws_jsonw_end(w, '}');
}

static int print_own(const struct ws_view *v, bool sizes, struct ws_jsonw *w,
		     struct ws_err *err)
{
	const struct ws_session *s = v->session;
	WS_AUTO_FREE char *upper = ws_format("%s/upper", s->path);

	ws_jsonw_object(w, "wsiso");
	ws_jsonw_str(w, "mode", s->launch_dir ? "host_readonly" : "overlay");
	if (s->launch_dir)
		ws_jsonw_str(w, "launch_dir", s->launch_dir);
	ws_jsonw_strv(w, "stack", &s->stack);
	print_repos(s, w);
	ws_jsonw_str(w, "upper", ws_session_is_run(s) ? NULL : upper);
	ws_jsonw_str(w, "parent", s->name ? s->id : s->parent);
	print_fork(s, w);
	ws_jsonw_str(w, "kind", ws_session_is_run(s) ? "run" : "session");
	ws_jsonw_str(w, "profile", s->profile ? s->profile : WS_PROFILE_DEFAULT);
	print_policy(v, w);
	ws_jsonw_time(w, "last_use", ws_session_last_use(s));
	ws_jsonw_str(w, "network", s->spec.sandbox.unshare_net ? "isolate" : "share");
	ws_jsonw_str(w, "hold", s->hold);
	if ((sizes && print_sizes(s, w, err) < 0) || print_execs(s, w, err) < 0)
		return -1;
	print_cause(s, w);
	if (v->sandbox.pidfd >= 0)
		ws_receipt_sandbox(w, "sandbox", s, &v->sandbox);
	ws_jsonw_end(w, '}');
	return 0;
}

int ws_view_print(const struct ws_view *v, bool sizes, struct ws_jsonw *w,
		  struct ws_err *err)
{
	const struct ws_session *s = v->session;
	WS_AUTO_JSON struct ws_json *annotations = NULL;

	if (ws_json_parse("annotations", s->spec.annotations, strlen(s->spec.annotations),
			  &annotations, err) < 0)
		return -1;
	ws_jsonw_object(w, NULL);
	ws_jsonw_str(w, "ociVersion", OCI_VERSION);
	ws_jsonw_str(w, "id", s->name ? s->name : s->id);
	ws_jsonw_str(w, "status", v->status);
	ws_jsonw_int(w, "pid", v->sandbox.pidfd >= 0 ? v->sandbox.init.pid : 0);
	ws_jsonw_str(w, "bundle", s->bundle ? s->bundle : s->path);
	ws_jsonw_time(w, "created", s->created);
	ws_jsonw_str(w, "owner", s->owner);
	ws_jsonw_value(w, "annotations", annotations);
	if (print_own(v, sizes, w, err) < 0)
		return -1;
	ws_jsonw_end(w, '}');
	return 0;
}
