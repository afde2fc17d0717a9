/* SPDX-License-Identifier: Apache-2.0 */
#include "init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_lsm_set_self_attr
#ifdef __alpha__
#define SYS_lsm_set_self_attr 570
#else
#define SYS_lsm_set_self_attr 460
#endif
#endif

#define LABEL_SIZE 4000 /* with the head of lsm_ctx no more than a page */
#define LSM_ATTR_EXEC 101
#define LSM_ID_SELINUX 101
#define LSM_ID_APPARMOR 104

/* linux/lsm.h, which the build host may be too old for. */
struct lsm_ctx {
	uint64_t id, flags, len, ctx_len;
	char ctx[LABEL_SIZE];
};

/* The security modules that give a label on exec, and how they want to be asked. */
static const struct module {
	const char *current, *exec;
	const char *verb;
	uint64_t id;
} modules[] = {
	{ "/proc/self/attr/apparmor/current", "/proc/self/attr/apparmor/exec", "exec ",
	  LSM_ID_APPARMOR },
	{ "/proc/self/attr/current", "/proc/self/attr/exec", "", LSM_ID_SELINUX },
};

/* Cuts off a newline and AppArmor's " (enforce)". */
static size_t trimmed(const char *s, size_t len)
{
	while (len && (s[len - 1] == '\n' || s[len - 1] == '\0'))
		len--;
	if (len && s[len - 1] == ')')
		for (size_t at = len; at-- > 1;)
			if (s[at] == '(' && s[at - 1] == ' ')
				return at - 1;
	return len;
}

static ssize_t read_current(const struct module *m, char *label)
{
	int fd = open(m->current, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, label, LABEL_SIZE);

	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : (ssize_t)trimmed(label, (size_t)n);
}

/* Where /proc is read-only, Linux 6.8 has a system call instead. */
static int set_by_call(const struct module *m, const char *request, size_t len)
{
	struct lsm_ctx ctx = { .id = m->id, .ctx_len = len };

	ctx.len = offsetof(struct lsm_ctx, ctx) + len;
	memcpy(ctx.ctx, request, len);
	return (int)syscall(SYS_lsm_set_self_attr, LSM_ATTR_EXEC, &ctx, (uint32_t)ctx.len,
			    0);
}

static int set(const struct module *m, const char *label, size_t len)
{
	char request[LABEL_SIZE];
	size_t verb = strlen(m->verb);
	ssize_t n;
	int fd;

	if (verb + len > sizeof(request)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(request, m->verb, verb);
	memcpy(request + verb, label, len);
	fd = open(m->exec, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EROFS ? set_by_call(m, request, verb + len) : -1;
	n = write(fd, request, verb + len);
	close(fd);
	return n < 0 ? -1 : 0;
}

int ws_label_set(const char *label)
{
	size_t len = trimmed(label, strlen(label));

	if (!len)
		return 0;
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		char own[LABEL_SIZE];
		ssize_t n = read_current(&modules[i], own);

		if (n < 0)
			continue;
		if ((size_t)n == len && memcmp(own, label, len) == 0)
			return 0;
		return set(&modules[i], label, len);
	}
	errno = ENOENT;
	return -1;
}
