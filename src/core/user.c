/* SPDX-License-Identifier: Apache-2.0 */
#include "core/user.h"

#include <ctype.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

void ws_user_release(struct ws_user *u)
{
	ws_freep(&u->name);
	ws_freep(&u->group);
	ws_freep(&u->home);
	ws_freep(&u->host_home);
}

/* Inside, the name is a folder's name and a field of passwd. */
static char *safe_name(const char *name, char prefix, unsigned id)
{
	if (!name || !isalpha((unsigned char)name[0]))
		return ws_format("%c%u", prefix, id);
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-' && *p != '.')
			return ws_format("%c%u", prefix, id);
	return ws_strdup(name);
}

int ws_user_self(struct ws_user *ret, struct ws_err *err)
{
	const struct passwd *pw;
	const struct group *gr;
	const char *home = getenv("HOME");

	*ret = (struct ws_user){ .uid = getuid(), .gid = getgid() };
	if (ret->uid != geteuid() || ret->gid != getegid())
		return ws_fail(
			err, WS_HOST_UNSUPPORTED,
			"real and effective user differ: wsiso must not be setuid");
	pw = getpwuid(ret->uid);
	ret->name = safe_name(pw ? pw->pw_name : NULL, 'u', ret->uid);
	ret->home = ws_format("/home/%s", ret->name);
	if (home && home[0] == '/')
		ret->host_home = ws_strdup(home);
	else if (pw && pw->pw_dir && pw->pw_dir[0] == '/')
		ret->host_home = ws_strdup(pw->pw_dir);
	gr = getgrgid(ret->gid);
	ret->group = safe_name(gr ? gr->gr_name : NULL, 'g', ret->gid);
	return 0;
}
