/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CORE_SPEC_FIELDS_H
#define WS_CORE_SPEC_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "core/spec.h"
#include "core/spec_rules.h"

/*
 * The one table of what a spec may say. Private to spec*.c. A new option is a member
 * of struct ws_spec and a row here; decoder, `wsiso spec`, schema and man page follow.
 */
enum ws_key_type {
	WS_KEY_SECTION, /* an object whose members have rows of their own */
	WS_KEY_BOOL,	/* bool */
	WS_KEY_U64,	/* uint64_t */
	WS_KEY_DOUBLE,	/* double */
	WS_KEY_ENUM,	/* an enum: the index in WORDS */
	WS_KEY_TEXT,	/* char *: a string by RULE */
	WS_KEY_LIST,	/* struct ws_strv: strings by RULE, at most MAX */
	WS_KEY_ITEMS,	/* array of structs of SIZE at AT, their number at COUNT, at most
			 * MAX; their members have rows below KEY[] */
	/* These three keep canonical JSON text (char *): */
	WS_KEY_STRINGS,	 /* an object of strings */
	WS_KEY_PROFILES, /* an object of overrides */
	WS_KEY_FLOOR,	 /* an object in a spec's form */
};

enum ws_key_flag {
	/* It protects: an unknown key that is near this one is an error. */
	WS_KEY_SECURITY = 1 << 0,
	WS_KEY_ROOT_ONLY = 1 << 1, /* only good in wsiso.json */
	WS_KEY_FALLBACK = 1 << 2,  /* an unknown word: warning, and the default */
	WS_KEY_NEED = 1 << 3,	   /* must be there */
	WS_KEY_DEPRECATED = 1 << 4,
	WS_KEY_COMMAND = 1 << 5, /* per command: a profile may change it with exec */
};

enum ws_key_when {
	WS_WHEN_CREATE, /* fixed when the session is made */
	WS_WHEN_START,	/* read when a sandbox starts: part of the policy */
	WS_WHEN_USE,	/* read each time */
	WS_WHEN_SHARED, /* about things that sessions share */
};

/*
 * Which values of a key protect more, for whatever may only be tightened: a session's
 * under a floor, a child's under its parent's (spec_tighten.c).
 */
enum ws_key_tighter {
	WS_TIGHTER_NONE, /* it protects nothing: not good in a floor */
	WS_TIGHTER_TRUE,
	WS_TIGHTER_FALSE,
	WS_TIGHTER_LESS,     /* a number; null is the loosest */
	WS_TIGHTER_RANK,     /* a word; RANK of each */
	WS_TIGHTER_SET,	     /* any text is tighter than null */
	WS_TIGHTER_SAME,     /* a text that nobody may change */
	WS_TIGHTER_FEWER,    /* a list of what is let in */
	WS_TIGHTER_MORE,     /* a list of what is kept out: it is added to */
	WS_TIGHTER_BINDS,    /* the same ones or fewer; read-only is tighter */
	WS_TIGHTER_PROFILES, /* each by what it says */
};

struct ws_spec_field {
	const char *key; /* "sandbox.unshare_net", "repos[].name" */
	enum ws_key_type type;
	unsigned flags;
	enum ws_key_when when;
	size_t at, count, size;
	double min, max;      /* inclusive; all are exact as double */
	const char *words[5]; /* in the order of the enum */
	enum ws_key_tighter tighter;
	unsigned char rank[5]; /* of the words: the higher, the tighter */
	const char *instead;   /* the key that this deprecated one stands for */
	const struct ws_spec_rule *rule;
	/* As JSON. "null": the key may be null (unless NEED), and 0 or NULL means that.
	 */
	const char *def;
	/*
	 * The part that is missing as long as this build cannot do it, and the
	 * values, as JSON, that do not ask for it (none given: the default).
	 */
	const char *later;
	const char *nothing[2];
	const char *help; /* one sentence, no full stop */
};

extern const struct ws_spec_field WS_SPEC_FIELDS[]; /* a row without key ends it */

/* The last part of FIELD's key if it stands right below PREFIX ("" is the top), or NULL.
 */
const char *ws_spec_field_name(const struct ws_spec_field *field, const char *prefix);
const struct ws_spec_field *ws_spec_field_find(const char *prefix, const char *key);
/* The one that the writer of KEY, unknown below PREFIX, may have meant, or NULL. */
const struct ws_spec_field *ws_spec_field_near(const char *prefix, const char *key);
bool ws_spec_field_nullable(const struct ws_spec_field *field);
/* BASE is the struct that the field's offset counts from. */
void ws_spec_field_reset(const struct ws_spec_field *field, void *base);
void ws_spec_field_release(const struct ws_spec_field *field, void *base);
/* Frees what one item of an ITEMS row holds. */
void ws_spec_item_release(const struct ws_spec_field *items, void *item);
/* Room for one more item, at its defaults; the item stays the spec's. */
void *ws_spec_item_add(const struct ws_spec_field *items, void *base);
/* What a value must be: "a whole number from 1 to 5 or null". */
void ws_spec_field_expect(const struct ws_spec_field *field, struct ws_buf *out);
/* The value at BASE as JSON (spec_print.c). */
void ws_spec_field_write(const struct ws_spec_field *field, struct ws_jsonw *w,
			 const char *key, const void *base);
/* JSON that the table holds or the decoder made (NULL: null), again as JSON. */
void ws_spec_text_write(struct ws_jsonw *w, const char *key, const char *text);
/*
 * Canonical: members sorted. Those of UNDER (NULL: none) that OBJECT does not have are
 * kept (spec_object.c).
 */
void ws_spec_object_write(struct ws_jsonw *w, const char *key,
			  const struct ws_json *object, const struct ws_json *under);
/* What the help does not say, as sentences that each begin with a blank (spec_man.c). */
void ws_spec_field_notes(const struct ws_spec_field *field, struct ws_buf *out);

#endif
