/* SPDX-License-Identifier: Apache-2.0 */
#include "core/setup_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/sha256.h"
#include "core/stack.h"

#define CHUNK 65536
#define HEAD_MAX 256 /* what the kernel reads of a script */
#define DEPTH_MAX 128
#define MODE_KEPT 0111 /* of a mode: nothing else of it reaches a session for sure */

/* A package that comes, goes or is replaced changes one of them. */
static const char *const toolchains[] = {
	"/usr/bin",	  "/usr/sbin",	    "/usr/lib",
	"/usr/local/bin", "/usr/local/lib", "/usr/lib/python3/dist-packages",
};

/* ---- the base ---- */

static int open_base(const struct ws_setup_source *src, struct ws_stack *ret,
		     struct ws_err *err)
{
	const struct ws_strv *layers = &src->repo->snapshot.layers;

	ret->roots = ws_grow(NULL, layers->n + 1, sizeof(*ret->roots));
	for (; ret->n < layers->n; ret->n++) {
		const char *name = layers->v[layers->n - 1 - ret->n];
		WS_AUTO_FREE char *path = ws_format("layers/%s/root", name);

		ret->roots[ret->n] = ws_open_dir(src->root->fd, path);
		if (ret->roots[ret->n] < 0)
			return ws_fail(err, WS_BASE_MISSING, "layer '%s': %m", name);
	}
	return 0;
}

/* A name somewhere in the base: PATH is relative to /workspace. */
struct place {
	const struct ws_stack *base;
	const char *path;
	unsigned depth;
};

static int fail_read(const struct place *p, struct ws_err *err)
{
	return ws_fail_errno(err, "read '%s' of the base", p->path);
}

static int hash_file(const struct place *p, unsigned layer, struct ws_sha256 *sum,
		     struct ws_err *err)
{
	WS_AUTO_CLOSE int fd = ws_stack_open_file(p->base, layer, p->path);
	WS_AUTO_FREE char *bytes = ws_grow(NULL, CHUNK, 1);
	uint64_t len = 0;
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, bytes, CHUNK)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		ws_sha256_update(sum, bytes, (size_t)n);
		len += (uint64_t)n;
	}
	if (n < 0)
		return fail_read(p, err);
	ws_sha256_update(sum, &len, sizeof(len)); /* where it ends */
	return 0;
}

static int hash_entry(const struct place *p, const struct ws_stack_dir *above,
		      const char *name, struct ws_sha256 *sum, bool *ret_found,
		      struct ws_err *err);

static int hash_folder(const struct place *p, const struct ws_stack_dir *above,
		       const char *name, struct ws_sha256 *sum, struct ws_err *err)
{
	WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;
	WS_AUTO(ws_strv) struct ws_strv names = WS_STRV_INIT;
	bool found;

	if (p->depth >= DEPTH_MAX) {
		errno = ELOOP;
		return fail_read(p, err);
	}
	if (ws_stack_enter(above, name, &dir) < 0 ||
	    ws_stack_names(&dir, false, &names) < 0)
		return fail_read(p, err);
	for (size_t i = 0; i < names.n; i++) {
		WS_AUTO_FREE char *path = ws_format("%s/%s", p->path, names.v[i]);
		const struct place next = { p->base, path, p->depth + 1 };

		if (hash_entry(&next, &dir, names.v[i], sum, &found, err) < 0)
			return -1;
	}
	ws_sha256_field(sum, "/"); /* the end of this folder */
	return 0;
}

/* Name, type and contents. What is not there has a sum, too. */
static int hash_entry(const struct place *p, const struct ws_stack_dir *above,
		      const char *name, struct ws_sha256 *sum, bool *ret_found,
		      struct ws_err *err)
{
	WS_AUTO_FREE char *link = NULL;
	struct ws_stack_entry e;
	char look[32];

