/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/text.h"
#include "helper/git.h"

#define VALUE_MAX 1024
#define NOBODY_NAME "Codumentor"
#define NOBODY_EMAIL "codumentor@local"

/*
 * What a session's config takes over, as git itself would find it here (the user's own
 * config included): nothing that names a program, a path or a secret.
 */
static const struct {
	const char *section, *key;
	bool checkout; /* decides about the bytes of checked-out files */
	bool relative; /* a path: only one inside the work tree */
} carried[] = {
	{ "core", "autocrlf", true },
	{ "core", "eol", true },
	{ "core", "safecrlf", false },
	{ "core", "abbrev", false },
	{ "core", "commentchar", false },
	{ "core", "quotepath", false },
	{ "core", "whitespace", false },
	{ "blame", "ignorerevsfile", .relative = true },
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

/*
 * trustctime: links made to the files later on must not look like edits. untrackedcache:
 * an overlay is slower than its lower folder when it looks at a file; what git saves by
 * not reading unchanged folders makes up for it (git status, 50,000 files: 124 ms, then
 * 92). alternaterefsprefixes: none, for of a shallow repository's refs git would believe
 * that what they lead to is all there.
 */
static const char fixed_core[] = "[core]\n"
				 "\trepositoryformatversion = 0\n"
				 "\tfilemode = true\n"
				 "\tbare = false\n"
				 "\tlogallrefupdates = true\n"
				 "\ttrustctime = false\n"
				 "\tuntrackedcache = true\n"
				 "\talternaterefsprefixes = refs/none/\n";

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
	char *section;
};

static void printer_release(struct printer *p)
{
	ws_freep(&p->section);
}

static void print(struct printer *p, const char *section, const char *key,
		  const char *value)
{
	WS_AUTO(ws_buf) struct ws_buf quoted = WS_BUF_INIT;

	if (!value || !quote(&quoted, value))
		return;
	if (strcmp(p->section, section) != 0) {
		ws_buf_addf(p->out, "[%s]\n", section);
		ws_freep(&p->section);
		p->section = ws_strdup(section);
	}
	ws_buf_addf(p->out, "\t%s = %s\n", key, quoted.data);
}

static const char *get(git_config *config, const char *section, const char *key)
{
	WS_AUTO_FREE char *name = ws_format("%s.%s", section, key);
	const char *value = NULL;

	return git_config_get_string(&value, config, name) == 0 ? value : NULL;
}

/* ---- remotes ---- */

/* What follows the last '@' of a user's part; a mere user name of ssh is no secret. */
static const char *without_user(const char *authority, bool is_ssh)
{
	const char *end = authority + strcspn(authority, "/?#");
	const char *at = memrchr(authority, '@', (size_t)(end - authority));

	if (!at || (is_ssh && !memchr(authority, ':', (size_t)(at - authority))))
		return authority;
	return at + 1;
}

/* Where a remote is, without password or token. NULL: a path, or no address at all. */
static char *public_url(const char *url)
{
	static const char *const schemes[] = { "ssh://", "https://", "http://",
					       "git://" };
	size_t host = strcspn(url, ":/");

	for (size_t i = 0; i < WS_ARRAY_SIZE(schemes); i++) {
		const char *rest = url + strlen(schemes[i]);

		if (!ws_text_starts(url, schemes[i]))
			continue;
		rest = without_user(rest, i == 0);
		/*
		 * one more: a password with a slash, which git itself takes for the path
		 */
		if (i > 0 && strchr(rest, '@'))
			return NULL;
		return ws_format("%s%.*s", schemes[i], (int)strcspn(rest, "?#"), rest);
	}
	/* host:path and user@host:path, as scp has them */
	if (*url == '-' || url[host] != ':' || strchr("/:", url[host + 1]) ||
	    strchr(url + host, '@'))
		return NULL;
	return ws_strdup(url);
}

