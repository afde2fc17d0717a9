/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SPEC_H
#define WS_CORE_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/strv.h"

/*
 * The spec: what a session is to be. One table of fields (spec_fields.c) drives the
 * decoder, `wsiso spec`, --check, the JSON schema and the man page's option list.
 * Pure: reads no file.
 */
enum ws_mode { WS_MODE_OVERLAY, WS_MODE_HOST_READONLY };
enum ws_vcs { WS_VCS_AUTO, WS_VCS_GIT, WS_VCS_SVN, WS_VCS_NONE };
enum ws_isolation { WS_ISOLATION_SHARED, WS_ISOLATION_ISOLATED };
enum ws_seccomp {
	WS_SECCOMP_DEFAULT,
	WS_SECCOMP_LOG,
	WS_SECCOMP_ENFORCE,
	WS_SECCOMP_OFF
};
enum ws_env_mode { WS_ENV_MINIMAL, WS_ENV_INHERIT_ALL, WS_ENV_UNSET };
enum ws_copy { WS_COPY_AUTO, WS_COPY_REFLINK, WS_COPY_HARDLINK, WS_COPY_COPY };
enum ws_network { WS_NETWORK_SHARE, WS_NETWORK_ISOLATE, WS_NETWORK_ASK };

struct ws_spec_repo {
	char *name; /* [A-Za-z0-9][A-Za-z0-9_.-]*, unique; from path's last part if absent
		     */
	char *path; /* absolute */
	enum ws_vcs vcs;
	char *revision; /* or NULL */
	char *branch;	/* or NULL */
};

struct ws_spec_bind {
	char *source, *target; /* absolute */
	bool writable;
};

struct ws_spec_sandbox {
	bool unshare_net, unshare_uts, unshare_cgroup, new_session, clearenv;
	char *hostname;
	enum ws_seccomp seccomp;
	enum ws_env_mode env_mode; /* after decoding never UNSET: see ws_spec_finish */
	struct ws_strv inherit_env_vars; /* allowed_env_vars joined in */
	struct ws_strv allowed_env_vars;
	struct ws_strv deny_env_vars;
};

/* 0: not asked for */
struct ws_spec_limits {
	uint64_t memory_max, pids_max, file_size_max, open_files, tmp_size;
	double cpu_max; /* CPUs */
	double timeout_s;
};

struct ws_spec {
	bool strict, allow_root, enabled;
	enum ws_mode mode;
	struct ws_spec_repo *repos;
	size_t nrepos;
	uint64_t workspace_ttl;
	bool persistent_home, session_tmp;
	enum ws_isolation subagent_isolation;
	struct ws_spec_sandbox sandbox;
	struct {
		bool enabled, auto_commit, ai_merge;
		struct ws_strv resolver;
	} integration;
	struct {
		bool enabled, shared;
		uint64_t upper_dir_ttl, cleanup_interval;
		double min_free_gb;
		enum ws_copy copy;
	} snapshots;
	struct {
		bool enabled, auto_build;
		char *script;
		struct ws_strv inputs;
		enum ws_network network;
		uint64_t timeout_s, cache_budget_bytes, failed_ttl_s;
	} project_setup;
	struct {
		char *launch_dir;
		struct ws_strv mask;
		bool scratch_overlay, expose_host_tmp, unshare_pid;
		enum ws_network network;
	} host_readonly;
	uint64_t linger_s, max_idle;
	struct ws_spec_limits limits;
	struct ws_spec_bind *binds;
	size_t nbinds;
	char *profiles;	      /* canonical JSON text of the object, "{}" */
	char *floor;	      /* canonical JSON text, or NULL */
	char *annotations;    /* canonical JSON text of an object of strings, "{}" */
	char *bwrap_path;     /* or NULL */
	char *workspace_base; /* or NULL */
};

/* Where a value comes from: some keys are only good in wsiso.json. */
enum ws_spec_source { WS_SPEC_ROOT_FILE, WS_SPEC_SESSION };

void ws_spec_init(struct ws_spec *spec); /* every option at its default */
void ws_spec_release(struct ws_spec *spec);

/* By its name; usage error if there is none such. */
int ws_spec_set_mode(struct ws_spec *spec, const char *mode, struct ws_err *err);

/*
 * Lays the document's values over SPEC: call it for wsiso.json, then for the
 * session's. Repos get their names. NAME is for messages, which name file, line,
 * column and key. Warnings (an unknown key with the nearest known name, an invalid
 * value that falls back) go to WARNINGS, one text each, for the caller to log.
 * STRICT: unknown keys are errors. After an error SPEC is good for release only.
 */
int ws_spec_decode(const struct ws_json *doc, const char *name,
		   enum ws_spec_source source, bool strict, struct ws_spec *spec,
		   struct ws_strv *warnings, struct ws_err *err);

/*
 * After the last decode: settles what follows from other keys (env_mode from
 * clearenv, allowed_env_vars joined, hostname turns unshare_uts on, host_readonly's
 * consequences, what the floor adds to lists). A second call changes nothing. Whether it
 * is as tight as the floor is another question: ws_spec_floor_check.
 */
int ws_spec_finish(struct ws_spec *spec, struct ws_strv *warnings, struct ws_err *err);

/*
 * Refuses (spec-invalid) each key that asks for something which this build cannot
 * do yet: by the table's LATER column. Called by create, exec and spec --check.
 */
int ws_spec_check_built(const struct ws_spec *spec, struct ws_err *err);

/*
 * The whole spec as JSON, every option, in the table's order: good as wsiso.json.
 * ws_spec_print_for: only what SOURCE may hold.
 */
void ws_spec_print(const struct ws_spec *spec, bool pretty, struct ws_buf *out);
void ws_spec_print_for(const struct ws_spec *spec, enum ws_spec_source source,
		       bool pretty, struct ws_buf *out);
/*
 * The part that is read when a sandbox starts (sandbox, limits, binds, profiles,
 * persistent_home, session_tmp; not environment values), canonical: two specs with the
 * same text want the same sandbox. The filters are in it by their sums.
 * ws_spec_policy_digest: its SHA-256.
 */
void ws_spec_policy(const struct ws_spec *spec, struct ws_buf *out);
void ws_spec_policy_digest(const struct ws_spec *spec, char out[WS_SHA256_HEX]);
/* Deep, as it is after ws_spec_finish. *ret is the caller's to release. */
int ws_spec_copy(const struct ws_spec *from, struct ws_spec *ret, struct ws_err *err);
/*
 * The first key by which a command of TO does not fit into a sandbox of FROM: what
 * differs and is no command's own, or a weaker filter. NULL: it fits. Binds aside.
 */
const char *ws_spec_misfit(const struct ws_spec *from, const struct ws_spec *to);
/* JSON Schema (draft 2020-12) of a spec, and the option list of wsiso-spec.5 in mdoc. */
void ws_spec_schema(struct ws_buf *out);
void ws_spec_man(struct ws_buf *out);

#endif