	if (ws_stack_lookup(above, name, &e) < 0)
		return fail_read(p, err);
	*ret_found = e.st.st_mode != 0;
	snprintf(look, sizeof(look), "%o", e.st.st_mode & (S_IFMT | MODE_KEPT));
	ws_sha256_field(sum, p->path);
	ws_sha256_field(sum, look);
	if (S_ISDIR(e.st.st_mode))
		return hash_folder(p, above, name, sum, err);
	if (S_ISREG(e.st.st_mode))
		return hash_file(p, e.layer, sum, err);
	if (!S_ISLNK(e.st.st_mode))
		return 0;
	link = ws_stack_read_link(p->base, e.layer, p->path);
	if (!link)
		return fail_read(p, err);
	ws_sha256_field(sum, link);
	return 0;
}

/* A folder on the way that is none, or a link, leads nowhere. */
static int hash_path(const struct ws_stack *base, const char *path, struct ws_sha256 *sum,
		     bool *ret_found, struct ws_err *err)
{
	WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;
	WS_AUTO_FREE char *above = ws_strdup(path);
	char *slash = strrchr(above, '/');
	const struct place p = { base, path, 0 };

	*slash = '\0';
	if (ws_stack_walk(base, 0, (unsigned)base->n, above, &dir) == 0)
		return hash_entry(&p, &dir, slash + 1, sum, ret_found, err);
	if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		return fail_read(&p, err);
	*ret_found = false;
	ws_sha256_field(sum, path);
	ws_sha256_field(sum, "0");
	return 0;
}

/* ---- what is executed ---- */

/* As the kernel takes "#!" apart, whether or not somebody has said chmod +x. */
static bool add_interpreter(char *line, struct ws_strv *argv)
{
	char *at = line + 2, *end;

	line[strcspn(line, "\n")] = '\0';
	at += strspn(at, " \t");
	end = at + strcspn(at, " \t\r");
	if (end == at)
		return false;
	ws_strv_take(argv, ws_strndup(at, (size_t)(end - at)));
	at = end + strspn(end, " \t\r");
	for (end = at + strlen(at); end > at && strchr(" \t\r", end[-1]);)
		end--;
	if (end > at)
		ws_strv_take(argv, ws_strndup(at, (size_t)(end - at)));
	return true;
}

static int read_head(const struct ws_stack *base, const char *path, struct ws_buf *ret,
		     struct ws_err *err)
{
	const struct place p = { base, path, 0 };
	WS_AUTO(ws_stack_dir) struct ws_stack_dir dir = WS_STACK_DIR_INIT;
	WS_AUTO_FREE char *above = ws_strdup(path);
	char *slash = strrchr(above, '/');
	WS_AUTO_CLOSE int fd = -1;
	struct ws_stack_entry e;
	ssize_t n;

	*slash = '\0';
	if (ws_stack_walk(base, 0, (unsigned)base->n, above, &dir) < 0 ||
	    ws_stack_lookup(&dir, slash + 1, &e) < 0)
		return fail_read(&p, err);
	if (!S_ISREG(e.st.st_mode)) {
		ws_fail(err, WS_SETUP_FAILED,
			"the setup script '%s' is no regular file in the base", path);
		return ws_hint(err, "a link, or a folder, is not run");
	}
	fd = ws_stack_open_file(base, e.layer, path);
	ws_buf_reserve(ret, HEAD_MAX);
	n = fd < 0 ? -1 : read(fd, ret->data, HEAD_MAX - 1);
	if (n < 0)
		return fail_read(&p, err);
	ret->len = (size_t)n;
	ret->data[n] = '\0';
	return 0;
}

/* A program by itself; a script by its interpreter, without a "#!" by sh. */
static int make_argv(const struct ws_stack *base, const char *path, struct ws_strv *argv,
		     struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf head = WS_BUF_INIT;
	bool program;

	if (read_head(base, path, &head, err) < 0)
		return -1;
	program = head.len >= 4 && !memcmp(head.data, "\177ELF", 4);
	if (!program && !(head.len > 2 && !memcmp(head.data, "#!", 2) &&
			  add_interpreter(head.data, argv)))
		ws_strv_push(argv, "/bin/sh");
	ws_strv_addf(argv, "/workspace/%s", path);
	return 0;
}

