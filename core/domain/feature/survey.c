/*
 * survey.c - what the operations and get_features ask about a feature.
 *
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-eks-operator-install.html
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-model-deployment-setup.html
 */
#include <string.h>

#include "core/domain/dependency/install.h"
#include "core/domain/feature/identity.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/stake/feature_users.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static const struct component *const for_training[] = {&component_pod_identity,
						       &component_cert_manager, NULL};
static const struct component *const for_inference[] = {
	&component_pod_identity, &component_cert_manager, &component_metrics,
	&component_s3_csi,       &component_fsx_csi,      NULL};

const struct feature features[FEATURES_] = {
	{.id = FEATURE_TIERED,
	 .name = "tiered_checkpointing",
	 .title = "Managed tiered checkpointing",
	 .kind = "set_tiered_checkpointing"},
	{.id = FEATURE_TRAINING,
	 .name = "training_operator",
	 .title = "Training operator",
	 .kind = "set_training_operator",
	 .component = &component_training,
	 .brings = for_training},
	{.id = FEATURE_INFERENCE,
	 .name = "inference_operator",
	 .title = "Inference operator",
	 .kind = "set_inference_operator",
	 .component = &component_inference,
	 .brings = for_inference},
	{.id = FEATURE_AUTOSCALING,
	 .name = "autoscaling",
	 .title = "Node autoscaling",
	 .kind = "set_autoscaling"},
};

const struct feature *feature_find(const char *name)
{
	for (size_t i = 0; i < FEATURES_; i++)
		if (streq(features[i].name, name))
			return &features[i];
	return NULL;
}

const char *survey_key(const struct step_ctx *c, const char *what, const char *name)
{
	return arena_printf(c->arena, "%s:%s", what, name);
}

static bool list_kube(struct step_ctx *c, struct exchange *x, const char *key,
		      const char *api, const char *plural, const char *ns)
{
	return read_kube(
		c, x, key,
		&(struct kube_request){
			.verb = KUBE_LIST, .api = api, .plural = plural, .ns = ns});
}

/* --- what runs by other means ------------------------------------------------------ */

static bool read_deployments(struct step_ctx *c, struct exchange *x)
{
	return list_kube(c, x, "deployments", "apps/v1", "deployments", NULL);
}

/* Installed by other means than ours and in another place. */
static bool runs_elsewhere(const struct step_ctx *c, const char *name)
{
	size_t i;
	json_t *d;

	json_array_foreach(json_at(saw(c, "deployments"), "items"), i, d)
		if (streq(json_str_at(d, "metadata.name"), name) &&
		    !streq(json_str_at(d, "metadata.namespace"), component_inference.ns))
			return true;
	return false;
}

const char *survey_charted(const struct step_ctx *c)
{
	size_t i;
	json_t *d;

	if (!saw_missing(c, survey_key(c, "addon", component_inference.name)))
		return NULL;
	json_array_foreach(json_at(saw(c, "deployments"), "items"), i, d)
		if (streq(json_str_at(d, "metadata.namespace"), component_inference.ns) &&
		    str_starts(json_str_or(d, "metadata.name", ""),
			       "hyperpod-inference-operator"))
			return json_str_at(d, "metadata.name");
	return NULL;
}

/* --- needs ----------------------------------------------------------------------- */

static bool read_components(struct step_ctx *c, struct exchange *x,
			    const struct feature *f)
{
	for (size_t i = 0; f->brings && f->brings[i]; i++) {
		const struct component *k = f->brings[i];
		const char *key = survey_key(c, "addon", k->name);

		if (addon_read(c, x, key, k) ||
		    (k->sign.name && saw_missing(c, key) &&
		     read_kube(c, x, survey_key(c, "sign", k->name), &k->sign)))
			return true;
	}
	return false;
}

static json_t *of_vpc(struct step_ctx *c)
{
	return json_packf(c->arena, "{s:[{s:s, s:[s]}]}", "Filters", "Name", "vpc-id",
			  "Values", step_get(c, "eks.vpc_id"));
}

static bool read_training_needs(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "governance", AWS_EKS_DescribeAddon,
			json_packf(c->arena, "{s:s, s:s}", "clusterName", eks_name(c),
				   "addonName",
				   "amazon-sagemaker-hyperpod-taskgovernance")) ||
	       read_all(c, x, "tables", AWS_EC2_DescribeRouteTables, of_vpc(c)) ||
	       read_all(c, x, "endpoints", AWS_EC2_DescribeVpcEndpoints, of_vpc(c)) ||
	       read_all(c, x, "groups", AWS_EC2_DescribeSecurityGroups, of_vpc(c));
}

static bool read_needs(struct step_ctx *c, struct exchange *x, const struct feature *f)
{
	if (read_components(c, x, f))
		return true;
	if (f->component && f->component->guarded_by &&
	    list_kube(c, x, "nodes", "v1", "nodes", NULL))
		return true;
	if (f->id == FEATURE_TRAINING)
		return read_training_needs(c, x);
	if (f->id == FEATURE_AUTOSCALING)
		return list_kube(c, x, "agents", "apps/v1", "daemonsets",
				 component_training.ns);
	return f->id == FEATURE_INFERENCE && read_deployments(c, x);
}

/* --- all of it -------------------------------------------------------------------- */

bool survey_observe(struct step_ctx *c, struct exchange *x, const struct feature *f,
		    unsigned parts)
{
	if (hyperpod_read(c, x))
		return true;
	if (f->component &&
	    addon_read(c, x, survey_key(c, "addon", f->name), f->component))
		return true;
	return ((parts & SURVEY_NEEDS) && read_needs(c, x, f)) ||
	       ((parts & SURVEY_CHAIN) && chain_read(c, x, f)) ||
	       ((parts & SURVEY_USERS) && feature_users_read(c, x, f->name));
}

void survey_save(struct step_ctx *c, const struct feature *f)
{
	const char *arn = json_str_at(saw(c, "hyperpod"), "ClusterArn");

	if (arn)
		step_save_str(c, "hyperpod_arn", arn);
	for (size_t i = 0; f->brings && f->brings[i]; i++) {
		const char *name = f->brings[i]->name;
		const json_t *addon =
			json_at(saw(c, survey_key(c, "addon", name)), "addon");

		if (addon && !component_brought(json_at(addon, "tags")))
			step_save(c, arena_printf(c->arena, "present.%s", name),
				  json_true());
		if (saw_ok(c, survey_key(c, "sign", name)))
			step_save(c, arena_printf(c->arena, "elsewhere.%s", name),
				  json_true());
	}
	if (f->id == FEATURE_INFERENCE && saw_ok(c, "deployments")) {
		step_save(
			c, "bundled.load",
			json_boolean(!runs_elsewhere(c, "aws-load-balancer-controller")));
		step_save(c, "bundled.scale",
			  json_boolean(!runs_elsewhere(c, "keda-operator")));
	}
}
