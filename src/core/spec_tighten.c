/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spec_tighten.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/spec_fields.h"

#define SHOWN_MAX 80

/* ---- one value against another: BOUND and AT are where it is in the two specs ---- */

static bool true_holds(const struct ws_spec_field *f, const void *bound, const void *at)
{
	(void)f;
	return *(const bool *)at || !*(const bool *)bound;
}

static bool false_holds(const struct ws_spec_field *f, const void *bound, const void *at)
{
	(void)f;
	return !*(const bool *)at || *(const bool *)bound;
}

/* 0 is null: no limit at all. */
static bool less_holds(const struct ws_spec_field *f, const void *bound, const void *at)
{
	if (f->type == WS_KEY_DOUBLE) {
		double most = *(const double *)bound, is = *(const double *)at;

		return most <= 0 || (is > 0 && is <= most);
	}
	return !*(const uint64_t *)bound ||
	       (*(const uint64_t *)at &&
		*(const uint64_t *)at <= *(const uint64_t *)bound);
}

static unsigned rank(const struct ws_spec_field *f, const void *at)
{
	unsigned word = *(const unsigned *)at;

	return word < WS_ARRAY_SIZE(f->rank) ? f->rank[word] : 0;
}

static bool rank_holds(const struct ws_spec_field *f, const void *bound, const void *at)
{
	return rank(f, at) >= rank(f, bound);
}

static bool set_holds(const struct ws_spec_field *f, const void *bound, const void *at)
{
	(void)f;
	return *(char *const *)at || !*(char *const *)bound;
}

static bool same_holds(const struct ws_spec_field *f, const void *bound, const void *at)
{
	const char *must = *(char *const *)bound, *is = *(char *const *)at;

	(void)f;
	return !must || (is && strcmp(must, is) == 0);
}

static bool has_all(const struct ws_strv *of, const struct ws_strv *in)
{
	for (size_t i = 0; i < of->n; i++)
		if (!ws_strv_has(in, of->v[i]))
			return false;
	return true;
}

static bool fewer_holds(const struct ws_spec_field *f, const void *bound, const void *at)
{
	(void)f;
	return has_all(at, bound);
}

static bool more_holds(const struct ws_spec_field *f, const void *bound, const void *at)
{
	(void)f;
	return has_all(bound, at);
}

/* Binds need the whole spec, for their number; their row's offset is the array's. */
static const struct ws_spec *spec_of(const struct ws_spec_field *f, const void *at)
{
	return (const void *)((const char *)at - f->at);
}

static bool bind_allowed(const struct ws_spec *bound, const struct ws_spec_bind *b)
{
	for (size_t i = 0; i < bound->nbinds; i++) {
		const struct ws_spec_bind *a = &bound->binds[i];

		if (strcmp(a->source, b->source) == 0 &&
		    strcmp(a->target, b->target) == 0)
			return a->writable || !b->writable;
	}
	return false;
}

static bool binds_hold(const struct ws_spec_field *f, const void *bound, const void *at)
{
	const struct ws_spec *spec = spec_of(f, at);

	for (size_t i = 0; i < spec->nbinds; i++)
		if (!bind_allowed(spec_of(f, bound), &spec->binds[i]))
			return false;
	return true;
}

/* ---- the tighter of both ---- */

static void take(const struct ws_spec_field *f, const void *bound, void *at)
{
	if (f->type == WS_KEY_BOOL) {
		*(bool *)at = *(const bool *)bound;
	} else if (f->type == WS_KEY_ENUM) {
		*(unsigned *)at = *(const unsigned *)bound;
	} else if (f->type == WS_KEY_TEXT) {
		free(*(char **)at);
		*(char **)at = ws_strdup(*(char *const *)bound);
	} else { /* both kinds of number have that size */
		memcpy(at, bound, sizeof(uint64_t));
	}
}

static void keep_allowed(const struct ws_spec_field *f, const void *bound, void *at)
{
	struct ws_strv *list = at;
	struct ws_strv left = WS_STRV_INIT;

	(void)f;
	for (size_t i = 0; i < list->n; i++)
		if (ws_strv_has(bound, list->v[i]))
			ws_strv_push(&left, list->v[i]);
	ws_strv_release(list);
	*list = left;
}

static void add_missing(const struct ws_spec_field *f, const void *bound, void *at)
{
	const struct ws_strv *more = bound;

	(void)f;
	for (size_t i = 0; i < more->n; i++)
		if (!ws_strv_has(at, more->v[i]))
			ws_strv_push(at, more->v[i]);
}

static void drop_binds(const struct ws_spec_field *f, const void *bound, void *at)
{
	struct ws_spec *spec = (struct ws_spec *)(void *)((char *)at - f->at);
	size_t left = 0;

	for (size_t i = 0; i < spec->nbinds; i++) {
		if (bind_allowed(spec_of(f, bound), &spec->binds[i]))
			spec->binds[left++] = spec->binds[i];
		else
			ws_spec_item_release(f, &spec->binds[i]);
	}
	spec->nbinds = left;
}

