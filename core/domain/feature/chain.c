/* What was made for a feature, compared with what should be. */
#include <string.h>

#include "core/aws/partition.h"
#include "core/domain/dependency/install.h"
#include "core/domain/feature/identity.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

const struct bound_account bound_accounts[] = {
	{"hyperpod-inference-controller-manager", &role_inference, NULL},
	{"keda-operator", &role_inference_scale, "bundled.scale"},
	{"aws-load-balancer-controller", &role_inference_load, "bundled.load"},
	{NULL, NULL, NULL},
};

bool account_is_ours(const struct step_ctx *c, const struct bound_account *b)
{
	return !b->bundled || json_bool_or(c->data, b->bundled, true);
}

const char *oidc_arn(const struct step_ctx *c)
{
	const char *issuer = step_get(c, "eks.issuer");

	if (!issuer)
		return STEP_UNKNOWN;
	return arena_printf(c->arena, "arn:%s:iam::%s:oidc-provider/%s",
			    c->where->partition, c->where->account,
			    str_starts(issuer, "https://") ? issuer + 8 : issuer);
}

/* --- reads ------------------------------------------------------------------------ */

static bool role_read(struct step_ctx *c, struct exchange *x, const struct role_spec *s)
{
	const char *name = name_role(c, s->purpose);
	const char *key = survey_key(c, "role", name);
	json_t *in = json_packf(c->arena, "{s:s}", "RoleName", name);

	if (read_aws(c, x, key, AWS_IAM_GetRole, in))
		return true;
	if (!saw_ok(c, key))
		return false;
	return (s->statements &&
		read_aws(c, x, survey_key(c, "policy", name), AWS_IAM_GetRolePolicy,
			 json_packf(c->arena, "{s:s, s:s}", "RoleName", name,
				    "PolicyName", "instantstart"))) ||
	       (s->managed[0] && read_all(c, x, survey_key(c, "attached", name),
					  AWS_IAM_ListAttachedRolePolicies, in));
}

static bool bucket_is_tagged(const struct step_ctx *c)
{
	return step_tagged_cluster(c, json_at(saw(c, "bucket_tags"), "TagSet"));
}

static bool inference_read(struct step_ctx *c, struct exchange *x)
{
	json_t *bucket = json_packf(c->arena, "{s:s}", "Bucket", name_tls_bucket(c));

	for (const struct bound_account *b = bound_accounts; b->name; b++)
		if (role_read(c, x, b->role))
			return true;
	return role_read(c, x, &role_gated_models) ||
	       read_aws(c, x, "oidc", AWS_IAM_GetOpenIDConnectProvider,
			json_packf(c->arena, "{s:s}", "OpenIDConnectProviderArn",
				   oidc_arn(c))) ||
	       read_aws(c, x, "bucket", AWS_S3_HeadBucket, bucket) ||
	       (saw_ok(c, "bucket") &&
		(read_aws(c, x, "bucket_tags", AWS_S3_GetBucketTagging, bucket) ||
		 (!bucket_is_tagged(c) &&
		  read_aws(c, x, "bucket_objects", AWS_S3_ListObjectsV2, bucket)))) ||
	       read_kube(c, x, "accounts",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "v1",
						.plural = "serviceaccounts",
						.ns = component_inference.ns});
}

bool chain_read(struct step_ctx *c, struct exchange *x, const struct feature *f)
{
	if (f->id == FEATURE_TRAINING)
		return role_read(c, x, &role_training) ||
		       identity_read(c, x, f->component);
	if (f->id == FEATURE_AUTOSCALING)
		return read_aws(c, x, "scaler", AWS_IAM_GetRole,
				json_packf(c->arena, "{s:s}", "RoleName",
					   name_role(c, ROLE_AUTOSCALING)));
	return f->id == FEATURE_INFERENCE && inference_read(c, x);
}

/* --- judging ---------------------------------------------------------------------- */

