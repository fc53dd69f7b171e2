/* What was made a moment ago is missed by reads: no deletion, undo or repeat believes
 * them. One row for every type of thing that the ledger knows. */
#include <glob.h>
#include <stdio.h>

#include "tests/unit/domain_scene.h"

#define EKS                                                                              \
	"'eks':{'name':'demo','endpoint':'https://k','issuer':"                          \
	"'https://oidc.eks.us-west-2.amazonaws.com/id/A1'}"
#define OIDC                                                                             \
	"arn:aws:iam::111122223333:oidc-provider/"                                       \
	"oidc.eks.us-west-2.amazonaws.com/id/A1"
#define LIVE                                                                             \
	"'sagemaker:DescribeCluster':{'ClusterName':'demo','ClusterStatus':'InService'," \
	"'InstanceGroups':[]}"

/* A step that removes such a thing, and sees nothing of it. */
static const struct removal {
	const char *type, *id;
	const char *kind, *step, *input, *data, *answers;
	const char *call; /* sent all the same, by its id; NULL: the step waits */
	bool twice;       /* absence needs a second look besides */
} removals[] = {
	{"iam:role", "is-demo-nodes-us-west-2", "delete_cluster", "delete_nodes_role",
	 .data = "{}"},
	{"iam:role", "is-demo-s3-csi-us-west-2", "delete_cluster", "delete_s3_csi_role",
	 .data = "{}"},
	{"iam:role-policy", "is-demo-s3-csi-us-west-2/storage-default-data",
	 "delete_storage", "revoke_bucket", "{'name':'data','namespace':'default'}",
	 .data = "{" EKS "}"},
	{"iam:oidc-provider", OIDC, "delete_cluster", "delete_identity_provider",
	 .data = "{" EKS "}"},
	{"s3:bucket", "sagemaker-instantstart-111122223333-us-west-2", "delete_cluster",
	 "delete_bucket", .data = "{}"},
	{"ec2:subnet", "subnet-1", "delete_cluster", "delete_subnets", .data = "{}",
	 .answers = "'ec2:DescribeSubnets':{'Subnets':[]}",
	 .call = "call ec2:DeleteSubnet"},
	{"ec2:vpc-cidr", "vpc-cidr-assoc-1", "delete_cluster", "delete_blocks",
	 .data = "{}", .answers = "'ec2:DescribeVpcs':{'Vpcs':[]}",
	 .call = "call ec2:DisassociateVpcCidrBlock"},
	{"cloudformation:stack", "instantstart-demo", "delete_cluster", "delete_stack",
	 .data = "{}", .twice = true},
	{"sagemaker:cluster", "demo", "delete_cluster", "delete_hyperpod", .data = "{}",
	 .twice = true},
	{"sagemaker:cluster", "demo", "remove_hyperpod_cluster", "delete_hyperpod",
	 "{'hyperpod_name':'demo'}", "{}", .twice = true},
	{"eks:addon", "amazon-sagemaker-hyperpod-training-operator",
	 "set_training_operator", "training_operator_remove",
	 "{'feature':'training_operator','enabled':false}", .data = "{" EKS "}"},
	{"eks:pod-identity", "a-1", "set_training_operator", "training_operator_unbind",
	 "{'feature':'training_operator','enabled':false}", "{" EKS "}",
	 .answers = "'eks:ListPodIdentityAssociations':{'associations':[]}"},
};

static const char *play(struct arena *a, const struct removal *r, const char *ledger,
			const char *answered, int64_t first_look_ms)
{
	const struct scene s = {
		.id = r->type,
		.kind = r->kind,
		.step = r->step,
		.input = r->input,
		.data = first_look_ms ? arena_printf(a, "{" EKS ",'_gone':{'%s':%lld}}",
						     r->type, (long long)first_look_ms)
				      : r->data,
		.answers = arena_printf(a, "{%s}", r->answers ? r->answers : ""),
		.ledger = ledger,
		.answered = answered,
	};

	return scene_play(a, &s);
}

static const char *gone_of(struct arena *a, const struct removal *r)
{
	return arena_printf(a, "%s %s is gone", r->type, r->id);
}