/* What each direction means; MUST completes "is VALUE, but must". */
static const struct way {
	bool (*holds)(const struct ws_spec_field *f, const void *bound, const void *at);
	void (*raise)(const struct ws_spec_field *f, const void *bound, void *at);
	const char *must;
	bool adds;
} ways[] = {
	[WS_TIGHTER_TRUE] = { true_holds, take, "be" },
	[WS_TIGHTER_FALSE] = { false_holds, take, "be" },
	[WS_TIGHTER_LESS] = { less_holds, take, "be at most" },
	[WS_TIGHTER_RANK] = { rank_holds, take, "be at least as strict as" },
	[WS_TIGHTER_SET] = { set_holds, take, "be set, as to" },
	[WS_TIGHTER_SAME] = { same_holds, take, "be" },
	[WS_TIGHTER_FEWER] = { fewer_holds, keep_allowed, "hold no more than" },
	[WS_TIGHTER_MORE] = { more_holds, add_missing, "hold all of", .adds = true },
	[WS_TIGHTER_BINDS] = { binds_hold, drop_binds, "hold no more than" },
	[WS_TIGHTER_PROFILES] = { 0 }, /* not one value: see check_profiles */
};

/* ---- specs of which only some keys count ---- */

/* DOC: what was said, and so what counts; NULL: every key. */
struct part {
	const struct ws_spec *spec;
	const struct ws_json *doc;
	struct ws_spec own; /* what SPEC is, where it was made here */
};

#define PART_INIT ((struct part){ 0 })

static void part_release(struct part *p)
{
	if (p->spec == &p->own)
		ws_spec_release(&p->own);
}

#define AUTO_PART __attribute__((cleanup(part_release))) struct part

/* DOC is a good spec: the decoder has seen it. NULL: says nothing. */
static int part_make(const struct ws_json *doc, struct part *ret, struct ws_err *err)
{
	WS_AUTO(ws_strv) struct ws_strv warnings = WS_STRV_INIT;

	*ret = PART_INIT;
	if (!doc)
		return 0;
	ret->spec = &ret->own;
	ret->doc = doc;
	ws_spec_init(&ret->own);
	if (ws_spec_decode(doc, "floor", WS_SPEC_ROOT_FILE, false, &ret->own, &warnings,
			   err) < 0)
		return -1;
	return ws_spec_finish(&ret->own, &warnings, err);
}

static bool has_member(const struct ws_json *doc, const char *key)
{
	const char *dot = strchr(key, '.');
	WS_AUTO_FREE char *first =
		dot ? ws_strndup(key, (size_t)(dot - key)) : ws_strdup(key);
	const struct ws_json *m =
		doc && doc->type == WS_JSON_OBJECT ? ws_json_get(doc, first) : NULL;

	return m && (!dot || has_member(m, dot + 1));
}

/* Does the part say what FIELD is, by its own name or by an old one? */
static bool counts(const struct part *p, const struct ws_spec_field *field)
{
	if (!p->spec)
		return false;
	if (!p->doc || has_member(p->doc, field->key))
		return true;
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++)
		if (f->instead && strcmp(f->instead, field->key) == 0 &&
		    has_member(p->doc, f->key))
			return true;
	return false;
}

/* What binds a value: the first of these parts that says something about it. */
struct bound {
	struct part *parts[2];
};

static const struct ws_spec *bound_of(const struct bound *b,
				      const struct ws_spec_field *field)
{
	for (size_t i = 0; i < WS_ARRAY_SIZE(b->parts); i++)
		if (b->parts[i] && counts(b->parts[i], field))
			return b->parts[i]->spec;
	return NULL;
}

/* ---- the walk ---- */

static void show(const struct ws_spec_field *field, const struct ws_spec *spec,
		 struct ws_buf *out)
{
	struct ws_jsonw w;

	ws_jsonw_init(&w, out, false);
	ws_spec_field_write(field, &w, NULL, spec);
	if (out->len > SHOWN_MAX) {
		out->data[SHOWN_MAX] = '\0';
		out->len = SHOWN_MAX;
		ws_buf_addstr(out, "...");
	}
}

static int too_loose(const struct ws_spec_field *field, const struct ws_spec *bound,
		     const struct ws_spec *spec, const char *prefix, struct ws_err *err)
{
	WS_AUTO(ws_buf) struct ws_buf is = WS_BUF_INIT;
	WS_AUTO(ws_buf) struct ws_buf must = WS_BUF_INIT;

	show(field, spec, &is);
	show(field, bound, &must);
	ws_fail(err, WS_SPEC_INVALID, "'%s%s' is %s, but must %s %s", prefix, field->key,
		ws_buf_str(&is), ways[field->tighter].must, ws_buf_str(&must));
	return ws_hint(err,
		       "it may only be tightened: leave '%s%s' out, or make it stricter",
		       prefix, field->key);
}

