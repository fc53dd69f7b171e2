/* What steps call; requests as trees; kinds as diagrams. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/json/tree.h"
#include "core/op/owner.h"
#include "core/op/runner.h"
#include "core/op/walk.h"

static struct arena a;

static void open_arena(void)
{
	arena_init(&a, 0);
}

static void close_arena(void)
{
	arena_free(&a);
}

TestSuite(step, .init = open_arena, .fini = close_arena);

static struct step_ctx context(struct config *cfg)
{
	static const struct where where = {.installation = "here"};

	return (struct step_ctx){
		.arena = &a,
		.cfg = cfg,
		.where = &where,
		.op_id = "op_child",
		.root_id = "op_root",
		.target = "demo/data",
		.input = json_packf(&a, "{s:{s:s, s:s}}", "tags", "team", "ml",
				    "instantstart:cluster", "forged"),
		.data = json_new_object(&a),
		.seen = json_new_object(&a),
		.resources = json_new_list(&a),
		.catalog = json_new_list(&a),
		.events = json_new_list(&a),
	};
}

Test(step, verdicts)
{
	struct config cfg = {0};
	struct step_ctx c = context(&cfg);
	const struct answer refused = {
		.via = VIA_AWS,
		.call = "eks:CreateCluster",
		.code = "ResourceLimitExceeded",
		.message = "limit of 1",
		.request_id = "req-1",
		.errc = ERR_QUOTA,
	};
	struct err *e;

	step_advance(&c);
	cr_assert_eq(c.verdict.kind, VERDICT_ADVANCE);
	cr_assert_null(c.verdict.step);
	step_goto(&c, "there");
	cr_assert_str_eq(c.verdict.step, "there");
	step_wait(&c, 15, "%d of %d nodes", 3, 4);
	cr_assert_eq(c.verdict.kind, VERDICT_WAIT);
	cr_assert_eq(c.verdict.due_ms, 15000);
	cr_assert_str_eq(c.verdict.waiting_for, "3 of 4 nodes");
	step_retry(&c, ERR_ROLE_NOT_READY, "role %s", "r");
	cr_assert_eq(c.verdict.kind, VERDICT_RETRY);
	cr_assert_eq(c.verdict.error.code, ERR_ROLE_NOT_READY);
	/* A later verdict replaces the earlier one as a whole. */
	e = step_fail(&c, ERR_QUOTA, "no %s", "quota");
	cr_assert_eq(c.verdict.kind, VERDICT_FAIL);
	cr_assert_eq(e, &c.verdict.error);
	cr_assert_str_eq(e->detail, "no quota");
	e = step_fail_answer(&c, &refused, "The cluster was refused");
	cr_assert_eq(e->code, ERR_QUOTA);
	cr_assert_eq(e->n_causes, 1);
	cr_assert_str_eq(e->cause[0].source, "eks:CreateCluster");
	cr_assert_str_eq(e->cause[0].code, "ResourceLimitExceeded");
	cr_assert_str_eq(e->cause[0].message, "limit of 1");
	cr_assert_str_eq(e->cause[0].request_id, "req-1");
	step_hold(&c, "Which?", NULL, json_pack("[{s:s}]", "id", "one"));
	cr_assert_eq(c.verdict.kind, VERDICT_HOLD);
	cr_assert_str_eq(json_str_at(c.verdict.question, "question"), "Which?");
	cr_assert_str_eq(json_str_at(c.verdict.question, "choices.0.id"), "one");
	step_done(&c, json_pack("{s:i}", "n", 1));
	cr_assert_eq(c.verdict.kind, VERDICT_DONE);
	cr_assert_eq(json_int_or(c.verdict.result, "n", 0), 1);
}

Test(step, data_resources_and_events)
{
	struct config cfg = {0};
	struct step_ctx c = context(&cfg);

	step_save_str(&c, "network.vpc", "vpc-1");
	step_save(&c, "network.cidrs", json_pack("[s]", "10.0.0.0/16"));
	cr_assert_str_eq(step_get(&c, "network.vpc"), "vpc-1");
	cr_assert_null(step_get(&c, "network.subnet"));
	c.planning = true;
	cr_assert_str_eq(step_get(&c, "network.subnet"), STEP_UNKNOWN);
	cr_assert(step_is_unknown(step_get(&c, "network.subnet")));
	cr_assert(step_is_unknown("arn:" STEP_UNKNOWN ":x"));
	cr_assert_not(step_is_unknown(NULL));
	step_own(&c, "AWS::EC2::VPC", "vpc-1", NULL, "made");
	step_catalog(&c, "cluster", "demo", NULL, json_pack("{s:s}", "state", "ready"));
	step_event(&c, "looked", NULL);
	cr_assert_str_eq(
		json_text(&a, c.resources),
		"[{\"arn\":null,\"id\":\"vpc-1\",\"state\":\"made\",\"type\":\"AWS::EC2::"
		"VPC\"}]");
	cr_assert_str_eq(
		json_text(&a, c.catalog),
		"[{\"desired\":null,\"kind\":\"cluster\",\"name\":\"demo\",\"observed\":{"
		"\"state\":\"ready\"}}]");
	cr_assert_str_eq(json_text(&a, c.events), "[{\"data\":{},\"what\":\"looked\"}]");
}

