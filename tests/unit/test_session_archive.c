/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session_archive.h"

#include "base/mem.h"
#include "check.h"

static struct ws_err err;

static bool parses(const char *text)
{
	WS_AUTO(ws_session_archive) struct ws_session_archive a = WS_SESSION_ARCHIVE_INIT;
	WS_AUTO(ws_buf) struct ws_buf buf = WS_BUF_INIT;

	err = WS_ERR_INIT;
	ws_buf_addstr(&buf, text);
	return ws_session_archive_parse(&buf, &a, &err) == 0;
}

#define HEAD "{\"format\": \"wsiso-session\", \"version\": 1, \"repos\": "
#define REPO(more) HEAD "[{\"name\": \"app\", \"path\": \"/x\"" more "}]}"
#define GIT ", \"vcs\": \"git\""

static void facts_of_manifests(void)
{
	CHECK(parses(HEAD "[]}"));
	CHECK(parses(REPO(GIT)));
	CHECK(parses(REPO(GIT ", \"objects\": true, \"branch\": \"a/b\", \"revision\": "
			      "\"0123456789012345678901234567890123456789\"")));
	CHECK(parses(REPO(", \"vcs\": \"svn\", \"revision\": \"12\"")));

	CHECK(!parses("") && err.kind == WS_STATE_CORRUPT);
	CHECK(!parses("[]") && err.kind == WS_STATE_CORRUPT);
	CHECK(!parses("{}") && err.kind == WS_STATE_CORRUPT);
	CHECK(!parses("{\"format\": \"wsiso-session\", \"version\": 2, \"repos\": []}") &&
	      err.kind == WS_STATE_VERSION);
	CHECK(!parses("{\"format\": \"wsiso-session\", \"version\": 1}"));
	CHECK(!parses(HEAD "[1]}"));
	CHECK(!parses(REPO("")));
	CHECK(!parses(REPO(", \"vcs\": \"hg\"")));
	CHECK(!parses(REPO(GIT ", \"revision\": \"HEAD\"")));
	CHECK(!parses(REPO(GIT ", \"revision\": \"--all\"")));
	CHECK(!parses(REPO(GIT ", \"branch\": \"../x\"")));
	CHECK(!parses(REPO(GIT ", \"branch\": \"-x\"")));
	CHECK(!parses(REPO(", \"vcs\": \"none\", \"objects\": true")));
	CHECK(!parses(REPO(", \"vcs\": \"svn\", \"revision\": \"\"")));
	CHECK(!parses(HEAD "[{\"name\": \"a/b\", \"path\": \"/x\"" GIT "}]}"));
	CHECK(!parses(HEAD "[{\"name\": \"..\", \"path\": \"/x\"" GIT "}]}"));
}

static void facts_of_a_round(void)
{
	WS_AUTO(ws_session_archive)
	struct ws_session_archive got = WS_SESSION_ARCHIVE_INIT;
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	struct ws_archived_repo repo = { .name = (char[]){ "app" },
					 .vcs = (char[]){ "git" },
					 .path = (char[]){ "/srv/app" },
					 .branch = (char[]){ "main" },
					 .objects = true };
	const struct ws_session_archive a = {
		.id = (char[]){ "s1" }, .exported = 5, .repos = &repo, .nrepos = 1
	};

	ws_session_archive_write(&a, &text);
	MUST(ws_session_archive_parse(&text, &got, &err) == 0);
	CHECK_STR(got.id, "s1");
	CHECK_U64(got.version, WS_SESSION_ARCHIVE_VERSION);
	CHECK_U64(got.exported, 5);
	CHECK(got.nrepos == 1 && got.repos[0].objects && !got.repos[0].revision);
	CHECK_STR(got.repos[0].branch, "main");
}

#define ID38 "01234567890123456789012345678901234567"

static void facts_of_pools(void)
{
	static const char *const files[] = { "packed-refs",
					     "shallow",
					     "objects/ab/" ID38,
					     "objects/pack/pack-ab" ID38 ".pack",
					     "objects/pack/pack-ab" ID38 ".idx",
					     "objects/pack/pack-mine.1.pack" };
	static const char *const folders[] = { "objects", "objects/ab", "objects/pack" };
	static const char *const neither[] = {
		"",
		"config",
		"HEAD",
		"hooks",
		"hooks/post-checkout",
		"info",
		"refs",
		"objects/info",
		"objects/info/alternates",
		"objects/",
		"objects/AB",
		"objects/abc",
		"objects/ab/" ID38 "0",
		"objects/ab/" ID38 "/x",
		"objects/a/b" ID38,
		"objects/pack/pack-ab" ID38 ".exe",
		"objects/pack/pack-ab" ID38,
		"objects/pack/pack-.pack",
		"objects/pack/x/pack-ab" ID38 ".pack",
		"objectsx",
		"packed-refs/x",
	};

	for (size_t i = 0; i < WS_ARRAY_SIZE(files); i++)
		check_note(ws_session_archive_pool_has(files[i], false) &&
				   !ws_session_archive_pool_has(files[i], true),
			   files[i], __FILE__, __LINE__);
	for (size_t i = 0; i < WS_ARRAY_SIZE(folders); i++)
		check_note(ws_session_archive_pool_has(folders[i], true) &&
				   !ws_session_archive_pool_has(folders[i], false),
			   folders[i], __FILE__, __LINE__);
	for (size_t i = 0; i < WS_ARRAY_SIZE(neither); i++)
		check_note(!ws_session_archive_pool_has(neither[i], true) &&
				   !ws_session_archive_pool_has(neither[i], false),
			   neither[i], __FILE__, __LINE__);
}

int main(void)
{
	facts_of_manifests();
	facts_of_a_round();
	facts_of_pools();
	return CHECK_DONE();
}
