/* What was not seen is not known: refusals say why, and no silence is taken for a yes. */
#include "core/base/listing.h"
#include "core/base/rng.h"
#include "core/domain/offer/cluster_check.h"
#include "core/domain/offer/group_takes.h"
#include "core/domain/offer/instance_types.h"
#include "tests/unit/domain_scene.h"

/* --- what S3 says by a status ------------------------------------------------ */

#define HERE  ",'region':'us-west-2'"
#define THERE ",'region':'eu-west-1'"

static const struct {
	const char *answer;
	const char *says[3];
} buckets[] = {
	{"'message':'HTTP 301','status':301" THERE,
	 {"fail cloud-refused human", "eu-west-1", "us-west-2"}},
	{"'message':'HTTP 307','status':307",
	 {"fail cloud-refused backoff", "HTTP 307", "few minutes"}},
	{"'message':'HTTP 400','status':400" THERE,
	 {"fail cloud-refused human", "bucket is in eu-west-1", "us-west-2"}},
	{"'message':'HTTP 400','status':400",
	 {"fail cloud-refused human", "HTTP 400", "clock"}},
	{"'message':'HTTP 403','status':403" HERE,
	 {"fail cloud-denied human", "HTTP 403", "s3:ListBucket"}},
	{"'message':'HTTP 403','status':403" THERE,
	 {"fail cloud-denied human", "HTTP 403", "bucket is in eu-west-1"}},
	{"'message':'HTTP 405','status':405",
	 {"fail cloud-refused", "HTTP 405", "req-1"}},
};

/* Every step that looks at a bucket. */
static const struct {
	const char *kind, *step, *input;
} lookers[] = {
	{"create_hyperpod_cluster", "create_bucket", "{}"},
	{"create_s3_storage", "check_bucket", "{'bucket':'theirs','name':'data'}"},
	{"set_inference_operator", "tls_bucket", "{'enabled':true}"},
};

Test(domain_truth, a_bucket_that_is_not_open_says_why_and_what_helps)
{
	for (size_t i = 0; i < sizeof(lookers) / sizeof(*lookers); i++)
		for (size_t j = 0; j < sizeof(buckets) / sizeof(*buckets); j++) {
			struct arena a;
			struct scene s = {.kind = lookers[i].kind,
					  .step = lookers[i].step,
					  .input = lookers[i].input};
			const char *said;

			arena_init(&a, 0);
			s.answers = arena_printf(&a, "{'s3:HeadBucket':{'!':'',%s}}",
						 buckets[j].answer);
			said = scene_play(&a, &s);
			for (size_t k = 0; k < 3; k++)
				cr_expect(strstr(said, buckets[j].says[k]),
					  "%s %s: <%s> in: %s", s.kind, buckets[j].answer,
					  buckets[j].says[k], said);
			cr_expect(strstr(said, "req-1"), "the request's id in: %s", said);
			arena_free(&a);
		}
}

/* The account's trouble is no lack of a permission: whatever the status. */
Test(domain_truth, a_service_that_the_account_has_not_says_so)
{
	for (size_t i = 0; i < sizeof(lookers) / sizeof(*lookers); i++) {
		struct arena a;
		struct scene s = {.kind = lookers[i].kind,
				  .step = lookers[i].step,
				  .input = lookers[i].input};
		const char *said;

		arena_init(&a, 0);
		s.answers = "{'s3:HeadBucket':{'!':'NotSignedUp','status':403,"
			    "'message':'not signed up'}}";
		said = scene_play(&a, &s);
		cr_expect(strstr(said, "sign-up for the service"), "%s: %s", s.kind,
			  said);
		arena_free(&a);
	}
}

/* --- instance types ------------------------------------------------------------------
 */

static bool type_passes(struct arena *a, const char *type, bool insists, struct err *e)
{
	static struct config cfg = {.kubernetes_oldest = "1.28",
				    .kubernetes_newest = "1.33"};
	json_t *in = json_packf(a, "{s:s, s:b}", "instance_type", type,
				"accept_unknown_type", insists);

	return cluster_check(in, &cfg, a, e);
}

