/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of protocol.h: what one writes the other reads, and nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "check.h"
#include "core/enter.h"
#include "core/frame.h"
#include "init/init.h"

#define MUTATIONS 20000

/* ---- plans ---- */

static void fill_plan(struct ws_enter_plan *p)
{
	static const struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, 0x7fff0000 };

	ws_strv_add(&p->argv, "sh", "-c", "", "x y\n", NULL);
	ws_strv_add(&p->env, "PATH=/bin", "EMPTY=", NULL);
	p->cwd = ws_strdup("/workspace/app");
	p->home = ws_strdup("/home/u");
	p->flags = WS_PLAN_PRIVATE_HOME;
	p->umask = 027;
	p->kill_after_ms = 5000;
	p->tmpfs_size = 1 << 30;
	p->size.ws_row = 25;
	p->size.ws_col = 80;
	p->nrlimits = 2;
	p->rlimits = ws_alloc(p->nrlimits * sizeof(*p->rlimits));
	p->rlimits[1] =
		(struct ws_rlimit){ .resource = 7, .soft = 1024, .hard = UINT64_MAX };
	ws_buf_add(&p->filters[0], &allow, sizeof(allow));
	ws_buf_add(&p->filters[2], &allow, sizeof(allow));
	ws_buf_add(&p->filters[2], &allow, sizeof(allow));
}

/* A copy that ends exactly where the plan ends: a reader beyond it is caught. */
static int decode(const struct ws_buf *b, size_t len, struct ws_command *ret)
{
	static char *copy;

	free(copy);
	copy = malloc(len ? len : 1);
	MUST(copy);
	if (len)
		memcpy(copy, b->data, len);
	errno = 0;
	return ws_command_decode(copy, len, ret);
}

static void facts_of_a_plan(const struct ws_buf *b)
{
	struct sock_filter filter[2];
	struct ws_command c;

	CHECK_INT(decode(b, b->len, &c), 0);
	CHECK_STR(c.cwd, "/workspace/app");
	CHECK_STR(c.home, "/home/u");
	CHECK_STR(c.label, "name (enforce)");
	CHECK_STR(c.argv[0], "sh");
	CHECK_STR(c.argv[2], "");
	CHECK_STR(c.argv[3], "x y\n");
	CHECK(c.argv[4] == NULL);
	CHECK_STR(c.envp[1], "EMPTY=");
	CHECK(c.envp[2] == NULL);
	CHECK_U64(c.head.flags, WS_PLAN_PRIVATE_HOME | WS_PLAN_STDIN);
	CHECK_U64(c.head.umask, 027);
	CHECK_U64(c.head.kill_after_ms, 5000);
	CHECK_U64(c.head.tmpfs_size, 1 << 30);
	CHECK(c.head.rows == 25 && c.head.cols == 80);
	CHECK_U64(c.head.nrlimits, 2);
	CHECK_U64(c.rlimits[1].resource, 7);
	CHECK_U64(c.rlimits[1].hard, UINT64_MAX);
	CHECK_U64(c.head.filter_len[0], sizeof(struct sock_filter));
	CHECK_U64(c.head.filter_len[1], 0);
	CHECK_U64(c.head.filter_len[2], 2 * sizeof(struct sock_filter));
	memcpy(filter, c.filters[2], sizeof(filter)); /* it is not aligned */
	CHECK_U64(filter[1].k, 0x7fff0000);
	ws_command_release(&c);
	CHECK(c.argv == NULL);
}

static void facts_of_cut_plans(const struct ws_buf *b)
{
	WS_AUTO(ws_buf) struct ws_buf longer = WS_BUF_INIT;
	struct ws_command c;
	bool refused = true;

	for (size_t len = 0; len < b->len; len++)
		refused = refused && decode(b, len, &c) < 0 && errno == EPROTO;
	CHECK(refused);
	ws_buf_add(&longer, b->data, b->len);
	ws_buf_addch(&longer, '\0');
	CHECK(decode(&longer, longer.len, &c) < 0 && errno == EPROTO);
}

