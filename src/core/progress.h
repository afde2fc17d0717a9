/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_PROGRESS_H
#define WS_CORE_PROGRESS_H

#include <stdint.h>

/* How long work tells whoever asked for it how it goes. Pure. */
struct ws_progress_event {
	const char *work;  /* "setup" */
	const char *event; /* "waiting", "started", "done", "failed" or "reused" */
	const char *repo;  /* its name below /workspace */
	const char *key;
	uint64_t ms; /* that it took, of one that has ended; else 0 */
};

struct ws_progress {
	void (*tell)(void *arg, const struct ws_progress_event *e);
	void *arg;
};

/* P may be NULL: nobody wants to know. */
static inline void ws_progress_tell(const struct ws_progress *p,
				    const struct ws_progress_event *e)
{
	if (p && p->tell)
		p->tell(p->arg, e);
}

#endif