/* One letter less: never the service's, and what was meant is named. */
Test(domain_truth, a_type_that_the_service_has_not_is_refused_with_the_nearest)
{
	struct arena a;
	size_t n = 0;

	arena_init(&a, 0);
	for (const char *const *t = instance_type_list(); *t; t++, n++) {
		struct err e = {0};

		cr_expect(type_passes(&a, *t, false, &e), "%s", *t);
		for (size_t cut = 3; cut < strlen(*t); cut += 3) {
			const char *wrong =
				arena_printf(&a, "%.*s%s", (int)cut, *t, *t + cut + 1);

			if (instance_type_is_known(wrong))
				continue;
			cr_expect_not(type_passes(&a, wrong, false, &e));
			cr_expect_str_eq(e.field, "/instance_type");
			cr_expect(strstr(e.expected, "one like ml.") &&
					  strstr(e.expected, "accept_unknown_type"),
				  "%s: %s", wrong, e.expected);
			cr_expect(type_passes(&a, wrong, true, &e));
		}
		arena_reset(&a);
	}
	cr_expect_gt(n, 100);
	cr_expect(strstr(instance_type_nearest(&a, "ml.p5.48xlage"), "ml.p5.48xlarge"));
	cr_expect(strstr(instance_type_nearest(&a, "ml.g5.13xlarge"), "ml.g5.12xlarge"));
	cr_expect(strstr(instance_type_nearest(&a, "ml.p9.48xlarge"), "ml.p5.48xlarge"));
	arena_free(&a);
}

/* --- what groups hold ----------------------------------------------------------------
 */

#define FLEXIBLE(more)                                                                   \
	"{'InstanceType':'ml.g5.xlarge','InstanceRequirements':{"                        \
	"'CurrentInstanceTypes':['ml.g5.xlarge','ml.g5.2xlarge']}," more "}"
#define DETAILS                                                                          \
	"'InstanceTypeDetails':[{'InstanceType':'ml.g5.xlarge','CurrentCount':2},{"      \
	"'InstanceType':'ml.g5.2xlarge','CurrentCount':1}]"

Test(domain_truth, what_is_promised_is_not_free)
{
	static const struct {
		const char *group, *type;
		bool spot;
		int64_t takes, all, owed;
	} rows[] = {
		{"{'InstanceType':'ml.g5.xlarge','CurrentCount':2,'TargetCount':5}",
		 "ml.g5.xlarge", false, 5, 5, 3},
		{"{'InstanceType':'ml.g5.xlarge','CurrentCount':5,'TargetCount':2}",
		 "ml.g5.xlarge", false, 5, 5, 0},
		{"{'InstanceType':'ml.g5.xlarge','CurrentCount':2,'TargetCount':5}",
		 "ml.g5.2xlarge", false, 0, 5, 3},
		{"{'InstanceType':'ml.g5.xlarge','TargetCount':5,'CapacityRequirements':"
		 "{'Spot':{}}}",
		 "ml.g5.xlarge", false, 0, 5, 5},
		{"{'InstanceType':'ml.g5.xlarge','TargetCount':5,'CapacityRequirements':"
		 "{'Spot':{}}}",
		 "ml.g5.xlarge", true, 5, 5, 5},
		{"{'InstanceType':'ml.g5.xlarge','TargetCount':5,'TrainingPlanArn':'a'}",
		 "ml.g5.xlarge", false, 0, 5, 5},
		/* Several types: those there are, and all that may still be of it. */
		{FLEXIBLE("'CurrentCount':3,'TargetCount':7," DETAILS), "ml.g5.xlarge",
		 false, 6, 7, 4},
		{FLEXIBLE("'CurrentCount':3,'TargetCount':7," DETAILS), "ml.g5.2xlarge",
		 false, 5, 7, 4},
		{FLEXIBLE("'CurrentCount':3,'TargetCount':7," DETAILS), "ml.g5.4xlarge",
		 false, 0, 7, 4},
		/* Without details any of them may be of it. */
		{FLEXIBLE("'CurrentCount':3,'TargetCount':7"), "ml.g5.2xlarge", false, 7,
		 7, 4},
		{"{'InstanceType':'ml.g5.xlarge','CurrentCount':-1,'TargetCount':-2}",
		 "ml.g5.xlarge", false, 0, 0, 0},
		{"{}", "ml.g5.xlarge", false, 0, 0, 0},
	};
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const json_t *g = scene_tree(&a, rows[i].group);

		cr_expect_eq(group_takes(g, rows[i].type, rows[i].spot), rows[i].takes,
			     "row %zu", i);
		cr_expect_eq(group_takes_all(g), rows[i].all, "row %zu", i);
		cr_expect_eq(group_is_owed(g), rows[i].owed, "row %zu", i);
	}
	arena_free(&a);
}

