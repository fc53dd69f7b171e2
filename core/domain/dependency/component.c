#include "core/domain/dependency/component.h"

#include "core/json/tree.h"

/*
 * What the inference add-on brings itself is turned off where it is there already
 * (case DP-09): data.bundled says so.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-model-deployment-ts-addon-existing.html
 */
static json_t *inference_values(struct step_ctx *c)
{
	const bool scale = json_bool_or(c->data, "bundled.scale", true);
	const bool load = json_bool_or(c->data, "bundled.load", true);
	json_t *v = json_packf(
		c->arena, "{s:s, s:s, s:s, s:s, s:{s:b}, s:{s:b}}", "executionRoleArn",
		name_role_arn(c, ROLE_INFERENCE), "jumpstartGatedModelDownloadRoleArn",
		name_role_arn(c, ROLE_GATED_MODELS), "tlsCertificateS3Bucket",
		name_tls_bucket(c), "hyperpodClusterArn",
		step_get(c, "hyperpod_arn") ? step_get(c, "hyperpod_arn") : "", "alb",
		"enabled", load, "keda", "enabled", scale);

	if (load)
		json_put(v, "alb.serviceAccount",
			 json_pack("{s:b, s:s}", "create", 1, "roleArn",
				   name_role_arn(c, ROLE_INFERENCE_LOAD)));
	if (scale)
		json_put(v, "keda.auth.aws.irsa",
			 json_pack("{s:b, s:s}", "enabled", 1, "roleArn",
				   name_role_arn(c, ROLE_INFERENCE_SCALE)));
	return v;
}

/*
 * Its webhook answers for everything that is made of certificates, so it runs on nodes
 * under deep health checks too, which take an hour or two; the taint is the service's.
 * CoreDNS does not: nothing of ours needs names before nodes take pods.
 */
static json_t *health_toleration(void)
{
	return json_pack("[{s:s, s:s}]", "key",
			 "sagemaker.amazonaws.com/node-health-status", "operator",
			 "Exists");
}

static json_t *cert_manager_values(struct step_ctx *c)
{
	return json_packf(c->arena, "{s:o, s:{s:o}, s:{s:o}}", "tolerations",
			  health_toleration(), "webhook", "tolerations",
			  health_toleration(), "cainjector", "tolerations",
			  health_toleration());
}

#define CSI_DRIVER(z)                                                                    \
	{                                                                                \
		.verb = KUBE_GET, .api = "storage.k8s.io/v1", .plural = "csidrivers",    \
		.name = (z)                                                              \
	}

