/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three-way merges of files, a conversation on stdin and stdout:
 *
 *   -> "BASELEN OURSLEN THEIRSLEN OURNAME THEIRNAME\n", the bytes of the three
 *   <- "clean LEN\n", "conflict LEN\n" or "binary 0\n", LEN bytes
 *
 * The settings are git's defaults for "git merge", with the diff algorithm "myers". The
 * names, without blanks, stand behind the markers.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "helper/git.h"

#define SIDE_MAX ((size_t)1 << 30)
#define NAME_MAX_LEN 140
#define BINARY_LOOK 8000 /* as far as git looks for a NUL */

enum { BASE, OURS, THEIRS, SIDES };

struct sides {
	struct ws_buf v[SIDES];
};

static void sides_release(struct sides *s)
{
	for (int i = 0; i < SIDES; i++)
		ws_buf_release(&s->v[i]);
}

static bool is_binary(const struct ws_buf *b)
{
	size_t len = b->len < BINARY_LOOK ? b->len : BINARY_LOOK;

	return memchr(ws_buf_str(b), '\0', len) != NULL;
}

static int reply(const char *word, const char *data, size_t len, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;

	ws_buf_addf(&out, "%s %zu\n", word, len);
	ws_buf_add(&out, data, len);
	if (ws_write_all(STDOUT_FILENO, out.data, out.len) < 0)
		return ws_fail_errno(err, "answer");
	return 0;
}

static int merge(const struct sides *s, const char *ours, const char *theirs,
		 struct ws_err *err)
{
	git_merge_file_options opts = GIT_MERGE_FILE_OPTIONS_INIT;
	git_merge_file_input in[SIDES];
	git_merge_file_result result = { 0 };
	int rc;

	for (int i = 0; i < SIDES; i++) {
		if (is_binary(&s->v[i]))
			return reply("binary", "", 0, err);
		in[i] = (git_merge_file_input)GIT_MERGE_FILE_INPUT_INIT;
		in[i].ptr = ws_buf_str(&s->v[i]);
		in[i].size = s->v[i].len;
	}
	opts.our_label = ours;
	opts.their_label = theirs;
	if (git_merge_file(&result, &in[BASE], &in[OURS], &in[THEIRS], &opts) < 0)
		return ws_git_fail(err, WS_INTERNAL, "merge a file");
	rc = reply(result.automergeable ? "clean" : "conflict",
		   result.ptr ? result.ptr : "", result.len, err);
	git_merge_file_result_free(&result);
	return rc;
}

static int read_sides(const size_t lens[SIDES], struct sides *s, struct ws_err *err)
{
	for (int i = 0; i < SIDES; i++) {
		if (lens[i] > SIDE_MAX)
			return ws_fail(err, WS_INTERNAL, "no question");
		ws_buf_reserve(&s->v[i], lens[i] + 1);
		s->v[i].len = fread(s->v[i].data, 1, lens[i], stdin);
		s->v[i].data[s->v[i].len] = '\0';
		if (s->v[i].len != lens[i])
			return ws_fail(err, WS_INTERNAL, "a question ends too early");
	}
	return 0;
}

int ws_answer_merge(int argc, char **argv, struct ws_buf *out, struct ws_err *err)
{
	char ours[NAME_MAX_LEN], theirs[NAME_MAX_LEN];
	size_t lens[SIDES];

	(void)argc;
	(void)argv;
	(void)out;
	while (scanf("%zu %zu %zu %139s %139s", &lens[BASE], &lens[OURS], &lens[THEIRS],
		     ours, theirs) == 5) {
		WS_AUTO(sides) struct sides s = { 0 };

		if (getchar() != '\n')
			return ws_fail(err, WS_INTERNAL, "no question");
		if (read_sides(lens, &s, err) < 0 || merge(&s, ours, theirs, err) < 0)
			return -1;
	}
	return 0;
}
