/* Cross-field rules, first causes, objects compared: pure, by tables. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/domain/capability.h"
#include "core/domain/cluster/stack.h"
#include "core/domain/dependency/component.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/offer/cluster_check.h"
#include "core/domain/offer/quota_name.h"
#include "core/domain/step/object.h"
#include "core/domain/storage/storage.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

static struct arena arena;

static void setup(void)
{
	arena_init(&arena, 0);
}

static void teardown(void)
{
	arena_free(&arena);
}

TestSuite(domain_rules, .init = setup, .fini = teardown);

static json_t *tree(const char *text)
{
	struct err e = {0};
	json_t *t = json_parse(&arena, str_of(text), &e);

	cr_assert(t, "%s: %s", text, e.detail);
	return t;
}

Test(domain_rules, members_are_judged_together_and_all_at_once)
{
	static const struct {
		const char *input;
		const char *field; /* NULL: accepted */
		size_t n;
	} rows[] = {
		{"{}", NULL, 0},
		{"{\"vpc_id\":\"vpc-1\"}", "/subnet_ids", 1},
		{"{\"subnet_ids\":[\"a\",\"b\"]}", "/vpc_id", 1},
		{"{\"vpc_id\":\"vpc-1\",\"subnet_ids\":[\"a\",\"b\"]}", NULL, 0},
		{"{\"vpc_id\":\"vpc-1\",\"subnet_ids\":[\"a\",\"b\"],"
		 "\"vpc_cidr\":\"10.0.0.0/16\"}",
		 "/vpc_cidr", 1},
		{"{\"capacity_type\":\"training_plan\"}", "/training_plan_arn", 1},
		{"{\"capacity_type\":\"spot\",\"training_plan_arn\":\"arn\"}",
		 "/capacity_type", 1},
		{"{\"kubernetes_version\":\"1.27\"}", "/kubernetes_version", 1},
		{"{\"kubernetes_version\":\"1.99\"}", NULL, 0},
		{"{\"lifecycle_on_create\":\"x.sh\"}", "/lifecycle_s3_uri", 1},
		{"{\"vpc_id\":\"v\",\"kubernetes_version\":\"1.20\","
		 "\"capacity_type\":\"training_plan\"}",
		 "/subnet_ids", 3},
	};

	const struct config cfg = {.kubernetes_oldest = "1.30",
				   .kubernetes_newest = "1.33"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = {0};
		bool ok = cluster_check(tree(rows[i].input), &cfg, &arena, &e);

		cr_assert_eq(ok, rows[i].field == NULL, "%s", rows[i].input);
		cr_assert_eq(e.n_violations, rows[i].n, "%s", rows[i].input);
		if (!ok)
			cr_assert_str_eq(e.field, rows[i].field);
	}
}

Test(domain_rules, a_stack_fails_for_its_first_cause_not_for_the_echoes)
{
	const json_t *events = tree(
		"[{\"LogicalResourceId\":\"demo\",\"ResourceType\":\"AWS::CloudFormation::Stack\","
		"\"ResourceStatus\":\"ROLLBACK_IN_PROGRESS\"},"
		"{\"LogicalResourceId\":\"PublicRoute\",\"ResourceType\":\"AWS::EC2::Route\","
		"\"ResourceStatus\":\"CREATE_FAILED\","
		"\"ResourceStatusReason\":\"Resource creation cancelled\"},"
		"{\"LogicalResourceId\":\"NatGateway1\",\"ResourceType\":\"AWS::EC2::NatGateway\","
		"\"ResourceStatus\":\"CREATE_FAILED\",\"ResourceStatusReason\":\"later\"},"
		"{\"LogicalResourceId\":\"NatAddress1\",\"ResourceType\":\"AWS::EC2::EIP\","
		"\"ResourceStatus\":\"CREATE_FAILED\","
		"\"ResourceStatusReason\":\"The maximum number of addresses has been reached.\"},"
		"{\"LogicalResourceId\":\"Vpc\",\"ResourceStatus\":\"CREATE_COMPLETE\"}]");

	cr_assert_str_eq(json_str_at(stack_first_failure(events), "LogicalResourceId"),
			 "NatAddress1");
	cr_assert_null(stack_first_failure(tree("[]")));
	cr_assert_str_eq(
		stack_progress(&arena,
			       tree("[{\"ResourceStatus\":\"CREATE_COMPLETE\"},"
				    "{\"LogicalResourceId\":\"Cluster\","
				    "\"ResourceStatus\":\"CREATE_IN_PROGRESS\"}]")),
		"1 of 2 resources, Cluster in progress");
}

