/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsonw.h"
#include "cmd/common.h"
#include "core/enter.h"
#include "core/filter.h"

/* What this build can do: a caller asks before it relies on it. */
static const struct {
	const char *name;
	bool built;
} parts[] = {
	/* a line for each */
	/* clang-format off */
	{ "overlay", true },
	{ "git", true },
	{ "tty", true },
	{ "detach", true },
	{ "setup", true },
	{ "svn", true },
	{ "plain_tree", true },
	{ "host_readonly", true },
	{ "seccomp", true },
	{ "cgroup", true },
	{ "profiles", true },
	{ "run", true },
	{ "fork", true },
	{ "diff", true },
	{ "merge", true },
	{ "export", true },
	{ "files", true },
	{ "gc", true },
	/* clang-format on */
};

/* "log" comes first: what "default" is, and what it means, is said here. */
static void print_seccomp(struct ws_jsonw *w)
{
	ws_jsonw_object(w, "seccomp");
	ws_jsonw_str(w, "machine", ws_filter_machine());
	ws_jsonw_str(w, "folder", WS_FILTER_FOLDER);
	ws_jsonw_str(w, "default", "log");
	ws_jsonw_object(w, "filters");
	for (int i = 0; i < WS_FILTERS; i++) {
		const char *sum = ws_filter_sum((enum ws_filter)i);
		WS_AUTO_FREE char *digest = sum ? ws_format("sha256:%s", sum) : NULL;

		ws_jsonw_object(w, ws_filter_name((enum ws_filter)i));
		ws_jsonw_bool(w, "refuses", i != WS_FILTER_LOG);
		ws_jsonw_str(w, "digest", digest);
		ws_jsonw_end(w, '}');
	}
	ws_jsonw_end(w, '}');
	ws_jsonw_end(w, '}');
}

static void print(struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, out, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "version", PACKAGE_VERSION);
	ws_jsonw_u64(&w, "protocol", WS_PROTOCOL);
	ws_jsonw_str(&w, "bwrap", WS_BWRAP_PATH[0] ? WS_BWRAP_PATH : NULL);
	ws_jsonw_str(&w, "libexec", PKGLIBEXECDIR);
	ws_jsonw_object(&w, "parts");
	for (size_t i = 0; i < WS_ARRAY_SIZE(parts); i++)
		ws_jsonw_bool(&w, parts[i].name, parts[i].built);
	ws_jsonw_end(&w, '}');
	print_seccomp(&w);
	ws_jsonw_array(&w, "error_kinds");
	for (int k = 0; k < WS_KIND_COUNT; k++)
		ws_jsonw_str(&w, NULL, ws_kind_name((enum ws_kind)k));
	ws_jsonw_end(&w, ']');
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}

static int features_run(const struct ws_cmd *cmd, const struct ws_global *global,
			int argc, char **argv, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv args = WS_STRV_INIT;
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	bool json = true;
	const struct ws_opt opts[] = {
		{ 0, "json", WS_OPT_FLAG, &json, NULL, "print JSON (it always is)" },
		{ 0 },
	};
	int rc = ws_cmd_options(cmd, argc, argv, opts, &args, err);

	(void)global;
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ws_cmd_count(cmd, &args, 0, 0, err) < 0)
		return -1;
	print(&out);
	return ws_out_write(&out, err);
}

const struct ws_cmd ws_cmd_features = {
	.name = "features",
	.args = "",
	.help = "describe this build as JSON",
	.npos = -1,
	.run = features_run,
	.status_of = WS_STATUS_PLAIN,
};
