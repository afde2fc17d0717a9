/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter.h"

#include <string.h>

#include "base/strv.h"

/* seccomp/rules.c has the same names, seccomp/generate.c makes files of them. */
#if defined(__x86_64__) && !defined(__ILP32__)
#define MACHINE "x86_64"
#elif defined(__aarch64__) && !defined(__ILP32__) && defined(__AARCH64EL__)
#define MACHINE "aarch64"
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE "riscv64"
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define MACHINE "ppc64le"
#elif defined(__s390x__)
#define MACHINE "s390x"
#else
#define MACHINE ""
#endif

static const char *const names[WS_FILTERS] = {
	[WS_FILTER_LOG] = "log",
	[WS_FILTER_ENFORCE] = "enforce",
	[WS_FILTER_HOST] = "host",
};

/* What was committed, by file: made from seccomp/SHA256SUMS. */
static const struct {
	const char *sum, *file;
} sums[] = {
#define WS_SUM(sum, file) { sum, file },
#include "core/filter_sums.inc"
#undef WS_SUM
};

void ws_filter_of_spec(const struct ws_spec *spec, struct ws_filter_list *ret)
{
	*ret = (struct ws_filter_list){ 0 };
	if (spec->sandbox.seccomp == WS_SECCOMP_ENFORCE)
		ret->v[ret->n++] = WS_FILTER_ENFORCE;
	else if (spec->sandbox.seccomp != WS_SECCOMP_OFF)
		ret->v[ret->n++] = WS_FILTER_LOG;
	if (spec->mode == WS_MODE_HOST_READONLY)
		ret->v[ret->n++] = WS_FILTER_HOST;
}

const char *ws_filter_mode(const struct ws_spec *spec)
{
	switch (spec->sandbox.seccomp) {
	case WS_SECCOMP_OFF:
		return "off";
	case WS_SECCOMP_ENFORCE:
		return "enforce";
	default:
		return "log";
	}
}

const char *ws_filter_machine(void)
{
	return *MACHINE ? MACHINE : NULL;
}

const char *ws_filter_name(enum ws_filter filter)
{
	return names[filter];
}

char *ws_filter_file(enum ws_filter filter)
{
	return *MACHINE ? ws_format(MACHINE ".%s.bpf", names[filter]) : NULL;
}

const char *ws_filter_sum(enum ws_filter filter)
{
	WS_AUTO_FREE char *file = ws_filter_file(filter);

	for (size_t i = 0; file && i < WS_ARRAY_SIZE(sums); i++)
		if (strcmp(sums[i].file, file) == 0)
			return sums[i].sum;
	return NULL;
}

const char *ws_filter_known(const char *sum)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(sums); i++)
		if (strcmp(sums[i].sum, sum) == 0)
			return sums[i].file;
	return NULL;
}
