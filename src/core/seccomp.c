/* SPDX-License-Identifier: Apache-2.0 */
#include "core/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sha256.h"
#include "base/strv.h"
#include "base/text.h"

#define FILTER_MAX (BPF_MAXINSNS * sizeof(struct sock_filter))
#define ACTIONS_LOGGED "/proc/sys/kernel/seccomp/actions_logged"
#define DIGEST "sha256:"

static int unavailable(struct ws_err *err, const char *path, const char *why)
{
	ws_fail(err, WS_SECCOMP_UNAVAILABLE, "the system call filter '%s' %s", path, why);
	return ws_hint(err, "install wsiso anew");
}

/* Every kernel that has filters at all, and RET_LOG (4.14), answers this. */
static int check_kernel(struct ws_err *err)
{
	const uint32_t actions[] = { SECCOMP_RET_LOG, SECCOMP_RET_ERRNO,
				     SECCOMP_RET_KILL_PROCESS };

	for (size_t i = 0; i < WS_ARRAY_SIZE(actions); i++)
		if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &actions[i]) < 0) {
			ws_fail_errno(err, "this kernel has no system call filters");
			err->kind = WS_SECCOMP_UNAVAILABLE;
			return ws_hint(
				err,
				"a kernel with CONFIG_SECCOMP_FILTER is needed; in a "
				"container, its runtime must allow seccomp(2)");
		}
	return 0;
}

static void sum(const struct ws_buf *bytes, char hex[WS_SHA256_HEX])
{
	struct ws_sha256 sha;

	ws_sha256_init(&sha);
	ws_sha256_update(&sha, bytes->data, bytes->len);
	ws_sha256_hex(&sha, hex);
}

/* What is wrong with a file of another sum than was compiled in? */
static int explain(const char *path, const struct ws_buf *bytes, const char *hex,
		   struct ws_err *err)
{
	const char *known = ws_filter_known(hex);
	WS_AUTO_FREE char *other = known ? ws_format("is the file %s", known) : NULL;

	if (bytes->len == 0)
		return unavailable(err, path, "is empty");
	if (bytes->len % sizeof(struct sock_filter))
		return unavailable(err, path, "is cut off");
	return unavailable(err, path,
			   other ? other : "has not the checksum it was released with");
}

static int read_file(const char *file, struct ws_buf *bytes)
{
	WS_AUTO_CLOSE int folder =
		open(WS_FILTER_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return folder < 0 ? -1 : ws_read_file(folder, file, FILTER_MAX, bytes);
}

int ws_seccomp_load(enum ws_filter filter, struct ws_buf *ret, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf bytes = WS_BUF_INIT;
	WS_AUTO_FREE char *file = ws_filter_file(filter);
	WS_AUTO_FREE char *path = NULL;
	const char *want = ws_filter_sum(filter);
	char hex[WS_SHA256_HEX];

	if (!file || !want) {
		ws_fail(err, WS_SECCOMP_UNAVAILABLE,
			"there is no system call filter for this machine");
		return ws_hint(err, "\"sandbox\": {\"seccomp\": \"off\"} does without");
	}
	if (check_kernel(err) < 0)
		return -1;
	path = ws_format(WS_FILTER_FOLDER "/%s", file);
	if (read_file(file, &bytes) < 0)
		return unavailable(err, path,
				   errno == EFBIG ? "is too large" : strerror(errno));
	sum(&bytes, hex);
	if (bytes.len == 0 || strcmp(hex, want) != 0)
		return explain(path, &bytes, hex, err);
	ws_buf_release(ret);
	*ret = bytes;
	bytes = WS_BUF_INIT;
	return 0;
}

int ws_seccomp_load_list(const struct ws_filter_list *list,
			 struct ws_buf ret[WS_PLAN_FILTERS_MAX], struct ws_err *err)
{
	_Static_assert(WS_FILTERS <= WS_PLAN_FILTERS_MAX, "a plan has room for all");

	for (size_t i = 0; i < WS_PLAN_FILTERS_MAX; i++) {
		ws_buf_clear(&ret[i]);
		if (i < list->n && ws_seccomp_load(list->v[i], &ret[i], err) < 0)
			return -1;
	}
	return 0;
}

char *ws_seccomp_digest(const struct ws_buf filters[WS_PLAN_FILTERS_MAX])
{
	struct ws_sha256 sha;
	char hex[WS_SHA256_HEX];
	bool any = false;

	ws_sha256_init(&sha);
	for (size_t i = 0; i < WS_PLAN_FILTERS_MAX; i++) {
		ws_sha256_update(&sha, filters[i].data, filters[i].len);
		any = any || filters[i].len;
	}
	ws_sha256_hex(&sha, hex);
	return any ? ws_format(DIGEST "%s", hex) : ws_strdup("");
}

/* Words with blanks between them; a kernel that tells nothing is one that records. */
bool ws_seccomp_is_recorded(void)
{
	WS_AUTO(ws_buf) struct ws_buf text = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = open(ACTIONS_LOGGED, O_RDONLY | O_CLOEXEC);
	char *rest = NULL;

	if (fd < 0 || ws_read_fd(fd, 4096, &text) < 0 || !text.len)
		return true;
	for (const char *word = strtok_r(text.data, " \n", &rest); word;
	     word = strtok_r(NULL, " \n", &rest))
		if (strcmp(word, "log") == 0)
			return true;
	return false;
}