static int check(const struct bound *bound, const struct part *p, const char *prefix,
		 struct ws_err *err)
{
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		const struct way *way = &ways[f->tighter];
		const struct ws_spec *b;

		if (!way->holds || !counts(p, f) || !(b = bound_of(bound, f)))
			continue;
		if (!way->holds(f, (const char *)b + f->at,
				(const char *)p->spec + f->at))
			return too_loose(f, b, p->spec, prefix, err);
	}
	return 0;
}

static void raise_to(const struct bound *bound, bool adds_only, struct ws_spec *spec)
{
	for (const struct ws_spec_field *f = WS_SPEC_FIELDS; f->key; f++) {
		const struct way *way = &ways[f->tighter];
		const struct ws_spec *b;

		if (!way->holds || (adds_only && !way->adds) || !(b = bound_of(bound, f)))
			continue;
		if (!way->holds(f, (const char *)b + f->at, (const char *)spec + f->at))
			way->raise(f, (const char *)b + f->at, (char *)spec + f->at);
	}
}

/* An object that a spec keeps as text; NULL if it has none. */
static int parse(const char *text, struct ws_json **ret, struct ws_err *err)
{
	*ret = NULL;
	return text ? ws_json_parse("spec", text, strlen(text), ret, err) : 0;
}

/*
 * Each profile of SPEC, by what it says. FLOOR: both BOUND and its profile of that name
 * bind it; else BOUND does where its profile is silent.
 */
static int check_profile(struct part *bound, bool floor, const struct ws_json *theirs,
			 const struct ws_json *profile, const char *prefix,
			 struct ws_err *err)
{
	WS_AUTO_FREE char *place = ws_format("%sprofiles.%s.", prefix, profile->key);
	AUTO_PART part = PART_INIT;
	AUTO_PART named = PART_INIT;
	const struct bound first = { { &named, floor ? NULL : bound } };
	const struct bound second = { { bound } };

	if (part_make(profile, &part, err) < 0 ||
	    part_make(theirs ? ws_json_get(theirs, profile->key) : NULL, &named, err) < 0)
		return -1;
	if (check(&first, &part, place, err) < 0)
		return -1;
	return floor ? check(&second, &part, place, err) : 0;
}

static int check_profiles(struct part *bound, bool floor, const struct ws_spec *spec,
			  const char *prefix, struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *ours = NULL;
	WS_AUTO_JSON struct ws_json *theirs = NULL;

	if (parse(spec->profiles, &ours, err) < 0 ||
	    parse(bound->spec->profiles, &theirs, err) < 0)
		return -1;
	for (const struct ws_json *m = ours ? ours->child : NULL; m; m = m->next)
		if (check_profile(bound, floor, theirs, m, prefix, err) < 0)
			return -1;
	return 0;
}

int ws_spec_tightens(const struct ws_spec *bound, const struct ws_spec *spec,
		     const char *prefix, struct ws_err *err)
{
	struct part all = { .spec = bound };
	const struct part whole = { .spec = spec };
	const struct bound b = { { &all } };

	return check(&b, &whole, prefix, err) < 0
		       ? -1
		       : check_profiles(&all, false, spec, prefix, err);
}

int ws_spec_floor_check(const struct ws_spec *spec, struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;
	AUTO_PART floor = PART_INIT;
	const struct bound bound = { { &floor } };
	const struct part whole = { .spec = spec };

	if (!spec->floor)
		return 0;
	if (parse(spec->floor, &doc, err) < 0 || part_make(doc, &floor, err) < 0)
		return -1;
	if (check(&bound, &whole, "", err) == 0 &&
	    check_profiles(&floor, true, spec, "", err) == 0)
		return 0;
	return ws_fail_within(err, "the floor of wsiso.json");
}

static int raise_by(struct ws_spec *spec, const char *profile, bool adds_only,
		    struct ws_err *err)
{
	WS_AUTO_JSON struct ws_json *doc = NULL;
	AUTO_PART floor = PART_INIT;
	AUTO_PART named = PART_INIT;
	const struct bound both[] = { { { &floor } }, { { &named } } };
	const struct ws_json *profiles, *said;

	if (!spec->floor)
		return 0;
	if (parse(spec->floor, &doc, err) < 0)
		return -1;
	profiles = profile ? ws_json_get(doc, "profiles") : NULL;
	said = profiles ? ws_json_get(profiles, profile) : NULL;
	if (part_make(doc, &floor, err) < 0 || part_make(said, &named, err) < 0)
		return -1;
	for (size_t i = 0; i < WS_ARRAY_SIZE(both); i++)
		raise_to(&both[i], adds_only, spec);
	return 0;
}

int ws_spec_floor_raise(struct ws_spec *spec, const char *profile, struct ws_err *err)
{
	return raise_by(spec, profile, false, err);
}

int ws_spec_floor_add(struct ws_spec *spec, struct ws_err *err)
{
	return raise_by(spec, NULL, true, err);
}
