/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"
#include "core/hit.h"

#define KERNEL                                                                          \
	"audit: type=1326 audit(1700000000.048:37): auid=4294967295 uid=1001 gid=1002 " \
	"ses=4294967295 subj=unconfined pid=77 comm=\"calls\" exe=\"/tmp/calls\" sig=0 "

static bool parse(const char *line, struct ws_hit *hit)
{
	return ws_hit_parse(line, strlen(line), hit);
}

static void facts_of_a_record(void)
{
	struct ws_hit h;
	char buf[16];

	CHECK(parse("[17180.6] " KERNEL "arch=c000003e syscall=272 compat=0 "
		    "ip=0x55d5 code=0x7ffc0000",
		    &h));
	CHECK_U64(h.time, 1700000000048000000ull);
	CHECK(h.uid == 1001 && h.pid == 77 && h.nr == 272);
	CHECK_STR(h.comm, "calls");
	CHECK_STR(ws_hit_call(&h, buf), "unshare");
	CHECK_STR(ws_hit_abi(&h), "x86_64");
	CHECK_STR(ws_hit_action(&h), "allowed");
	CHECK_STR(h.exec, "");
}

static void facts_of_forms(void)
{
	struct ws_hit h;

	CHECK(parse("5,1234,17180605375,-;" KERNEL "arch=40000003 syscall=310 code=0x0",
		    &h));
	CHECK(parse("type=SECCOMP msg=audit(1700000000.001:7): auid=1 uid=5 gid=5 ses=1 "
		    "pid=8 comm=6120622F exe=\"/x\" sig=31 arch=c000003e syscall=1 "
		    "code=0x80000000",
		    &h));
	CHECK_STR(h.comm, "a b/");
	CHECK_STR(ws_hit_action(&h), "killed");
	CHECK(!parse("", &h) && !parse("type=1326 ", &h) && !parse("type=1326", &h));
	CHECK(!parse("audit: type=1400 audit(1.000:1): uid=1 pid=1 arch=c000003e", &h));
	CHECK(!parse("type=1326 audit(x): uid=1 pid=1 arch=c000003e", &h));
	CHECK(!parse("type=1326 audit(1.000:1): uid=1 arch=c000003e", &h));
	CHECK(!parse("type=1326 audit(1.000:1): uid=1 pid=0 arch=c000003e", &h));
	CHECK(parse("type=1326 audit(1.000:1): uid=1 pid=1 arch=c000003e comm=4", &h));
	CHECK(parse("type=1326 audit(1.000:1): uid=1 pid=1 arch=c000003e comm=\"", &h));
}

static void facts_of_calls(void)
{
	static const struct {
		uint32_t arch, nr;
		const char *call, *abi;
	} rows[] = {
		{ 0xc000003e, 16, "ioctl", "x86_64" },
		{ 0xc000003e, 514, "ioctl", "x86_64" },
		{ 0xc000003e, 0x40000000 | 514, "ioctl", "x32" },
		{ 0xc000003e, 0x40000000 | 16, "ioctl", "x32" },
		{ 0x40000003, 102, "socketcall", "i386" },
		{ 0xc00000b7, 97, "unshare", "aarch64" },
		{ 0x40000028, 337, "unshare", "arm" },
		{ 0xc00000f3, 97, "unshare", "riscv64" },
		{ 0xc0000015, 282, "unshare", "ppc64le" },
		{ 0x80000016, 303, "unshare", "s390x" },
		{ 0xc000003e, 0, "0", "x86_64" },
		{ 0xc000003e, 0xffffffff, "4294967295", "x32" },
		{ 0x12345678, 5, "5", "unknown" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ws_hit h = { .arch = rows[i].arch, .nr = rows[i].nr };
		char buf[16];

		CHECK_STR(ws_hit_call(&h, buf), rows[i].call);
		CHECK_STR(ws_hit_abi(&h), rows[i].abi);
	}
}

int main(void)
{
	facts_of_a_record();
	facts_of_forms();
	facts_of_calls();
	return CHECK_DONE();
}
