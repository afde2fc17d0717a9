/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

/* The word that is being parsed, and how far argv is used up. */
struct scan {
	int argc;
	char **argv;
	int next;
	const struct ws_opt *opts;
	struct ws_err *err;
};

static bool takes_value(const struct ws_opt *o)
{
	return o->kind != WS_OPT_FLAG && o->kind != WS_OPT_NOFLAG;
}

static const struct ws_opt *find_name(const struct ws_opt *opts, const char *name,
				      size_t len)
{
	for (; opts->kind != WS_OPT_END; opts++)
		if (opts->name && strlen(opts->name) == len &&
		    memcmp(opts->name, name, len) == 0)
			return opts;
	return NULL;
}

static const struct ws_opt *find_letter(const struct ws_opt *opts, char letter)
{
	for (; opts->kind != WS_OPT_END; opts++)
		if (opts->letter == letter)
			return opts;
	return NULL;
}

static int store_number(const struct ws_opt *o, const char *shown, const char *value,
			struct ws_err *err)
{
	uint64_t max = o->kind == WS_OPT_FD ? INT_MAX : UINT64_MAX;
	uint64_t number;

	if (ws_text_u64(value, max, &number) < 0)
		return ws_fail(err, WS_USAGE, "option '%s': '%s' is %s", shown, value,
			       errno == ERANGE ? "too large" : "not a number");
	if (o->kind == WS_OPT_U64) {
		*(uint64_t *)o->target = number;
		return 0;
	}
	if (fcntl((int)number, F_GETFD) < 0)
		return ws_fail(err, WS_USAGE, "option '%s': descriptor %s is not open",
			       shown, value);
	*(int *)o->target = (int)number;
	return 0;
}

/* SHOWN is the option as it was written, for messages. */
static int store(const struct ws_opt *o, const char *shown, const char *value,
		 struct ws_err *err)
{
	switch (o->kind) {
	case WS_OPT_END:
		break;
	case WS_OPT_FLAG:
	case WS_OPT_NOFLAG:
		*(bool *)o->target = o->kind == WS_OPT_FLAG;
		break;
	case WS_OPT_STR:
		*(const char **)o->target = value;
		break;
	case WS_OPT_LIST:
		ws_strv_push(o->target, value);
		break;
	case WS_OPT_U64:
	case WS_OPT_FD:
		return store_number(o, shown, value, err);
	case WS_OPT_SECONDS:
		if (ws_text_seconds(value, o->target) < 0)
			return ws_fail(err, WS_USAGE,
				       "option '%s': '%s' is not a number of seconds",
				       shown, value);
		break;
	case WS_OPT_SIGNAL:
		if (ws_text_signal(value, o->target) < 0)
			return ws_fail(err, WS_USAGE, "option '%s': '%s' is not a signal",
				       shown, value);
		break;
	}
	return 0;
}

/* The value in the word itself (may be NULL), else the next word. */
static int store_with_value(struct scan *s, const struct ws_opt *o, const char *shown,
			    const char *value)
{
	if (!value && s->next < s->argc)
		value = s->argv[s->next++];
	if (!value)
		return ws_fail(s->err, WS_USAGE, "option '%s' needs a value", shown);
	return store(o, shown, value, s->err);
}

static int fail_unknown(struct scan *s, const char *name, size_t len)
{
	WS_AUTO_FREE char *word = ws_strndup(name, len);
	const char *best = ws_text_nearer(word, NULL, "help");

	ws_fail(s->err, WS_USAGE, "unknown option '--%s'", word);
	for (const struct ws_opt *o = s->opts; o->kind != WS_OPT_END; o++)
		if (o->name)
			best = ws_text_nearer(word, best, o->name);
	return best ? ws_hint(s->err, "did you mean '--%s'?", best) : -1;
}

/* "--name", "--name=V" or "--name V". Returns 1 for --help. */
static int parse_long(struct scan *s, const char *word)
{
	const char *name = word + 2;
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	const struct ws_opt *o = find_name(s->opts, name, len);
	WS_AUTO_FREE char *shown = NULL;

	if (!o && strcmp(name, "help") == 0)
		return 1;
	if (!o)
		return fail_unknown(s, name, len);
	shown = ws_format("--%s", o->name);
	if (takes_value(o))
		return store_with_value(s, o, shown, value);
	if (value)
		return ws_fail(s->err, WS_USAGE, "option '%s' takes no value", shown);
	return store(o, shown, NULL, s->err);
}

/* "-xyz": flags, the last of which may take the rest, or the next word. */
static int parse_letters(struct scan *s, const char *word)
{
	for (const char *at = word + 1; *at; at++) {
		const struct ws_opt *o = find_letter(s->opts, *at);
		const char shown[] = { '-', *at, '\0' };

		if (!o && *at == 'h')
			return 1;
		if (!o)
			return ws_fail(s->err, WS_USAGE, "unknown option '%s'", shown);
		if (takes_value(o))
			return store_with_value(s, o, shown, at[1] ? at + 1 : NULL);
		store(o, shown, NULL, s->err);
	}
	return 0;
}

int ws_opt_parse(int argc, char **argv, int npos, const struct ws_opt *opts,
		 struct ws_strv *args, struct ws_err *err)
{
	struct scan s = {
		.argc = argc, .argv = argv, .next = 1, .opts = opts, .err = err
	};
	int found = 0;

	while (s.next < argc) {
		const char *word = argv[s.next];
		int rc;

		if (word[0] != '-' || word[1] == '\0') {
			if (npos >= 0 && found == npos)
				break;
			ws_strv_push(args, word);
			found++;
			s.next++;
			continue;
		}
		s.next++;
		if (strcmp(word, "--") == 0)
			break;
		rc = word[1] == '-' ? parse_long(&s, word) : parse_letters(&s, word);
		if (rc != 0)
			return rc;
	}
	for (; s.next < argc; s.next++)
		ws_strv_push(args, argv[s.next]);
	return 0;
}

/* "  -t, --tty", "      --signal SIG", "  -V" */
static void add_left(struct ws_buf *b, const struct ws_opt *o)
{
	if (o->letter)
		ws_buf_addf(b, "  -%c%s", o->letter, o->name ? ", " : "");
	else
		ws_buf_addstr(b, "      ");
	if (o->name)
		ws_buf_addf(b, "--%s", o->name);
	if (o->arg)
		ws_buf_addf(b, " %s", o->arg);
}

#define LEFT_MAX 30

void ws_opt_print(FILE *out, const struct ws_opt *opts)
{
	WS_AUTO(ws_buf) struct ws_buf left = WS_BUF_INIT;
	size_t width = 0;

	for (const struct ws_opt *o = opts; o->kind != WS_OPT_END; o++) {
		ws_buf_clear(&left);
		add_left(&left, o);
		if (o->help && left.len > width && left.len <= LEFT_MAX)
			width = left.len;
	}
	for (const struct ws_opt *o = opts; o->kind != WS_OPT_END; o++) {
		if (!o->help)
			continue;
		ws_buf_clear(&left);
		add_left(&left, o);
		if (left.len > width)
			fprintf(out, "%s\n%*s  %s\n", left.data, (int)width, "", o->help);
		else
			fprintf(out, "%-*s  %s\n", (int)width, left.data, o->help);
	}
}
