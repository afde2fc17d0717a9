/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spec_fields.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define AT(member) .at = offsetof(struct ws_spec, member)
#define REPO(member) .at = offsetof(struct ws_spec_repo, member)
#define BIND(member) .at = offsetof(struct ws_spec_bind, member)
#define RANGE(low, high) .min = (low), .max = (high)
#define SECURITY .flags = WS_KEY_SECURITY
#define COMMAND .flags = WS_KEY_SECURITY | WS_KEY_COMMAND
#define LONGEST 3153600000.0		 /* seconds: a century */
#define MOST_BYTES 1152921504606846976.0 /* 1 EiB */

const struct ws_spec_field WS_SPEC_FIELDS[] = {
	{ "strict", WS_KEY_BOOL, SECURITY, .when = WS_WHEN_USE, AT(strict),
	  .def = "false", .tighter = WS_TIGHTER_TRUE,
	  .help = "Makes every unknown key an error" },
	{ "allow_root", WS_KEY_BOOL, .flags = WS_KEY_ROOT_ONLY | WS_KEY_SECURITY,
	  .when = WS_WHEN_USE, AT(allow_root), .def = "false",
	  .help = "Lets uid 0 run sandboxes, for containers; otherwise it is refused" },
	{ "enabled", WS_KEY_BOOL, .when = WS_WHEN_USE, AT(enabled), .def = "true",
	  .help = "If false, create, exec and run refuse; nothing ever runs on the host instead" },
	{ "mode", WS_KEY_ENUM, .flags = WS_KEY_FALLBACK, .when = WS_WHEN_CREATE, AT(mode),
	  .words = { "overlay", "host_readonly" }, .def = "\"overlay\"",
	  .help = "A workspace of its own over snapshots, or the host's files read-only" },

	{ "repos", WS_KEY_ITEMS, .when = WS_WHEN_CREATE, AT(repos),
	  .count = offsetof(struct ws_spec, nrepos), .size = sizeof(struct ws_spec_repo),
	  RANGE(0, 256), .def = "[]", .help = "What appears below /workspace" },
	{ "repos[].name", WS_KEY_TEXT, .when = WS_WHEN_CREATE, REPO(name),
	  .rule = &WS_RULE_NAME, .def = "null",
	  .help = "It appears at /workspace/NAME; null: the last part of its path" },
	{ "repos[].path", WS_KEY_TEXT, .flags = WS_KEY_NEED, .when = WS_WHEN_CREATE,
	  REPO(path), .rule = &WS_RULE_SOURCE, .def = "null",
	  .help = "Where it is on the host; of Subversion also its URL" },
	{ "repos[].vcs", WS_KEY_ENUM, .when = WS_WHEN_CREATE, REPO(vcs),
	  .words = { "auto", "git", "svn", "none" }, .def = "\"auto\"",
	  .help = "What keeps its history; auto looks; none: a plain folder" },
	{ "repos[].revision", WS_KEY_TEXT, .when = WS_WHEN_CREATE, REPO(revision),
	  .rule = &WS_RULE_REVISION, .def = "null",
	  .help = "What the session starts from; null: what is checked out on the host" },
	{ "repos[].branch", WS_KEY_TEXT, .when = WS_WHEN_CREATE, REPO(branch),
	  .rule = &WS_RULE_BRANCH, .def = "null",
	  .help = "A branch that is made at the revision, or switched to if it is there already; "
		  "without a revision the session starts from its tip, and a revision that "
		  "differs from its tip is refused" },

	{ "workspace_ttl", WS_KEY_U64, .when = WS_WHEN_SHARED, AT(workspace_ttl),
	  RANGE(1, LONGEST), .def = "86400",
	  .help = "Seconds after its last session ended at which a snapshot goes" },
	{ "persistent_home", WS_KEY_BOOL, .when = WS_WHEN_START, AT(persistent_home),
	  .def = "true",
	  .help = "Keeps one HOME for the session; false: an empty tmpfs for each command" },
	{ "session_tmp", WS_KEY_BOOL, .when = WS_WHEN_START, AT(session_tmp),
	  .def = "true",
	  .help = "Keeps one /tmp for the session (overlay mode); false: a fresh, bounded "
		  "tmpfs for each command" },
	{ "subagent_isolation", WS_KEY_ENUM, .flags = WS_KEY_FALLBACK,
	  .when = WS_WHEN_CREATE, AT(subagent_isolation),
	  .words = { "shared", "isolated" }, .def = "\"shared\"",
	  .help = "Whether a child session is a second name for its parent or has an overlay "
		  "of its own" },

	{ "sandbox", WS_KEY_SECTION, SECURITY, .when = WS_WHEN_START,
	  .help = "How commands are confined" },
	{ "sandbox.unshare_net", WS_KEY_BOOL, SECURITY, .when = WS_WHEN_START,
	  AT(sandbox.unshare_net), .def = "true", .tighter = WS_TIGHTER_TRUE,
	  .help = "No network inside but a loopback that the session's commands share" },
	{ "sandbox.unshare_uts", WS_KEY_BOOL, SECURITY, .when = WS_WHEN_START,
	  AT(sandbox.unshare_uts), .def = "false", .tighter = WS_TIGHTER_TRUE,
	  .help = "A host name of its own; on by itself when hostname is set" },
	{ "sandbox.unshare_cgroup", WS_KEY_BOOL, SECURITY, .when = WS_WHEN_START,
	  AT(sandbox.unshare_cgroup), .def = "false", .tighter = WS_TIGHTER_TRUE,
	  .help = "A cgroup namespace of its own" },
	{ "sandbox.hostname", WS_KEY_TEXT, SECURITY, .when = WS_WHEN_START,
	  AT(sandbox.hostname), .rule = &WS_RULE_HOSTNAME, .def = "null",
	  .tighter = WS_TIGHTER_SET, .help = "The host name inside; null: the host's" },
	{ "sandbox.new_session", WS_KEY_BOOL, COMMAND, .when = WS_WHEN_START,
	  AT(sandbox.new_session), .def = "false", .tighter = WS_TIGHTER_TRUE,
	  .help = "Makes each command the leader of a session (setsid) of its own, as one with a "
		  "terminal always is; the caller's terminal is never shared, "
		  "whatever this says" },
	{ "sandbox.seccomp", WS_KEY_ENUM, SECURITY, .when = WS_WHEN_START,
	  AT(sandbox.seccomp), .words = { "default", "log", "enforce", "off" },
	  .def = "\"default\"", .tighter = WS_TIGHTER_RANK, .rank = { 1, 1, 2, 0 },
	  .help = "The system call filter: log records and allows, enforce refuses; default "
		  "is log" },
	{ "sandbox.env_mode", WS_KEY_ENUM, COMMAND, .when = WS_WHEN_START,
	  AT(sandbox.env_mode), .words = { "minimal", "inherit_all" },
	  .def = "\"minimal\"", .tighter = WS_TIGHTER_RANK, .rank = { 1, 0 },
	  .help = "What commands see of the caller's environment: minimal gives them PATH, HOME, "
		  "USER, LOGNAME, SHELL, LANG, TERM, TZ, TMPDIR and no more" },
	{ "sandbox.inherit_env_vars", WS_KEY_LIST, COMMAND, .when = WS_WHEN_START,
	  AT(sandbox.inherit_env_vars), RANGE(0, 1024), .rule = &WS_RULE_ENV_NAME,
	  .def = "[]", .tighter = WS_TIGHTER_FEWER,
	  .help = "The caller's variables that are passed on in env_mode minimal" },
	{ "sandbox.allowed_env_vars", WS_KEY_LIST,
	  .flags = WS_KEY_COMMAND | WS_KEY_DEPRECATED, .when = WS_WHEN_START,
	  AT(sandbox.allowed_env_vars), RANGE(0, 1024), .rule = &WS_RULE_ENV_NAME,
	  .def = "[]", .instead = "sandbox.inherit_env_vars",
	  .help = "An older name of inherit_env_vars; if both are given they are joined" },
	{ "sandbox.deny_env_vars", WS_KEY_LIST, COMMAND, .when = WS_WHEN_START,
	  AT(sandbox.deny_env_vars), RANGE(0, 1024), .rule = &WS_RULE_ENV_NAME,
	  .def = "[]", .tighter = WS_TIGHTER_MORE,
	  .help = "The caller's variables that are never passed on" },
	{ "sandbox.clearenv", WS_KEY_BOOL,
	  .flags = WS_KEY_SECURITY | WS_KEY_COMMAND | WS_KEY_DEPRECATED,
	  .when = WS_WHEN_START, AT(sandbox.clearenv), .def = "true",
	  .instead = "sandbox.env_mode",
	  .help = "False means env_mode inherit_all where env_mode is not given" },

	{ "integration", WS_KEY_SECTION, .when = WS_WHEN_USE,
	  .help = "How the work of an isolated child comes back" },
	{ "integration.enabled", WS_KEY_BOOL, .when = WS_WHEN_USE,
	  AT(integration.enabled), .def = "true", .help = "If false, merge refuses" },
	{ "integration.auto_commit", WS_KEY_BOOL, .when = WS_WHEN_USE,
	  AT(integration.auto_commit), .def = "true",
	  .help = "Commits what a child left uncommitted as Codumentor <codumentor@local>" },
	{ "integration.ai_merge", WS_KEY_BOOL, .when = WS_WHEN_USE,
	  AT(integration.ai_merge), .def = "true",
	  .help = "Calls the resolver, where there is one, for each conflict" },
	{ "integration.resolver", WS_KEY_LIST, .when = WS_WHEN_USE,
	  AT(integration.resolver), RANGE(0, 1024), .rule = &WS_RULE_TEXT, .def = "[]",
	  .help = "Program, an absolute path, and arguments, run on the host, that "
		  "resolve one conflict; see wsiso-merge(1)" },

	{ "snapshots", WS_KEY_SECTION, .when = WS_WHEN_CREATE,
	  .help = "What a session is based on, and how long things are kept" },
	{ "snapshots.enabled", WS_KEY_BOOL, .when = WS_WHEN_CREATE, AT(snapshots.enabled),
	  .def = "true",
	  .help = "Freezes the base when the session is made; false: the live folder shows "
		  "through, and what later edits of the host do is undefined" },
	{ "snapshots.shared", WS_KEY_BOOL, .when = WS_WHEN_CREATE, AT(snapshots.shared),
	  .def = "true",
	  .help = "Sessions at one revision share its snapshot; false: each has its own" },
	{ "snapshots.upper_dir_ttl", WS_KEY_U64, .when = WS_WHEN_USE,
	  AT(snapshots.upper_dir_ttl), RANGE(1, LONGEST), .def = "2592000",
	  .help = "Seconds without use after which a session's edits go for good" },
	{ "snapshots.cleanup_interval", WS_KEY_U64, .when = WS_WHEN_SHARED,
	  AT(snapshots.cleanup_interval), RANGE(0, LONGEST), .def = "3600",
	  .help = "Seconds between two runs of gc --if-due; 0: never by itself" },
	{ "snapshots.min_free_gb", WS_KEY_DOUBLE, .when = WS_WHEN_SHARED,
	  AT(snapshots.min_free_gb), RANGE(0, 1048576), .def = "5",
	  .help = "Below this much free space wsiso warns, and unused snapshots go, oldest "
		  "first; 0: off" },
	{ "snapshots.copy", WS_KEY_ENUM, .when = WS_WHEN_CREATE, AT(snapshots.copy),
	  .words = { "auto", "reflink", "hardlink", "copy" }, .def = "\"auto\"",
	  .help = "How a plain folder is frozen; auto: reflinks where the filesystem has them, "
		  "else hard links, which do not stop a write in place" },

	{ "project_setup", WS_KEY_SECTION, .when = WS_WHEN_CREATE,
	  .help = "The script that makes a repo ready to work in" },
	{ "project_setup.enabled", WS_KEY_BOOL, .when = WS_WHEN_CREATE,
	  AT(project_setup.enabled), .def = "true",
	  .help = "Runs the script, inside a sandbox, on first use and keeps what it made as a "
		  "read-only layer" },
	{ "project_setup.auto_build", WS_KEY_BOOL, .when = WS_WHEN_CREATE,
	  AT(project_setup.auto_build), .def = "true",
	  .help = "Lets snapshot create --setup run it ahead of the first session" },
	{ "project_setup.script", WS_KEY_TEXT, .when = WS_WHEN_CREATE,
	  AT(project_setup.script), .rule = &WS_RULE_INSIDE,
	  .def = "\".codumentor/setup.sh\"",
	  .help = "The script, in the repo; taken from its committed base, never from edits" },
	{ "project_setup.inputs", WS_KEY_LIST, .when = WS_WHEN_CREATE,
	  AT(project_setup.inputs), RANGE(0, 1024), .rule = &WS_RULE_INSIDE, .def = "[]",
	  .help = "Files of the repo whose contents decide whether an earlier result is good; "
		  "none: the whole snapshot" },
	{ "project_setup.network", WS_KEY_ENUM, SECURITY, .when = WS_WHEN_CREATE,
	  AT(project_setup.network), .words = { "share", "isolate" },
	  .def = "\"isolate\"", .tighter = WS_TIGHTER_RANK, .rank = { 0, 1 },
	  .help = "Whether the script has the host's network" },
	{ "project_setup.timeout_s", WS_KEY_U64, .when = WS_WHEN_CREATE,
	  AT(project_setup.timeout_s), RANGE(1, LONGEST), .def = "600",
	  .help = "Seconds that the script of one repo may take" },
	{ "project_setup.cache_budget_bytes", WS_KEY_U64, .when = WS_WHEN_SHARED,
	  AT(project_setup.cache_budget_bytes), RANGE(0, MOST_BYTES), .def = "5368709120",
	  .help = "Bytes of kept results for one repo" },
	{ "project_setup.failed_ttl_s", WS_KEY_U64, .when = WS_WHEN_SHARED,
	  AT(project_setup.failed_ttl_s), RANGE(0, LONGEST), .def = "86400",
	  .help = "Seconds for which a failure is remembered" },

	{ "host_readonly", WS_KEY_SECTION, SECURITY, .when = WS_WHEN_START,
	  .help = "What mode host_readonly shows" },
	{ "host_readonly.launch_dir", WS_KEY_TEXT, SECURITY, .when = WS_WHEN_CREATE,
	  AT(host_readonly.launch_dir), .rule = &WS_RULE_PATH, .def = "null",
	  .tighter = WS_TIGHTER_SAME,
	  .help = "The folder to work in; null: where the caller is" },
	{ "host_readonly.mask", WS_KEY_LIST, SECURITY, .when = WS_WHEN_START,
	  AT(host_readonly.mask), RANGE(0, 1024), .rule = &WS_RULE_CLEAN_PATH,
	  .def = "[]", .tighter = WS_TIGHTER_MORE,
	  .help = "Further folders and files to hide" },
	{ "host_readonly.scratch_overlay", WS_KEY_BOOL, SECURITY, .when = WS_WHEN_START,
	  AT(host_readonly.scratch_overlay), .def = "true", .tighter = WS_TIGHTER_FALSE,
	  .help = "Makes the launch folder writable; what is written goes with the session" },
	{ "host_readonly.expose_host_tmp", WS_KEY_BOOL, SECURITY, .when = WS_WHEN_START,
	  AT(host_readonly.expose_host_tmp), .def = "true", .tighter = WS_TIGHTER_FALSE,
	  .help = "Shows the host's /tmp, read-only, at /tmp/host" },
	{ "host_readonly.unshare_pid", WS_KEY_BOOL, SECURITY, .when = WS_WHEN_START,
	  AT(host_readonly.unshare_pid), .def = "false", .tighter = WS_TIGHTER_TRUE,
	  .help = "Hides the host's processes; none can be signalled either way" },
	{ "host_readonly.network", WS_KEY_ENUM,
	  .flags = WS_KEY_SECURITY | WS_KEY_FALLBACK, .when = WS_WHEN_START,
	  AT(host_readonly.network), .words = { "share", "isolate", "ask" },
	  .def = "\"ask\"", .tighter = WS_TIGHTER_RANK, .rank = { 0, 2, 1 },
	  .help = "The host's network, none, or what the user says once per session; no answer: "
		  "none" },

	{ "linger_s", WS_KEY_U64, .flags = WS_KEY_ROOT_ONLY, .when = WS_WHEN_USE,
	  AT(linger_s), RANGE(0, LONGEST), .def = "300",
	  .help = "Seconds for which an idle sandbox is kept" },
	{ "max_idle", WS_KEY_U64, .flags = WS_KEY_ROOT_ONLY, .when = WS_WHEN_USE,
	  AT(max_idle), RANGE(0, 65536), .def = "32",
	  .help = "How many idle sandboxes are kept" },

	{ "limits", WS_KEY_SECTION, SECURITY, .when = WS_WHEN_START,
	  .help = "What commands may use; null: no limit of wsiso's" },
	{ "limits.memory_max", WS_KEY_U64, SECURITY, .when = WS_WHEN_START,
	  AT(limits.memory_max), RANGE(1048576, MOST_BYTES), .def = "null",
	  .tighter = WS_TIGHTER_LESS,
	  .help = "Bytes of memory for the whole session, swap and its tmpfs included (cgroup)" },
	{ "limits.pids_max", WS_KEY_U64, SECURITY, .when = WS_WHEN_START,
	  AT(limits.pids_max), RANGE(1, 4194304), .def = "null",
	  .tighter = WS_TIGHTER_LESS,
	  .help = "Processes and threads of the whole session (cgroup); wsiso's own take two and two "
		  "more for each command" },
	{ "limits.cpu_max", WS_KEY_DOUBLE, SECURITY, .when = WS_WHEN_START,
	  AT(limits.cpu_max), RANGE(0.01, 65536), .def = "null",
	  .tighter = WS_TIGHTER_LESS,
	  .help = "CPUs' worth of time for the whole session (cgroup)" },
	{ "limits.file_size_max", WS_KEY_U64, COMMAND, .when = WS_WHEN_START,
	  AT(limits.file_size_max), RANGE(1, MOST_BYTES), .def = "null",
	  .tighter = WS_TIGHTER_LESS,
	  .help = "Bytes that one file may grow to (RLIMIT_FSIZE)" },
	{ "limits.open_files", WS_KEY_U64, COMMAND, .when = WS_WHEN_START,
	  AT(limits.open_files), RANGE(8, 1073741816), .def = "null",
	  .tighter = WS_TIGHTER_LESS,
	  .help = "Descriptors that one process may have (RLIMIT_NOFILE)" },
	{ "limits.tmp_size", WS_KEY_U64, SECURITY, .when = WS_WHEN_START,
	  AT(limits.tmp_size), RANGE(65536, MOST_BYTES), .def = "null",
	  .tighter = WS_TIGHTER_LESS,
	  .help = "Bytes of each tmpfs; null: bounded all the same" },
	{ "limits.timeout_s", WS_KEY_DOUBLE, COMMAND, .when = WS_WHEN_START,
	  AT(limits.timeout_s), RANGE(0.001, LONGEST), .def = "null",
	  .tighter = WS_TIGHTER_LESS, .help = "Seconds that one command may take" },

	{ "binds", WS_KEY_ITEMS, SECURITY, .when = WS_WHEN_START, AT(binds),
	  .count = offsetof(struct ws_spec, nbinds), .size = sizeof(struct ws_spec_bind),
	  RANGE(0, 256), .def = "[]", .tighter = WS_TIGHTER_BINDS,
	  .help = "Further files and folders of the host that appear inside" },
	{ "binds[].source", WS_KEY_TEXT, .flags = WS_KEY_SECURITY | WS_KEY_NEED,
	  .when = WS_WHEN_START, BIND(source), .rule = &WS_RULE_CLEAN_PATH, .def = "null",
	  .help = "The folder on the host, or a file that is only read; see BINDS" },
	{ "binds[].target", WS_KEY_TEXT, .flags = WS_KEY_SECURITY | WS_KEY_NEED,
	  .when = WS_WHEN_START, BIND(target), .rule = &WS_RULE_CLEAN_PATH, .def = "null",
	  .help = "Where it appears inside: a place that nothing else has, in nothing that "
		  "commands can write" },
	{ "binds[].writable", WS_KEY_BOOL, SECURITY, .when = WS_WHEN_START,
	  BIND(writable), .def = "false", .help = "Whether commands may write to it" },

	{ "profiles", WS_KEY_PROFILES, SECURITY, .when = WS_WHEN_START, AT(profiles),
	  .def = "{}", .tighter = WS_TIGHTER_PROFILES,
	  .help = "By name of a profile: what it changes of sandbox, limits and binds" },
	{ "floor", WS_KEY_FLOOR, .flags = WS_KEY_SECURITY | WS_KEY_ROOT_ONLY,
	  .when = WS_WHEN_USE, AT(floor), .def = "null",
	  .help = "Protections, in the form of a spec, that a session can only tighten" },
	{ "annotations", WS_KEY_STRINGS, .when = WS_WHEN_CREATE, AT(annotations),
	  .def = "{}", .help = "The caller's own notes, shown by state" },

	{ "bwrap", WS_KEY_SECTION, .flags = WS_KEY_ROOT_ONLY, .when = WS_WHEN_USE,
	  .help = "The program that makes sandboxes" },
	{ "bwrap.path", WS_KEY_TEXT, .flags = WS_KEY_ROOT_ONLY, .when = WS_WHEN_USE,
	  AT(bwrap_path), .rule = &WS_RULE_CLEAN_PATH, .def = "null",
	  .help = "Its file; null: the one set at build time, /usr/bin/bwrap or "
		  "/usr/local/bin/bwrap; never from PATH" },
	{ "workspace_base", WS_KEY_TEXT, .flags = WS_KEY_ROOT_ONLY, .when = WS_WHEN_USE,
	  AT(workspace_base), .rule = &WS_RULE_CLEAN_PATH, .def = "null",
	  .help = "The state folder where --root and WSISO_ROOT are not given; null: "
		  "~/.codumentor/workspaces" },
	{ 0 },
};