Test(domain_rules, an_object_covers_what_is_wanted_of_it)
{
	static const struct {
		const char *there, *wanted;
		bool covers;
	} rows[] = {
		{"{\"a\":1,\"b\":{\"c\":2}}", "{\"b\":{\"c\":2}}", true},
		{"{\"a\":1}", "{\"a\":2}", false},
		{"{\"a\":1}", "{\"b\":1}", false},
		{"{\"l\":[1,2]}", "{\"l\":[1,2]}", true},
		{"{\"l\":[1,2,3]}", "{\"l\":[1,2]}", false},
		{"{\"l\":[{\"x\":1,\"y\":2}]}", "{\"l\":[{\"x\":1}]}", true},
		{"{}", "{}", true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(object_covers(tree(rows[i].there), tree(rows[i].wanted)),
			     rows[i].covers, "row %zu", i);
}

/* Case IA-02: the same refusal, two meanings. */
Test(domain_rules, a_role_that_cannot_be_assumed_is_waited_for_only_when_it_will_be)
{
	static const int64_t now_ms = INT64_C(1767323045000);
	static const struct {
		const char *trusts;
		int64_t age_ms;
		const char *message;
		enum verdict_kind verdict;
		enum retry_word retry;
	} rows[] = {
		{"sagemaker.amazonaws.com", 8000, "the role could not be assumed",
		 VERDICT_RETRY, RETRY_BACKOFF},
		{"sagemaker.amazonaws.com", 600000, "the role could not be assumed",
		 VERDICT_FAIL, RETRY_HUMAN},
		{"ec2.amazonaws.com", 8000, "Cannot assume the execution role",
		 VERDICT_FAIL, RETRY_NEVER},
		{"sagemaker.amazonaws.com", 8000, "the subnet is unknown", VERDICT_NONE,
		 RETRY_UNSET},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char made[TIME_TEXT];
		json_t *role = json_packf(
			&arena, "{s:s, s:s, s:o}", "RoleName", "nodes", "CreateDate",
			time_rfc3339(now_ms - rows[i].age_ms, made),
			"AssumeRolePolicyDocument",
			json_sprintf(
				"{\"Statement\":[{\"Principal\":{\"Service\":\"%s\"}}]}",
				rows[i].trusts));
		struct answer a = {.via = VIA_AWS,
				   .message = rows[i].message,
				   .code = "ValidationException",
				   .request_id = "",
				   .call = "sagemaker:CreateCluster",
				   .errc = ERR_CLOUD_REFUSED};
		struct step_ctx c = {.arena = &arena, .now_ms = now_ms};

		cr_assert_eq(hyperpod_role_trouble(&c, &a, role),
			     rows[i].verdict != VERDICT_NONE, "row %zu", i);
		cr_assert_eq(c.verdict.kind, rows[i].verdict, "row %zu", i);
		if (rows[i].verdict != VERDICT_NONE)
			cr_assert_eq(err_retry(&c.verdict.error), rows[i].retry,
				     "row %zu", i);
	}
}

/* Case CC-02: EC2 knows no ml. prefix, SageMaker's quotas do. */
Test(domain_rules, instance_types_are_spelt_as_each_service_wants)
{
	cr_assert_str_eq(ec2_type("ml.g5.12xlarge"), "g5.12xlarge");
	cr_assert_str_eq(ec2_type("g5.12xlarge"), "g5.12xlarge");
	cr_assert_str_eq(quota_name(&arena, "ml.p5.48xlarge", "on_demand"),
			 "ml.p5.48xlarge for cluster usage");
	cr_assert_str_eq(quota_name(&arena, "ml.p5.48xlarge", "spot"),
			 "ml.p5.48xlarge for cluster spot instance usage");
	cr_assert_null(quota_name(&arena, "ml.p5.48xlarge", "training_plan"));
}

/* Where the first row of the phase stands; -1: there is none. */
static int phase_place(const struct kind *k, const char *phase)
{
	for (int i = 0; k->steps[i].name; i++)
		if (streq(k->steps[i].phase, phase))
			return i;
	return -1;
}

/* The stored contract: unique names, targets of jumps that exist, phases in a
 * row, a class for everything that mutates, components in order of need. */
Test(domain_rules, every_kind_is_well_formed)
{
	int last = -1, place;

	for (size_t i = 0; kinds[i]; i++) {
		const struct kind *k = kinds[i];

		for (size_t j = 0; j < i; j++)
			cr_assert(!streq(kinds[j]->name, k->name), "%s twice", k->name);
		for (const struct step *s = k->steps; s->name; s++) {
			cr_assert(kind_step(k, s->name) == s, "%s/%s twice", k->name,
				  s->name);
			cr_assert(s->phase && s->title, "%s/%s", k->name, s->name);
			cr_assert(!s->retry_step || kind_step(k, s->retry_step),
				  "%s/%s retries at %s", k->name, s->name, s->retry_step);
			cr_assert((s->effect == EFFECT_READ) == (s->absorb == NULL) ||
					  s->spawn,
				  "%s/%s: a class and an absorb belong together", k->name,
				  s->name);
			cr_assert(!s->observe || s->seen, "%s/%s reads but never sees",
				  k->name, s->name);
		}
	}
	for (size_t i = 0; component_list()[i]; i++) {
		const struct component *k = component_list()[i];
		bool met = !k->needs;

		for (size_t j = 0; j < i; j++)
			met |= k->needs && streq(component_list()[j]->name, k->needs);
		cr_assert(met, "%s comes before %s", k->name, k->needs);
		/* What intercepts others' objects comes last. */
		if (i > 0 && component_list()[i - 1]->intercepts)
			cr_assert(k->intercepts, "%s comes after %s", k->name,
				  component_list()[i - 1]->name);
		place = phase_place(kind_find(kinds, "reconcile_dependencies"), k->name);
		cr_assert_gt(place, last, "%s is out of order", k->name);
		last = place;
	}
}

static size_t answer_size;

static bool answer_bytes(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	char *text = arena_alloc(c->arena, answer_size + 1);
	json_t *out = json_packf(c->arena, "{}");

	(void)in;
	(void)e;
	memset(text, 'a', answer_size);
	json_put_str(out, "text", text);
	reply_tree(c, ret, out);
	return true;
}

/* Half an answer, of status 200, would be JSON that nobody can read. */
Test(domain_rules, an_answer_that_is_too_large_is_an_error)
{
	const struct capability cap = {.name = "get_bytes", .run = answer_bytes};
	const struct principal who = {.role = ROLE_ADMIN};
	struct call c = {.arena = &arena, .cap = &cap, .who = &who};
	struct err e = {0};
	struct reply ret;

	answer_size = 1000;
	cr_assert(capability_invoke(&c, tree("{}"), &ret, &e), "%s", e.detail);
	cr_assert_eq(ret.json.n, strlen("{'text':''}") + answer_size);
	answer_size = LIMIT_DB_PARAM;
	cr_assert_not(capability_invoke(&c, tree("{}"), &ret, &e));
	cr_assert_eq(e.code, ERR_TOO_LARGE);
	cr_assert_eq(ret.json.n, 0, "goes not beside the problem either");
	cr_assert(e.fix[0], "says what would work");
}

/* The page shows what the tables say; `make docs` writes it. */
Test(domain_rules, the_page_of_kinds_is_up_to_date)
{
	static char page[1 << 18];
	FILE *f = fopen("core/domain/kinds.md", "r");
	struct buf b;
	size_t n;

	cr_assert(f, "run from the top of the tree");
	n = fread(page, 1, sizeof(page) - 1, f);
	fclose(f);
	page[n] = '\0';
	buf_init(&b, &arena, sizeof(page));
	kind_diagrams(kinds, &b);
	cr_assert_str_eq(page, buf_cstr(&b), "make docs");
}
