/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session_archive.h"

#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/text.h"
#include "core/spec_rules.h"

#define FORMAT "wsiso-session"
#define REPOS_MAX 256
#define VERSION_MAX 64
#define HEX "0123456789abcdef"

static const struct ws_json_field fields[] = {
	WS_FIELD(ws_session_archive, format, STRING, true),
	WS_FIELD(ws_session_archive, version, U64, true),
	WS_FIELD(ws_session_archive, wsiso, STRING, false),
	WS_FIELD(ws_session_archive, id, STRING, false),
	WS_FIELD(ws_session_archive, exported, U64, false),
	WS_FIELD(ws_session_archive, running, BOOL, false),
	{ 0 },
};

static const struct ws_json_field repo_fields[] = {
	WS_FIELD(ws_archived_repo, name, STRING, true),
	WS_FIELD(ws_archived_repo, vcs, STRING, true),
	WS_FIELD(ws_archived_repo, path, STRING, true),
	WS_FIELD(ws_archived_repo, revision, STRING, false),
	WS_FIELD(ws_archived_repo, branch, STRING, false),
	WS_FIELD(ws_archived_repo, objects, BOOL, false),
	{ 0 },
};

void ws_session_archive_release(struct ws_session_archive *a)
{
	for (size_t i = 0; i < a->nrepos; i++)
		ws_json_release(repo_fields, &a->repos[i]);
	ws_freep(&a->repos);
	ws_json_release(fields, a);
	a->nrepos = 0;
}

void ws_session_archive_write(const struct ws_session_archive *a, struct ws_buf *out)
{
	struct ws_session_archive head = *a;
	struct ws_jsonw w;

	head.format = (char[]){ FORMAT };
	head.version = WS_SESSION_ARCHIVE_VERSION;
	ws_jsonw_init(&w, out, true);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_fields(&w, fields, &head);
	ws_jsonw_array(&w, "repos");
	for (size_t i = 0; i < a->nrepos; i++) {
		ws_jsonw_object(&w, NULL);
		ws_jsonw_fields(&w, repo_fields, &a->repos[i]);
		ws_jsonw_end(&w, '}');
	}
	ws_jsonw_end(&w, ']');
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}

/* ---- what an archive may say of itself ---- */

static bool is_revision(const struct ws_archived_repo *r)
{
	if (!r->revision)
		return true;
	if (!strcmp(r->vcs, "git"))
		return strlen(r->revision) == 40 && strspn(r->revision, HEX) == 40;
	return *r->revision && strlen(r->revision) <= 128 &&
	       strspn(r->revision, HEX) == strlen(r->revision);
}

static const char *wrong_about(const struct ws_archived_repo *r)
{
	if (!ws_spec_rule_holds(&WS_RULE_NAME, r->name))
		return "name";
	if (strcmp(r->vcs, "git") != 0 && strcmp(r->vcs, "svn") != 0 &&
	    strcmp(r->vcs, "none") != 0)
		return "vcs";
	if (!is_revision(r))
		return "revision";
	if (r->branch && !ws_spec_rule_holds(&WS_RULE_BRANCH, r->branch))
		return "branch";
	if (r->objects && strcmp(r->vcs, "git") != 0)
		return "objects";
	return NULL;
}

static int parse_repo(const struct ws_json *doc, struct ws_session_archive *a,
		      struct ws_err *err)
{
	struct ws_archived_repo *r = &a->repos[a->nrepos];
	const char *wrong;

	*r = (struct ws_archived_repo){ 0 };
	a->nrepos++;
	if (ws_json_decode(doc, repo_fields, r, err) < 0)
		return -1;
	wrong = wrong_about(r);
	if (wrong)
		return ws_fail(err, WS_STATE_CORRUPT,
			       "a repo's '%s' is not what wsiso writes", wrong);
	for (size_t i = 0; i + 1 < a->nrepos; i++)
		if (!strcmp(a->repos[i].name, r->name))
			return ws_fail(err, WS_STATE_CORRUPT, "two repos '%s'", r->name);
	return 0;
}

static int parse_repos(const struct ws_json *doc, struct ws_session_archive *a,
		       struct ws_err *err)
{
	const struct ws_json *list = ws_json_get(doc, "repos");

	if (!list || list->type != WS_JSON_ARRAY)
		return ws_fail(err, WS_STATE_CORRUPT, "no list of repos");
	a->repos = ws_alloc((REPOS_MAX + 1) * sizeof(*a->repos));
	for (const struct ws_json *r = list->child; r; r = r->next) {
		if (a->nrepos == REPOS_MAX)
			return ws_fail(err, WS_STATE_CORRUPT, "more than %d repos",
				       REPOS_MAX);
		if (parse_repo(r, a, err) < 0)
			return -1;
	}
	return 0;
}

int ws_session_archive_parse(const struct ws_buf *text, struct ws_session_archive *ret,
			     struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;

	if (ws_json_parse(WS_SESSION_ARCHIVE_MANIFEST, ws_buf_str(text), text->len, &doc,
			  err) < 0) {
		err->kind = WS_STATE_CORRUPT;
		return -1;
	}
	if (strcmp(ws_json_str(doc, "format", ""), FORMAT) != 0)
		return ws_fail(err, WS_STATE_CORRUPT,
			       "it is not the archive of a session");
	if (ws_json_int(doc, "version", 0) > WS_SESSION_ARCHIVE_VERSION)
		return ws_fail(err, WS_STATE_VERSION, "it was made by a newer wsiso");
	if (ws_json_decode(doc, fields, ret, err) < 0)
		return -1;
	if (ret->id && !ws_spec_rule_holds(&WS_RULE_NAME, ret->id))
		return ws_fail(err, WS_STATE_CORRUPT, "its 'id' is no session's");
	if (ret->wsiso && strlen(ret->wsiso) > VERSION_MAX)
		return ws_fail(err, WS_STATE_CORRUPT, "its 'wsiso' is no version");
	return parse_repos(doc, ret, err);
}

/* ---- pools ---- */

static bool is_hex(const char *s, size_t n)
{
	return strspn(s, HEX) == n && !s[n];
}

/* "pack-NAME.pack" and what belongs to it, as wsiso-git takes them into a pool. */
static bool is_pack(const char *name)
{
	static const char *const ends[] = { ".pack",   ".idx",	    ".rev",
					    ".bitmap", ".promisor", ".mtimes" };
	const char *end = strrchr(name, '.');

	if (!ws_text_starts(name, "pack-") || strchr(name, '/') || !end ||
	    end == name + strlen("pack-"))
		return false;
	for (size_t i = 0; i < WS_ARRAY_SIZE(ends); i++)
		if (!strcmp(end, ends[i]))
			return true;
	return false;
}

bool ws_session_archive_pool_has(const char *path, bool folder)
{
	const char *name;

	if (!strcmp(path, "packed-refs") || !strcmp(path, "shallow"))
		return !folder;
	if (!strcmp(path, "objects"))
		return folder;
	if (!ws_text_starts(path, "objects/"))
		return false;
	name = path + strlen("objects/");
	if (folder)
		return is_hex(name, 2) || !strcmp(name, "pack");
	if (ws_text_starts(name, "pack/"))
		return is_pack(name + 5);
	return strlen(name) == 41 && strspn(name, HEX) == 2 && name[2] == '/' &&
	       is_hex(name + 3, 38);
}
