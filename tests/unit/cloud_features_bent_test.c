/* Features whose parts somebody has deleted or altered: on mends them, off removes. */
#include "tests/unit/cloud_features_world.h"

struct edit {
	unsigned feature;
	const char *what;
	void (*bend)(void);
	bool adopt; /* what was done looks like somebody else's */
};

static json_t *association(void)
{
	const char *id;
	json_t *o;

	json_object_foreach(cloud_table(w.s.l.cloud, "eks.pod_identity"), id, o)
		if (streq(json_str_at(o, "namespace"), "aws-hyperpod"))
			return o;
	cr_assert(false, "there is no association");
	return NULL;
}

static void bend_role(const char *name, const char *member, json_t *value)
{
	json_t *role = cloud_get(w.s.l.cloud, "iam.role", name);

	cr_assert_not_null(role, "no role %s", name);
	json_object_set_new(role, member, value);
}

static void drop_role(const char *name)
{
	cr_assert_not_null(cloud_get(w.s.l.cloud, "iam.role", name), "no role %s", name);
	cloud_delete(w.s.l.cloud, "iam.role", name);
}

#define TRAINING_ROLE  "is-demo-training-us-west-2"
#define INFERENCE_ROLE "SageMakerHyperPodInference-is-demo-us-west-2"
#define KEDA_ROLE      "is-demo-inference-keda-us-west-2"

static void drop_training_role(void)
{
	drop_role(TRAINING_ROLE);
}

static void drop_training_policy(void)
{
	bend_role(TRAINING_ROLE, "_inline", json_object());
}

static void change_training_trust(void)
{
	bend_role(TRAINING_ROLE, "_trust", json_string(trust));
}

static void untag_training_role(void)
{
	bend_role(TRAINING_ROLE, "_tags", json_array());
}

static void drop_association(void)
{
	cloud_delete(w.s.l.cloud, "eks.pod_identity",
		     json_str_or(association(), "associationId", ""));
}

static void change_association(void)
{
	json_put_str(association(), "roleArn", "arn:aws:iam::111122223333:role/nodes");
}

static void drop_addon(const char *name)
{
	lab_call(&w.s.l, "eks", "DeleteAddon", "{s:s,s:s}", "clusterName", "demo",
		 "addonName", name);
	lab_wait(&w.s.l, 60000);
}

static void drop_training_addon(void)
{
	drop_addon("amazon-sagemaker-hyperpod-training-operator");
}

static void drop_certificates(void)
{
	drop_addon("cert-manager");
}

static void begin_dropping_training(void)
{
	lab_call(&w.s.l, "eks", "DeleteAddon", "{s:s,s:s}", "clusterName", "demo",
		 "addonName", "amazon-sagemaker-hyperpod-training-operator");
}

static void untag_training_addon(void)
{
	json_object_set_new(cloud_get(w.s.l.cloud, "eks.addon",
				      "demo|amazon-sagemaker-hyperpod-training-operator"),
			    "tags", json_object());
}

static void drop_inference_addon(void)
{
	drop_addon("amazon-sagemaker-hyperpod-inference");
}

static void change_inference_values(void)
{
	lab_call(&w.s.l, "eks", "UpdateAddon", "{s:s,s:s,s:s}", "clusterName", "demo",
		 "addonName", "amazon-sagemaker-hyperpod-inference",
		 "configurationValues",
		 "{\"executionRoleArn\":\"arn:aws:iam::111122223333:role/nodes\","
		 "\"tlsCertificateS3Bucket\":\"b\"}");
}

static void drop_inference_role(void)
{
	drop_role(INFERENCE_ROLE);
}

static void stale_inference_trust(void)
{
	json_t *role = cloud_get(w.s.l.cloud, "iam.role", INFERENCE_ROLE);
	char *text = arena_strdup(&w.s.l.arena, json_str_or(role, "_trust", ""));
	char *id;

	while ((id = strstr(text, "/id/")))
		memcpy(id, "/iD/", 4);
	json_object_set_new(role, "_trust", json_string(text));
}

static void detach_inference_policy(void)
{
	bend_role(INFERENCE_ROLE, "_attached", json_array());
}

static void drop_keda_role(void)
{
	drop_role(KEDA_ROLE);
}

static void drop_provider(void)
{
	json_object_clear(cloud_table(w.s.l.cloud, "iam.oidc_provider"));
}