/* ---- the key ---- */

static void hash_host(struct ws_sha256 *sum)
{
	WS_AUTO(ws_buf) struct ws_buf release = WS_BUF_INIT;
	WS_AUTO_CLOSE int fd = open("/etc/debian_version", O_RDONLY | O_CLOEXEC);
	struct utsname u;
	struct stat st;

	uname(&u);
	ws_sha256_field(sum, u.machine);
	if (fd >= 0 && ws_read_fd(fd, CHUNK, &release) < 0)
		ws_buf_clear(&release); /* its folders will tell */
	ws_sha256_field(sum, ws_buf_str(&release));
	for (size_t i = 0; i < WS_ARRAY_SIZE(toolchains); i++) {
		WS_AUTO_FREE char *look = NULL;

		if (stat(toolchains[i], &st) < 0)
			st.st_mtim = (struct timespec){ 0 };
		look = ws_format("%lld.%ld", (long long)st.st_mtim.tv_sec,
				 st.st_mtim.tv_nsec);
		ws_sha256_field(sum, look);
	}
}

static void hash_policy(const struct ws_setup_source *src, struct ws_sha256 *sum)
{
	WS_AUTO(ws_buf) struct ws_buf policy = WS_BUF_INIT;
	WS_AUTO(ws_strv) struct ws_strv env = WS_STRV_INIT;

	ws_spec_policy(src->policy, &policy);
	ws_sha256_field(sum, ws_buf_str(&policy));
	ws_strv_extend(&env, src->env);
	ws_strv_sort(&env);
	for (size_t i = 0; i < env.n; i++)
		ws_sha256_field(sum, env.v[i]);
}

static int hash_inputs(const struct ws_setup_source *src, const struct ws_stack *base,
		       struct ws_sha256 *sum, struct ws_err *err)
{
	const struct ws_strv *inputs = &src->spec->project_setup.inputs;
	const struct ws_snapshot *s = &src->repo->snapshot;

	/* a session's own has no key, but what it was made of */
	if (!inputs->n) {
		ws_sha256_field(sum, s->key ? s->key : "own");
		ws_sha256_field(sum, s->revision);
	}
	for (size_t i = 0; i < inputs->n; i++) {
		WS_AUTO_FREE char *path =
			ws_format("%s/%s", src->repo->spec->name, inputs->v[i]);
		bool found;

		if (hash_path(base, path, sum, &found, err) < 0)
			return -1;
		if (!found)
			ws_warn("repo '%s': 'project_setup.inputs' names '%s', which is not "
				"there",
				src->repo->spec->name, inputs->v[i]);
	}
	return 0;
}

int ws_setup_key(const struct ws_setup_source *src, struct ws_strv *ret_argv,
		 char ret_key[WS_KEY_LEN + 1], struct ws_err *err)
{
	WS_AUTO(ws_stack) struct ws_stack base = WS_STACK_INIT;
	WS_AUTO_FREE char *script = ws_format("%s/%s", src->repo->spec->name,
					      src->spec->project_setup.script);
	char hex[WS_SHA256_HEX];
	struct ws_sha256 sum;
	bool found;

	if (open_base(src, &base, err) < 0 || make_argv(&base, script, ret_argv, err) < 0)
		return -1;
	ws_sha256_init(&sum);
	ws_sha256_field(&sum, "setup 1");
	ws_sha256_field(&sum, src->repo->path);
	ws_sha256_field(&sum, src->repo->spec->name);
	hash_host(&sum);
	hash_policy(src, &sum);
	if (hash_path(&base, script, &sum, &found, err) < 0 ||
	    hash_inputs(src, &base, &sum, err) < 0)
		return -1;
	ws_sha256_hex(&sum, hex);
	snprintf(ret_key, WS_KEY_LEN + 1, "%.*s", WS_KEY_LEN, hex);
	return 0;
}
