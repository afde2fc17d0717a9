/* SPDX-License-Identifier: Apache-2.0 */
#include "base/entry.h"

#include <errno.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "check.h"

static int in, out;
static char block[WS_ENTRY_BLOCK];

static void open_pipe(void)
{
	MUST(ws_pipe(&in, &out) == 0);
}

static void close_pipe(void)
{
	close(in);
	close(out);
}

static struct ws_entry example(void)
{
	struct ws_entry e = { .type = WS_ENTRY_FILE,
			      .mode = 0640,
			      .size = 10000,
			      .mtime = -5,
			      .mtime_ns = 999999999 };

	ws_buf_addstr(&e.path, "a/\xff b\n");
	ws_entry_add_run(&e, 0, 5);
	ws_entry_add_run(&e, 9000, 1000);
	return e;
}

static void facts_of_a_round(void)
{
	WS_AUTO(ws_entry) struct ws_entry e = example();
	WS_AUTO(ws_entry) struct ws_entry got = WS_ENTRY_INIT;
	uint64_t at;
	size_t len;

	open_pipe();
	CHECK_INT(ws_entry_send(out, &e), 0);
	CHECK_INT(ws_entry_send_block(out, 9000, "xyz", 3), 0);
	CHECK_INT(ws_entry_send_block(out, 0, NULL, 0), 0);
	CHECK_INT(ws_entry_take(in, &got), 0);
	CHECK_STR(ws_buf_str(&got.path), "a/\xff b\n");
	CHECK(got.type == WS_ENTRY_FILE && got.mode == 0640 && got.mtime == -5);
	CHECK(got.size == 10000 && got.mtime_ns == 999999999 && got.nruns == 2);
	CHECK(got.runs[1].at == 9000 && got.runs[1].len == 1000);
	CHECK_INT(ws_entry_take_block(in, &at, block, &len), 0);
	CHECK(at == 9000 && len == 3 && !memcmp(block, "xyz", 3));
	CHECK_INT(ws_entry_take_block(in, &at, block, &len), 0);
	CHECK_U64(len, 0);
	close(out);
	errno = 0;
	CHECK(ws_entry_take(in, &got) < 0 && errno == EPROTO);
	close(in);
}

/* Sent as it is, E is refused by who takes it. */
static void refused(struct ws_entry *e, const char *why)
{
	WS_AUTO(ws_entry) struct ws_entry got = WS_ENTRY_INIT;

	open_pipe();
	MUST(ws_entry_send(out, e) == 0);
	errno = 0;
	check_note(ws_entry_take(in, &got) < 0 && errno == EPROTO, why, __FILE__,
		   __LINE__);
	close_pipe();
	ws_entry_release(e);
}

static void facts_of_what_is_refused(void)
{
	struct ws_entry e = example();

	e.type = (enum ws_entry_type)'x';
	refused(&e, "a type that is none");
	e = example();
	e.mode = 0100644;
	refused(&e, "a mode with a type in it");
	e = example();
	e.runs[1].len = 1001;
	refused(&e, "a run that ends behind the file");
	e = example();
	e.runs[1].at = 4;
	refused(&e, "runs that overlap");
	e = example();
	e.size = (uint64_t)1 << 63;
	refused(&e, "a size that is no off_t");
	e = example();
	e.mtime_ns = 1000000000;
	refused(&e, "more than a second of nanoseconds");
	e = example();
	ws_buf_add(&e.path, "\0", 1);
	refused(&e, "a NUL in a path");
}

static void facts_of_blocks(void)
{
	uint64_t at;
	size_t len;

	open_pipe();
	MUST(write(out, (uint64_t[]){ 0, WS_ENTRY_BLOCK + 1 }, 16) == 16);
	errno = 0;
	CHECK(ws_entry_take_block(in, &at, block, &len) < 0 && errno == EPROTO);
	MUST(write(out, (uint64_t[]){ (uint64_t)-1, 1 }, 16) == 16);
	errno = 0;
	CHECK(ws_entry_take_block(in, &at, block, &len) < 0 && errno == EPROTO);
	close_pipe();
}

int main(void)
{
	facts_of_a_round();
	facts_of_what_is_refused();
	facts_of_blocks();
	return CHECK_DONE();
}
