/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "helper/git.h"

#define LINK_MAX_SIZE 8192

void ws_git_repo_release(struct ws_git_repo *r)
{
	git_repository_free(r->repo);
	r->repo = NULL;
	ws_freep(&r->path);
	ws_freep(&r->common);
}

static bool is_dir(const char *dir, const char *name)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s", dir, name);
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_there(const char *dir, const char *name)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

/* The path in the one line of DIR/NAME behind PREFIX, relative to DIR; NULL: none. */
static char *read_link_file(const char *dir, const char *name, const char *prefix)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_err ignored = WS_ERR_INIT;
	const char *at;

	if (ws_git_text(dir, name, LINK_MAX_SIZE, &text, &ignored) <= 0)
		return NULL;
	while (text.len > 0 && isspace((unsigned char)text.data[text.len - 1]))
		text.data[--text.len] = '\0';
	if (!ws_text_starts(ws_buf_str(&text), prefix))
		return NULL;
	at = ws_buf_str(&text) + strlen(prefix);
	while (isspace((unsigned char)*at))
		at++;
	return *at == '/' ? ws_strdup(at) : ws_format("%s/%s", dir, at);
}

/* The git dir of the repository at PATH; NULL if there is none. */
static char *find_git_dir(const char *path)
{
	if (is_dir(path, ".git"))
		return ws_format("%s/.git", path);
	if (is_there(path, ".git"))
		return read_link_file(path, ".git", "gitdir:");
	if (is_there(path, "HEAD") && is_dir(path, "objects") && is_dir(path, "refs"))
		return ws_strdup(path);
	return NULL;
}

/* No repository at PATH: perhaps in one? */
static int fail_no_repo(const char *path, struct ws_err *err)
{
	WS_AUTO_FREE char *top = ws_strdup(path);

	if (is_there(path, ".git")) {
		ws_fail(err, WS_REPO_UNUSABLE,
			"the '.git' of '%s' leads to no git repository", path);
		return ws_hint(err, "'git -C %s status' says what is wrong with it",
			       path);
	}
	for (char *slash = strrchr(top, '/'); slash && slash > top;
	     slash = strrchr(top, '/')) {
		WS_AUTO_FREE char *dir = NULL;

		*slash = '\0';
		dir = find_git_dir(top);
		if (!dir)
			continue;
		ws_fail(err, WS_REPO_UNUSABLE,
			"'%s' is a folder inside the git repository '%s'", path, top);
		return ws_hint(
			err,
			"name the repository itself: '%s'; \"vcs\": \"none\" takes "
			"the folder as plain files",
			top);
	}
	return ws_fail(err, WS_REPO_UNUSABLE, "'%s' is not a git repository", path);
}

/* Extensions that can be read past; a value that must be exactly so, or NULL. */
static const struct {
	const char *name;
	const char *value;
} harmless[] = {
	{ "noop", NULL },
	{ "worktreeconfig", NULL },
	{ "relativeworktrees", NULL },
	{ "preciousobjects", NULL },
	{ "partialclone", NULL },
	{ "objectformat", "sha1" },
	{ "refstorage", "files" },
};

/* The names that git's own documentation writes, for messages. */
static const char *const spelled[] = { "objectFormat",	     "refStorage",
				       "compatObjectFormat", "worktreeConfig",
				       "relativeWorktrees",  "preciousObjects",
				       "partialClone" };

static int fail_extension(const char *path, const char *name, const char *value,
			  struct ws_err *err)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(spelled); i++)
		if (!strcasecmp(spelled[i], name))
			name = spelled[i];
	ws_fail(err, WS_REPO_UNUSABLE, "the git repository '%s' uses extension '%s' (%s)",
		path, name, value && *value ? value : "set");
	return ws_hint(err,
		       "this build cannot read such a repository; a clone without the "
		       "extension can be used instead");
}

static int check_extension(const char *path, const git_config_entry *e, bool *ret_partial,
			   struct ws_err *err)
{
	const char *name = e->name + strlen("extensions.");