/* One field of the head is wrong, or a byte of the tail. */
static bool refused_with(const struct ws_buf *b, size_t at, const void *bytes, size_t len)
{
	WS_AUTO(ws_buf) struct ws_buf wrong = WS_BUF_INIT;
	struct ws_command c;

	ws_buf_add(&wrong, b->data, b->len);
	memcpy(wrong.data + at, bytes, len);
	if (decode(&wrong, wrong.len, &c) < 0)
		return errno == EPROTO;
	ws_command_release(&c);
	return false;
}

#define REFUSED(b, field, value) \
	refused_with(b, offsetof(struct ws_plan_head, field), &(uint32_t){ value }, 4)

static void facts_of_wrong_plans(const struct ws_buf *b)
{
	size_t cwd = sizeof(struct ws_plan_head) + 2 * sizeof(struct ws_rlimit);

	CHECK(REFUSED(b, protocol, WS_PROTOCOL + 1));
	CHECK(REFUSED(b, flags, WS_PLAN_FLAGS + 1));
	CHECK(REFUSED(b, argc, 0));
	CHECK(REFUSED(b, argc, 5));
	CHECK(REFUSED(b, argc, 7));
	CHECK(REFUSED(b, argc, UINT32_MAX));
	CHECK(REFUSED(b, envc, 3));
	CHECK(REFUSED(b, envc, UINT32_MAX));
	CHECK(REFUSED(b, nrlimits, WS_PLAN_RLIMITS_MAX + 1));
	CHECK(REFUSED(b, nrlimits, UINT32_MAX));
	CHECK(REFUSED(b, umask, 01000));
	CHECK(REFUSED(b, pad, 1));
	CHECK(REFUSED(b, pad2, 1));
	CHECK(REFUSED(b, filter_len[0], 7));
	CHECK(REFUSED(b, filter_len[1], 8));
	CHECK(REFUSED(b, filter_len[3], UINT32_MAX - 7));
	CHECK(refused_with(b, cwd, "w", 1));
	CHECK(refused_with(b, cwd + strlen("/workspace/app") + 1, "h", 1));
}

/* Anything may come, and is refused or understood; the sanitizers look on. */
static void facts_of_mutations(const struct ws_buf *b)
{
	WS_AUTO(ws_buf) struct ws_buf wrong = WS_BUF_INIT;
	unsigned understood = 0;

	srandom(1);
	for (int i = 0; i < MUTATIONS; i++) {
		struct ws_command c;
		size_t len = 0;

		ws_buf_clear(&wrong);
		ws_buf_add(&wrong, b->data, b->len);
		for (long n = 1 + random() % 4; n; n--)
			wrong.data[(size_t)random() % b->len] = (char)random();
		if (decode(&wrong, wrong.len, &c) < 0)
			continue;
		understood++;
		for (char **s = c.argv; *s; s++)
			len += strlen(*s);
		for (char **s = c.envp; *s; s++)
			len += strlen(*s);
		MUST(len < b->len);
		ws_command_release(&c);
	}
	CHECK(understood > 0 && understood < MUTATIONS);
}

static void facts_of_refusals(void)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	struct ws_enter_plan p = WS_ENTER_PLAN_INIT;
	struct ws_err err = WS_ERR_INIT;
	char *big = ws_alloc(WS_FRAME_MAX + 1);

	CHECK(ws_enter_plan_encode(&p, NULL, false, &b, &err) < 0 &&
	      err.kind == WS_USAGE);
	fill_plan(&p);
	CHECK_INT(ws_enter_plan_encode(&p, NULL, false, &b, &err), 0);
	ws_buf_addch(&p.filters[1], 'x');
	CHECK(ws_enter_plan_encode(&p, NULL, false, &b, &err) < 0);
	CHECK_INT(err.kind, WS_SECCOMP_UNAVAILABLE);
	ws_buf_clear(&p.filters[1]);
	memset(big, 'x', WS_FRAME_MAX);
	ws_strv_take(&p.argv, big);
	CHECK(ws_enter_plan_encode(&p, NULL, false, &b, &err) < 0 &&
	      err.kind == WS_USAGE);
	ws_enter_plan_release(&p);
}