/* A remote can be named, too, by its address: that is no name. */
static bool is_remote_name(const char *s)
{
	return *s && !strchr("./-", *s) && !strpbrk(s, ":@\\") &&
	       strcmp(s, WS_GIT_REMOTE_OURS) != 0;
}

/* May VALUE of branch.NAME.remote come along? "." is the repository itself. */
static bool is_followed(const char *key, const char *value)
{
	return strcmp(key, "remote") != 0 || !strcmp(value, ".") || is_remote_name(value);
}

static void carry_entry(struct printer *p, const git_config_entry *entry)
{
	const char *dot = strchr(entry->name, '.'), *last = strrchr(entry->name, '.');
	WS_AUTO_FREE char *name = NULL;
	WS_AUTO_FREE char *section = NULL;
	WS_AUTO_FREE char *url = NULL;
	WS_AUTO(ws_buf) struct ws_buf quoted = WS_BUF_INIT;
	bool is_url = !strcmp(last, ".url");

	if (!entry->value || !is_followed(last + 1, entry->value))
		return;
	name = ws_format("%.*s", (int)(last - dot) - 1, dot + 1);
	if (!quote(&quoted, name) ||
	    (ws_text_starts(entry->name, "remote.") && !is_remote_name(name)))
		return;
	section =
		ws_format("%.*s %s", (int)(dot - entry->name), entry->name, quoted.data);
	if (is_url)
		url = public_url(entry->value);
	print(p, section, last + 1, is_url ? url : entry->value);
}

/* With them "git switch" finds a branch of a remote, "git status" what it is ahead of. */
static bool is_wanted(const git_config_entry *entry)
{
	static const struct {
		const char *section, *key;
	} wanted[] = {
		{ "remote.", ".url" },	  { "remote.", ".fetch" },
		{ "branch.", ".remote" }, { "branch.", ".merge" },
		{ "branch.", ".rebase" },
	};
	const char *dot = strchr(entry->name, '.'), *last = strrchr(entry->name, '.');

	for (size_t i = 0; i < WS_ARRAY_SIZE(wanted); i++)
		if (last > dot + 1 && ws_text_starts(entry->name, wanted[i].section) &&
		    !strcmp(last, wanted[i].key))
			return true;
	return false;
}

static int carry_remotes(git_config *config, struct printer *p, struct ws_err *err)
{
	git_config_iterator *it = NULL;
	git_config_entry *entry;
	int rc = git_config_iterator_new(&it, config);

	while (rc == 0 && (rc = git_config_next(&entry, it)) == 0)
		if (is_wanted(entry))
			carry_entry(p, entry);
	git_config_iterator_free(it);
	return rc == GIT_ITEROVER ? 0
				  : ws_git_fail(err, WS_REPO_UNUSABLE, "read the config");
}

int ws_git_config_print(git_repository *repo, struct ws_buf *checkout, struct ws_buf *all,
			struct ws_err *err)
{
	WS_AUTO_FREE char *name = NULL;
	WS_AUTO_FREE char *email = NULL;
	WS_AUTO(printer)
	struct printer to_checkout = { checkout, ws_strdup("core") };
	WS_AUTO(printer) struct printer to_all = { all, ws_strdup("core") };
	git_config *config = NULL;
	int rc;

	if (git_repository_config_snapshot(&config, repo) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "read the config");
	ws_buf_addstr(checkout, fixed_core);
	ws_buf_addstr(all, fixed_core);
	for (size_t i = 0; i < WS_ARRAY_SIZE(carried); i++) {
		const char *value = get(config, carried[i].section, carried[i].key);

		if (value && carried[i].relative && strchr("/~", *value))
			continue;
		if (carried[i].checkout)
			print(&to_checkout, carried[i].section, carried[i].key, value);
		print(&to_all, carried[i].section, carried[i].key, value);
	}
	ws_git_config_ident(repo, &name, &email);
	print(&to_all, "user", "name", name);
	print(&to_all, "user", "email", email);
	rc = carry_remotes(config, &to_all, err);
	git_config_free(config);
	return rc;
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
