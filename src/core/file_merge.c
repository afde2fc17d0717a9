/* SPDX-License-Identifier: Apache-2.0 */
#include "core/file_merge.h"

#include <stdio.h>
#include <string.h>

void ws_file_merger_release(struct ws_file_merger *m)
{
	ws_git_talk_release(&m->talk);
}

static int parse(const char *line, enum ws_file_merged *ret_how, size_t *ret_len)
{
	static const char *const words[] = { [WS_MERGED_CLEAN] = "clean",
					     [WS_MERGED_CONFLICT] = "conflict",
					     [WS_MERGED_BINARY] = "binary" };
	char word[16];

	if (sscanf(line, "%15s %zu", word, ret_len) != 2)
		return -1;
	for (size_t i = 0; i < WS_ARRAY_SIZE(words); i++)
		if (!strcmp(words[i], word)) {
			*ret_how = (enum ws_file_merged)i;
			return 0;
		}
	return -1;
}

int ws_file_merge(struct ws_file_merger *m, const struct ws_buf sides[3],
		  enum ws_file_merged *ret_how, struct ws_buf *ret, struct ws_err *err)
{
	WS_AUTO_FREE char *head =
		ws_format("%zu %zu %zu %s %s\n", sides[0].len, sides[1].len, sides[2].len,
			  m->ours, m->theirs);
	char line[WS_GIT_TALK_LINE];
	size_t len;

	if (ws_git_talk_ask(&m->talk, head, sides, 3, err) < 0 ||
	    ws_git_talk_head(&m->talk, line, err) < 0)
		return -1;
	if (parse(line, ret_how, &len) < 0)
		return ws_git_talk_fail(err);
	return ws_git_talk_body(&m->talk, len, ret, err);
}