static json_t *first_of(const char *table)
{
	return json_object_iter_value(json_object_iter(cloud_table(w.s.l.cloud, table)));
}

static void drop_audience(void)
{
	json_object_set_new(first_of("iam.oidc_provider"), "ClientIDList", json_array());
}

static json_t *tls_bucket(void)
{
	const char *name;
	json_t *o;

	json_object_foreach(cloud_table(w.s.l.cloud, "s3.bucket"), name, o)
		if (str_starts(name, "hyperpod-tls-"))
			return o;
	cr_assert(false, "there is no bucket");
	return NULL;
}

static void open_bucket(void)
{
	json_object_del(tls_bucket(), "_public_block");
}

static void untag_bucket(void)
{
	json_object_del(tls_bucket(), "_tags");
}

static void drop_bucket(void)
{
	json_t *table = cloud_table(w.s.l.cloud, "s3.bucket"), *o = tls_bucket();
	const char *name;
	json_t *v;
	void *next;

	json_object_foreach_safe(table, next, name, v)
		if (v == o)
			json_object_del(table, name);
}

static void annotate(const char *role)
{
	json_t *o = json_deep_copy(cloud_kube_get(
		w.s.l.cloud, "demo", "v1", "serviceaccounts", "hyperpod-inference-system",
		"hyperpod-inference-controller-manager"));
	json_t *notes = json_at(o, "metadata.annotations");

	cr_assert_not_null(notes);
	json_object_del(notes, "eks.amazonaws.com/role-arn");
	if (role)
		json_object_set_new(notes, "eks.amazonaws.com/role-arn",
				    json_string(role));
	cloud_kube_put(w.s.l.cloud, "demo", o);
}

static void drop_annotation(void)
{
	annotate(NULL);
}

static void change_annotation(void)
{
	annotate("arn:aws:iam::111122223333:role/nodes");
}

static void drop_driver(void)
{
	drop_addon("aws-mountpoint-s3-csi-driver");
}

static void off(void)
{
	json_put_str(cloud_get(w.s.l.cloud, "sagemaker.cluster", "pod"),
		     "TieredStorageConfig.Mode", "Disable");
}

#define T (1U << FEATURE_TRAINING)
#define I (1U << FEATURE_INFERENCE)
static const struct edit edits[] = {
	{T, "role deleted", drop_training_role, false},
	{T, "policy deleted", drop_training_policy, false},
	{T, "trust changed", change_training_trust, false},
	{T, "role untagged", untag_training_role, true},
	{T, "association deleted", drop_association, false},
	{T, "association changed", change_association, false},
	{T, "add-on deleted", drop_training_addon, false},
	{T, "add-on being deleted", begin_dropping_training, false},
	{T, "add-on untagged", untag_training_addon, true},
	{T, "cert-manager deleted", drop_certificates, false},
	{I, "add-on deleted", drop_inference_addon, false},
	{I, "configuration changed", change_inference_values, false},
	{I, "role deleted", drop_inference_role, false},
	{I, "IA-08 trusts another cluster", stale_inference_trust, false},
	{I, "managed policy detached", detach_inference_policy, false},
	{I, "role of KEDA deleted", drop_keda_role, false},
	{I, "provider deleted", drop_provider, false},
	{I, "audience removed", drop_audience, false},
	{I, "bucket opened", open_bucket, false},
	{I, "bucket untagged", untag_bucket, false},
	{I, "bucket deleted", drop_bucket, false},
	{I, "annotation deleted", drop_annotation, false},
	{I, "annotation changed", change_annotation, false},
	{I, "driver deleted", drop_driver, false},
	{1U << FEATURE_TIERED, "switched off", off, false},
};

Test(cloud_features_bent, bent_by_hand_both_ways_lead_on)
{
	learn();
	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		const struct edit *e = &edits[i];

		for (unsigned on = 0; on < 2; on++) {
			world_go(&w, e->feature);
			e->bend();
			world_set(&w, e->feature, on ? e->feature : 0, e->adopt, 0);
			expect_set(on ? e->feature : 0,
				   arena_printf(&w.s.l.arena, "%s, then %s", e->what,
						on ? "enabled" : "disabled"));
		}
	}
	world_free(&w);
}

/* --- what others have installed -------------------------------------------------------
 */

static void install(const char *addon)
{
	lab_call(&w.s.l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName", "demo",
		 "addonName", addon);
	lab_wait(&w.s.l, 60000);
}