static void add(json_t *list, const char *part, const char *name, const char *state,
		const char *detail)
{
	json_push(list, json_pack("{s:s, s:s, s:s, s:s*}", "part", part, "name", name,
				  "state", state, "detail", detail));
}

static bool same_document(struct step_ctx *c, const char *text, const json_t *wanted)
{
	struct err ignored;
	json_t *has = text ? json_parse(c->arena, str_of(text), &ignored) : NULL;

	return has && json_equal(has, wanted);
}

/* "…/id/AAAA" of the first federated principal. */
static const char *trusted_provider(struct step_ctx *c, const char *text)
{
	struct err ignored;
	const json_t *doc = text ? json_parse(c->arena, str_of(text), &ignored) : NULL;
	size_t i;
	json_t *s;

	json_array_foreach(json_at(doc, "Statement"), i, s)
		if (json_str_at(s, "Principal.Federated"))
			return json_str_at(s, "Principal.Federated");
	return NULL;
}

static const char *id_of(const char *arn)
{
	const char *slash = arn ? strrchr(arn, '/') : NULL;

	return slash ? slash + 1 : "?";
}

/* Case IA-08: after a cluster was made anew the role trusts the old one. */
static void judge_trust(struct step_ctx *c, json_t *list, const struct role_spec *s,
			const char *name, const json_t *role)
{
	const char *text = json_str_at(role, "AssumeRolePolicyDocument");
	const char *trusts = trusted_provider(c, text);

	if (same_document(c, text, role_trust_wanted(c, s)))
		add(list, "trust", name, "present", NULL);
	else if (s->trust && trusts && !streq(trusts, oidc_arn(c)))
		add(list, "trust", name, "differs",
		    arena_printf(c->arena, "it trusts %s, this cluster is %s",
				 id_of(trusts), id_of(oidc_arn(c))));
	else
		add(list, "trust", name, "differs",
		    "it trusts more or less than this service account");
}

static void judge_role(struct step_ctx *c, json_t *list, const struct role_spec *s)
{
	const char *name = name_role(c, s->purpose);
	const json_t *role = json_at(saw(c, survey_key(c, "role", name)), "Role");
	const json_t *attached =
		json_at(saw(c, survey_key(c, "attached", name)), "AttachedPolicies");
	const char *policy =
		json_str_at(saw(c, survey_key(c, "policy", name)), "PolicyDocument");
	bool whole = true;

	if (!role) {
		add(list, "role", name, "missing", NULL);
		return;
	}
	if (!step_tagged_cluster(c, json_at(role, "Tags"))) {
		add(list, "role", name, "foreign", NULL);
		return;
	}
	add(list, "role", name, "present", NULL);
	judge_trust(c, list, s, name, role);
	for (size_t i = 0; i < ROLE_MANAGED_MAX && s->managed[i]; i++)
		whole &= json_find(attached, "PolicyName", s->managed[i]) != NULL;
	if (s->statements)
		whole &= same_document(c, policy, role_policy_wanted(c, s));
	add(list, "policy", name,
	    whole    ? "present"
	    : policy ? "differs"
		     : "missing",
	    NULL);
}

static void judge_association(struct step_ctx *c, json_t *list, const struct component *k)
{
	const json_t *one = json_at(saw(c, "one"), "association");
	const char *name = arena_printf(c->arena, "%s/%s", k->ns, k->service_account);
	const char *arn = json_str_at(one, "roleArn");

	if (!one)
		add(list, "association", name, "missing", NULL);
	else if (!streq(arn, name_role_arn(c, k->role->purpose)))
		add(list, "association", name,
		    step_tagged_cluster(c, json_at(one, "tags")) ? "differs" : "foreign",
		    arena_printf(c->arena, "bound to %s", arn));
	else
		add(list, "association", name, "present", NULL);
}

