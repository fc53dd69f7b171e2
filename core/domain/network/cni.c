#include "core/domain/network/cni.h"

#include <string.h>

#include "core/base/listing.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/domain/step/version.h"
#include "core/json/tree.h"

#define ENICONFIG_API "crd.k8s.amazonaws.com/v1alpha1"
#define ZONE_LABEL    "topology.kubernetes.io/zone"
/* https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-prerequisites.html
 */
#define OLDEST "1.18.3"
#define IMAGE  "/amazon-k8s-cni:v"

static const json_t *plugin(const struct step_ctx *c)
{
	const json_t *containers =
		json_at(saw(c, "cni"), "spec.template.spec.containers");
	const json_t *node = json_find(containers, "name", "aws-node");

	return node ? node : json_array_get(containers, 0);
}

static const char *told(const struct step_ctx *c, const char *variable)
{
	const json_t *env = json_at(plugin(c), "env");

	return json_str_or(json_find(env, "name", variable), "value", "");
}

bool cni_takes_prefixes(const struct step_ctx *c)
{
	return streq(told(c, "ENABLE_PREFIX_DELEGATION"), "true");
}

bool cni_is_custom(const struct step_ctx *c)
{
	return streq(told(c, "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"), "true");
}

/* --- reads ---------------------------------------------------------------------------
 */

static json_t *pod_subnets(struct step_ctx *c)
{
	json_t *ids = json_new_list(c->arena), *config;
	size_t i;

	json_array_foreach(json_at(saw(c, "eniconfigs"), "items"), i, config)
		if (json_str_at(config, "spec.subnet"))
			texts_add(ids, json_packf(c->arena, "[s]",
						  json_str_at(config, "spec.subnet")));
	return ids;
}

bool cni_observe(struct step_ctx *c, struct exchange *x)
{
	if (step_is_coming(c, "cloudformation:CreateStack", eks_name(c)))
		return false;
	if (!json_at(c->data, "eks.endpoint") && eks_access_observe(c, x))
		return true;
	if (eks_read_kube(c, x, "cni",
			  &(struct kube_request){.verb = KUBE_GET,
						 .api = "apps/v1",
						 .plural = "daemonsets",
						 .ns = "kube-system",
						 .name = "aws-node"}))
		return true;
	if (!cni_is_custom(c))
		return false;
	return eks_read_kube(c, x, "eniconfigs",
			     &(struct kube_request){.verb = KUBE_LIST,
						    .api = ENICONFIG_API,
						    .plural = "eniconfigs"}) ||
	       (json_array_size(pod_subnets(c)) > 0 &&
		read_aws(c, x, "pod_subnets", AWS_EC2_DescribeSubnets,
			 json_packf(c->arena, "{s:O}", "SubnetIds", pod_subnets(c))));
}

/* --- whose addresses -------------------------------------------------------------------
 */

static const json_t *subnet_of(const struct step_ctx *c, const json_t *config)
{
	const char *id = json_str_at(config, "spec.subnet");

	return id ? json_find(json_at(saw(c, "pod_subnets"), "Subnets"), "SubnetId", id)
		  : NULL;
}

/* By name where the plugin goes by the zone's label; else the zone's only one. */
static const json_t *choose(struct step_ctx *c, const char *zone_name,
			    const char *zone_id, size_t *ret_in_zone)
{
	const json_t *list = json_at(saw(c, "eniconfigs"), "items"), *found = NULL;
	size_t i;
	json_t *config;
	const bool by_label = streq(told(c, "ENI_CONFIG_LABEL_DEF"), ZONE_LABEL);

	*ret_in_zone = 0;
	json_array_foreach(list, i, config) {
		if (by_label ? !streq(json_str_at(config, "metadata.name"), zone_name)
			     : !streq(json_str_at(subnet_of(c, config),
						  "AvailabilityZoneId"),
				      zone_id))
			continue;
		(*ret_in_zone)++;
		found = config;
	}
	return *ret_in_zone == 1 ? found : NULL;
}

const json_t *cni_pod_subnet(struct step_ctx *c, const char *zone_name,
			     const char *zone_id, const char **ret_why, bool *ret_none)
{
	const json_t *config, *subnet;
	size_t in_zone;

	*ret_none = false;
	if (!saw_ok(c, "eniconfigs") ||
	    (json_array_size(pod_subnets(c)) > 0 && !saw_ok(c, "pod_subnets"))) {
		*ret_why = saw_ok(c, "eniconfigs") ? saw_why(c, "pod_subnets")
						   : saw_why(c, "eniconfigs");
		return NULL;
	}
	if (!zone_name || !zone_id) {
		*ret_why = "the zone of the nodes is not known";
		return NULL;
	}
	config = choose(c, zone_name, zone_id, &in_zone);
	subnet = subnet_of(c, config);
	*ret_none = in_zone == 0;
	if (!subnet)
		*ret_why = in_zone > 1 ? "several ENIConfig objects are in the zone"
				       : "no ENIConfig object is for the zone";
	return subnet;
}

void cni_say_unread(struct step_ctx *c)
{
	const bool silent = !json_at(c->data, "eks.endpoint") && saw_refused(c, "eks");

	if (saw_missing(c, "cni"))
		step_not_known(
			c, "addresses",
			"how this cluster's network plugin assigns addresses: it has "
			"no DaemonSet kube-system/aws-node");
	if (saw_refused(c, "cni") || silent)
		step_not_known(
			c, "addresses",
			"whether the VPC CNI uses prefix delegation or custom networking (%s)",
			saw_why(c, silent ? "eks" : "cni"));
}

void cni_say_old(struct step_ctx *c)
{
	const char *image = json_str_or(plugin(c), "image", "");
	const char *tag = strstr(image, IMAGE);

	/* One named by a digest, or built by others, has no version to be compared. */
	if (tag && version_compare(tag + strlen(IMAGE), OLDEST) < 0)
		step_warn(c,
			  "The VPC CNI of this cluster is v%s, and HyperPod needs v%s or "
			  "later: nodes may not join. Update the add-on vpc-cni first.",
			  tag + strlen(IMAGE), OLDEST);
}
