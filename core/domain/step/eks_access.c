#include "core/domain/step/eks_access.h"

#include "core/base/base64.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

const char *eks_name(const struct step_ctx *c)
{
	const char *name = json_str_at(c->data, "eks.name");

	if (!name)
		name = json_str_at(c->input, "eks_name");
	return name ? name : c->target;
}

void eks_target(const struct step_ctx *c, struct kube_target *ret)
{
	ret->endpoint = step_get(c, "eks.endpoint");
	ret->ca_pem = step_get(c, "eks.ca_pem");
	ret->cluster_name = eks_name(c);
}

static bool reach(struct step_ctx *c, struct kube_target *ret)
{
	const json_t *cluster = json_at(saw(c, "eks"), "cluster");
	const char *ca = json_str_at(cluster, "certificateAuthority.data");

	if (json_at(c->data, "eks.endpoint")) {
		eks_target(c, ret);
		return true;
	}
	*ret = (struct kube_target){.endpoint = json_str_at(cluster, "endpoint"),
				    .ca_pem =
					    ca ? base64_decode(c->arena, ca, NULL) : NULL,
				    .cluster_name = eks_name(c)};
	return ret->endpoint && ret->ca_pem;
}

bool eks_read_kube(struct step_ctx *c, struct exchange *x, const char *key,
		   const struct kube_request *r)
{
	struct kube_target t;

	if (!reach(c, &t) || !read_kube(c, x, key, r))
		return false;
	x->target = t;
	return true;
}

void eks_save(struct step_ctx *c, const json_t *cluster)
{
	const char *ca = json_str_at(cluster, "certificateAuthority.data");
	const char *pem = ca ? base64_decode(c->arena, ca, NULL) : NULL;

	step_save_str(c, "eks.name", json_str_at(cluster, "name"));
	step_save_str(c, "eks.arn", json_str_at(cluster, "arn"));
	step_save_str(c, "eks.version", json_str_at(cluster, "version"));
	step_save_str(c, "eks.endpoint", json_str_at(cluster, "endpoint"));
	step_save_str(c, "eks.ca_pem", pem);
	step_save_str(c, "eks.vpc_id", json_str_at(cluster, "resourcesVpcConfig.vpcId"));
	step_save_str(c, "eks.issuer", json_str_at(cluster, "identity.oidc.issuer"));
	step_save_str(c, "eks.security_group_id",
		      json_str_at(cluster, "resourcesVpcConfig.securityGroupIds.0"));
	if (json_bool_or(cluster, "resourcesVpcConfig.endpointPublicAccess", false))
		step_save(c, "eks.public_cidrs",
			  json_deep_copy(json_at(
				  cluster, "resourcesVpcConfig.publicAccessCidrs")));
	if (json_at(cluster, "resourcesVpcConfig.subnetIds"))
		step_save(c, "eks.subnet_ids",
			  json_incref(json_at(cluster, "resourcesVpcConfig.subnetIds")));
	if (!json_at(c->data, "eks.security_group_id"))
		step_save_str(c, "eks.security_group_id",
			      json_str_at(cluster,
					  "resourcesVpcConfig.clusterSecurityGroupId"));
}

bool eks_access_observe(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "eks", AWS_EKS_DescribeCluster,
			json_packf(c->arena, "{s:s}", "name", eks_name(c)));
}

void eks_access_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *cluster = json_at(saw(c, "eks"), "cluster");
	const char *status = json_str_or(cluster, "status", "");
	const char *mode = json_str_or(cluster, "accessConfig.authenticationMode", "");

	(void)x;
	if (!cluster && step_is_coming(c, "cloudformation:CreateStack", eks_name(c)))
		return;
	if (saw_missing(c, "eks")) {
		struct err *e = step_fail(c, ERR_CLOUD_NOT_FOUND,
					  "There is no EKS cluster named %s in %s",
					  eks_name(c), c->where->region);
		err_fix(e, "Create it first, or use the name of an existing cluster.");
		return;
	}
	if (streq(status, "CREATING") || streq(status, "UPDATING") ||
	    streq(status, "PENDING")) {
		step_wait(c, 15, "the EKS cluster %s in state %s", eks_name(c), status);
		return;
	}
	if (!streq(status, "ACTIVE")) {
		struct err *e =
			step_fail(c, ERR_CLUSTER_FAILED, "The EKS cluster %s is %s",
				  eks_name(c), status);
		err_because(e, "eks:DescribeCluster",
			    json_str_at(cluster, "health.issues.0.code"),
			    json_str_at(cluster, "health.issues.0.message"), NULL);
		return;
	}
	if (streq(mode, "CONFIG_MAP")) {
		struct err *e = step_fail(
			c, ERR_STATE_CONFLICT,
			"The EKS cluster %s uses authentication mode CONFIG_MAP",
			eks_name(c));
		err_field(e, "", mode, "API or API_AND_CONFIG_MAP");
		err_fix(e,
			"Run: aws eks update-cluster-config --name %s --access-config "
			"authenticationMode=API_AND_CONFIG_MAP",
			eks_name(c));
		return;
	}
	eks_save(c, cluster);
	step_advance(c);
}
