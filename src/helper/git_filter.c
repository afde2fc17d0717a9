/* SPDX-License-Identifier: Apache-2.0 */
#include <iconv.h>
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "helper/git.h"

#define ENCODING "working-tree-encoding"

/* ---- needed? ---- */

static bool mentions(const void *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

/*
 * Here, bytes differ from the blob's by CRLF, $Id$ and encoding alone. Most repositories
 * with attributes ask for none, and to look attributes up costs more than to write files.
 */
static bool asks(const void *text, size_t len)
{
	return mentions(text, len, "crlf") || mentions(text, len, "ident") ||
	       mentions(text, len, ENCODING);
}

/* Is the key set to something else than what changes nothing? */
static bool config_asks(git_config *config, const char *name)
{
	static const char *const idle[] = { "false", "no",    "off", "0",
					    "",	     "input", "lf",  "native" };
	const char *value = NULL;

	if (git_config_get_string(&value, config, name) < 0)
		return false;
	for (size_t i = 0; i < WS_ARRAY_SIZE(idle); i++)
		if (!strcasecmp(value, idle[i]))
			return false;
	return true;
}

static int repo_asks(git_repository *repo, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	git_config *config = NULL;
	bool yes;

	if (ws_git_text(git_repository_path(repo), "info/attributes", INT_MAX, &text,
			err) < 0)
		return -1;
	if (git_repository_config_snapshot(&config, repo) < 0)
		return ws_git_fail(err, WS_SNAPSHOT_FAILED, "read the config");
	yes = asks(ws_buf_str(&text), text.len) || config_asks(config, "core.autocrlf") ||
	      config_asks(config, "core.eol");
	git_config_free(config);
	return yes;
}

static int entry_asks(git_repository *repo, const git_index_entry *e, struct ws_err *err)
{
	git_blob *blob = NULL;
	bool yes;

	if (strcmp(ws_text_basename(e->path), WS_GIT_ATTRIBUTES) != 0 ||
	    e->mode == GIT_FILEMODE_COMMIT)
		return 0;
	if (git_blob_lookup(&blob, repo, &e->id) < 0)
		return ws_git_fail(err, WS_SNAPSHOT_FAILED, "read '%s'", e->path);
	yes = asks(git_blob_rawcontent(blob), (size_t)git_blob_rawsize(blob));
	git_blob_free(blob);
	return yes;
}

int ws_git_filter_needed(git_repository *repo, git_index_entry *const *entries, size_t n,
			 struct ws_err *err)
{
	int rc = repo_asks(repo, err);

	for (size_t i = 0; i < n && rc == 0; i++)
		rc = entry_asks(repo, entries[i], err);
	return rc;
}

/* ---- encodings: libgit2 knows none ---- */

/* git's names that say whether a byte order mark is written. */
static const struct {
	const char *name, *charset, *mark;
	size_t mark_len;
} marked[] = {
	{ "UTF-8-BOM", "UTF-8", "\xef\xbb\xbf", 3 },
	{ "UTF-16LE-BOM", "UTF-16LE", "\xff\xfe", 2 },
	{ "UTF-16BE-BOM", "UTF-16BE", "\xfe\xff", 2 },
};

static int convert(iconv_t cd, const char *data, size_t len, struct ws_buf *out)
{
	char chunk[16384];
	char *in = (char *)data; /* iconv(3) does not write there */

	for (bool flush = false;;) {
		char *to = chunk;
		size_t room = sizeof(chunk);
		size_t rc =
			iconv(cd, flush ? NULL : &in, flush ? NULL : &len, &to, &room);

		ws_buf_add(out, chunk, sizeof(chunk) - room);
		if (rc == (size_t)-1 && errno != E2BIG)
			return -1;
		if (rc != (size_t)-1 && flush)
			return 0;
		if (rc != (size_t)-1)
			flush = true;
	}
}

/* 0 as git: a charset that is not known, or text that is not in it, stays as it is. */
static int encode(const char *name, const char *data, size_t len, struct ws_buf *out)
{
	const char *charset = name;
	iconv_t cd;
	int rc;

	for (size_t i = 0; i < WS_ARRAY_SIZE(marked); i++) {
		if (strcasecmp(name, marked[i].name) != 0)
			continue;
		charset = marked[i].charset;
		ws_buf_add(out, marked[i].mark, marked[i].mark_len);
	}
	cd = iconv_open(charset, "UTF-8");
	if (cd == (iconv_t)-1)
		return 0;
	rc = convert(cd, data, len, out);
	iconv_close(cd);
	return rc == 0;
}

static bool is_utf8(const char *name)
{
	return !strcasecmp(name, "UTF-8") || !strcasecmp(name, "UTF8");
}

/* ---- $Id$: libgit2 would expand the first one only ---- */

/*
 * How much of TEXT, which stands behind a '$', is the rest of an $Id$ that git would
 * expand; 0: nothing. One that another system has expanded has blanks in it, and stays.
 */
static size_t ident_len(const char *text, size_t len)
{
	const char *end, *blank;

	if (len < 3 || memcmp(text, "Id", 2) != 0)
		return 0;
	if (text[2] == '$')
		return 3;
	end = text[2] == ':' ? memchr(text + 3, '$', len - 3) : NULL;
	if (!end || memchr(text + 3, '\n', (size_t)(end - text) - 3))
		return 0;
	blank = end - text > 4 ? memchr(text + 4, ' ', (size_t)(end - text) - 4) : NULL;
	return blank && blank < end - 1 ? 0 : (size_t)(end - text) + 1;
}

static void expand_ident(const git_oid *id, const char *data, size_t len,
			 struct ws_buf *out)
{
	const char *end = data + len;
	char hex[GIT_OID_HEXSZ + 1];

	git_oid_tostr(hex, sizeof(hex), id);
	while (data < end) {
		const char *dollar = memchr(data, '$', (size_t)(end - data));
		size_t skip;

		if (!dollar)
			break;
		ws_buf_add(out, data, (size_t)(dollar - data) + 1);
		data = dollar + 1;
		skip = ident_len(data, (size_t)(end - data));
		if (skip)
			ws_buf_addf(out, "Id: %s $", hex);
		data += skip;
	}
	ws_buf_add(out, data, (size_t)(end - data));
}

/* ---- apply ---- */

/* libgit2's own, line ends; a filter that is a program does not run. */
static int convert_lines(git_repository *repo, const char *path, struct ws_buf *text)
{
	git_filter_list *list = NULL;
	git_buf to = GIT_BUF_INIT;
	/* without a blob its $Id$ does nothing */
	int rc = git_filter_list_load(&list, repo, NULL, path, GIT_FILTER_TO_WORKTREE,
				      GIT_FILTER_ALLOW_UNSAFE |
					      GIT_FILTER_NO_SYSTEM_ATTRIBUTES);

	if (rc == 0 && list) {
		rc = git_filter_list_apply_to_buffer(&to, list, ws_buf_str(text),
						     text->len);
		if (rc == 0) {
			ws_buf_clear(text);
			ws_buf_add(text, to.ptr, to.size);
		}
	}
	git_buf_dispose(&to);
	git_filter_list_free(list);
	return rc;
}

static void convert_encoding(const char *name, struct ws_buf *text)
{
	WS_AUTO(ws_buf) struct ws_buf encoded = WS_BUF_INIT;

	if (git_attr_value(name) != GIT_ATTR_VALUE_STRING || is_utf8(name) || !text->len)
		return;
	if (encode(name, text->data, text->len, &encoded)) {
		ws_buf_clear(text);
		ws_buf_add(text, encoded.data, encoded.len);
	}
}

/* In git's order. */
int ws_git_filter_apply(git_repository *repo, const char *path, const git_oid *id,
			const void *data, size_t len, struct ws_buf *out,
			struct ws_err *err)
{
	const char *names[] = { "ident", ENCODING };
	const char *values[WS_ARRAY_SIZE(names)] = { NULL };

	if (git_attr_get_many(values, repo,
			      GIT_ATTR_CHECK_INDEX_ONLY | GIT_ATTR_CHECK_NO_SYSTEM, path,
			      WS_ARRAY_SIZE(names), names) < 0)
		return ws_git_fail(err, WS_SNAPSHOT_FAILED,
				   "look up the attributes of '%s'", path);
	if (git_attr_value(values[0]) == GIT_ATTR_VALUE_TRUE)
		expand_ident(id, data, len, out);
	else
		ws_buf_add(out, data, len);
	if (convert_lines(repo, path, out) < 0)
		return ws_git_fail(err, WS_SNAPSHOT_FAILED, "convert '%s'", path);
	convert_encoding(values[1], out);
	return 0;
}
