/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/jsonw.h"
#include "helper/git.h"

/*
 * libgit2 as Debian builds it reads the system's 140 certificates while it starts: 5 of
 * the 10 ms that a question takes. Nothing here talks to anybody, so this takes the
 * place of mbed TLS's function; where libgit2 uses another library it is never called.
 */
int mbedtls_x509_crt_parse_file(void *chain, const char *path);
int mbedtls_x509_crt_parse_file(void *chain, const char *path)
{
	(void)chain;
	(void)path;
	return 0;
}

#ifdef __SANITIZE_ADDRESS__
/* A search in libgit2's revision syntax keeps libpcre2's match data until the end. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpcre2\nleak:pcre2_match\n";
}

/* It cannot look at a process that is traced, as by the tests that inject faults. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	WS_AUTO(ws_buf) struct ws_buf status = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	const char *tracer;

	if (fd < 0 || ws_read_fd(fd, BUFSIZ, &status) < 0)
		return 0;
	tracer = strstr(ws_buf_str(&status), "\nTracerPid:\t");
	return tracer && tracer[strlen("\nTracerPid:\t")] != '0';
}
#endif

static const struct {
	const char *word;
	ws_answer *answer;
} questions[] = {
	{ "resolve", ws_answer_resolve }, { "pool", ws_answer_pool },
	{ "base", ws_answer_base },	  { "hunks", ws_answer_hunks },
	{ "changes", ws_answer_changes }, { "near", ws_answer_near },
	{ "merge", ws_answer_merge },	  { "bring", ws_answer_bring },
};

/* libgit2 ends its messages as it likes; ours are lower case without a full stop. */
static void tidy(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && (text[len - 1] == '.' || isspace((unsigned char)text[len - 1])))
		text[--len] = '\0';
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	if (isupper((unsigned char)text[0]) && !isupper((unsigned char)text[1]))
		text[0] = (char)tolower((unsigned char)text[0]);
}

int ws_git_fail(struct ws_err *err, enum ws_kind kind, const char *fmt, ...)
{
	const git_error *last = git_error_last();
	WS_AUTO_FREE char *why =
		ws_strdup(last && last->message ? last->message : "no reason given");
	WS_AUTO_FREE char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = ws_vformat(fmt, ap);
	va_end(ap);
	tidy(why);
	return ws_fail(err, kind, "%s: %s", what, why);
}

int ws_git_text(const char *dir, const char *name, size_t max, struct ws_buf *ret,
		struct ws_err *err)
{
	WS_AUTO_FREE char *path = ws_format("%s/%s", dir, name);
	WS_AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd >= 0 && fstat(fd, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return ws_fail(err, WS_REPO_UNUSABLE, "'%s' is no regular file",
				       path);
		if (ws_read_fd(fd, max, ret) == 0)
			return 1;
	}
	ws_fail_errno(err, "read '%s'", path);
	err->kind = WS_REPO_UNUSABLE;
	return -1;
}

/*
 * Extensions that change nothing about objects and refs as libgit2 reads them, and those
 * whose value git_open.c has looked at. Names as libgit2 compares them: lower case.
 */
static int set_up(struct ws_err *err)
{
	const char *known[] = { "worktreeconfig", "relativeworktrees", "preciousobjects",
				"partialclone",	  "objectformat",      "refstorage" };

	if (git_libgit2_init() < 0)
		return ws_git_fail(err, WS_INTERNAL, "start libgit2");
	/*
	 * whose repository it is, is said in a note; git's check is about running its
	 * programs
	 */
	if (git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0) < 0 ||
	    git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, known, WS_ARRAY_SIZE(known)) < 0)
		return ws_git_fail(err, WS_INTERNAL, "set up libgit2");
	/* zlib's own checksum is what git relies on, too */
	git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
	return 0;
}

static int answer(int argc, char **argv, struct ws_buf *out, struct ws_err *err)
{
	if (set_up(err) < 0)
		return -1;
	for (size_t i = 0; argc > 1 && i < WS_ARRAY_SIZE(questions); i++)
		if (!strcmp(argv[1], questions[i].word))
			return questions[i].answer(argc - 1, argv + 1, out, err);
	return ws_fail(err, WS_INTERNAL, "wsiso-git answers questions of wsiso alone");
}

static void print_error(const struct ws_err *err, struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_buf_clear(out);
	ws_jsonw_init(&w, out, false);
	ws_jsonw_object(&w, NULL);
	ws_jsonw_str(&w, "kind", ws_kind_name(err->kind));
	ws_jsonw_str(&w, "message", err->msg);
	ws_jsonw_str(&w, "hint", err->hint);
	ws_jsonw_end(&w, '}');
	ws_jsonw_done(&w);
}

int main(int argc, char **argv)
{
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;
	struct ws_err err = WS_ERR_INIT;
	int rc;

	/* nothing is built for a wsiso that is gone */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	umask(022);
	rc = answer(argc, argv, &out, &err);
	if (rc < 0)
		print_error(&err, &out);
	git_libgit2_shutdown();
	if (ws_write_all(STDOUT_FILENO, out.data, out.len) < 0)
		return 1;
	return rc < 0 ? 1 : 0;
}
