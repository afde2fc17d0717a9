/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation on stdin and stdout, so that one process serves a whole patch:
 *
 *   -> "OLDLEN NEWLEN\n", the old bytes, the new bytes
 *   <- "ADDED REMOVED BINARY OLDID NEWID LEN\n", LEN bytes
 *
 * ADDED and REMOVED count lines, the ids are git's of the two as blobs. The bytes are the
 * body of a patch: hunks, or a "GIT binary patch"; nothing, where both are the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "helper/git.h"

#define SIDE_MAX ((size_t)1 << 30)

/* A hunk's head cannot be in front of it: what precedes is the head of the patch. */
static const char *body_of(const char *text)
{
	static const char *const begins[] = { "\n@@ ", "\nGIT binary patch\n" };
	const char *first = NULL;

	for (size_t i = 0; i < WS_ARRAY_SIZE(begins); i++) {
		const char *at = strstr(text, begins[i]);

		if (at && (!first || at < first))
			first = at;
	}
	return first ? first + 1 : "";
}

static int print_body(git_patch *patch, struct ws_buf *ret, struct ws_err *err)
{
	git_buf text = { 0 };
	const char *body;

	if (git_patch_to_buf(&text, patch) < 0)
		return ws_git_fail(err, WS_INTERNAL, "print a patch");
	/* NULs are in binary files alone, which come as text */
	body = text.ptr ? body_of(text.ptr) : "";
	if (*body)
		ws_buf_add(ret, body, text.size - (size_t)(body - text.ptr));
	git_buf_dispose(&text);
	return 0;
}

static int reply(git_patch *patch, const struct ws_buf *old, const struct ws_buf *new,
		 struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf body = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	size_t context = 0, added = 0, removed = 0;
	char ids[2][GIT_OID_HEXSZ + 1];
	git_oid id[2];

	if (print_body(patch, &body, err) < 0)
		return -1;
	if (git_patch_line_stats(&context, &added, &removed, patch) < 0 ||
	    git_odb_hash(&id[0], ws_buf_str(old), old->len, GIT_OBJECT_BLOB) < 0 ||
	    git_odb_hash(&id[1], ws_buf_str(new), new->len, GIT_OBJECT_BLOB) < 0)
		return ws_git_fail(err, WS_INTERNAL, "describe a patch");
	for (int i = 0; i < 2; i++)
		git_oid_tostr(ids[i], sizeof(ids[i]), &id[i]);
	ws_buf_addf(&out, "%zu %zu %d %s %s %zu\n", added, removed,
		    (git_patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY) != 0,
		    ids[0], ids[1], body.len);
	ws_buf_add(&out, ws_buf_str(&body), body.len);
	if (ws_write_all(STDOUT_FILENO, out.data, out.len) < 0)
		return ws_fail_errno(err, "answer");
	return 0;
}

static int compare(const struct ws_buf *old, const struct ws_buf *new, struct ws_err *err)
{
	git_diff_options opts = GIT_DIFF_OPTIONS_INIT;
	git_patch *patch = NULL;
	int rc;

	opts.flags = GIT_DIFF_SHOW_BINARY | GIT_DIFF_INDENT_HEURISTIC;
	if (git_patch_from_buffers(&patch, ws_buf_str(old), old->len, "a",
				   ws_buf_str(new), new->len, "a", &opts) < 0)
		return ws_git_fail(err, WS_INTERNAL, "compare two files");
	rc = reply(patch, old, new, err);
	git_patch_free(patch);
	return rc;
}

static int read_side(size_t len, struct ws_buf *ret, struct ws_err *err)
{
	ws_buf_reserve(ret, len + 1);
	ret->len = fread(ret->data, 1, len, stdin);
	ret->data[ret->len] = '\0';
	if (ret->len == len)
		return 0;
	return ws_fail(err, WS_INTERNAL, "a question ends too early");
}

int ws_answer_hunks(int argc, char **argv, struct ws_buf *out, struct ws_err *err)
{
	size_t lens[2];

	(void)argc;
	(void)argv;
	(void)out;
	while (scanf("%zu %zu", &lens[0], &lens[1]) == 2) {
		WS_AUTO(ws_buf) struct ws_buf old = WS_BUF_INIT;
		WS_AUTO(ws_buf) struct ws_buf new = WS_BUF_INIT;

		if (getchar() != '\n' || lens[0] > SIDE_MAX || lens[1] > SIDE_MAX)
			return ws_fail(err, WS_INTERNAL, "no question");
		if (read_side(lens[0], &old, err) < 0 ||
		    read_side(lens[1], &new, err) < 0 || compare(&old, &new, err) < 0)
			return -1;
	}
	return 0;
}
