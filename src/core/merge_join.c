/* SPDX-License-Identifier: Apache-2.0 */
#include "core/merge_join.h"

#include "core/file_merge.h"

struct sides {
	struct ws_buf v[WS_TREES];
};

static void sides_release(struct sides *s)
{
	for (int i = 0; i < WS_TREES; i++)
		ws_buf_release(&s->v[i]);
}

static bool is_large(const struct ws_merge_path *p)
{
	return p->base.size > WS_FILE_MERGE_MAX || p->ours.size > WS_FILE_MERGE_MAX ||
	       p->theirs.size > WS_FILE_MERGE_MAX;
}

static int join(const struct ws_merge_trees *t, struct ws_merge_path *p,
		struct ws_file_merger *merger, struct ws_err *err)
{
	WS_AUTO(sides) struct sides s = { 0 };
	WS_AUTO(ws_buf) struct ws_buf merged = WS_BUF_INIT;
	enum ws_file_merged how = WS_MERGED_BINARY;
	bool known = S_ISREG(p->base.mode);

	for (int i = 0; !is_large(p) && i < WS_TREES; i++)
		if ((i != WS_TREE_BASE || known) &&
		    ws_merge_load(t, p, (enum ws_merge_tree)i, WS_FILE_MERGE_MAX,
				  &s.v[i]) < 0)
			return ws_fail_errno(err, "read '/workspace/%.200s'", p->path);
	if (!is_large(p) && ws_file_merge(merger, s.v, &how, &merged, err) < 0)
		return -1;
	if (how != WS_MERGED_CLEAN)
		ws_merge_clash(p, how == WS_MERGED_BINARY ? WS_CLASH_BINARY
				  : known		  ? WS_CLASH_CONTENT
							  : WS_CLASH_ADDED);
	if (p->action == WS_MERGE_ANSWER)
		return 0;
	ws_buf_release(&p->bytes);
	p->bytes = merged;
	merged = WS_BUF_INIT;
	return 0;
}

int ws_merge_join(struct ws_merge_trees *t, const char *ours, const char *theirs,
		  struct ws_err *err)
{
	WS_AUTO(ws_file_merger) struct ws_file_merger merger = WS_FILE_MERGER_INIT;

	merger.ours = ours;
	merger.theirs = theirs;
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].action == WS_MERGE_JOIN &&
		    join(t, &t->v[i], &merger, err) < 0)
			return -1;
	return 0;
}