static void facts_of_plans(void)
{
	WS_AUTO(ws_buf) struct ws_buf b = WS_BUF_INIT;
	struct ws_enter_plan p = WS_ENTER_PLAN_INIT;
	struct ws_err err = WS_ERR_INIT;

	fill_plan(&p);
	MUST(ws_enter_plan_encode(&p, "name (enforce)", true, &b, &err) == 0);
	facts_of_a_plan(&b);
	facts_of_cut_plans(&b);
	facts_of_wrong_plans(&b);
	facts_of_mutations(&b);
	ws_enter_plan_release(&p);
	facts_of_refusals();
}

/* ---- frames ---- */

struct talk {
	int outside, inside;
};

static struct talk talk_open(void)
{
	struct talk t;

	MUST(ws_frame_pair(&t.outside, &t.inside) == 0);
	MUST(ws_frame_timeout(t.outside, 2000) == 0);
	return t;
}

static void talk_close(struct talk *t)
{
	ws_closep(&t->outside);
	ws_closep(&t->inside);
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino &&
	       x.st_dev == y.st_dev;
}

static void facts_of_the_way_in(void)
{
	struct talk t = talk_open();
	struct ws_frame frame;
	char body[6];
	int in, out, fds[3];
	size_t n;

	MUST(ws_pipe(&in, &out) == 0);
	CHECK_INT(ws_frame_send(t.outside, WS_FRAME_PLAN, "secret", 6, (int[]){ in, out },
				2),
		  0);
	CHECK_INT(ws_wire_recv(t.inside, &frame, fds, 3, &n), 0);
	CHECK(frame.type == WS_FRAME_PLAN && frame.len == 6 && n == 2);
	CHECK(same_file(fds[0], in) && same_file(fds[1], out));
	CHECK(fcntl(fds[1], F_GETFD) == FD_CLOEXEC);
	CHECK_INT(ws_wire_read(t.inside, body, 6), 0);
	CHECK(memcmp(body, "secret", 6) == 0);
	close(fds[0]);
	close(fds[1]);

	MUST(ws_frame_send(t.outside, WS_FRAME_PLAN, NULL, 0, (int[]){ in, out }, 2) ==
	     0);
	CHECK(ws_wire_recv(t.inside, &frame, fds, 1, &n) < 0 && errno == EPROTO &&
	      n == 0);
	CHECK(ws_frame_send(t.outside, WS_FRAME_PLAN, "", WS_FRAME_MAX + 1, NULL, 0) < 0);
	CHECK_INT(errno, EMSGSIZE);
	ws_closep(&t.outside);
	CHECK(ws_wire_recv(t.inside, &frame, fds, 3, &n) < 0 && errno == ECONNRESET);
	ws_closep(&in);
	ws_closep(&out);
	talk_close(&t);
}

/* More than the socket holds: both ends have to go on from where they were. */
static void facts_of_a_long_frame(void)
{
	struct talk t = talk_open();
	char *sent = ws_alloc(WS_FRAME_MAX), *got = ws_alloc(WS_FRAME_MAX);
	struct ws_frame frame;
	int status;
	size_t n;
	pid_t pid;

	for (size_t i = 0; i < WS_FRAME_MAX; i++)
		sent[i] = (char)(i * 7 >> 3);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0)
		_exit(ws_frame_send(t.outside, WS_FRAME_PLAN, sent, WS_FRAME_MAX, NULL,
				    0) < 0);
	CHECK_INT(ws_wire_recv(t.inside, &frame, NULL, 0, &n), 0);
	CHECK_U64(frame.len, WS_FRAME_MAX);
	CHECK_INT(ws_wire_read(t.inside, got, WS_FRAME_MAX), 0);
	CHECK(memcmp(sent, got, WS_FRAME_MAX) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	free(sent);
	free(got);
	talk_close(&t);
}