/* --- lists ---------------------------------------------------------------------------
 */

/* Whatever the names: each is there or counted, in order, and the text fits. */
Test(domain_truth, a_list_drops_nothing)
{
	struct rng_seeded seeded;
	struct rng *rng = &seeded.rng;
	struct arena a;

	arena_init(&a, 0);
	rng_seeded_init(&seeded, 4);
	for (int round = 0; round < 3000; round++) {
		const size_t n = rng_below(rng, 40), room = 40 + rng_below(rng, 300);
		struct listing l = listing_new(&a, round % 2 ? ", " : "; ", room);
		size_t shown = 0, at = 0;
		unsigned long more = 0;
		const char *text, *tail;

		for (size_t i = 0; i < n; i++)
			listing_add(&l, "<%zu%.*s>", i, (int)rng_below(rng, 30),
				    "abcdefghijklmnopqrstuvwxyz0123456789");
		text = listing_text(&l);
		cr_expect_leq(strlen(text), n ? room + 64 : 0);
		for (size_t i = 0; i < n; i++) {
			const char *name = strstr(text + at, arena_printf(&a, "<%zu", i));

			if (!name)
				break;
			at = (size_t)(name - text);
			shown++;
		}
		tail = strstr(text, " and ");
		if (tail)
			sscanf(tail, " and %lu more", &more);
		cr_expect_eq(shown + more, n, "%zu + %lu of %zu: %s", shown, more, n,
			     text);
		arena_reset(&a);
	}
	arena_free(&a);
}

/* In a plan: what goes with the cluster is named or counted, however many there are. */
Test(domain_truth, no_list_of_what_goes_drops_an_item)
{
	static const size_t sizes[] = {1, 7, 60, 200};

	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		struct scene s = {.kind = "delete_cluster",
				  .step = "check_load_balancers"};
		size_t shown = 0;
		unsigned long more = 0;
		const char *items = "", *said, *tail;
		struct arena a;

		arena_init(&a, 0);
		for (size_t i = 0; i < sizes[k]; i++)
			items = arena_printf(
				&a,
				"%s%s{'metadata':{'namespace':'web','name':'front-%zu'},"
				"'spec':{'type':'LoadBalancer'}}",
				items, i ? "," : "", i);
		s.answers = arena_printf(
			&a,
			"{'eks:DescribeCluster':{'cluster':{'status':'ACTIVE','name':"
			"'demo'}},'cloudformation:DescribeStacks':{'Stacks':[{"
			"'StackStatus':'CREATE_COMPLETE','Tags':[" TAGS_OURS "]}]},"
			"'kubernetes:list services':{'items':[%s]}}",
			items);
		said = scene_play(&a, &s);
		for (const char *p = said; (p = strstr(p, "Service web/front-")); p++)
			shown++;
		tail = strstr(said, " and ");
		if (tail)
			sscanf(tail, " and %lu more", &more);
		cr_expect_eq(shown + more, sizes[k], "%zu + %lu of %zu: %s", shown, more,
			     sizes[k], said);
		arena_free(&a);
	}
}
