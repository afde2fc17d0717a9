/* SPDX-License-Identifier: Apache-2.0 */
#include "base/entry.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"

#define MAGIC 0x77734531u

struct head {
	uint32_t magic, type, mode, opaque, mtime_ns, path_len, target_len, nruns;
	uint64_t size;
	int64_t mtime;
};

struct block_head {
	uint64_t at, len;
};

void ws_entry_release(struct ws_entry *e)
{
	ws_buf_release(&e->path);
	ws_buf_release(&e->target);
	ws_freep(&e->runs);
	e->nruns = 0;
}

void ws_entry_add_run(struct ws_entry *e, uint64_t at, uint64_t len)
{
	if ((e->nruns & (e->nruns + 1)) == 0)
		e->runs = ws_grow(e->runs, 2 * (size_t)e->nruns + 1, sizeof(*e->runs));
	e->runs[e->nruns++] = (struct ws_entry_run){ at, len };
}

/* ---- out ---- */

int ws_entry_send(int fd, const struct ws_entry *e)
{
	const struct head h = { .magic = MAGIC,
				.type = (uint32_t)e->type,
				.mode = e->mode,
				.opaque = e->opaque,
				.mtime_ns = e->mtime_ns,
				.path_len = (uint32_t)e->path.len,
				.target_len = (uint32_t)e->target.len,
				.nruns = e->nruns,
				.size = e->size,
				.mtime = e->mtime };
	WS_AUTO(ws_buf) struct ws_buf out = WS_BUF_INIT;

	ws_buf_add(&out, &h, sizeof(h));
	ws_buf_add(&out, ws_buf_str(&e->path), e->path.len);
	ws_buf_add(&out, ws_buf_str(&e->target), e->target.len);
	if (e->nruns)
		ws_buf_add(&out, e->runs, e->nruns * sizeof(*e->runs));
	return ws_write_all(fd, out.data, out.len);
}

int ws_entry_send_block(int fd, uint64_t at, const void *data, size_t len)
{
	const struct block_head h = { .at = at, .len = len };

	if (ws_write_all(fd, &h, sizeof(h)) < 0)
		return -1;
	return len ? ws_write_all(fd, data, len) : 0;
}

/* ---- in ---- */

static int take(int fd, void *data, size_t len)
{
	char *to = data;

	while (len > 0) {
		ssize_t n = read(fd, to, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n < 0 ? errno : EPROTO;
			return -1;
		}
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

static int take_text(int fd, size_t len, struct ws_buf *ret)
{
	ws_buf_reserve(ret, len + 1);
	if (take(fd, ret->data, len) < 0)
		return -1;
	ret->data[len] = '\0';
	ret->len = len;
	return 0;
}

static bool is_head(const struct head *h)
{
	return h->magic == MAGIC && h->type && h->type < 128 &&
	       strchr("fdlpwe", (int)h->type) && h->mode <= 07777 && h->opaque <= 1 &&
	       h->mtime_ns < 1000000000u && h->path_len <= WS_ENTRY_PATH_MAX &&
	       h->target_len <= WS_ENTRY_PATH_MAX && h->nruns <= WS_ENTRY_RUNS_MAX &&
	       h->size <= INT64_MAX;
}

/* In order, apart, and inside of the file. */
static bool are_runs(const struct ws_entry *e)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < e->nruns; i++) {
		const struct ws_entry_run *r = &e->runs[i];

		if (r->at < end || r->at > e->size || r->len > e->size - r->at)
			return false;
		end = r->at + r->len;
	}
	return true;
}

int ws_entry_take(int fd, struct ws_entry *e)
{
	struct head h;

	ws_entry_release(e);
	*e = WS_ENTRY_INIT;
	if (take(fd, &h, sizeof(h)) < 0)
		return -1;
	errno = EPROTO;
	if (!is_head(&h))
		return -1;
	*e = (struct ws_entry){ .type = (enum ws_entry_type)h.type,
				.mode = h.mode,
				.opaque = h.opaque,
				.size = h.size,
				.mtime = h.mtime,
				.mtime_ns = h.mtime_ns };
	if (take_text(fd, h.path_len, &e->path) < 0 ||
	    take_text(fd, h.target_len, &e->target) < 0)
		return -1;
	if (h.nruns) {
		e->runs = ws_grow(NULL, h.nruns, sizeof(*e->runs));
		if (take(fd, e->runs, h.nruns * sizeof(*e->runs)) < 0)
			return -1;
		e->nruns = h.nruns;
	}
	errno = EPROTO;
	if (strlen(e->path.data) != e->path.len ||
	    strlen(e->target.data) != e->target.len || !are_runs(e))
		return -1;
	return 0;
}

int ws_entry_take_block(int fd, uint64_t *ret_at, void *block, size_t *ret_len)
{
	struct block_head h;

	if (take(fd, &h, sizeof(h)) < 0)
		return -1;
	if (h.len > WS_ENTRY_BLOCK || h.at > INT64_MAX - WS_ENTRY_BLOCK) {
		errno = EPROTO;
		return -1;
	}
	*ret_at = h.at;
	*ret_len = (size_t)h.len;
	return h.len ? take(fd, block, (size_t)h.len) : 0;
}