static void facts_of_the_way_out(void)
{
	WS_AUTO(ws_buf) struct ws_buf data = WS_BUF_INIT;
	const struct ws_failed failed = { .step = WS_STEP_EXEC, .error = ENOENT };
	struct talk t = talk_open();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;
	uint32_t type;
	pid_t pid;

	CHECK_INT(ws_wire_send(t.inside, WS_FRAME_FAILED, &failed, sizeof(failed), -1),
		  0);
	CHECK_INT(ws_frame_recv(t.outside, &type, &data, &fd, &pid), 0);
	CHECK(type == WS_FRAME_FAILED && data.len == sizeof(failed) && fd == -1);
	CHECK(memcmp(data.data, &failed, sizeof(failed)) == 0);
	CHECK_INT(pid, getpid());
	CHECK_INT(ws_wire_send(t.inside, WS_FRAME_TTY, NULL, 0, null), 0);
	CHECK_INT(ws_frame_recv(t.outside, &type, &data, &fd, NULL), 0);
	CHECK(type == WS_FRAME_TTY && data.len == 0 && same_file(fd, null));
	close(fd);
	CHECK(ws_wire_send(t.inside, WS_FRAME_EXITED, "", 17, -1) < 0 &&
	      errno == EMSGSIZE);
	MUST(ws_frame_timeout(t.outside, 20) == 0);
	CHECK(ws_frame_recv(t.outside, &type, &data, &fd, &pid) < 0 && errno == EAGAIN);
	ws_closep(&t.inside);
	CHECK(ws_frame_recv(t.outside, &type, &data, &fd, &pid) < 0 &&
	      errno == ECONNRESET);
	close(null);
	talk_close(&t);
}

/* Each is another talk: after one of them nothing more is believed. */
static bool refuses(uint32_t type, uint32_t len, const int *fds, size_t nfds)
{
	WS_AUTO(ws_buf) struct ws_buf data = WS_BUF_INIT;
	static const char zero[64];
	struct talk t = talk_open();
	uint32_t got;
	bool refused;
	int fd;

	MUST(ws_frame_send(t.inside, type, zero, len, fds, nfds) == 0);
	refused = ws_frame_recv(t.outside, &got, &data, &fd, NULL) < 0 &&
		  errno == EPROTO && fd == -1;
	talk_close(&t);
	return refused;
}

static void facts_of_wrong_frames(void)
{
	int fds[2] = { open("/dev/null", O_RDWR | O_CLOEXEC),
		       open("/", O_RDONLY | O_CLOEXEC) };
	int next = dup(0), last;

	close(next);
	CHECK(refuses(WS_FRAME_HELLO, 3, NULL, 0));
	CHECK(refuses(WS_FRAME_HELLO, 5, NULL, 0));
	CHECK(refuses(WS_FRAME_STARTED, 1, NULL, 0));
	CHECK(refuses(WS_FRAME_FAILED, 4, NULL, 0));
	CHECK(refuses(WS_FRAME_EXITED, 64, NULL, 0));
	CHECK(refuses(WS_FRAME_PLAN, 0, NULL, 0));
	CHECK(refuses(WS_FRAME_SIGNAL, 4, NULL, 0));
	CHECK(refuses(0, 0, NULL, 0));
	CHECK(refuses(UINT32_MAX, 0, NULL, 0));
	CHECK(refuses(WS_FRAME_TTY, 0, NULL, 0));
	CHECK(refuses(WS_FRAME_TTY, 0, fds, 2));
	CHECK(refuses(WS_FRAME_CHILD, 0, fds, 1));
	last = dup(0);
	CHECK_INT(last, next); /* no descriptor stayed open */
	close(last);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	facts_of_plans();
	facts_of_the_way_in();
	facts_of_a_long_frame();
	facts_of_the_way_out();
	facts_of_wrong_frames();
	return CHECK_DONE();
}