	for (size_t i = 0; i < WS_ARRAY_SIZE(harmless); i++) {
		if (strcmp(name, harmless[i].name) != 0)
			continue;
		if (harmless[i].value &&
		    (!e->value || strcasecmp(harmless[i].value, e->value) != 0))
			return fail_extension(path, name, e->value, err);
		if (!strcmp(name, "partialclone"))
			*ret_partial = true;
		return 0;
	}
	return fail_extension(path, name, e->value, err);
}

static int check_entry(const char *path, const git_config_entry *e, bool *ret_partial,
		       struct ws_err *err)
{
	if (ws_text_starts(e->name, "extensions."))
		return check_extension(path, e, ret_partial, err);
	/* newer versions of git write no extension, but this, for a partial clone */
	if (ws_text_starts(e->name, "remote.") && ws_text_ends(e->name, ".promisor") &&
	    e->value && strcasecmp(e->value, "false") != 0)
		*ret_partial = true;
	return 0;
}

/* Looks at the config before libgit2 does: its own refusal depends on its version. */
static int check_config(const char *path, const char *common, bool *ret_partial,
			struct ws_err *err)
{
	WS_AUTO_FREE char *file = ws_format("%s/config", common);
	git_config_iterator *it = NULL;
	git_config_entry *e;
	git_config *config = NULL;
	int rc = 0;

	if (git_config_open_ondisk(&config, file) < 0 ||
	    git_config_iterator_new(&it, config) < 0) {
		rc = ws_git_fail(err, WS_REPO_UNUSABLE, "read '%s'", file);
		git_config_free(config);
		return rc;
	}
	while (rc == 0 && git_config_next(&e, it) == 0)
		rc = check_entry(path, e, ret_partial, err);
	git_config_iterator_free(it);
	git_config_free(config);
	return rc;
}

/* It must be the repository's top, and not its git folder. */
static int check_top(const struct ws_git_repo *r, struct ws_err *err)
{
	const char *workdir = git_repository_workdir(r->repo);
	WS_AUTO_FREE char *top = workdir ? ws_realpath(workdir) : NULL;

	if (!workdir || (top && !strcmp(top, r->path)))
		return 0;
	ws_fail(err, WS_REPO_UNUSABLE, "'%s' is the git folder of '%s'", r->path,
		workdir);
	return ws_hint(err, "name the work tree itself: '%s'", workdir);
}

/* A folder that we may list and enter; what is in it would else seem not to be there. */
static int check_readable(const char *path, struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && faccessat(fd, ".", X_OK, AT_EACCESS) == 0)
		return 0;
	return ws_fail(err, WS_REPO_UNUSABLE, "the folder '%s' cannot be read: %m", path);
}

static int open_at(const char *git_dir, struct ws_git_repo *r, struct ws_err *err)
{
	WS_AUTO_FREE char *common = read_link_file(git_dir, "commondir", "");

	r->common = ws_realpath(common ? common : git_dir);
	if (!r->common)
		return ws_fail(err, WS_REPO_UNUSABLE,
			       "the git folder '%s' of '%s' is not there: %m",
			       common ? common : git_dir, r->path);
	if (check_readable(r->common, err) < 0)
		return -1;
	if (check_config(r->path, r->common, &r->partial, err) < 0)
		return -1;
	if (git_repository_open_ext(&r->repo, r->path, GIT_REPOSITORY_OPEN_NO_SEARCH,
				    NULL) < 0)
		return ws_git_fail(err, WS_REPO_UNUSABLE, "open the git repository '%s'",
				   r->path);
	return check_top(r, err);
}

int ws_git_repo_open(const char *path, struct ws_git_repo *ret, struct ws_err *err)
{
	WS_AUTO_FREE char *git_dir = NULL;

	ret->path = ws_realpath(path);
	if (!ret->path)
		return ws_fail(err, WS_REPO_UNUSABLE, "there is no folder '%s': %m",
			       path);
	if (check_readable(ret->path, err) < 0)
		return -1;
	git_dir = find_git_dir(ret->path);
	if (!git_dir)
		return fail_no_repo(ret->path, err);
	return open_at(git_dir, ret, err);
}
