/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The committed filters against the rules: each is run, by an interpreter of the kernel's
 * classic BPF, over every number of every ABI and over all arguments that make a
 * difference. The numbers that the rules' names have are the kernel's (see syscalls.tbl);
 * the generator took libseccomp's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "check.h"
#include "seccomp/rules.h"

#define NUMBERS 1024 /* twice what there is; x32's old block with and without its bit */
#define ARGS_OFFSET 16
#define DATA_SIZE 64
#define VALUES_LONG 256
#define VALUES_SHORT 3
#define RULES_MAX 8
#define BAD_ACTION 0xdeadbeefu

struct program {
	struct sock_filter v[BPF_MAXINSNS];
	size_t n;
	bool big_endian;
};

struct input {
	uint32_t arch, nr;
	uint64_t args[6];
};

/* ---- the programs ---- */

static uint32_t take(const uint8_t *at, int bytes, bool big_endian)
{
	uint32_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint32_t)at[big_endian ? bytes - 1 - i : i] << (8 * i);
	return value;
}

static void load(const struct machine *m, enum filter filter, struct program *p)
{
	const char *top = getenv("WSISO_SRCDIR");
	WS_AUTO_FREE char *path = ws_format("%s/seccomp/%s.%s.bpf", top ? top : ".",
					    m->name, filter_names[filter]);
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	MUST(fd >= 0 && ws_read_fd(fd, sizeof(p->v), &text) == 0);
	MUST(text.len > 0 && text.len % sizeof(p->v[0]) == 0);
	p->n = text.len / sizeof(p->v[0]);
	p->big_endian = m->big_endian;
	for (size_t i = 0; i < p->n; i++) {
		const uint8_t *at = (const uint8_t *)text.data + i * sizeof(p->v[0]);

		p->v[i] =
			(struct sock_filter){ (uint16_t)take(at, 2, m->big_endian), at[2],
					      at[3], take(at + 4, 4, m->big_endian) };
	}
}

/* What the kernel asks of a program before it takes it; for what ours are made of. */
static bool is_valid(const struct program *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct sock_filter *f = &p->v[i];
		size_t left = p->n - i - 1;

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (f->k >= DATA_SIZE || f->k % 4)
				return false;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
		case BPF_RET | BPF_K:
			break;
		case BPF_JMP | BPF_JA:
			if (f->k >= left)
				return false;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			if (f->jt >= left || f->jf >= left)
				return false;
			break;
		default:
			return false;
		}
	}
	return p->n && p->v[p->n - 1].code == (BPF_RET | BPF_K);
}

/* A word of struct seccomp_data, as the machine of the program has it in memory. */
static uint32_t word(const struct program *p, const struct input *in, uint32_t offset)
{
	uint64_t arg;
	bool high;

	if (offset == 0)
		return in->nr;
	if (offset == 4)
		return in->arch;
	if (offset < ARGS_OFFSET)
		return 0x12345678; /* the instruction pointer */
	arg = in->args[(offset - ARGS_OFFSET) / 8];
	high = ((offset - ARGS_OFFSET) % 8 == 4) != p->big_endian;
	return (uint32_t)(high ? arg >> 32 : arg);
}

static bool compare(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGE:
		return a >= k;
	case BPF_JGT:
		return a > k;
	default:
		return a & k;
	}
}

static uint32_t run(const struct program *p, const struct input *in)
{
	uint32_t a = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct sock_filter *f = &p->v[i];

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			a = word(p, in, f->k);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= f->k;
			break;
		case BPF_RET | BPF_K:
			return f->k;
		case BPF_JMP | BPF_JA:
			i += f->k;
			break;
		default:
			i += compare(f->code, a, f->k) ? f->jt : f->jf;
		}
	}
	return BAD_ACTION;
}

/* ---- what the rules say ---- */

