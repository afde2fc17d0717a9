/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp/generate FOLDER: writes MACHINE.FILTER.bpf for every machine and filter there.
 * For the build host alone: it links libseccomp, which is asked for each call's number in
 * each ABI, and has to agree with syscalls.tbl. A name it does not know is an error, but
 * for those that the table marks as new.
 *
 * The programs are not libseccomp's own: that can neither place a number it has no name
 * for in a foreign ABI, nor test several bits of an argument at once, nor x32's numbers
 * with and without their bit. They are a binary tree over the numbers, so that the kernel
 * finds out by itself what is always allowed (since 5.11 it remembers that as a bitmap),
 * and a few instructions for each different way to be refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rules.h"

#define PROGRAM_MAX BPF_MAXINSNS
#define JUMP_MAX 255
#define CALLS_MAX 256
#define TESTS_MAX 4
#define NR_OFFSET 0
#define ARCH_OFFSET 4
#define ARGS_OFFSET 16

static _Noreturn void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("seccomp/generate: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	exit(1);
}

/* ---- numbers ---- */

static const uint32_t scmp_arch[ABIS] = {
	[ABI_X86_64] = SCMP_ARCH_X86_64,   [ABI_X32] = SCMP_ARCH_X32,
	[ABI_I386] = SCMP_ARCH_X86,	   [ABI_AARCH64] = SCMP_ARCH_AARCH64,
	[ABI_ARM] = SCMP_ARCH_ARM,	   [ABI_RISCV64] = SCMP_ARCH_RISCV64,
	[ABI_PPC64LE] = SCMP_ARCH_PPC64LE, [ABI_S390X] = SCMP_ARCH_S390X,
};

/*
 * -1: the ABI does not have it. Of a call that socketcall does as well libseccomp
 * tells a number of its own making, from __PNR_socket down.
 */
static int ask_libseccomp(const struct call *c, enum abi abi)
{
	int nr = seccomp_syscall_resolve_name_arch(scmp_arch[abi], c->name);

	if (nr == __NR_SCMP_ERROR && !c->is_new)
		die("libseccomp does not know '%s'", c->name);
	if (nr == __NR_SCMP_ERROR || (nr <= __PNR_socket && nr >= __PNR_sendmmsg))
		return c->nr[abi];
	if (nr < 0)
		return -1;
	return abi == ABI_X32 ? (int)((uint32_t)nr & ~X32_BIT) : nr;
}

static void check_numbers(void)
{
	for (size_t i = 0; i < calls_count; i++)
		for (int abi = 0; abi < ABIS; abi++) {
			int nr = ask_libseccomp(&calls[i], (enum abi)abi);

			if (nr != calls[i].nr[abi])
				die("'%s' on %s: %d in syscalls.tbl, %d in libseccomp",
				    calls[i].name, abi_names[abi], calls[i].nr[abi], nr);
		}
	for (size_t i = 0; i < rules_count; i++)
		if (!call_find(rules[i].call))
			die("'%s' is not in syscalls.tbl", rules[i].call);
}

/* ---- what is done about one call ---- */

struct test {
	enum when when;
	unsigned arg;
	uint32_t mask;
	uint32_t values[VALUES_MAX];
	uint32_t nvalues;
	uint32_t action;
};

/* The tests of one call, in their order; who passes them all is allowed. */
struct verdict {
	struct test tests[TESTS_MAX];
	uint32_t ntests;
};

static struct verdict verdict_of(const struct call *c, enum abi abi, enum filter filter)
{
	struct verdict v;

	memset(&v, 0, sizeof(v)); /* padding, too: they are compared as a whole */
	for (size_t i = 0; i < rules_count; i++) {
		const struct rule *r = &rules[i];
		struct test *t = &v.tests[v.ntests];

		if (strcmp(r->call, c->name) != 0 || !rule_is_for(r, abi) ||
		    r->action[filter] == SECCOMP_RET_ALLOW)
			continue;
		if (++v.ntests == TESTS_MAX)
			die("too many rules for '%s'", c->name);
		t->when = r->when;
		t->arg = rule_arg(r, abi);
		t->mask = r->mask;
		memcpy(t->values, r->values, sizeof(t->values));
		t->nvalues = (uint32_t)r->nvalues;
		t->action = r->action[filter];
	}
	return v;
}

/* Numbers FIRST to LAST fare alike. */
struct run {
	int first, last;
	struct verdict verdict;
};

struct runs {
	struct run v[CALLS_MAX];
	size_t n;
};