Test(domain_young, what_is_young_is_not_believed_to_be_absent)
{
	for (size_t i = 0; i < sizeof(removals) / sizeof(removals[0]); i++) {
		const struct removal *r = &removals[i];
		const char *said, *row;
		struct arena a;

		arena_init(&a, 0);
		row = arena_printf(&a, "%s %s", r->type, r->id);
		said = play(&a, r, row, NULL, r->twice ? scene_now_ms - 600000 : 0);
		cr_expect(strstr(said, r->call ? r->call : "wait: AWS to show "),
			  "%s of %s: %s", r->step, r->kind, said);
		cr_expect_null(strstr(said, gone_of(&a, r)), "%s: %s", r->step, said);
		if (r->call) { /* "not found" is no word either */
			said = play(&a, r, row, "{'!':'NotFound'}", 0);
			cr_expect(strstr(said, "wait: AWS to show "), "%s: %s", r->step,
				  said);
			cr_expect_null(strstr(said, gone_of(&a, r)), "%s: %s", r->step,
				       said);
			said = play(&a, r, row, "{}", 0);
			cr_expect(strstr(said, gone_of(&a, r)), "%s: %s", r->step, said);
		}
		arena_free(&a);
	}
}

/* What the ledger does not know, or has known for long, is absent at once. */
Test(domain_young, what_is_not_young_is_absent)
{
	for (size_t i = 0; i < sizeof(removals) / sizeof(removals[0]); i++) {
		const struct removal *r = &removals[i];
		struct arena a;
		const char *said;

		arena_init(&a, 0);
		said = play(&a, r, "ec2:other x", NULL,
			    r->twice ? scene_now_ms - 600000 : 0);
		cr_expect_null(strstr(said, "wait"), "%s of %s: %s", r->step, r->kind,
			       said);
		if (r->twice) {
			said = play(&a, r, "ec2:other x", NULL, 0);
			cr_expect(strstr(said, "wait: a second check"), "%s: %s", r->step,
				  said);
		}
		arena_free(&a);
	}
}

/* An undo tells its child of the group, which no ledger has. */
Test(domain_young, the_undo_of_a_group_waits_until_it_is_seen)
{
#define UNDO_OF(ms)                                                                            \
	"{'group_name':'g','young':[{'type':'sagemaker:instance-group','id':'g','made_ms':" ms \
	"}]}"
	static const struct scene rows[] = {
		{"asked for a moment ago", "delete_instance_group", "check_users",
		 .input = UNDO_OF("1767323043000"), .data = "{" EKS "}",
		 .answers = "{" LIVE "}",
		 .says = {"wait: AWS to show the instance group"}},
		{"and then for good", "delete_instance_group", "wait_gone",
		 .input = UNDO_OF("1767323043000"), .data = "{" EKS "}",
		 .answers = "{" LIVE "}",
		 .says = {"wait: AWS to show the instance group"}},
		{"it never came to be: nothing is left to do", "delete_instance_group",
		 "check_users", .input = UNDO_OF("1767322043000"), .data = "{" EKS "}",
		 .answers = "{" LIVE "}", .says = {"advance"}},
		{"a person's deletion of what is not there", "delete_instance_group",
		 "check_users", .input = "{'group_name':'g'}", .data = "{" EKS "}",
		 .answers = "{" LIVE "}", .says = {"fail", "no instance group named g"}},
	};

	SCENES_HOLD(rows);
}

/* --- every type of thing has its row --------------------------------------------------
 */

/* Read as they are, or (a name that is drawn, the last two) ended with what holds them.
 */
static const char *const consistent[] = {"kubernetes:", "helm:", "s3:object", "eks:%"};

static bool has_row(const char *type)
{
	for (size_t i = 0; i < sizeof(consistent) / sizeof(consistent[0]); i++)
		if (str_starts(type, consistent[i]))
			return true;
	for (size_t i = 0; i < sizeof(removals) / sizeof(removals[0]); i++)
		if (streq(type, removals[i].type))
			return true;
	return false;
}

/* The types in a source file: the second argument of each step_own(). */
static int check_file(struct arena *a, const char *path)
{
	static const char call[] = "step_own(c, \"";
	FILE *f = fopen(path, "r");
	char *text = arena_alloc(a, 1 << 16);
	const size_t n = f ? fread(text, 1, (1 << 16) - 1, f) : 0;
	int found = 0;

	cr_assert(f, "%s", path);
	fclose(f);
	text[n] = '\0';
	for (const char *p = text; (p = strstr(p, call)); found++) {
		p += sizeof(call) - 1;
		const char *type = arena_printf(a, "%.*s", (int)strcspn(p, "\""), p);

		cr_expect(has_row(type), "%s: no row for %s", path, type);
	}
	return found;
}

Test(domain_young, every_type_that_is_made_has_a_row)
{
	struct arena a;
	glob_t files = {0};
	int n = 0;

	arena_init(&a, 0);
	cr_assert_eq(glob("core/domain/*/*.c", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++)
		n += check_file(&a, files.gl_pathv[i]);
	cr_expect_gt(n, 20);
	globfree(&files);
	arena_free(&a);
}
