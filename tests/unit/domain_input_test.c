/*
 * What callers send, over every member of every capability: blanks are "not given",
 * models' texts are values, and a refusal costs little however much was sent. A new
 * row of the table is in these tests by being there.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/domain/capability.h"
#include "core/json/field_text.h"
#include "core/json/tree.h"

enum {
	MANY = 20000,
	LONG = 256 * 1024,
	/* All that a refusal may take, besides what was sent. */
	REFUSAL_BYTES = 96 * 1024
};

/* Calls visit for every member of every input, nested ones too. wrap(value) is the
 * whole input with the value at the member's place. */
struct place {
	const struct place *up;
	const struct field *f;
};

static json_t *wrap(const struct place *at, json_t *value)
{
	for (; at; at = at->up) {
		json_t *in = json_object();

		json_object_set_new(in, at->f->name, value);
		value = in;
		if (at->up && at->up->f->flags & FIELD_MANY)
			value = json_pack("[o]", value);
	}
	return value;
}

typedef void (*visit_fn)(const struct capability *cap, const struct place *at);

static void walk(const struct capability *cap, const struct field *fields,
		 const struct place *up, visit_fn visit)
{
	for (const struct field *f = fields; f && f->name; f++) {
		const struct place here = {.up = up, .f = f};

		visit(cap, &here);
		if (f->type == FIELD_OBJECT)
			walk(cap, f->fields, &here, visit);
	}
}

static void walk_all(visit_fn visit)
{
	for (const struct capability *const *cap = capabilities; *cap; cap++) {
		walk(*cap, (*cap)->in, NULL, visit);
		walk(*cap, capability_options(*cap), NULL, visit);
	}
}

/* --- blanks ------------------------------------------------------------------ */

/* What comes of an input: the decoded struct, or all that was refused. */
static const char *outcome(const struct capability *cap, const json_t *all, bool texts,
			   struct arena *a)
{
	void *decoded = arena_alloc(a, cap->in_size + 1);
	struct call_options o = {0};
	struct err e = {0};
	struct buf b;
	json_t *in;

	buf_init(&b, a, 1 << 20);
	if (!capability_split(cap, all, texts, a, &in, &o, &e) ||
	    (cap->in && !field_decode(cap->in, in, a, decoded, &e))) {
		for (size_t i = 0; i < e.n_violations; i++)
			buf_printf(&b, "%s %s\n", e.violations[i].field,
				   e.violations[i].detail);
		return buf_cstr(&b);
	}
	buf_printf(&b, "%s %s %s %s %d",
		   cap->in ? json_text(a, field_encode(cap->in, decoded, a)) : "",
		   o.idempotency_key ? o.idempotency_key : "-",
		   o.confirm ? o.confirm : "-", o.plan_digest ? o.plan_digest : "-",
		   o.dry_run);
	return buf_cstr(&b);
}

static void blank_is_missing(const struct capability *cap, const struct place *at)
{
	json_t *const blanks[] = {json_null(), json_string("")};

	if (at->f->flags & FIELD_REQUIRED || at->f->type == FIELD_ANY)
		return;
	for (size_t i = 0; i < 2; i++)
		for (int texts = 0; texts < 2; texts++) {
			struct arena a;
			json_t *with, *without;

			arena_init(&a, 0);
			with = json_own(&a, wrap(at, json_incref(blanks[i])));
			without = json_own(
				&a, at->up ? wrap(at->up, at->up->f->flags & FIELD_MANY
								  ? json_pack("[{}]")
								  : json_object())
					   : json_object());
			cr_expect_str_eq(outcome(cap, with, texts, &a),
					 outcome(cap, without, texts, &a), "%s %s %s",
					 cap->name, at->f->name, i ? "\"\"" : "null");
			arena_free(&a);
		}
	json_decref(blanks[1]);
}

Test(domain_input, null_and_empty_mean_not_given_for_every_optional_member)
{
	walk_all(blank_is_missing);
}

Test(domain_input, a_required_member_is_never_blank)
{
	const struct capability *cap = capability_find("create_cluster");
	struct arena a;

	arena_init(&a, 0);
	cr_expect(strstr(outcome(cap, json_packf(&a, "{s:n}", "name"), false, &a),
			 "/name has the wrong type"));
	cr_expect(strstr(outcome(cap, json_packf(&a, "{s:s}", "name", ""), false, &a),
			 "/name must not be empty"));
	arena_free(&a);
}

/* --- texts ------------------------------------------------------------------- */

