/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wsiso: isolated workspaces for coding agents. The map of the house:
 *
 *   src/main.c      this: options before the command, the command table, the exit
 *                   status, and the only place that prints an error
 *   src/cmd/        one file per command, which ends in its row (cmd/cmd.h):
 *                   options, one call into core, output; common.c is what they share
 *   src/core/       what wsiso knows, in three steps that look down only:
 *                     pure    spec, plan, render, diff: no file, no process
 *                     state   root, session, layer, snapshot, journal: files below the
 * root action  sandbox, enter, supervise, fork, merge, setup, gc, files, check src/base/
 * errors, memory, text, JSON, files, processes: knows nothing of wsiso src/helper/
 * programs of their own for heavy libraries; use base only src/init/       wsiso-init,
 * all that runs inside a sandbox; uses nothing of the above
 *
 * Includes point downwards: base <- core <- cmd <- main. A command is added by its
 * file, its test, its man page and its line in Makefile.am, which makes cmd/table.inc.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/common.h"

#define WS_CMD(name) extern const struct ws_cmd ws_cmd_##name;
#include "cmd/table.inc"
#undef WS_CMD

static const struct ws_cmd *const commands[] = {
#define WS_CMD(name) &ws_cmd_##name,
#include "cmd/table.inc"
#undef WS_CMD
};

/* What the words before the command say. */
struct start {
	struct ws_global global;
	struct ws_log_opts log;
	bool version;
};

static void print_help(const struct ws_opt *opts)
{
	int width = 0;

	printf("usage: wsiso [OPTIONS] COMMAND [ARGS]\n\noptions:\n");
	ws_opt_print(stdout, opts);
	printf("\ncommands:\n");
	for (size_t i = 0; i < WS_ARRAY_SIZE(commands); i++)
		if ((int)strlen(commands[i]->name) > width)
			width = (int)strlen(commands[i]->name);
	for (size_t i = 0; i < WS_ARRAY_SIZE(commands); i++)
		printf("  %-*s  %s\n", width, commands[i]->name, commands[i]->help);
	printf("\n'wsiso COMMAND --help' lists a command's options; wsiso(1) says more.\n");
}

/* REST gets the command and its words. Returns 1 if help was asked for and printed. */
static int parse_start(int argc, char **argv, struct start *st, struct ws_strv *rest,
		       struct ws_err *err)
{
	const struct ws_opt opts[] = {
		{ 0, "root", WS_OPT_STR, &st->global.root, "DIR",
		  "state folder (default $WSISO_ROOT, ~/.codumentor/workspaces)" },
		{ 0, "log", WS_OPT_STR, &st->log.file, "FILE",
		  "append the log there instead of stderr" },
		{ 0, "log-format", WS_OPT_STR, &st->log.format, "FORMAT",
		  "text (default), json" },
		{ 0, "log-level", WS_OPT_STR, &st->log.level, "LEVEL",
		  "error, warning (default), info, debug" },
		{ 'v', "version", WS_OPT_FLAG, &st->version, NULL,
		  "print the version (also -V)" },
		{ 'V', NULL, WS_OPT_FLAG, &st->version, NULL, NULL },
		{ 0 },
	};
	int rc = ws_opt_parse(argc, argv, 0, opts, rest, err);

	if (rc == 1)
		print_help(opts);
	return rc;
}

static const struct ws_cmd *find_command(const char *name, struct ws_err *err)
{
	const char *best = NULL;

	for (size_t i = 0; i < WS_ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
		best = ws_text_nearer(name, best, commands[i]->name);
	}
	ws_fail(err, WS_USAGE, "unknown command '%s'", name);
	if (best)
		ws_hint(err, "did you mean '%s'?", best);
	else
		ws_hint(err, "'wsiso --help' lists the commands");
	return NULL;
}

/* "help" and "help COMMAND" are other words for --help. */
static int run_help(int argc, char **argv, struct start *st, struct ws_err *err)
{
	char word[] = "--help";
	char *own[] = { argv[0], word, NULL };
	WS_AUTO(ws_strv) struct ws_strv none = WS_STRV_INIT;
	const struct ws_cmd *cmd;

	if (argc < 2) {
		parse_start(2, own, st, &none, err);
		return 0;
	}
	cmd = find_command(argv[1], err);
	own[0] = argv[1];
	return cmd ? cmd->run(cmd, &st->global, 2, own, err) : -1;
}

/* *ret_cmd: the command that decides about the exit status, once it is known. */
static int run(int argc, char **argv, const struct ws_cmd **ret_cmd, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv rest = WS_STRV_INIT;
	struct start st = { .log.program = "wsiso" };
	int rc = parse_start(argc, argv, &st, &rest, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (st.version) {
		printf("wsiso %s\n", PACKAGE_VERSION);
		return 0;
	}
	if (rest.n == 0) {
		ws_fail(err, WS_USAGE, "no command");
		return ws_hint(err, "'wsiso --help' lists them");
	}
	argv += argc - (int)rest.n;
	argc = (int)rest.n;
	if (!st.global.root)
		st.global.root = getenv("WSISO_ROOT");
	if (st.global.root && !*st.global.root)
		st.global.root = NULL;
	if (strcmp(argv[0], "help") == 0)
		return run_help(argc, argv, &st, err);
	*ret_cmd = find_command(argv[0], err);
	if (!*ret_cmd || ws_log_setup(&st.log, err) < 0)
		return -1;
	return (*ret_cmd)->run(*ret_cmd, &st.global, argc, argv, err);
}

/* Output that did not all go out is an error, whatever the command said before. */
static int finish(const struct ws_cmd *cmd, int rc, bool dies_of_pipe, struct ws_err *err)
{
	const struct sigaction normal = { .sa_handler = SIG_DFL };

	if (rc >= 0)
		rc = ws_out_flush(err) < 0 ? -1 : rc;
	else
		fflush(stdout);
	if (rc >= 0)
		return rc;
	if (dies_of_pipe && ferror(stdout) && err->sys == EPIPE) {
		sigaction(SIGPIPE, &normal, NULL);
		raise(SIGPIPE);
	}
	ws_log_final(cmd ? cmd->name : NULL, err);
	return (cmd ? cmd->status_of : WS_STATUS_PLAIN)[ws_kind_class(err->kind)];
}

/*
 * Callers start programs in strange ways. What we open must not become fd 0, 1 or 2;
 * an ignored SIGCHLD would lose every child's status; a mask is some thread's of the
 * caller; a limit of file sizes is an error to be told, no death. SIGPIPE is ignored, so
 * that a log or status pipe without a reader stops nothing; returns whether it was at its
 * default.
 */
static bool settle(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	const struct sigaction normal = { .sa_handler = SIG_DFL };
	struct sigaction was = { 0 };
	sigset_t none;
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	for (fd = 0; fd <= STDERR_FILENO; fd++)
		fcntl(fd, F_SETFD, 0);
	umask(077);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sigaction(SIGCHLD, &normal, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
	sigaction(SIGPIPE, &ignore, &was);
	return was.sa_handler == SIG_DFL;
}

int main(int argc, char **argv)
{
	bool dies_of_pipe = settle();
	const struct ws_cmd *cmd = NULL;
	struct ws_err err = WS_ERR_INIT;
	int rc = run(argc, argv, &cmd, &err);

	return finish(cmd, rc, dies_of_pipe, &err);
}
