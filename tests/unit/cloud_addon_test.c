/* HyperPod's add-ons in the simulated EKS: what they need, bring, and leave behind. */
#include "tests/unit/cloud_site.h"

#define TRAINING  "amazon-sagemaker-hyperpod-training-operator"
#define INFERENCE "amazon-sagemaker-hyperpod-inference"

static json_t *addon(struct site *s, const char *name)
{
	return json_at(lab_call(&s->l, "eks", "DescribeAddon", "{s:s,s:s}", "clusterName",
				"demo", "addonName", name),
		       "addon");
}

static void install(struct site *s, const char *name)
{
	lab_call(&s->l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName", "demo",
		 "addonName", name);
	lab_wait(&s->l, 60000);
}

static void drop(struct site *s, const char *name)
{
	lab_call(&s->l, "eks", "DeleteAddon", "{s:s,s:s}", "clusterName", "demo",
		 "addonName", name);
	lab_wait(&s->l, 60000);
}

static bool has(struct site *s, const char *api, const char *plural, const char *ns,
		const char *name)
{
	return cloud_kube_get(s->l.cloud, "demo", api, plural, ns, name) != NULL;
}

static bool has_kind(struct site *s, const char *name)
{
	return has(s, "apiextensions.k8s.io/v1", "customresourcedefinitions", NULL, name);
}

/* Two nodes, so that what has replicas can be healthy. */
static void populate(struct site *s)
{
	build(s, "sagemaker-demo-scripts");
	cloud_configure(s->l.cloud,
			json_packf(&s->l.arena, "{s:{s:i}}", "quota", "L-4C3F99F6", 8));
	cr_assert(cloud_invoke(s->l.cloud, &s->l.arena, "sagemaker", "CreateCluster",
			       json_own(&s->l.arena,
					request(s, group(s, "gpu", "ml.g5.12xlarge", 2),
						true)),
			       NULL, NULL, &s->l.code, &s->l.message),
		  "%s", s->l.message);
	lab_wait(&s->l, 30 * 60000);
}

Test(cloud_addon, the_training_operator_needs_brings_and_leaves)
{
	struct site s;
	json_t *a;

	populate(&s);
	cr_expect_null(lab_try(&s.l, "eks", "CreateAddon", "{s:s,s:s,s:[{s:s,s:s}]}",
			       "clusterName", "demo", "addonName", TRAINING,
			       "podIdentityAssociations", "serviceAccount", "x",
			       "roleArn", s.role));
	cr_expect(lab_has(s.l.message, "not supported"), "DP-01: %s", s.l.message);
	install(&s, TRAINING);
	a = addon(&s, TRAINING);
	cr_expect_str_eq(json_str_or(a, "status", ""), "CREATE_FAILED");
	cr_expect(lab_has(json_str_at(a, "health.issues.0.message"), "Certificate"));
	drop(&s, TRAINING);
	install(&s, "cert-manager");
	install(&s, TRAINING);
	cr_expect_str_eq(json_str_or(addon(&s, TRAINING), "status", ""), "ACTIVE");
	cr_expect(has_kind(&s, "hyperpodpytorchjobs.sagemaker.amazonaws.com"));
	cr_expect(has(&s, "apps/v1", "deployments", "aws-hyperpod",
		      "hp-training-operator-controller-manager"));
	cr_expect_null(lab_try(&s.l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName",
			       "demo", "addonName", TRAINING));
	cr_expect_str_eq(s.l.code, "ResourceInUseException");
	drop(&s, TRAINING);
	cr_expect(has_kind(&s, "hyperpodpytorchjobs.sagemaker.amazonaws.com"),
		  "kinds stay when an add-on goes");
	cr_expect_not(has(&s, "apps/v1", "deployments", "aws-hyperpod",
			  "hp-training-operator-controller-manager"));
	cr_expect_not(has(&s, "v1", "serviceaccounts", "aws-hyperpod",
			  "hp-training-operator-controller-manager"));
	lab_stop(&s.l);
}

/* As it was to be on AWS: before the first node nobody serves cert-manager's webhook. */
Test(cloud_addon, certificates_of_an_operator_are_refused_while_no_node_runs_the_webhook)
{
	struct site s;
	const json_t *a;

	build(&s, "sagemaker-demo-scripts");
	install(&s, "cert-manager");
	cr_expect_str_eq(json_str_or(addon(&s, "cert-manager"), "status", ""),
			 "DEGRADED");
	install(&s, TRAINING);
	a = addon(&s, TRAINING);
	cr_expect_str_eq(json_str_or(a, "status", ""), "CREATE_FAILED");
	cr_expect_str_eq(json_str_or(a, "health.issues.0.code", ""),
			 "AdmissionRequestDenied");
	cr_expect(lab_has(json_str_at(a, "health.issues.0.message"),
			  "no endpoints available for service \"cert-manager-webhook\""),
		  "%s", json_str_or(a, "health.issues.0.message", ""));
	cr_expect_not(has(&s, "apps/v1", "deployments", "aws-hyperpod",
			  "hp-training-operator-controller-manager"));
	lab_stop(&s.l);
}

/* The role, trusting that one account of this cluster's issuer. */
static const char *role_for(struct site *s, const char *account)
{
	const json_t *eks = cloud_get(s->l.cloud, "eks.cluster", "demo");
	const char *host = json_str_or(eks, "identity.oidc.issuer", "https://") + 8;
	const char *document = arena_printf(
		&s->l.arena,
		"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\","
		"\"Principal\":{\"Federated\":\"arn:aws:iam::111122223333:oidc-provider/%s\"}"
		",\"Action\":\"sts:AssumeRoleWithWebIdentity\",\"Condition\":{"
		"\"StringEquals\":{\"%s:sub\":\"system:serviceaccount:%s\"}}}]}",
		host, host, account);

	return json_str_at(
		lab_call(&s->l, "iam", "CreateRole", "{s:s,s:s}", "RoleName",
			 arena_printf(&s->l.arena, "SageMakerHyperPodInference-%zu",
				      lab_rows(&s->l, "iam.role")),
			 "AssumeRolePolicyDocument", document),
		"Role.Arn");
}