static void add_number(struct runs *runs, int nr, const struct verdict *v)
{
	size_t at = 0;

	while (at < runs->n && runs->v[at].first < nr)
		at++;
	if (at < runs->n && runs->v[at].first == nr) {
		if (memcmp(&runs->v[at].verdict, v, sizeof(*v)) != 0)
			die("two verdicts on call %d", nr);
		return;
	}
	if (runs->n == CALLS_MAX)
		die("more than %d calls", CALLS_MAX);
	memmove(&runs->v[at + 1], &runs->v[at], (runs->n - at) * sizeof(runs->v[0]));
	runs->v[at] = (struct run){ nr, nr, *v };
	runs->n++;
}

static void join_neighbours(struct runs *runs)
{
	size_t n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		struct run *last = n ? &runs->v[n - 1] : NULL;

		if (last && last->last + 1 == runs->v[i].first &&
		    memcmp(&last->verdict, &runs->v[i].verdict, sizeof(last->verdict)) ==
			    0)
			last->last = runs->v[i].first;
		else
			runs->v[n++] = runs->v[i];
	}
	runs->n = n;
}

/*
 * x86_64's and x32's numbers together: old kernels took either in both forms. No number
 * has two meanings.
 */
static void collect(struct runs *runs, enum abi abi, enum filter filter)
{
	runs->n = 0;
	for (size_t i = 0; i < calls_count; i++) {
		const struct verdict v = verdict_of(&calls[i], abi, filter);

		if (v.ntests == 0)
			continue;
		if (calls[i].nr[abi] >= 0)
			add_number(runs, calls[i].nr[abi], &v);
		if (abi == ABI_X86_64 && calls[i].nr[ABI_X32] >= 0)
			add_number(runs, calls[i].nr[ABI_X32], &v);
	}
	join_neighbours(runs);
}

/* ---- programs ---- */

struct program {
	struct sock_filter v[PROGRAM_MAX];
	size_t n;
};

static size_t emit(struct program *p, int code, uint32_t k, unsigned jt, unsigned jf)
{
	if (p->n == PROGRAM_MAX)
		die("the program is too long");
	p->v[p->n] = (struct sock_filter){ (uint16_t)code, (uint8_t)jt, (uint8_t)jf, k };
	return p->n++;
}

static void emit_load(struct program *p, uint32_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void emit_return(struct program *p, uint32_t action)
{
	emit(p, BPF_RET | BPF_K, action, 0, 0);
}

/* A jump to a place that is not known yet: a label, 0 being "allowed". */
struct fixup {
	size_t at;
	bool if_true;
	size_t label;
};

struct section {
	struct program *p;
	const struct runs *runs;
	bool big_endian;
	struct fixup fixups[4 * CALLS_MAX];
	size_t nfixups;
	struct verdict verdicts[CALLS_MAX]; /* that of label N is N - 1 */
	size_t nverdicts;
};

static size_t label_of(struct section *s, const struct verdict *v)
{
	for (size_t i = 0; i < s->nverdicts; i++)
		if (memcmp(&s->verdicts[i], v, sizeof(*v)) == 0)
			return i + 1;
	s->verdicts[s->nverdicts] = *v;
	return ++s->nverdicts;
}

static void jump_later(struct section *s, size_t at, bool if_true, size_t label)
{
	s->fixups[s->nfixups++] = (struct fixup){ at, if_true, label };
}

static void patch(struct program *p, size_t at, bool if_true, size_t to)
{
	size_t distance = to - at - 1;

	if (distance > JUMP_MAX)
		die("a jump is too long");
	if (if_true)
		p->v[at].jt = (uint8_t)distance;
	else
		p->v[at].jf = (uint8_t)distance;
}

static void emit_leaf(struct section *s, const struct run *run)
{
	size_t label = label_of(s, &run->verdict);
	size_t at;

	if (run->first == run->last) {
		at = emit(s->p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)run->first, 0, 0);
		jump_later(s, at, true, label);
		jump_later(s, at, false, 0);
		return;
	}
	at = emit(s->p, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)run->first, 0, 0);
	jump_later(s, at, false, 0);
	at = emit(s->p, BPF_JMP | BPF_JGT | BPF_K, (uint32_t)run->last, 0, 0);
	jump_later(s, at, true, 0);
	jump_later(s, at, false, label);
}

static void emit_tree(struct section *s, const struct run *runs, size_t n)
{
	size_t at;

	if (n == 1) {
		emit_leaf(s, runs);
		return;
	}
	at = emit(s->p, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)runs[n / 2].first, 0, 0);
	emit_tree(s, runs, n / 2);
	patch(s->p, at, true, s->p->n);
	emit_tree(s, runs + n / 2, n - n / 2);
}

