/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_STORE_H
#define WS_CORE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "core/root.h"

/*
 * `wsiso check --store`: is all there that the records name, and named what is there? It
 * reads records and looks at folders; no file of an agent's is opened, no link followed.
 * With REPAIR what can be mended without a loss is; never an upper, never a HOME.
 */
enum ws_store_status {
	WS_STORE_OK,
	WS_STORE_WARNING, /* the next gc, or who needs it, deals with it */
	WS_STORE_REPAIRED,
	WS_STORE_FAILED,
};

struct ws_store_item {
	const char *id; /* of the row: a constant */
	char *subject;	/* "sessions/ID", or NULL: the row as a whole */
	enum ws_store_status status;
	char *detail, *remedy; /* REMEDY may be NULL */
};

struct ws_store_report {
	struct ws_store_item *v;
	size_t n;
	bool sound; /* nothing has failed */
};

#define WS_STORE_REPORT_INIT ((struct ws_store_report){ .sound = true })

void ws_store_report_release(struct ws_store_report *r);
const char *ws_store_status_name(enum ws_store_status status);
/* What is wrong is no error. */
int ws_store_check(const struct ws_root *root, bool repair, struct ws_store_report *ret,
		   struct ws_err *err);

#endif