static json_t *some_value(const struct field *f)
{
	if (f->example)
		return json_loads(f->example, JSON_DECODE_ANY, NULL);
	if (f->dflt)
		return json_loads(f->dflt, JSON_DECODE_ANY, NULL);
	if (f->type == FIELD_STRS || f->flags & FIELD_MANY)
		return json_array();
	switch (f->type) {
	case FIELD_INT:
	case FIELD_NUM:
		return json_integer(f->min ? f->min : 1);
	case FIELD_BOOL:
		return json_true();
	case FIELD_OBJECT:
	case FIELD_MAP:
		return json_object();
	case FIELD_STR:
	case FIELD_STRS:
	case FIELD_ANY:
		break;
	}
	return NULL;
}

static void text_is_value(const struct capability *cap, const struct place *at)
{
	struct arena a;
	json_t *value = some_value(at->f), *plain, *quoted;

	if (!value || at->f->type == FIELD_STR || at->f->flags & FIELD_SECRET) {
		json_decref(value);
		return;
	}
	arena_init(&a, 0);
	json_own(&a, value);
	plain = json_own(&a, wrap(at, json_incref(value)));
	quoted = json_own(&a, wrap(at, json_string(json_text(&a, value))));
	cr_expect_str_eq(outcome(cap, quoted, true, &a), outcome(cap, plain, true, &a),
			 "%s %s", cap->name, at->f->name);
	arena_free(&a);
}

Test(domain_input, a_text_that_holds_the_value_is_taken_from_models)
{
	walk_all(text_is_value);
}

/* --- cost -------------------------------------------------------------------- */

static json_t *list_of(size_t n, const char *each)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, each ? json_string(each) : json_integer(7));
	return list;
}

static json_t *object_of(size_t n)
{
	json_t *o = json_object();
	char name[32];

	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "m%zu", i);
		json_object_set_new(o, name, json_string("x"));
	}
	return o;
}

static json_t *long_text(const char *piece)
{
	const size_t n = strlen(piece);
	char *z = malloc(LONG + 1);
	json_t *text;

	for (size_t i = 0; i < LONG; i++)
		z[i] = piece[i % n];
	z[LONG - LONG % n] = '\0';
	text = json_string(z);
	free(z);
	return text;
}

/* Made once: what is sent costs more to make than to refuse. */
static struct {
	const char *what;
	json_t *value;
} floods[5];

static void make_floods(void)
{
	floods[0].what = "a list of numbers";
	floods[0].value = list_of(MANY, NULL);
	floods[1].what = "a list of strings";
	floods[1].value = list_of(MANY, "aaa");
	floods[2].what = "an object of strings";
	floods[2].value = object_of(MANY);
	floods[3].what = "a long text";
	floods[3].value = long_text("a");
	floods[4].what = "a long text of slashes and dots";
	floods[4].value = long_text("/a.b");
}

static void refusal_is_cheap(const struct capability *cap, const struct place *at)
{
	if (at->f->type == FIELD_ANY)
		return;
	for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
		struct call_options o = {0};
		struct err e = {0};
		struct arena a;
		json_t *in, *all;
		bool ok;

		arena_init(&a, 0);
		all = json_own(&a, wrap(at, json_incref(floods[i].value)));
		ok = capability_split(cap, all, true, &a, &in, &o, &e) &&
		     (!cap->in ||
		      field_decode(cap->in, in, &a, arena_alloc(&a, cap->in_size), &e));
		cr_expect_not(ok, "%s takes %s as %s", cap->name, floods[i].what,
			      at->f->name);
		cr_expect(e.n_violations > 0 && e.n_violations <= LIMIT_VIOLATIONS,
			  "%s %s: %zu violations", cap->name, at->f->name,
			  e.n_violations);
		cr_expect(a.used < REFUSAL_BYTES, "%s %s, %s: %zu bytes", cap->name,
			  at->f->name, floods[i].what, a.used);
		arena_free(&a);
	}
}

Test(domain_input, what_is_far_too_large_is_refused_at_little_cost)
{
	make_floods();
	walk_all(refusal_is_cheap);
	for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++)
		json_decref(floods[i].value);
}

Test(domain_input, many_unknown_members_are_refused_at_little_cost)
{
	json_t *many = object_of(MANY);

	for (const struct capability *const *cap = capabilities; *cap; cap++) {
		struct err e = {0};
		struct arena a;

		if (!(*cap)->in)
			continue;
		arena_init(&a, 0);
		cr_expect_not(field_decode((*cap)->in, many, &a,
					   arena_alloc(&a, (*cap)->in_size), &e));
		cr_expect_eq(e.n_violations, LIMIT_VIOLATIONS);
		cr_expect(a.used < REFUSAL_BYTES, "%s: %zu", (*cap)->name, a.used);
		/* The audit row and a plan show a bounded part of it. */
		cr_expect(json_object_size(field_mask((*cap)->in, many, &a)) <=
			  LIMIT_MASKED_VALUES);
		arena_free(&a);
	}
	json_decref(many);
}

