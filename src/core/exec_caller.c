/* SPDX-License-Identifier: Apache-2.0 */
#include "core/exec_caller.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc.h"
#include "core/execlog.h"
#include "core/relay.h"
#include "core/run.h"

void ws_exec_caller_release(struct ws_exec_caller *c)
{
	ws_closep(&c->in);
	ws_closep(&c->out);
	ws_closep(&c->errs);
	ws_closep(&c->log);
	ws_closep(&c->parent);
}

static int check_detach(const struct ws_exec_opts *o, const struct ws_profile *profile,
			struct ws_err *err)
{
	if (!o->detach)
		return 0;
	if (o->interactive || o->tty)
		return ws_fail(err, WS_USAGE,
			       "--detach excludes --interactive and --tty");
	if (profile->serves)
		return ws_fail(err, WS_USAGE,
			       "--detach: profile '%s' serves whoever has its stdin",
			       profile->name);
	if (o->run && !o->run->id) {
		ws_fail(err, WS_USAGE, "--detach needs a name");
		return ws_hint(err, "--id NAME: then ps, logs, wait and stop find it");
	}
	return 0;
}

/* Three things may want to read it. */
static int check_stdin(const struct ws_exec_opts *o, const struct ws_profile *profile,
		       struct ws_err *err)
{
	bool spec = o->run && o->run->spec && !strcmp(o->run->spec, "-");

	if (spec && (o->interactive || profile->serves))
		return ws_fail(
			err, WS_USAGE,
			"the spec and the command cannot both have standard input");
	return 0;
}

static int check_command(const struct ws_exec_opts *o, struct ws_err *err)
{
	if (o->argv.n > 0 && o->argv.v[0][0])
		return 0;
	if (o->argv.n > 0)
		return ws_fail(err, WS_USAGE, "the command has an empty name");
	ws_fail(err, WS_USAGE, "no command");
	return o->run ? ws_hint(err, "wsiso run [OPTIONS] [--] COMMAND...")
		      : ws_hint(err, "wsiso exec %s [OPTIONS] [--] COMMAND...", o->id);
}

/*
 * The pidfd first: a parent that dies after this is seen, one that died before differs.
 * Who has none that could be seen (PID 1 of a container) can be tied to none.
 */
static int watch_parent(bool asked, struct ws_exec_caller *ret, struct ws_err *err)
{
	pid_t parent = getppid();

	if (parent <= 0 && !asked)
		return 0;
	ret->parent = parent > 0 ? ws_pidfd_open(parent) : -1;
	if (ret->parent >= 0 && getppid() == parent)
		return 0;
	return ws_fail(err, WS_USAGE,
		       "--with-parent: there is no parent process to be tied to");
}

int ws_exec_caller_check(const struct ws_exec_opts *opts,
			 const struct ws_profile *profile, struct ws_exec_caller *ret,
			 struct ws_err *err)
{
	if (check_command(opts, err) < 0 || check_detach(opts, profile, err) < 0 ||
	    check_stdin(opts, profile, err) < 0)
		return -1;
	if (!opts->with_parent && !profile->serves)
		return 0;
	return watch_parent(opts->with_parent, ret, err);
}

static int borrow(int fd, bool write, int *ret, struct ws_err *err)
{
	*ret = ws_relay_borrow(fd, write);
	return *ret < 0 ? ws_fail_errno(err, "use descriptor %d", fd) : 0;
}

/* A terminal is a keyboard as well; anything else is read only if asked for. */
static int borrow_input(const struct ws_exec_opts *o, const struct ws_profile *profile,
			struct ws_exec_caller *ret, struct ws_err *err)
{
	struct stat st;

	if (!o->interactive && !profile->serves && !(o->tty && isatty(STDIN_FILENO)))
		return 0;
	if (fstat(STDIN_FILENO, &st) == 0 && S_ISDIR(st.st_mode))
		return ws_fail(err, WS_USAGE, "standard input is a folder");
	return borrow(STDIN_FILENO, false, &ret->in, err);
}

int ws_exec_caller_open(const struct ws_exec_opts *opts, const struct ws_profile *profile,
			const struct ws_session *s, const char *exec_id,
			struct ws_exec_caller *ret, struct ws_err *err)
{
	int out = STDOUT_FILENO, errs = STDERR_FILENO;

	if (borrow_input(opts, profile, ret, err) < 0)
		return -1;
	if (opts->detach) {
		if (ws_execlog_open(s, exec_id, &ret->log, &ret->room, err) < 0)
			return -1;
		out = errs = ret->log;
	}
	return borrow(out, true, &ret->out, err) < 0 ||
			       borrow(errs, true, &ret->errs, err) < 0
		       ? -1
		       : 0;
}
