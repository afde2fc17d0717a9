/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>

#include "check.h"

static void facts_of_failing(void)
{
	struct ws_err err = WS_ERR_INIT;
	char longer[1000];

	CHECK_INT(ws_fail(&err, WS_STALE, "a '%s'", "b"), -1);
	CHECK_STR(err.msg, "a 'b'");
	CHECK_INT(err.kind, WS_STALE);
	CHECK_STR(err.hint, "");
	CHECK_INT(ws_hint(&err, "do %d", 1), -1);
	CHECK_STR(err.hint, "do 1");
	CHECK_INT(ws_fail_within(&err, "in %s", "c"), -1);
	CHECK_STR(err.msg, "in c: a 'b'");
	CHECK_STR(err.hint, "do 1");
	ws_fail(&err, WS_IO, "again: %s", err.msg);
	CHECK_STR(err.msg, "again: in c: a 'b'");
	CHECK_STR(err.hint, "");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ws_fail(&err, WS_IO, "%s", longer);
	CHECK_U64(strlen(err.msg), sizeof(err.msg) - 1);
	ws_fail_within(&err, "w");
	CHECK_U64(strlen(err.msg), sizeof(err.msg) - 1);
	CHECK(strncmp(err.msg, "w: xxx", 6) == 0);
	errno = ENOENT;
	ws_fail_errno(&err, "%s", longer);
	CHECK_U64(strlen(err.msg), sizeof(err.msg) - 1);
}

static void facts_of_errno(void)
{
	struct ws_err err = WS_ERR_INIT;

	errno = ENOENT;
	CHECK_INT(ws_fail_errno(&err, "open '%s'", "f"), -1);
	CHECK_STR(err.msg, "open 'f': No such file or directory");
	CHECK_INT(err.kind, WS_IO);
	CHECK_INT(err.sys, ENOENT);
	CHECK_INT(errno, ENOENT);
	errno = ENOSPC;
	ws_fail_errno(&err, "write");
	CHECK_INT(err.kind, WS_DISK_FULL);
	errno = EDQUOT;
	ws_fail_errno(&err, "write");
	CHECK_INT(err.kind, WS_DISK_FULL);
	ws_fail(&err, WS_IO, "x");
	CHECK_INT(err.sys, 0);
}

static void facts_of_kinds(void)
{
	enum ws_kind kind;
	bool all = true;

	for (unsigned i = 0; i < WS_KIND_COUNT; i++)
		all = all && ws_kind_parse(ws_kind_name((enum ws_kind)i), &kind) == 0 &&
		      kind == (enum ws_kind)i;
	CHECK(all);
	CHECK_STR(ws_kind_name(WS_SANDBOX_LOST), "sandbox-lost");
	CHECK_INT(ws_kind_parse("nothing", &kind), -1);
	CHECK_STR(ws_kind_name(WS_KIND_COUNT), "internal");
	CHECK_INT(ws_kind_class(WS_USAGE), WS_CLASS_USAGE);
	CHECK_INT(ws_kind_class(WS_SPEC_INVALID), WS_CLASS_USAGE);
	CHECK_INT(ws_kind_class(WS_SESSION_BUSY), WS_CLASS_REFUSED);
	CHECK_INT(ws_kind_class(WS_SESSION_MISSING), WS_CLASS_REFUSED);
	CHECK_INT(ws_kind_class(WS_IO), WS_CLASS_FAILED);
	CHECK_INT(ws_kind_class(WS_INTERNAL), WS_CLASS_FAILED);
}

int main(void)
{
	facts_of_failing();
	facts_of_errno();
	facts_of_kinds();
	return CHECK_DONE();
}