static const char *values(struct site *s, const char *role)
{
	return arena_printf(
		&s->l.arena,
		"{\"executionRoleArn\":\"%s\",\"tlsCertificateS3Bucket\":\"b\","
		"\"alb\":{\"enabled\":false}}",
		role);
}

static void provide_identity(struct site *s)
{
	const json_t *eks = cloud_get(s->l.cloud, "eks.cluster", "demo");

	lab_call(&s->l, "iam", "CreateOpenIDConnectProvider", "{s:s,s:[s]}", "Url",
		 json_str_or(eks, "identity.oidc.issuer", ""), "ClientIDList",
		 "sts.amazonaws.com");
}

Test(cloud_addon, the_inference_operator_needs_drivers_values_and_an_exact_trust)
{
	struct site s;
	json_t *a;

	populate(&s);
	cr_expect_null(lab_try(&s.l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName",
			       "demo", "addonName", INFERENCE));
	cr_expect(lab_has(s.l.message, "executionRoleArn"), "%s", s.l.message);
	install(&s, "cert-manager");
	lab_call(&s.l, "eks", "CreateAddon", "{s:s,s:s,s:s}", "clusterName", "demo",
		 "addonName", INFERENCE, "configurationValues",
		 values(&s, "arn:aws:iam::111122223333:role/none"));
	lab_wait(&s.l, 60000);
	a = addon(&s, INFERENCE);
	cr_expect_str_eq(json_str_or(a, "status", ""), "CREATE_FAILED");
	cr_expect(lab_has(json_str_at(a, "health.issues.0.message"), "s3.csi.aws.com"),
		  "DP-09");
	drop(&s, INFERENCE);
	install(&s, "aws-mountpoint-s3-csi-driver");
	install(&s, "aws-fsx-csi-driver");
	provide_identity(&s);
	lab_call(&s.l, "eks", "CreateAddon", "{s:s,s:s,s:s}", "clusterName", "demo",
		 "addonName", INFERENCE, "configurationValues",
		 values(&s, role_for(&s, "default:somebody")));
	lab_wait(&s.l, 60000);
	a = addon(&s, INFERENCE);
	cr_expect_str_eq(json_str_or(a, "status", ""), "DEGRADED");
	cr_expect(lab_has(json_str_at(a, "health.issues.0.message"), "403"), "IA-08");
	lab_call(&s.l, "eks", "UpdateAddon", "{s:s,s:s,s:s}", "clusterName", "demo",
		 "addonName", INFERENCE, "configurationValues",
		 values(&s, role_for(&s, "hyperpod-inference-system:"
					 "hyperpod-inference-controller-manager")));
	lab_wait(&s.l, 60000);
	cr_expect_str_eq(json_str_or(addon(&s, INFERENCE), "status", ""), "ACTIVE");
	cr_expect(has_kind(&s, "scaledobjects.keda.sh"));
	cr_expect(has(&s, "apps/v1", "deployments", "hyperpod-inference-system",
		      "keda-operator"));
	cr_expect_not(has(&s, "apps/v1", "deployments", "hyperpod-inference-system",
			  "aws-load-balancer-controller"));
	lab_stop(&s.l);
}

static json_t *first_pod(struct site *s, const char *part)
{
	const char *id, *key;
	json_t *server, *pod;

	json_object_foreach(cloud_table(s->l.cloud, "kube"), id, server)
		json_object_foreach(
			json_object_get(json_object_get(server, "objects"), "/pods"), key,
			pod)
			if (strstr(key, part))
				return pod;
	return NULL;
}

static bool has_credentials(const json_t *pod)
{
	return json_find(json_at(pod, "spec.containers.0.env"), "name",
			 "AWS_CONTAINER_CREDENTIALS_FULL_URI") != NULL;
}

/* Case IA-07: what ran before goes on without. */
Test(cloud_addon, only_pods_made_after_the_binding_have_credentials)
{
	static const char pods_trust[] =
		"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\","
		"\"Principal\":{\"Service\":\"pods.eks.amazonaws.com\"},\"Action\":["
		"\"sts:AssumeRole\",\"sts:TagSession\"]}]}";
	struct site s;
	json_t *pod;
	const char *role;

	populate(&s);
	install(&s, "cert-manager");
	install(&s, TRAINING);
	pod = first_pod(&s, "hp-training-operator");
	cr_assert_not_null(pod);
	cr_expect_not(has_credentials(pod));
	role = json_str_at(lab_call(&s.l, "iam", "CreateRole", "{s:s,s:s}", "RoleName",
				    "train", "AssumeRolePolicyDocument", pods_trust),
			   "Role.Arn");
	lab_call(&s.l, "eks", "CreatePodIdentityAssociation", "{s:s,s:s,s:s,s:s}",
		 "clusterName", "demo", "namespace", "aws-hyperpod", "serviceAccount",
		 "hp-training-operator-controller-manager", "roleArn", role);
	lab_wait(&s.l, 60000);
	pod = first_pod(&s, "hp-training-operator");
	cr_expect_not(has_credentials(pod), "an old pod is left as it is");
	cloud_kube_remove(s.l.cloud, "demo", "v1", "pods", "aws-hyperpod",
			  json_str_or(pod, "metadata.name", ""));
	lab_wait(&s.l, 60000);
	cr_expect(has_credentials(first_pod(&s, "hp-training-operator")));
	lab_stop(&s.l);
}
