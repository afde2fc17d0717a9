/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nested.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* Of those that wsiso-spec(5) has in its table, under SYSTEM CALLS. */
static const char *const makers[] = {
	"buildah", "bwrap",	    "chrome", "chromium", "chroot", "electron",
	"flatpak", "google-chrome", "mount",  "nsenter",  "podman", "unshare",
};

bool ws_nested_sandbox(const char *program)
{
	const char *name = ws_text_basename(program);

	for (size_t i = 0; i < WS_ARRAY_SIZE(makers); i++)
		if (strcmp(name, makers[i]) == 0)
			return true;
	return false;
}