static bool applies(const struct rule *r, enum abi abi, const struct input *in)
{
	uint32_t value = (uint32_t)in->args[rule_arg(r, abi)] & r->mask;
	bool found = false;

	switch (r->when) {
	case ALWAYS:
		return true;
	case HAS_ANY:
		return value & r->values[0];
	case ONE_OF:
	case NONE_OF:
		for (size_t i = 0; i < r->nvalues; i++)
			found = found || value == r->values[i];
		return found == (r->when == ONE_OF);
	}
	return false;
}

static bool is_call(const struct call *c, enum abi abi, uint32_t nr)
{
	if (abi == ABI_X86_64 && c->nr[ABI_X32] >= 0 &&
	    (nr & ~X32_BIT) == (uint32_t)c->nr[ABI_X32])
		return true;
	if (abi == ABI_X86_64)
		nr &= ~X32_BIT;
	return c->nr[abi] >= 0 && nr == (uint32_t)c->nr[abi];
}

/* What all of the rules' rows say about one number of one architecture. */
struct wanted {
	uint32_t always; /* whatever the arguments are; 0: the rows tell */
	enum abi abi;
	const struct rule *rows[RULES_MAX];
	size_t nrows;
};

static struct wanted wanted_of(const struct machine *m, enum filter filter, uint32_t arch,
			       uint32_t nr)
{
	struct wanted w = { .abi = m->native };

	if (arch != abi_audit_arch[w.abi]) {
		w.abi = m->foreign;
		if (filter == FILTER_HOST || arch != abi_audit_arch[w.abi])
			w.always = SECCOMP_RET_KILL_PROCESS;
	} else if (w.abi == ABI_X86_64 && filter == FILTER_HOST && nr & X32_BIT) {
		w.always = SECCOMP_RET_ERRNO | ENOSYS;
	}
	for (size_t i = 0; i < rules_count; i++) {
		const struct rule *r = &rules[i];

		if (r->action[filter] == SECCOMP_RET_ALLOW || !rule_is_for(r, w.abi) ||
		    !is_call(call_find(r->call), w.abi, nr))
			continue;
		MUST(w.nrows < RULES_MAX);
		w.rows[w.nrows++] = r;
	}
	return w;
}

static uint32_t expected(const struct wanted *w, enum filter filter,
			 const struct input *in)
{
	if (w->always)
		return w->always;
	for (size_t i = 0; i < w->nrows; i++)
		if (applies(w->rows[i], w->abi, in))
			return w->rows[i]->action[filter];
	return SECCOMP_RET_ALLOW;
}

/* Is there a row that looks at arguments? */
static bool looks(const struct wanted *w)
{
	for (size_t i = 0; i < w->nrows; i++)
		if (w->rows[i]->when != ALWAYS)
			return !w->always;
	return false;
}

/* ---- all of it ---- */

static uint64_t values[VALUES_LONG];
static size_t nvalues;

static void add_value(uint64_t value)
{
	for (size_t i = 0; i < nvalues; i++)
		if (values[i] == value)
			return;
	MUST(nvalues < VALUES_LONG);
	values[nvalues++] = value;
}

/* The first VALUES_SHORT stand for all, where arguments should make no difference. */
static void collect_values(void)
{
	add_value(0);
	add_value(~0ull);
	add_value(1);
	for (unsigned bit = 0; bit < 32; bit++)
		add_value(1ull << bit);
	for (size_t i = 0; i < rules_count; i++)
		for (size_t k = 0; k < rules[i].nvalues; k++) {
			uint64_t v = rules[i].values[k];

			add_value(v);
			add_value(v - 1);
			add_value(v + 1);
			add_value(v | 1ull << 32);
			add_value(v | ~0ull << 32);
			add_value(v << 32);
			add_value(v | 0x80800); /* SOCK_CLOEXEC, SOCK_NONBLOCK */
		}
}

/* In how many cases the program and the rules differ. */
static size_t differences(const struct machine *m, enum filter filter,
			  const struct program *p, uint32_t arch, uint32_t nr)
{
	const struct wanted w = wanted_of(m, filter, arch, nr);
	size_t n = looks(&w) ? nvalues : VALUES_SHORT;
	struct input in = { .arch = arch, .nr = nr };
	size_t found = 0;

	for (size_t i = 0; i < n * n; i++) {
		in.args[0] = values[i / n];
		in.args[1] = values[i % n];
		for (size_t k = 2; k < 6; k++) /* nothing hangs on these */
			in.args[k] = values[(i * 7 + k) % nvalues];
		if (run(p, &in) != expected(&w, filter, &in))
			found++;
	}
	return found;
}