const struct component component_pod_identity = {
	.name = "pod_identity",
	.title = "EKS Pod Identity agent",
	.via = COMPONENT_ADDON,
	.addon = "eks-pod-identity-agent",
	.sign = {.verb = KUBE_GET,
		 .api = "apps/v1",
		 .plural = "daemonsets",
		 .ns = "kube-system",
		 .name = "eks-pod-identity-agent"},
};
const struct component component_coredns = {
	.name = "coredns",
	.title = "CoreDNS",
	.via = COMPONENT_ADDON,
	.addon = "coredns",
	/* EKS's own, or one that people have changed: the add-on would replace it. */
	.sign = {.verb = KUBE_GET,
		 .api = "apps/v1",
		 .plural = "deployments",
		 .ns = "kube-system",
		 .name = "coredns"},
};
const struct component component_cert_manager = {
	.name = "cert_manager",
	.title = "cert-manager",
	.via = COMPONENT_ADDON,
	.addon = "cert-manager",
	/* Not its definitions: they stay when an add-on goes. */
	.sign = {.verb = KUBE_GET,
		 .api = "apps/v1",
		 .plural = "deployments",
		 .ns = "cert-manager",
		 .name = "cert-manager-webhook"},
	.values = cert_manager_values,
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
	.sign = CSI_DRIVER("s3.csi.aws.com"),
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
	.sign = CSI_DRIVER("fsx.csi.aws.com"),
};
const struct component component_load_balancers = {
	.name = "load_balancers",
	.title = "AWS Load Balancer Controller",
	.via = COMPONENT_CHART,
	.arm64 = true,
	.release = "aws-load-balancer-controller",
	.ns = "kube-system",
	.service_account = "aws-load-balancer-controller",
	.role = &role_load_balancers,
	.needs = "pod_identity",
	.mark = {.verb = KUBE_LIST,
		 .api = "apps/v1",
		 .plural = "deployments",
		 .label_selector = "app.kubernetes.io/name=aws-load-balancer-controller"},
	.mark_name = "",
	.intercepts = "services, ingresses and target group bindings",
	.values = load_balancer_values,
};
const struct component component_kuberay = {
	.name = "kuberay",
	.title = "KubeRay operator",
	.via = COMPONENT_CHART,
	.arm64 = true,
	.release = "kuberay-operator",
	.ns = "kuberay-operator",
	.mark = {.verb = KUBE_LIST,
		 .api = "apps/v1",
		 .plural = "deployments",
		 .label_selector = "app.kubernetes.io/name=kuberay-operator"},
	.mark_name = "",
};
const struct component component_hyperpod = {
	.name = "hyperpod",
	.title = "HyperPod Helm chart",
	.via = COMPONENT_CHART,
	/* Plugins and agent are placed by type: of arm64 on ml.p6e-gb200 alone. */
	.arm64 = true,
	.release = "hyperpod-dependencies",
	.ns = "kube-system",
	/* AWS's console and template call the release "dependencies", that of restricted
	 * groups "rig-dependencies". */
	.mark = {.verb = KUBE_LIST,
		 .api = "apps/v1",
		 .plural = "daemonsets",
		 .ns = "aws-hyperpod"},
	.mark_name = "health-monitoring-agent",
	.look = hyperpod_look,
	.lacks = hyperpod_images_missing,
	.values = hyperpod_values,
};

const struct component component_metrics = {
	.name = "metrics",
	.title = "Kubernetes Metrics Server",
	.via = COMPONENT_ADDON,
	.addon = "metrics-server",
	.sign = {.verb = KUBE_GET,
		 .api = "apps/v1",
		 .plural = "deployments",
		 .ns = "kube-system",
		 .name = "metrics-server"},
	.is_feature = true,
};
/* https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-eks-operator-install.html */
const struct component component_training = {
	.name = "training_operator",
	.title = "HyperPod training operator",
	.via = COMPONENT_ADDON,
	.addon = "amazon-sagemaker-hyperpod-training-operator",
	.ns = "aws-hyperpod",
	.service_account = "hp-training-operator-controller-manager",
	.role = &role_training,
	.needs = "cert_manager",
	.guarded_by = "cert_manager",
	.is_feature = true,
};
/* https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-model-deployment-setup.html
 */
const struct component component_inference = {
	.name = "inference_operator",
	.title = "HyperPod inference operator",
	.via = COMPONENT_ADDON,
	.addon = "amazon-sagemaker-hyperpod-inference",
	.ns = "hyperpod-inference-system",
	.service_account = "hyperpod-inference-controller-manager",
	.role = &role_inference,
	.needs = "cert_manager",
	.guarded_by = "cert_manager",
	/* Of the load-balancer controller that it brings along (serving.c). */
	.intercepts = "services",
	.is_feature = true,
	.values = inference_values,
};

static const struct component *const all[] = {
	&component_pod_identity, &component_coredns,        &component_hyperpod,
	&component_cert_manager, &component_s3_csi,         &component_fsx_csi,
	&component_kuberay,      &component_load_balancers, NULL,
};

static const struct component *const others[] = {
	&component_metrics,
	&component_training,
	&component_inference,
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
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (streq(others[i]->name, name))
			return others[i];
	return NULL;
}

const json_t *component_chart(const struct where *w, const struct component *k)
{
	return json_find(w->charts, "component", k->name);
}
