#include "core/domain/dependency/component.h"

#include "core/json/tree.h"

static json_t *load_balancer_values(struct step_ctx *c)
{
	/* Given, because the controller would ask instance metadata, which pods
	 * on HyperPod nodes cannot reach (case DP-08). */
	return json_packf(c->arena, "{s:s, s:s, s:s, s:{s:b, s:s}}", "clusterName",
			  step_get(c, "eks.name") ? step_get(c, "eks.name") : c->target,
			  "region", c->where->region, "vpcId", step_get(c, "eks.vpc_id"),
			  "serviceAccount", "create", 1, "name",
			  "aws-load-balancer-controller");
}

const struct component component_pod_identity = {
	.name = "pod_identity",
	.title = "EKS Pod Identity agent",
	.via = COMPONENT_ADDON,
	.addon = "eks-pod-identity-agent",
	.pods_per_node = 1,
};
const struct component component_coredns = {
	.name = "coredns",
	.title = "CoreDNS",
	.via = COMPONENT_ADDON,
	.addon = "coredns",
	.pods = 2,
};
const struct component component_cert_manager = {
	.name = "cert_manager",
	.title = "cert-manager",
	.via = COMPONENT_ADDON,
	.addon = "cert-manager",
	.pods = 3,
};
const struct component component_s3_csi = {
	.name = "s3_csi",
	.title = "Mountpoint for Amazon S3 CSI driver",
	.via = COMPONENT_ADDON,
	.addon = "aws-mountpoint-s3-csi-driver",
	.ns = "kube-system",
	.service_account = "s3-csi-driver-sa",
	.role = &role_s3_csi,
	.needs = "pod_identity",
	.pods_per_node = 1,
	.pods = 2, /* controller; a helper of the mount (case ST-07) */
};
const struct component component_fsx_csi = {
	.name = "fsx_csi",
	.title = "Amazon FSx CSI driver",
	.via = COMPONENT_ADDON,
	.addon = "aws-fsx-csi-driver",
	.ns = "kube-system",
	.service_account = "fsx-csi-controller-sa",
	.role = &role_fsx_csi,
	.needs = "pod_identity",
	.pods_per_node = 1,
	.pods = 2,
};
const struct component component_load_balancers = {
	.name = "load_balancers",
	.title = "AWS Load Balancer Controller",
	.via = COMPONENT_CHART,
	.release = "aws-load-balancer-controller",
	.ns = "kube-system",
	.service_account = "aws-load-balancer-controller",
	.role = &role_load_balancers,
	.needs = "pod_identity",
	.pods = 2,
	.values = load_balancer_values,
};
const struct component component_kuberay = {
	.name = "kuberay",
	.title = "KubeRay operator",
	.via = COMPONENT_CHART,
	.release = "kuberay-operator",
	.ns = "kuberay-operator",
	.pods = 1,
};
const struct component component_hyperpod = {
	.name = "hyperpod",
	.title = "HyperPod Helm chart",
	.via = COMPONENT_CHART,
	.release = "hyperpod-dependencies",
	.ns = "kube-system",
	/* Health agent and two device plugins; training and MPI operators. */
	.pods_per_node = 3,
	.pods = 2,
};

static const struct component *const all[] = {
	&component_pod_identity,   &component_coredns, &component_hyperpod,
	&component_cert_manager,   &component_s3_csi,  &component_fsx_csi,
	&component_load_balancers, &component_kuberay, NULL,
};

const struct component *const *component_list(void)
{
	return all;
}

const struct component *component_find(const char *name)
{
	for (size_t i = 0; all[i]; i++)
		if (streq(all[i]->name, name))
			return all[i];
	return NULL;
}

const json_t *component_chart(const struct where *w, const struct component *k)
{
	return json_find(w->charts, "component", k->name);
}