Test(step, tags_of_ours_cannot_be_forged)
{
	struct config cfg = {.default_tags = "cost = 42 ,broken,env=prod"};
	struct step_ctx c = context(&cfg);
	const json_t *list = step_tags(&c);

	cr_assert_str_eq(
		json_text(&a, step_tag_map(&c)),
		"{\"cost\":\"42\",\"env\":\"prod\",\"instantstart:cluster\":\"demo\","
		"\"instantstart:installation\":\"here\",\"instantstart:operation\":"
		"\"op_root\",\"team\":\"ml\"}");
	cr_assert_eq(json_array_size(list), 6);
	cr_assert_str_eq(json_str_at(json_find(list, "Key", "team"), "Value"), "ml");
	cr_assert(step_tagged_ours(&c, list));
	cr_assert(step_tagged_cluster(&c, list));
	cr_assert(step_tagged_ours(&c, step_tag_map(&c)));
	cr_assert(step_tagged_ours(&c, json_packf(&a, "[{s:s, s:s}]", "key",
						  "instantstart:operation", "value",
						  "op_root")));
	c.root_id = "op_other";
	cr_assert_not(step_tagged_ours(&c, list));
	cr_assert(step_tagged_cluster(&c, list));
	cr_assert_not(step_tagged_ours(&c, NULL));
	cr_assert_not(step_tagged_cluster(&c, json_new_list(&a)));
}

/* Whose a thing is: by installation, cluster and operation together. */
Test(step, the_owner_is_what_the_tags_say_together)
{
	static const struct {
		const char *installation, *cluster, *operation;
		enum owner owner;
	} rows[] = {
		{NULL, NULL, NULL, OWNER_NOBODY},
		{NULL, NULL, "op_root", OWNER_NOBODY},
		{"here", "demo", "op_new", OWNER_US},
		{"here", "demo", NULL, OWNER_UNKNOWN},
		{"here", NULL, "op_new", OWNER_UNKNOWN},
		{"here", "other", "op_new", OWNER_CLUSTER},
		{"there", "demo", "op_new", OWNER_INSTALLATION},
		{"there", "demo", "op_before", OWNER_INSTALLATION},
		{"there", NULL, NULL, OWNER_INSTALLATION},
		{NULL, "demo", NULL, OWNER_UNKNOWN},
		{NULL, "demo", "op_theirs", OWNER_UNKNOWN},
		{NULL, "demo", "op_before", OWNER_US},
		{NULL, "other", "op_before", OWNER_UNKNOWN},
		{NULL, "other", "op_others", OWNER_CLUSTER},
		{NULL, "demo", "op_root", OWNER_US},
	};
	struct config cfg = {0};
	struct step_ctx c = context(&cfg);
	struct where where = {.installation = "here",
			      .earlier = json_packf(&a, "{s:b, s:b}",
						    "operation demo op_before", 1,
						    "operation other op_others", 1)};

	c.where = &where;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const json_t *tags = json_packf(
			&a, "{s:s*, s:s*, s:s*}", "instantstart:installation",
			rows[i].installation, "instantstart:cluster", rows[i].cluster,
			"instantstart:operation", rows[i].operation);

		cr_expect_eq(owner_of_tags(&c, tags), rows[i].owner, "%s",
			     json_text(&a, tags));
	}
	where.installation = NULL; /* not known: nothing is ours that has to say it */
	cr_expect_neq(
		owner_of_tags(&c, json_packf(&a, "{s:s, s:s}", "instantstart:cluster",
					     "demo", "instantstart:operation", "op_x")),
		OWNER_US);
}

/* The service compares what is sent again with the first request. */
Test(step, an_operation_of_before_tags_as_it_began)
{
	struct config cfg = {0};
	struct step_ctx c = context(&cfg);
	const struct where where = {.installation = "here",
				    .earlier = json_packf(&a, "{s:b, s:b}",
							  "operation op_root", 1,
							  "operation demo op_root", 1)};

	c.where = &where;
	cr_expect_null(json_object_get(step_tag_map(&c), "instantstart:installation"));
	cr_expect(step_tagged_cluster(&c, step_tags(&c)));
	c.root_id = "op_new";
	cr_expect_str_eq(json_string_value(json_object_get(step_tag_map(&c),
							   "instantstart:installation")),
			 "here");
}