static void put_deployment(const char *ns, const char *name)
{
	cloud_kube_put(w.s.l.cloud, "demo",
		       json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind",
				 "Namespace", "metadata", "name", ns));
	cloud_kube_put(
		w.s.l.cloud, "demo",
		json_pack("{s:s,s:s,s:{s:s,s:s},s:{s:i,s:{s:{s:s}},s:{s:{s:{s:s}},s:{s:[{"
			  "s:s,s:s}]}}}}",
			  "apiVersion", "apps/v1", "kind", "Deployment", "metadata",
			  "name", name, "namespace", ns, "spec", "replicas", 1,
			  "selector", "matchLabels", "app", name, "template", "metadata",
			  "labels", "app", name, "spec", "containers", "name", name,
			  "image", "example.com/it:1"));
	lab_wait(&w.s.l, 60000);
}

static void there_and_back(const char *how)
{
	const unsigned both = T | I;

	keep(0);
	world_set(&w, both, both, false, 0);
	cr_assert_null(w.o.failed, "%s: %s\n%s", how, w.o.failed, w.o.log);
	keep(both);
	world_set(&w, both, both, false, 0);
	cr_expect_eq(w.o.mutations, 0, "%s, twice: %s", how, w.o.log);
	world_set(&w, both, 0, false, 0);
	expect_set(0, how);
}

Test(cloud_features_bent, what_others_have_installed_is_used_and_stays)
{
	world_build(&w);
	install("eks-pod-identity-agent");
	install("cert-manager");
	install("metrics-server");
	install("aws-mountpoint-s3-csi-driver");
	install("aws-fsx-csi-driver");
	there_and_back("add-ons of others");
	cr_expect_null(strstr(w.sign[T | I], "role is-demo-s3-csi"),
		       "a driver of others");
	world_free(&w);
}

/* Case DP-09: KEDA and the load-balancer controller must not be there twice. */
Test(cloud_features_bent, DP_09_keda_and_controller_of_others_are_not_brought_again)
{
	world_build(&w);
	put_deployment("keda", "keda-operator");
	put_deployment("kube-system", "aws-load-balancer-controller");
	there_and_back("KEDA and controller of others");
	cr_expect_null(strstr(w.sign[T | I], "role is-demo-inference-keda"));
	cr_expect_null(strstr(w.sign[T | I], "role is-demo-inference-alb"));
	cr_expect(strstr(w.sign[T | I], "role SageMakerHyperPodInference"));
	world_free(&w);
}

/* A feature that is held by what uses it is as it was. */
Test(cloud_features_bent, what_uses_an_operator_holds_it)
{
	learn();
	world_go(&w, T | I);
	cloud_kube_put(w.s.l.cloud, "demo",
		       json_pack("{s:s,s:s,s:{s:s,s:s},s:{}}", "apiVersion",
				 "sagemaker.amazonaws.com/v1", "kind",
				 "HyperPodPyTorchJob", "metadata", "name", "llama",
				 "namespace", "default", "spec"));
	world_set(&w, T, 0, false, 0);
	cr_assert(w.o.failed && strstr(w.o.failed, "HyperPodPyTorchJob default/llama"),
		  "%s", w.o.failed);
	cr_expect_eq(w.o.mutations, 0);
	world_free(&w);
}

/* What a feature has brought and the cluster asked for afterwards. */
Test(cloud_features_bent, a_dependency_of_the_cluster_survives_the_feature)
{
	world_build(&w);
	world_set(&w, T, T, false, 0);
	cr_assert_null(w.o.failed, "%s", w.o.failed);
	operate(&w.o, "reconcile_dependencies",
		json_packf(&w.s.l.arena, "{s:[s,s]}", "components", "pod_identity",
			   "cert_manager"),
		0);
	cr_assert_null(w.o.failed, "%s", w.o.failed);
	cr_expect_eq(w.o.mutations, 2, "%s", w.o.log);
	world_set(&w, T, 0, false, 0);
	cr_assert_null(w.o.failed, "%s", w.o.failed);
	cr_expect_not_null(cloud_get(w.s.l.cloud, "eks.addon", "demo|cert-manager"));
	cr_expect_not_null(
		cloud_get(w.s.l.cloud, "eks.addon", "demo|eks-pod-identity-agent"));
	cr_expect_null(cloud_get(w.s.l.cloud, "iam.role", TRAINING_ROLE));
	world_free(&w);
}