const char *ws_spec_field_name(const struct ws_spec_field *field, const char *prefix)
{
	size_t len = strlen(prefix);
	const char *name = field->key;

	if (len > 0) {
		if (strncmp(name, prefix, len) != 0 || name[len] != '.')
			return NULL;
		name += len + 1;
	}
	return strchr(name, '.') ? NULL : name;
}

static const char *last_part(const struct ws_spec_field *field)
{
	const char *dot = strrchr(field->key, '.');

	return dot ? dot + 1 : field->key;
}

const struct ws_spec_field *ws_spec_field_find(const char *prefix, const char *key)
{
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		const char *name = ws_spec_field_name(f, prefix);

		if (name && strcmp(name, key) == 0)
			return f;
	}
	return NULL;
}

/* How far KEY is from NAME, or SIZE_MAX when nobody can have meant it. */
static size_t how_far(const char *key, const char *name)
{
	size_t klen = strlen(key), nlen = strlen(name);
	size_t shorter = klen < nlen ? klen : nlen;
	size_t allowed = klen <= 3 ? 1 : klen <= 6 ? 2 : klen / 3;
	size_t distance;

	if (shorter >= 4 && strncasecmp(key, name, shorter) == 0)
		return 0;
	distance = ws_text_distance(key, name);
	return distance <= allowed ? distance : SIZE_MAX;
}

/* A known name in the wrong place; of several, one that protects. */
static const struct ws_spec_field *elsewhere(const char *key)
{
	const struct ws_spec_field *found = NULL;

	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		if (strchr(f->key, '[') || strcasecmp(last_part(f), key) != 0)
			continue;
		if (!found || (f->flags & WS_KEY_SECURITY))
			found = f;
	}
	return found;
}

const struct ws_spec_field *ws_spec_field_near(const char *prefix, const char *key)
{
	const struct ws_spec_field *best = NULL;
	size_t least = SIZE_MAX;

	if (strlen(key) > 64)
		return NULL;
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		const char *name = ws_spec_field_name(f, prefix);
		size_t distance = name ? how_far(key, name) : SIZE_MAX;

		if (distance < least) {
			least = distance;
			best = f;
		}
	}
	return best ? best : elsewhere(key);
}
