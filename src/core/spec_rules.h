/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SPEC_RULES_H
#define WS_CORE_SPEC_RULES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What a string in a spec may be. WHAT completes "must be ..."; PATTERN is for the
 * JSON schema (ECMA 262), never stricter than GOOD; MAX is in bytes.
 */
struct ws_spec_rule {
	const char *what;
	const char *pattern; /* or NULL */
	size_t max;
	bool (*good)(const char *text);
};

extern const struct ws_spec_rule WS_RULE_TEXT;	     /* not empty */
extern const struct ws_spec_rule WS_RULE_NAME;	     /* of a repo, a profile */
extern const struct ws_spec_rule WS_RULE_PATH;	     /* absolute */
extern const struct ws_spec_rule WS_RULE_SOURCE;     /* the same, or a URL */
extern const struct ws_spec_rule WS_RULE_CLEAN_PATH; /* absolute, normalised, not "/" */
extern const struct ws_spec_rule WS_RULE_INSIDE;     /* relative, stays inside */
extern const struct ws_spec_rule WS_RULE_REVISION;
extern const struct ws_spec_rule WS_RULE_BRANCH;
extern const struct ws_spec_rule WS_RULE_HOSTNAME;
extern const struct ws_spec_rule WS_RULE_ENV_NAME;

bool ws_spec_rule_holds(const struct ws_spec_rule *rule, const char *text);

#endif