/* Falls through to what comes next unless the test applies. */
static void emit_test(struct section *s, const struct test *t)
{
	int code = BPF_JMP | BPF_K | (t->when == HAS_ANY ? BPF_JSET : BPF_JEQ);
	bool wanted = t->when != NONE_OF;

	if (t->when != ALWAYS) {
		emit_load(s->p, ARGS_OFFSET + 8 * t->arg + (s->big_endian ? 4 : 0));
		if (t->mask != ~0u)
			emit(s->p, BPF_ALU | BPF_AND | BPF_K, t->mask, 0, 0);
	}
	for (uint32_t i = 0; t->when != ALWAYS && i < t->nvalues; i++) {
		unsigned left = t->nvalues - 1 - i;
		unsigned hit = left + (wanted ? 0 : 1);
		unsigned miss = left ? 0 : (wanted ? 1 : 0);

		emit(s->p, code, t->values[i], hit, miss);
	}
	emit_return(s->p, t->action);
}

static void emit_verdict(struct section *s, const struct verdict *v)
{
	for (uint32_t i = 0; i < v->ntests; i++) {
		emit_test(s, &v->tests[i]);
		if (v->tests[i].when == ALWAYS)
			return;
	}
	emit_return(s->p, SECCOMP_RET_ALLOW);
}

/* All that one ABI's calls need. Only x86_64 has two kinds of numbers. */
static void emit_section(struct program *p, const struct machine *m, enum abi abi,
			 enum filter filter)
{
	static struct runs runs;
	static struct section s;
	size_t labels[CALLS_MAX + 1];

	collect(&runs, abi, filter);
	s = (struct section){ .p = p, .runs = &runs, .big_endian = m->big_endian };
	emit_load(p, NR_OFFSET);
	if (abi == ABI_X86_64 && filter == FILTER_HOST) {
		emit(p, BPF_JMP | BPF_JSET | BPF_K, X32_BIT, 0, 1);
		emit_return(p, SECCOMP_RET_ERRNO | ENOSYS);
	} else if (abi == ABI_X86_64) {
		emit(p, BPF_ALU | BPF_AND | BPF_K, ~X32_BIT, 0, 0);
	}
	emit_tree(&s, runs.v, runs.n);
	labels[0] = p->n;
	emit_return(p, SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < s.nverdicts; i++) {
		labels[i + 1] = p->n;
		emit_verdict(&s, &s.verdicts[i]);
	}
	for (size_t i = 0; i < s.nfixups; i++)
		patch(p, s.fixups[i].at, s.fixups[i].if_true, labels[s.fixups[i].label]);
}

static void emit_program(struct program *p, const struct machine *m, enum filter filter)
{
	bool foreign = m->foreign != m->native && filter != FILTER_HOST;
	size_t other;

	p->n = 0;
	emit_load(p, ARCH_OFFSET);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, abi_audit_arch[m->native], 1, 0);
	other = emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
	emit_section(p, m, m->native, filter);
	p->v[other].k = (uint32_t)(p->n - other - 1);
	if (foreign) {
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, abi_audit_arch[m->foreign], 1, 0);
		emit_return(p, SECCOMP_RET_KILL_PROCESS);
		emit_section(p, m, m->foreign, filter);
	} else {
		emit_return(p, SECCOMP_RET_KILL_PROCESS);
	}
}

/* ---- files ---- */

static void put(uint8_t *out, uint32_t value, int bytes, bool big_endian)
{
	for (int i = 0; i < bytes; i++)
		out[big_endian ? bytes - 1 - i : i] = (uint8_t)(value >> (8 * i));
}

static void write_program(int dir, const struct machine *m, enum filter filter,
			  const struct program *p)
{
	char name[64];
	FILE *f;
	int fd;

	snprintf(name, sizeof(name), "%s.%s.bpf", m->name, filter_names[filter]);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		die("%s: %s", name, strerror(errno));
	for (size_t i = 0; i < p->n; i++) {
		uint8_t out[8];

		put(out, p->v[i].code, 2, m->big_endian);
		out[2] = p->v[i].jt;
		out[3] = p->v[i].jf;
		put(out + 4, p->v[i].k, 4, m->big_endian);
		if (fwrite(out, sizeof(out), 1, f) != 1)
			die("%s: %s", name, strerror(errno));
	}
	if (fclose(f) != 0)
		die("%s: %s", name, strerror(errno));
}

int main(int argc, char **argv)
{
	static struct program p;
	int dir = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (dir < 0)
		die("usage: seccomp/generate FOLDER");
	check_numbers();
	for (size_t i = 0; i < machines_count; i++)
		for (int f = 0; f < FILTERS; f++) {
			emit_program(&p, &machines[i], (enum filter)f);
			write_program(dir, &machines[i], (enum filter)f, &p);
		}
	return 0;
}
