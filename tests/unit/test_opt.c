/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/buf.h"
#include "check.h"

/* All that one parse gives. */
struct got {
	bool all, tty, net;
	const char *name;
	struct ws_strv env;
	uint64_t count, timeout;
	int fd, sig, rc;
	struct ws_strv args;
	struct ws_strv words; /* that name points into */
	struct ws_err err;
};

static struct got got;

static void release(void)
{
	ws_strv_release(&got.env);
	ws_strv_release(&got.args);
	ws_strv_release(&got.words);
	got = (struct got){ .net = true, .fd = -1, .rc = -2 };
}

#define PARSE(npos, ...) parse(npos, (const char *[]){ "cmd", ##__VA_ARGS__, NULL })

static int parse(int npos, const char *const *words)
{
	const struct ws_opt opts[] = {
		{ 'a', "all", WS_OPT_FLAG, &got.all, NULL, "signal every process" },
		{ 't', "tty", WS_OPT_FLAG, &got.tty, NULL,
		  "give the command a terminal" },
		{ 0, "no-net", WS_OPT_NOFLAG, &got.net, NULL, "without a network" },
		{ 'n', "name", WS_OPT_STR, &got.name, "NAME", "what it is called" },
		{ 'e', "env", WS_OPT_LIST, &got.env, "NAME[=VALUE]", "a variable" },
		{ 'c', "count", WS_OPT_U64, &got.count, "N", "how many" },
		{ 0, "timeout", WS_OPT_SECONDS, &got.timeout, "S", "how long" },
		{ 0, "status-fd", WS_OPT_FD, &got.fd, "N", "a descriptor" },
		{ 's', "signal", WS_OPT_SIGNAL, &got.sig, "SIG", "name or number" },
		{ 'V', NULL, WS_OPT_FLAG, &got.all, NULL, NULL },
		{ 0 },
	};

	release();
	while (*words)
		ws_strv_push(&got.words, *words++);
	got.err = WS_ERR_INIT;
	got.rc = ws_opt_parse((int)got.words.n, got.words.v, npos, opts, &got.args,
			      &got.err);
	return got.rc;
}

/* The arguments, joined by '|'. */
static const char *args(void)
{
	static char text[200];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < got.args.n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
					i ? "|" : "", got.args.v[i]);
	return text;
}

static void facts_of_forms(void)
{
	CHECK(PARSE(-1) == 0 && got.args.n == 0 && got.net && !got.all);
	CHECK(PARSE(-1, "-a", "-t") == 0 && got.all && got.tty);
	CHECK(PARSE(-1, "-at") == 0 && got.all && got.tty);
	CHECK(PARSE(-1, "--all", "--no-net") == 0 && got.all && !got.net);
	CHECK(PARSE(-1, "--name=x") == 0 && strcmp(got.name, "x") == 0);
	CHECK(PARSE(-1, "--name", "x") == 0 && strcmp(got.name, "x") == 0);
	CHECK(PARSE(-1, "--name=") == 0 && strcmp(got.name, "") == 0);
	CHECK(PARSE(-1, "--name=a=b") == 0 && strcmp(got.name, "a=b") == 0);
	CHECK(PARSE(-1, "-nx") == 0 && strcmp(got.name, "x") == 0);
	CHECK(PARSE(-1, "-n", "x") == 0 && strcmp(got.name, "x") == 0);
	CHECK(PARSE(-1, "-n", "--all") == 0 && strcmp(got.name, "--all") == 0 &&
	      !got.all);
	CHECK(PARSE(-1, "-atnx") == 0 && got.all && got.tty &&
	      strcmp(got.name, "x") == 0);
	CHECK(PARSE(-1, "-an", "x") == 0 && got.all && strcmp(got.name, "x") == 0);
	CHECK(PARSE(-1, "-n1", "-n2") == 0 && strcmp(got.name, "2") == 0);
	CHECK(PARSE(-1, "-eA=1", "-e", "B", "--env=C=") == 0 && got.env.n == 3);
	CHECK_STR(got.env.v[0], "A=1");
	CHECK_STR(got.env.v[2], "C=");
	CHECK(PARSE(-1, "-V") == 0 && got.all);
}