Test(step, requests_are_canonical_and_masked)
{
	const struct kube_target t = {.endpoint = "https://k", .cluster_name = "demo"};
	const struct kube_request secret = {
		.verb = KUBE_APPLY,
		.api = "v1",
		.plural = "secrets",
		.ns = "kube-system",
		.name = "s",
		.body = json_packf(&a, "{s:s, s:{s:s}, s:{s:s}}", "kind", "Secret",
				   "data", "key", "aHVzaA==", "metadata", "name", "s"),
	};
	const struct helm_request chart = {
		.verb = HELM_UPGRADE_INSTALL,
		.release = "r",
		.chart = "/charts/c.tgz",
		.values = json_packf(&a, "{s:s, s:s, s:[{s:s}]}", "adminPassword", "hush",
				     "secretName", "shown", "list", "apiKey", "hush"),
	};
	struct exchange x = {.via = VIA_NONE}, y = {.via = VIA_NONE};
	const char *text;

	exchange_kube(&x, &t, &secret);
	text = json_text(&a, exchange_tree(&x, &a));
	cr_assert_str_eq(exchange_name(&x, &a), "kubernetes:apply secrets");
	cr_assert_null(strstr(text, "aHVzaA=="), "%s", text);
	cr_assert_not_null(strstr(text, "\"key\":\"(secret)\""), "%s", text);
	exchange_helm(&x, &t, &chart);
	text = json_text(&a, exchange_tree(&x, &a));
	cr_assert_str_eq(exchange_name(&x, &a), "helm:upgrade");
	cr_assert_null(strstr(text, "hush"), "%s", text);
	cr_assert_not_null(strstr(text, "shown"), "%s", text);

	/* With and without the token it is the same request. */
	exchange_aws(&x, AWS_EKS_CreateCluster, json_packf(&a, "{s:s}", "name", "demo"));
	exchange_aws(
		&y, AWS_EKS_CreateCluster,
		json_packf(&a, "{s:s, s:s}", "clientRequestToken", "t", "name", "demo"));
	cr_assert_str_eq(exchange_name(&x, &a), "eks:CreateCluster");
	cr_assert_str_eq(json_digest(&a, exchange_tree(&x, &a)),
			 json_digest(&a, exchange_tree(&y, &a)));
	json_put_str(y.in, "name", "other");
	cr_assert_str_neq(json_digest(&a, exchange_tree(&x, &a)),
			  json_digest(&a, exchange_tree(&y, &a)));
	/* The step's own tree is left as it was. */
	cr_assert_str_eq(json_str_at(y.in, "clientRequestToken"), "t");
}

Test(step, kinds_are_found_and_drawn)
{
	static const struct step steps[] = {
		{.name = "one",
		 .phase = "make",
		 .title = "One: first",
		 .effect = EFFECT_TOKEN},
		{.name = "two", .phase = "make", .retry_step = "one"},
		{.name = "three", .phase = "end"},
		{.name = NULL},
	};
	static const struct kind k = {.name = "k", .steps = steps};
	static const struct kind *const all[] = {&k, NULL};
	struct buf b;

	cr_assert_eq(kind_find(all, "k"), &k);
	cr_assert_null(kind_find(all, "l"));
	cr_assert_eq(kind_step(&k, "two"), &steps[1]);
	cr_assert_null(kind_step(&k, "four"));
	cr_assert_eq(kind_step_after(&k, &steps[0]), &steps[1]);
	cr_assert_null(kind_step_after(&k, &steps[2]));
	buf_init(&b, &a, 4096);
	kind_diagram(&k, &b);
	cr_assert_str_eq(buf_cstr(&b), "stateDiagram-v2\n"
				       "    state \"make\" as phase_1 {\n"
				       "        one : One  first [token]\n"
				       "        two : two\n"
				       "    }\n"
				       "    state \"end\" as phase_2 {\n"
				       "        three : three\n"
				       "    }\n"
				       "    [*] --> one\n"
				       "    one --> two\n"
				       "    two --> three\n"
				       "    two --> one : retry\n"
				       "    three --> [*]\n");
}

/* --- what comes back -------------------------------------------------------- */

static void any_bytes(struct runner *r, const struct exchange *x, const char *token,
		      struct arena *arena, struct answer *ret)
{
	(void)r, (void)x, (void)token, (void)arena;
	ret->code = "cut\xE2\x82";
	ret->message = "\x9A\xC5\xBA done \xF0\x9F";
	ret->text = "line\xFF";
	ret->request_id = "r-1";
	ret->errc = ERR_CLOUD_REFUSED;
}

/* The tail of a program's output begins and ends anywhere; the ledger keeps it. */
Test(step, answers_of_any_bytes_can_be_stored)
{
	struct runner r = {.exchange = any_bytes};
	const struct exchange x = {.via = VIA_HELM};
	struct answer ans, again;

	runner_exchange(&r, &x, NULL, &a, &ans);
	cr_expect_str_eq(ans.code, "cut??");
	cr_expect_str_eq(ans.message, "?\xC5\xBA done ??");
	answer_restore(answer_store(&ans, &a), &x, &a, &again);
	cr_expect_str_eq(again.message, ans.message);
	cr_expect_str_eq(again.text, "line?");
	cr_expect_str_eq(again.request_id, "r-1");
}

/* A refused token is renewed and the request sent once more: that must end before
 * the lease does, too. */
Test(step, a_call_may_be_sent_twice)
{
	const struct config cfg = {.call_timeout_ms = 100, .lease_ms = 1000};
	const struct runner r = {.cfg = &cfg};

	cr_expect_eq(runner_call_ms(&r, &(struct exchange){.via = VIA_AWS}), 200);
	cr_expect_eq(runner_call_ms(&r, &(struct exchange){.via = VIA_KUBE}), 200);
}
