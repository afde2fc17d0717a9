/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "helper/git.h"

#define VALUE_MAX 1024
#define NOBODY_NAME "Codumentor"
#define NOBODY_EMAIL "codumentor@local"

/*
 * What a session's config takes over, as git itself would find it here (the user's own
 * config included): nothing that names a program, a path, a remote or a secret.
 */
static const struct {
	const char *section, *key;
	bool checkout; /* decides about the bytes of checked-out files */
} carried[] = {
	{ "core", "autocrlf", true },
	{ "core", "eol", true },
	{ "core", "safecrlf", false },
	{ "core", "abbrev", false },
	{ "core", "commentchar", false },
	{ "core", "quotepath", false },
	{ "core", "whitespace", false },
	{ "blame", "ignorerevsfile", false },
	{ "diff", "algorithm", false },
	{ "diff", "renames", false },
	{ "i18n", "commitencoding", false },
	{ "i18n", "logoutputencoding", false },
	{ "log", "date", false },
	{ "merge", "conflictstyle", false },
	{ "merge", "renames", false },
	{ "pull", "ff", false },
	{ "pull", "rebase", false },
	{ "rebase", "autosquash", false },
	{ "rebase", "autostash", false },
};

/* trustctime: links made to the files later on must not look like edits. */
static const char fixed_core[] = "[core]\n"
				 "\trepositoryformatversion = 0\n"
				 "\tfilemode = true\n"
				 "\tbare = false\n"
				 "\tlogallrefupdates = true\n"
				 "\ttrustctime = false\n";

/* A value as git reads it back; control bytes (which no such key needs): false. */
static bool quote(struct ws_buf *out, const char *value)
{
	for (const char *p = value; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f || p - value > VALUE_MAX)
			return false;
	ws_buf_addch(out, '"');
	for (const char *p = value; *p; p++) {
		if (*p == '"' || *p == '\\')
			ws_buf_addch(out, '\\');
		ws_buf_addch(out, *p);
	}
	ws_buf_addch(out, '"');
	return true;
}

/* OUT and the section that it is in. */
struct printer {
	struct ws_buf *out;
	const char *section;
};

static void print(struct printer *p, const char *section, const char *key,
		  const char *value)
{
	WS_AUTO(ws_buf) struct ws_buf quoted = WS_BUF_INIT;

	if (!value || !quote(&quoted, value))
		return;
	if (strcmp(p->section, section) != 0)
		ws_buf_addf(p->out, "[%s]\n", section);
	p->section = section;
	ws_buf_addf(p->out, "\t%s = %s\n", key, quoted.data);
}

static const char *get(git_config *config, const char *section, const char *key)
{
	WS_AUTO_FREE char *name = ws_format("%s.%s", section, key);
	const char *value = NULL;

	return git_config_get_string(&value, config, name) == 0 ? value : NULL;
}

int ws_git_config_print(git_repository *repo, struct ws_buf *checkout, struct ws_buf *all,
			struct ws_err *err)
{
	WS_AUTO_FREE char *name = NULL;
	WS_AUTO_FREE char *email = NULL;
	struct printer to_checkout = { checkout, "core" }, to_all = { all, "core" };
	git_config *config = NULL;

	if (git_repository_config_snapshot(&config, repo) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "read the config");
	ws_buf_addstr(checkout, fixed_core);
	ws_buf_addstr(all, fixed_core);
	for (size_t i = 0; i < WS_ARRAY_SIZE(carried); i++) {
		const char *value = get(config, carried[i].section, carried[i].key);

		if (carried[i].checkout)
			print(&to_checkout, carried[i].section, carried[i].key, value);
		print(&to_all, carried[i].section, carried[i].key, value);
	}
	git_config_free(config);
	ws_git_config_ident(repo, &name, &email);
	print(&to_all, "user", "name", name);
	print(&to_all, "user", "email", email);
	return 0;
}

void ws_git_config_ident(git_repository *repo, char **ret_name, char **ret_email)
{
	git_config *config = NULL;
	const char *name = NULL, *email = NULL;

	if (git_repository_config_snapshot(&config, repo) == 0) {
		name = get(config, "user", "name");
		email = get(config, "user", "email");
	}
	*ret_name = ws_strdup(name && *name ? name : NOBODY_NAME);
	*ret_email = ws_strdup(email && *email ? email : NOBODY_EMAIL);
	git_config_free(config);
}