static size_t check_number(const struct machine *m, enum filter filter,
			   const struct program *p, uint32_t nr)
{
	size_t found = differences(m, filter, p, abi_audit_arch[m->native], nr);

	if (m->foreign != m->native)
		found += differences(m, filter, p, abi_audit_arch[m->foreign], nr);
	return found;
}

static size_t check_program(const struct machine *m, enum filter filter,
			    const struct program *p)
{
	static const uint32_t odd[] = { 0x7fffffff, 0x80000000, 0xffffffff, 0xf0001,
					0xf0002,    0xf0005,	0xbfffffff, 0x1000,
					0xffff,	    0x10000,	0x3fffffff, 0xc0000010 };
	size_t found = 0;

	for (uint32_t nr = 0; nr < NUMBERS; nr++)
		found += check_number(m, filter, p, nr) +
			 check_number(m, filter, p, nr | X32_BIT);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		found += check_number(m, filter, p, odd[i]);
	/* of other machines, and of none */
	for (uint32_t nr = 0; nr < NUMBERS; nr += 7) {
		found += differences(m, filter, p, 0, nr);
		for (int abi = 0; abi < ABIS; abi++)
			found += differences(m, filter, p, abi_audit_arch[abi], nr);
	}
	return found;
}

static void check_all(void)
{
	static struct program p;

	for (size_t i = 0; i < machines_count; i++)
		for (int f = 0; f < FILTERS; f++) {
			load(&machines[i], (enum filter)f, &p);
			CHECK(is_valid(&p));
			CHECK_INT(check_program(&machines[i], (enum filter)f, &p), 0);
		}
}

/*
 * None of its instructions can be another without this test seeing it. But where the tree
 * branches there may be numbers between two calls, any of which would do.
 */
static void check_that_it_can_fail(void)
{
	static struct program p;
	const struct machine *m = &machines[0];
	size_t missed = 0;

	load(m, FILTER_HOST, &p);
	for (size_t i = 0; i < p.n; i++) {
		const struct sock_filter kept = p.v[i];

		if (BPF_OP(kept.code) == BPF_JGE && BPF_CLASS(kept.code) == BPF_JMP)
			continue;
		p.v[i].k ^= 1;
		if (is_valid(&p) && check_program(m, FILTER_HOST, &p) == 0)
			missed++;
		p.v[i] = kept;
	}
	CHECK_INT(missed, 0);
}

/* The rows themselves: what no filter may ever let through, said once more by hand. */
static void check_rows(void)
{
	static const char *const refused[] = { "clone3", "setns", "mount",
					       "chroot", "bpf",	  "keyctl" };
	static const char *const left_alone[] = { "ptrace", "kcmp", "personality" };

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		bool found = false;

		for (size_t k = 0; k < rules_count; k++)
			if (!strcmp(rules[k].call, refused[i]) &&
			    rules[k].when == ALWAYS && !rules[k].abis &&
			    rules[k].action[FILTER_ENFORCE] != SECCOMP_RET_ALLOW)
				found = true;
		CHECK(found);
	}
	for (size_t i = 0; i < sizeof(left_alone) / sizeof(left_alone[0]); i++)
		CHECK(!call_find(left_alone[i]));
	for (size_t k = 0; k < rules_count; k++) {
		CHECK(rules[k].why[0] && rules[k].source[0]);
		CHECK(rules[k].action[FILTER_LOG] == SECCOMP_RET_LOG ||
		      rules[k].action[FILTER_LOG] == SECCOMP_RET_ALLOW);
	}
}

int main(void)
{
	collect_values();
	check_rows();
	check_all();
	check_that_it_can_fail();
	return CHECK_DONE();
}