static void facts_of_positions(void)
{
	PARSE(-1, "ID", "-a", "x", "--tty");
	CHECK_STR(args(), "ID|x");
	CHECK(got.all && got.tty);
	PARSE(1, "-a", "ID", "--tty", "ls", "-a", "--name=z");
	CHECK_STR(args(), "ID|ls|-a|--name=z");
	CHECK(got.all && got.tty && !got.name);
	PARSE(1, "ID", "--", "-x", "--");
	CHECK_STR(args(), "ID|-x|--");
	PARSE(1, "ID", "ls", "--", "-l");
	CHECK_STR(args(), "ID|ls|--|-l");
	PARSE(0, "create", "--all");
	CHECK_STR(args(), "create|--all");
	CHECK(!got.all);
	PARSE(-1, "-", "a");
	CHECK_STR(args(), "-|a");
	PARSE(-1, "", "--", "-a");
	CHECK_STR(args(), "|-a");
	CHECK(!got.all);
	CHECK(PARSE(1, "ID", "ls", "--help") == 0);
}

static void facts_of_help(void)
{
	CHECK_INT(PARSE(-1, "-h"), 1);
	CHECK_INT(PARSE(-1, "x", "--help"), 1);
	CHECK_INT(PARSE(-1, "-ah"), 1);
	CHECK_INT(PARSE(-1, "--", "--help"), 0);
	CHECK_INT(PARSE(-1, "--help=x"), -1);
	CHECK_INT(PARSE(-1, "-n", "-h"), 0);
}

static const char *said(void)
{
	return got.rc < 0 && got.err.kind == WS_USAGE ? got.err.msg : "no usage error";
}

static void facts_of_errors(void)
{
	PARSE(-1, "--nmae", "x");
	CHECK_STR(said(), "unknown option '--nmae'");
	CHECK_STR(got.err.hint, "did you mean '--name'?");
	PARSE(-1, "--nam=x");
	CHECK_STR(said(), "unknown option '--nam'");
	PARSE(-1, "--zzzzzzz");
	CHECK_STR(said(), "unknown option '--zzzzzzz'");
	CHECK_STR(got.err.hint, "");
	PARSE(-1, "-ax");
	CHECK_STR(said(), "unknown option '-x'");
	PARSE(-1, "--name");
	CHECK_STR(said(), "option '--name' needs a value");
	PARSE(-1, "-n");
	CHECK_STR(said(), "option '-n' needs a value");
	PARSE(-1, "--all=1");
	CHECK_STR(said(), "option '--all' takes no value");
	PARSE(-1, "--=x");
	CHECK_STR(said(), "unknown option '--'");
	PARSE(-1, "--V");
	CHECK_STR(said(), "unknown option '--V'");
}

static void facts_of_values(void)
{
	CHECK(PARSE(-1, "-c18446744073709551615") == 0 && got.count == UINT64_MAX);
	PARSE(-1, "-c18446744073709551616");
	CHECK_STR(said(), "option '-c': '18446744073709551616' is too large");
	PARSE(-1, "--count=-1");
	CHECK_STR(said(), "option '--count': '-1' is not a number");
	CHECK(PARSE(-1, "--timeout", "1.5") == 0 && got.timeout == 1500);
	PARSE(-1, "--timeout=1m");
	CHECK_STR(said(), "option '--timeout': '1m' is not a number of seconds");
	CHECK(PARSE(-1, "-s", "HUP") == 0 && got.sig == SIGHUP);
	PARSE(-1, "-sNOPE");
	CHECK_STR(said(), "option '-s': 'NOPE' is not a signal");
	CHECK(PARSE(-1, "--status-fd=1") == 0 && got.fd == 1);
	PARSE(-1, "--status-fd=987654");
	CHECK_STR(said(), "option '--status-fd': descriptor 987654 is not open");
	PARSE(-1, "--status-fd=99999999999");
	CHECK_STR(said(), "option '--status-fd': '99999999999' is too large");
	CHECK_INT(got.fd, -1);
}

static void facts_of_printing(void)
{
	const struct ws_opt opts[] = {
		{ 'a', "all", WS_OPT_FLAG, NULL, NULL, "one" },
		{ 0, "name", WS_OPT_STR, NULL, "NAME", "two" },
		{ 'x', NULL, WS_OPT_FLAG, NULL, NULL, "three" },
		{ 'V', NULL, WS_OPT_FLAG, NULL, NULL, NULL },
		{ 0, "a-very-long-option", WS_OPT_STR, NULL, "WITH-A-LONG-VALUE",
		  "four" },
		{ 0 },
	};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	MUST(out);
	ws_opt_print(out, opts);
	fclose(out);
	CHECK_STR(text, "  -a, --all        one\n"
			"      --name NAME  two\n"
			"  -x               three\n"
			"      --a-very-long-option WITH-A-LONG-VALUE\n"
			"                   four\n");
	free(text);
}

int main(void)
{
	facts_of_forms();
	facts_of_positions();
	facts_of_help();
	facts_of_errors();
	facts_of_values();
	facts_of_printing();
	release();
	return CHECK_DONE();
}
