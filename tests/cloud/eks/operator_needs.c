/* What the operators' add-ons need before they work. */
#include <fnmatch.h>
#include <string.h>

#include "tests/cloud/eks/operator.h"
#include "tests/cloud/iam.h"

static const char training[] = "amazon-sagemaker-hyperpod-training-operator";
static const char inference[] = "amazon-sagemaker-hyperpod-inference";
static const char inference_ns[] = "hyperpod-inference-system";

const char *operator_bad_values(struct arena *a, const char *addon, const char *values)
{
	static const char *const needed[] = {"executionRoleArn",
					     "tlsCertificateS3Bucket"};
	struct err e;
	const json_t *v = values ? json_parse(a, str_of(values), &e) : NULL;

	if (values && !json_is_object(v))
		return "ConfigurationValue is not in valid JSON or YAML format";
	if (!streq(addon, inference))
		return NULL;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!json_str_at(v, needed[i]))
			return arena_printf(a,
					    "Json schema validation failed with error: "
					    "[$.%s: is missing but it is required]",
					    needed[i]);
	return NULL;
}

static bool fits(struct arena *a, const json_t *condition, const char *key,
		 const char *want)
{
	const char *equal = json_string_value(
		json_object_get(json_at(condition, "StringEquals"), key));
	const char *like =
		json_string_value(json_object_get(json_at(condition, "StringLike"), key));

	(void)a;
	return (equal && streq(equal, want)) || (like && fnmatch(like, want, 0) == 0);
}

/* Whether the account of this cluster may become the role by web identity. */
static bool may_become(struct cloud *c, struct arena *a, const char *cluster,
		       const char *arn, const char *ns, const char *account_name)
{
	const json_t *eks = cloud_get(c, EKS_CLUSTERS, cluster);
	const char *issuer = json_str_or(eks, "identity.oidc.issuer", "https://");
	const char *host = issuer + sizeof("https://") - 1;
	const char *provider =
		cloud_arn_global(c, a, "iam", arena_printf(a, "oidc-provider/%s", host));
	const json_t *role = iam_find_role(c, arn);
	struct err e;
	const json_t *trust =
		role ? json_parse(a, str_of(json_str_or(role, "_trust", "")), &e) : NULL;
	size_t i;
	json_t *s;

	if (!cloud_get(c, "iam.oidc_provider", provider))
		return false;
	json_array_foreach(json_at(trust, "Statement"), i, s)
		if (streq(json_str_at(s, "Principal.Federated"), provider) &&
		    fits(a, json_at(s, "Condition"), arena_printf(a, "%s:sub", host),
			 arena_printf(a, "system:serviceaccount:%s:%s", ns,
				      account_name)))
			return true;
	return false;
}

static bool runs_elsewhere(struct cloud *c, const char *cluster, const char *name)
{
	static const char *const places[] = {"kube-system", "keda", "default"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (cloud_kube_get(c, cluster, "apps/v1", "deployments", places[i], name))
			return true;
	return false;
}

static const char *endpoint_trouble(struct cloud *c, struct arena *a, const json_t *addon,
				    const char **ret_code)
{
	static const char *const drivers[] = {"s3.csi.aws.com", "fsx.csi.aws.com"};
	const char *cluster = json_str_or(addon, "clusterName", "");
	const json_t *v = operator_values(a, addon);

	*ret_code = "K8sResourceNotFound";
	for (size_t i = 0; i < 2; i++)
		if (!cloud_kube_get(c, cluster, "storage.k8s.io/v1", "csidrivers", NULL,
				    drivers[i]))
			return arena_printf(a, "CSIDriver \"%s\" not found", drivers[i]);
	*ret_code = "ConfigurationConflict";
	if (json_bool_or(v, "keda.enabled", true) &&
	    runs_elsewhere(c, cluster, "keda-operator"))
		return "Conflicts found when trying to apply: KEDA is installed already";
	if (json_bool_or(v, "alb.enabled", true) &&
	    runs_elsewhere(c, cluster, "aws-load-balancer-controller"))
		return "Conflicts found when trying to apply: the AWS Load Balancer "
		       "Controller is installed already";
	if (!strstr(json_str_or(v, "executionRoleArn", ""),
		    "role/SageMakerHyperPodInference"))
		return "execution error: executionRoleArn: the name of the role must "
		       "begin with SageMakerHyperPodInference";
	*ret_code = "AccessDenied";
	if (!may_become(c, a, cluster, json_str_or(v, "executionRoleArn", ""),
			inference_ns, "hyperpod-inference-controller-manager"))
		return "failed to enable inference watcher: operation error STS: "
		       "AssumeRoleWithWebIdentity, https response error StatusCode: 403, "
		       "api error AccessDenied: Not authorized to perform "
		       "sts:AssumeRoleWithWebIdentity";
	return NULL;
}

const char *operator_trouble(struct cloud *c, struct arena *a, const json_t *addon,
			     const char **ret_code)
{
	const char *name = json_str_or(addon, "addonName", "");
	const char *cluster = json_str_or(addon, "clusterName", "");

	if (!streq(name, training) && !streq(name, inference))
		return NULL;
	*ret_code = "K8sResourceNotFound";
	if (!cloud_kube_get(c, cluster, "apiextensions.k8s.io/v1",
			    "customresourcedefinitions", NULL,
			    "certificates.cert-manager.io"))
		return "no matches for kind \"Certificate\" in version "
		       "\"cert-manager.io/v1\"";
	return streq(name, inference) ? endpoint_trouble(c, a, addon, ret_code) : NULL;
}

const char *operator_refusal(struct cloud *c, struct arena *a, const json_t *addon,
			     const char **ret_code)
{
	const char *name = json_str_or(addon, "addonName", "");
	const char *trouble = operator_trouble(c, a, addon, ret_code);

	if (trouble && !streq(*ret_code, "AccessDenied"))
		return trouble;
	if (!streq(name, training) && !streq(name, inference))
		return NULL;
	*ret_code = "AdmissionRequestDenied";
	return cloud_kube_silent(c, a, json_str_or(addon, "clusterName", ""),
				 "cert-manager.io/v1", "certificates",
				 eks_addon_kind(name)->ns);
}