/* --- names ------------------------------------------------------------------- */

Test(domain_input, names_of_aws_kubernetes_and_terraform_lead_to_ours)
{
	static const struct {
		const char *capability, *sent, *ours;
	} rows[] = {
		{"create_cluster", "InstanceType", "instance_type"},
		{"create_cluster", "instanceCount", "count"},
		{"create_cluster", "ClusterName", "name"},
		{"create_cluster", "availability_zone", "zone"},
		{"create_cluster", "AvailabilityZoneId", "zone"},
		{"create_cluster", "cluster_version", "kubernetes_version"},
		{"add_instance_group", "InstanceGroupName", "name"},
		{"add_instance_group", "desired_size", "count"},
		{"add_instance_group", "TrainingPlan", "training_plan_arn"},
		{"get_operation", "OperationId", "id"},
		{"scale_instance_group", "TargetCount", "count"},
		{"list_nodes", "MaxResults", "limit"},
		{"list_nodes", "NextToken", "cursor"},
	};
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct capability *cap = capability_find(rows[i].capability);

		cr_assert(cap, "%s", rows[i].capability);
		cr_expect_str_eq(field_nearest(&a, cap->in, rows[i].sent),
				 arena_printf(&a, "did you mean %s?", rows[i].ours),
				 "%s %s", rows[i].capability, rows[i].sent);
	}
	arena_free(&a);
}

/* --- names of the caller's in maps ------------------------------------------------ */

static bool takes(const struct capability *cap, const char *member, const char *key,
		  const char *value)
{
	void *decoded;
	struct err e = {0};
	struct arena a;
	bool refused = false;

	arena_init(&a, 0);
	decoded = arena_alloc(&a, cap->in_size);
	(void)!field_decode(cap->in, json_packf(&a, "{s:{s:s}}", member, key, value), &a,
			    decoded, &e);
	for (size_t i = 0; i < e.n_violations; i++)
		refused = refused || str_starts(e.violations[i].field,
						arena_printf(&a, "/%s", member));
	arena_free(&a);
	return !refused;
}

Test(domain_input, tags_and_labels_are_what_the_services_take)
{
	static const struct {
		const char *member, *key, *value;
		bool legal;
	} rows[] = {
		{"tags", "team", "research", true},
		{"tags", "cost center", "a/b:c=d+e@f-g_h.i", true},
		{"tags", "Gru\xc3\x9f", "\xe6\x9d\xb1\xe4\xba\xac", true},
		{"tags", "team", "", true},
		{"tags", "", "x", false},
		{"tags", "aws:x", "x", false},
		{"tags", "AWS:x", "x", false},
		{"tags", "team", "a\r\nX-Evil: 1", false},
		{"tags", "te\nam", "x", false},
		{"tags", "team", "a\x7f", false},
		{"tags", "team", "<b>", false},
		{"tags", "a,b", "x", false},
		{"labels", "team", "research", true},
		{"labels", "example.com/team", "A_b.c-1", true},
		{"labels", "team", "", true},
		{"labels", "", "x", false},
		{"labels", "team ", "x", false},
		{"labels", "-team", "x", false},
		{"labels", "Example.com/team", "x", false},
		{"labels", "a/b/c", "x", false},
		{"labels", "team", "two words", false},
		{"labels", "team", "x-", false},
	};
	size_t held = 0;

	/* Of every capability that takes them. */
	for (const struct capability *const *cap = capabilities; *cap; cap++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const struct field *f =
				(*cap)->in ? field_find((*cap)->in, rows[i].member)
					   : NULL;

			if (!f || f->type != FIELD_MAP)
				continue;
			held++;
			cr_expect_eq(
				takes(*cap, rows[i].member, rows[i].key, rows[i].value),
				rows[i].legal, "%s: %s %s=%s", (*cap)->name,
				rows[i].member, rows[i].key, rows[i].value);
		}
	cr_expect_geq(held, 40);
}

/* --- cursors --------------------------------------------------------------------------
 */

/* A cursor of ours is what a page has given; anything else would be an empty page, or
 * any. Those of the clouds are theirs to judge, and long. */
static void cursor_is_told(const struct capability *cap, const struct place *at)
{
	enum { THEIRS = 2048 };

	if (at->up || !streq(at->f->name, "cursor"))
		return;
	cr_expect(at->f->pattern || at->f->max >= THEIRS, "%s takes any cursor",
		  cap->name);
}

Test(input, what_is_no_cursor_is_no_empty_page)
{
	walk_all(cursor_is_told);
}
