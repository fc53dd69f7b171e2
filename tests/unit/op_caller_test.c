/* Case IA-05: a session's ARN drops the path of its role. */
#include "core/aws/credentials.h"
#include "core/op/caller.h"
#include "tests/unit/aws_fake.h"

#define SSO "arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_Admin_0123/jo"
#define PATH                                                                             \
	"arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/eu-west-1/"       \
	"AWSReservedSSO_Admin_0123"

static void no_sleep(void *ctx, int64_t ms)
{
	(void)ctx;
	(void)ms;
}

Test(op_caller, a_session_is_resolved_to_its_role_with_the_path)
{
	static const struct {
		const char *arn, *want;
		size_t calls;
		struct fake_answer answer;
	} rows[] = {
		{"arn:aws:iam::111122223333:user/me",
		 "arn:aws:iam::111122223333:user/me",
		 0,
		 {.url = NULL}},
		{SSO,
		 PATH,
		 1,
		 {.outcome = NET_ANSWERED,
		  .status = 200,
		  .body = "<GetRoleResponse><GetRoleResult><Role><Arn>" PATH
			  "</Arn></Role></GetRoleResult></GetRoleResponse>"}},
		/* IAM may not be asked: the name alone, which is right without a path. */
		{"arn:aws-cn:sts::111122223333:assumed-role/Ops/i-0abc",
		 "arn:aws-cn:iam::111122223333:role/Ops",
		 1,
		 {.outcome = NET_ANSWERED,
		  .status = 403,
		  .body = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no"
			  "</Message></Error></ErrorResponse>"}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct fake_setting keys[] = {{"AWS_ACCESS_KEY_ID", "AKID1"},
						    {"AWS_SECRET_ACCESS_KEY", "s"},
						    {0}};
		struct clock_manual clock;
		struct rng_seeded rng;
		struct fake_net net = {0};
		struct arena a;
		struct aws aws;

		arena_init(&a, 0);
		clock_manual_init(&clock, INT64_C(1767323045000));
		rng_seeded_init(&rng, 7);
		fake_script(&net, &rows[i].answer, rows[i].calls);
		aws = (struct aws){.net = &net.transport,
				   .clock = &clock.clock,
				   .rng = &rng.rng,
				   .region = "us-west-2",
				   .timeout_ms = 5000,
				   .lookup = fake_lookup,
				   .lookup_ctx = (void *)(uintptr_t)keys,
				   .sleep_ms = no_sleep};
		aws.credentials =
			aws_credentials_new(&a, &net.transport, &clock.clock, "us-west-2",
					    fake_lookup, (void *)(uintptr_t)keys);
		cr_expect_str_eq(
			caller_principal(&aws, rows[i].arn, INT64_C(10000000000000), &a),
			rows[i].want);
		cr_expect_eq(net.n_sent, rows[i].calls);
		arena_free(&a);
	}
}
