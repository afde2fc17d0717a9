/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "core/spec_rules.h"

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool only(const char *s, const char *allowed)
{
	return s[strspn(s, allowed)] == '\0';
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

/* Is every part between slashes a real name: not empty, not "." and not ".."? */
static bool clean_parts(const char *s)
{
	for (;;) {
		size_t len = strcspn(s, "/");

		if (len == 0 || (len == 1 && s[0] == '.') ||
		    (len == 2 && memcmp(s, "..", 2) == 0))
			return false;
		if (s[len] == '\0')
			return true;
		s += len + 1;
	}
}

static bool is_text(const char *s)
{
	return *s != '\0';
}

static bool is_name(const char *s)
{
	return *s && strchr(LETTERS DIGITS, *s) && only(s, LETTERS DIGITS "_.-");
}

static bool is_path(const char *s)
{
	return *s == '/';
}

/* "svn+ssh://host/path" */
static bool is_source(const char *s)
{
	size_t scheme = strspn(s, "abcdefghijklmnopqrstuvwxyz+");

	return *s == '/' || (scheme > 0 && !strncmp(s + scheme, "://", 3) &&
			     s[scheme + 3] && !has_control(s));
}

static bool is_clean_path(const char *s)
{
	return *s == '/' && clean_parts(s + 1);
}

static bool is_revision(const char *s)
{
	return *s && *s != '-' && !has_control(s);
}

/* git-check-ref-format(1), with what a branch's name may not be on top. */
static bool is_branch(const char *s)
{
	if (!is_revision(s) || strpbrk(s, " ~^:?*[\\") || !clean_parts(s))
		return false;
	if (strstr(s, "..") || strstr(s, "@{") || strstr(s, "/.") || *s == '.')
		return false;
	if (strstr(s, ".lock/") || ws_text_ends(s, ".lock") || ws_text_ends(s, "."))
		return false;
	return strcmp(s, "@") != 0 && strcmp(s, "HEAD") != 0;
}

/* Labels as in RFC 1123, apart from the total length, which is the kernel's (64). */
static bool is_hostname(const char *s)
{
	for (;;) {
		size_t len = strcspn(s, ".");

		if (len == 0 || len > 63 || s[0] == '-' || s[len - 1] == '-')
			return false;
		if (strspn(s, LETTERS DIGITS "-") < len)
			return false;
		if (s[len] == '\0')
			return true;
		s += len + 1;
	}
}

static bool is_env_name(const char *s)
{
	return *s && !strchr(DIGITS, *s) && only(s, LETTERS DIGITS "_");
}

const struct ws_spec_rule WS_RULE_TEXT = { "a string that is not empty", NULL, 65536,
					   is_text };

const struct ws_spec_rule WS_RULE_NAME = {
	"a name (a letter or digit, then up to 127 letters, digits, '_', '.' or '-')",
	"^[A-Za-z0-9][A-Za-z0-9_.-]*$", 128, is_name
};

const struct ws_spec_rule WS_RULE_PATH = { "an absolute path", "^/", PATH_MAX - 1,
					   is_path };

const struct ws_spec_rule WS_RULE_SOURCE = { "an absolute path or a URL",
					     "^(/|[a-z+]+://.)", PATH_MAX - 1,
					     is_source };

const struct ws_spec_rule WS_RULE_CLEAN_PATH = {
	"an absolute path without '//', '.', '..' or a slash at its end", "^/[^/]",
	PATH_MAX - 1, is_clean_path
};

const struct ws_spec_rule WS_RULE_INSIDE = {
	"a relative path without '//', '.', '..' or a slash at its end", "^[^/]",
	PATH_MAX - 1, clean_parts
};

const struct ws_spec_rule WS_RULE_REVISION = {
	"a revision (no leading '-', no control characters)", "^[^-]", 1024, is_revision
};

const struct ws_spec_rule WS_RULE_BRANCH = { "a branch name that git accepts",
					     "^[^-. ~^:?*\\[\\\\/]", 244, is_branch };

const struct ws_spec_rule WS_RULE_HOSTNAME = {
	"a host name of at most 64 letters, digits, '-' and '.'",
	"^[A-Za-z0-9][A-Za-z0-9.-]*$", 64, is_hostname
};

const struct ws_spec_rule WS_RULE_ENV_NAME = {
	"the name of an environment variable (letters, digits and '_')",
	"^[A-Za-z_][A-Za-z0-9_]*$", 255, is_env_name
};

bool ws_spec_rule_holds(const struct ws_spec_rule *rule, const char *text)
{
	return strlen(text) <= rule->max && rule->good(text);
}
