/* SPDX-License-Identifier: Apache-2.0 */
#include "core/exec_note.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/text.h"

#define EXEC_ID_BYTES 6

void ws_exec_note_release(struct ws_exec_note *n)
{
	ws_execrec_release(&n->record);
	ws_closep(&n->fd);
}

static void set_state(struct ws_execrec *r, const char *state, int status,
		      const char *cause)
{
	ws_freep(&r->state);
	ws_freep(&r->cause);
	r->state = ws_strdup(state);
	r->cause = ws_strdup(cause);
	r->status = (uint64_t)status;
}

static void save(struct ws_exec_note *n)
{
	struct ws_err err = WS_ERR_INIT;

	if (n->fd < 0 || ws_execrec_append(n->fd, &n->record, &err) == 0)
		return;
	ws_warn("%s", err.msg);
	ws_closep(&n->fd);
}

int ws_exec_note_begin(struct ws_exec_note *n, const struct ws_session *s,
		       const struct ws_exec_opts *opts, struct ws_err *err)
{
	char id[2 * EXEC_ID_BYTES + 1];
	struct ws_execrec *r = &n->record;

	if (opts->exec_id && ws_execrec_check_id(opts->exec_id, err) < 0)
		return -1;
	ws_text_random(id, EXEC_ID_BYTES);
	r->version = 1;
	r->id = ws_strdup(opts->exec_id ? opts->exec_id : id);
	r->command = ws_strdup(opts->argv.v[0]);
	r->started = ws_clock_wall_ns();
	r->tty = opts->tty;
	r->detached = opts->detach;
	set_state(r, "starting", 0, "");
	if (ws_proc_identify(getpid(), &r->supervisor) < 0)
		return ws_fail_errno(err, "look at /proc");
	if (ws_execrec_create(s, r, &n->fd, err) == 0)
		return 0;
	if (err->kind != WS_DISK_FULL)
		return -1;
	ws_warn("%s: the command runs without a record", err->msg);
	return 0;
}

void ws_exec_note_running(struct ws_exec_note *n, pid_t shepherd, pid_t command)
{
	set_state(&n->record, "running", 0, "");
	ws_proc_identify(shepherd, &n->record.shepherd);
	ws_proc_identify(command, &n->record.process);
	save(n);
}

static const char *cause_of(const struct ws_outcome *o)
{
	return o->lost	      ? "sandbox-lost"
	       : o->timed_out ? "timeout"
	       : o->signal    ? "signal"
			      : "";
}

void ws_exec_note_ended(struct ws_exec_note *n, const struct ws_outcome *o,
			const char *cause)
{
	n->record.ended = ws_clock_wall_ns();
	set_state(&n->record, "exited", o->status, cause ? cause : cause_of(o));
	save(n);
}

void ws_exec_note_failed(struct ws_exec_note *n, int status, const struct ws_err *err)
{
	n->record.ended = ws_clock_wall_ns();
	set_state(&n->record, "failed", status, ws_kind_name(err->kind));
	save(n);
}