static void judge_accounts(struct step_ctx *c, json_t *list)
{
	for (const struct bound_account *b = bound_accounts; b->name; b++) {
		const json_t *found = NULL;
		const char *arn = name_role_arn(c, b->role->purpose), *has;
		size_t i;
		json_t *a;

		if (!account_is_ours(c, b))
			continue;
		json_array_foreach(json_at(saw(c, "accounts"), "items"), i, a)
			if (streq(json_str_at(a, "metadata.name"), b->name))
				found = a;
		has = json_string_value(json_object_get(
			json_at(found, "metadata.annotations"), ROLE_ANNOTATION));
		add(list, "annotation", b->name,
		    !has              ? "missing"
		    : streq(has, arn) ? "present"
				      : "differs",
		    has && !streq(has, arn) ? arena_printf(c->arena, "bound to %s", has)
					    : NULL);
		judge_role(c, list, b->role);
	}
}

static void judge_inference(struct step_ctx *c, json_t *list)
{
	const json_t *clients = json_at(saw(c, "oidc"), "ClientIDList"), *v;
	const char *key = json_str_at(saw(c, "bucket_objects"), "Contents.0.Key");
	bool known = false;
	size_t i;

	for (i = 0; i < json_array_size(clients); i++) {
		v = json_array_get(clients, i);
		known |= streq(json_string_value(v), AWS_TOKEN_AUDIENCE);
	}
	add(list, "oidc_provider", id_of(oidc_arn(c)),
	    !saw_ok(c, "oidc") ? "missing"
	    : known            ? "present"
			       : "differs",
	    saw_ok(c, "oidc") && !known ? AWS_TOKEN_AUDIENCE " is not among its audiences"
					: NULL);
	add(list, "bucket", name_tls_bucket(c),
	    !saw_ok(c, "bucket")  ? "missing"
	    : bucket_is_tagged(c) ? "present"
	    : key                 ? "foreign"
				  : "differs",
	    key ? arena_printf(c->arena, "it contains %s and has no tag of this cluster",
			       key)
		: NULL);
	judge_accounts(c, list);
	judge_role(c, list, &role_gated_models);
}

static void judge_addon(struct step_ctx *c, json_t *list, const struct feature *f)
{
	const json_t *addon = json_at(saw(c, survey_key(c, "addon", f->name)), "addon");
	const char *name = f->component->addon;

	if (!addon)
		add(list, "addon", name, "missing", NULL);
	else if (!step_tagged_cluster(c, json_at(addon, "tags")))
		add(list, "addon", name, "foreign", NULL);
	else if (addon_values(c, f->component, addon))
		add(list, "addon", name, "differs", "its configuration differs");
	else
		add(list, "addon", name, "present", NULL);
}

/* The role of the cluster, and that the cluster has it. */
static void judge_scaler(struct step_ctx *c, json_t *list)
{
	const struct karpenter k =
		karpenter_state(saw(c, "hyperpod"), name_role_arn(c, ROLE_AUTOSCALING));
	const json_t *role = json_at(saw(c, "scaler"), "Role");

	if (k.foreign) {
		add(list, "role", k.role_arn ? k.role_arn : "?", "foreign", NULL);
		return;
	}
	add(list, "role", name_role(c, ROLE_AUTOSCALING),
	    !role                                           ? "missing"
	    : step_tagged_cluster(c, json_at(role, "Tags")) ? "present"
							    : "foreign",
	    NULL);
}

json_t *feature_chain(struct step_ctx *c, const struct feature *f)
{
	json_t *list = json_new_list(c->arena);

	if (f->id == FEATURE_TRAINING) {
		judge_role(c, list, &role_training);
		judge_association(c, list, f->component);
	} else if (f->id == FEATURE_INFERENCE) {
		judge_inference(c, list);
	} else if (f->id == FEATURE_AUTOSCALING) {
		judge_scaler(c, list);
	}
	if (f->component)
		judge_addon(c, list, f);
	return list;
}
