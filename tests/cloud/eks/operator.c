/*
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-eks-operator-install.html
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-model-deployment-setup.html
 */
#include "tests/cloud/eks/operator.h"

#include <string.h>

static const char training[] = "amazon-sagemaker-hyperpod-training-operator";
static const char inference[] = "amazon-sagemaker-hyperpod-inference";

/* --- the list of an add-on's objects ---------------------------------------------- */

struct plan {
	struct arena *a;
	json_t *objects;
	const char *ns, *image;
};

static void add(struct plan *p, json_t *object)
{
	json_push(p->objects, object);
}

static json_t *meta(const struct plan *p, const char *name)
{
	return json_pack("{s:s,s:s}", "name", name, "namespace", p->ns);
}

static void account(struct plan *p, const char *name, const char *role)
{
	json_t *o = json_pack("{s:s,s:s,s:o}", "apiVersion", "v1", "kind",
			      "ServiceAccount", "metadata", meta(p, name));
	json_t *notes = json_object();

	json_own(p->a, notes);
	if (role) {
		json_object_set_new(notes, "eks.amazonaws.com/role-arn",
				    json_string(role));
		json_put(o, "metadata.annotations", json_incref(notes));
	}
	add(p, o);
}

static void workload(struct plan *p, const char *kind, const char *name,
		     const char *account_name, int replicas)
{
	json_t *o = json_pack(
		"{s:s,s:s,s:o,s:{s:{s:{s:s}},s:{s:{s:{s:s}},s:{s:s,s:[{s:s,s:s}]}}}}",
		"apiVersion", "apps/v1", "kind", kind, "metadata", meta(p, name), "spec",
		"selector", "matchLabels", "k8s-app", name, "template", "metadata",
		"labels", "k8s-app", name, "spec", "serviceAccountName", account_name,
		"containers", "name", name, "image", p->image);

	json_put(o, "metadata.labels",
		 json_pack("{s:s}", "eks.amazonaws.com/component", name));
	if (streq(kind, "Deployment"))
		json_put_int(o, "spec.replicas", replicas);
	add(p, o);
}

static void deployment(struct plan *p, const char *name, const char *role)
{
	account(p, name, role);
	workload(p, "Deployment", name, name, 1);
}

/* Writes of `group` wait for the pods of that name. */
static void webhook(struct plan *p, const char *name, const char *group)
{
	add(p, json_pack("{s:s,s:s,s:o,s:{s:{s:s},s:[{s:i}]}}", "apiVersion", "v1",
			 "kind", "Service", "metadata", meta(p, name), "spec", "selector",
			 "k8s-app", name, "ports", "port", 443));
	add(p,
	    json_pack("{s:s,s:s,s:{s:s},s:[{s:s,s:[s],s:s,s:s,s:[{s:[s],s:[s],s:[s,s],"
		      "s:[s]}],s:{s:{s:s,s:s}}}]}",
		      "apiVersion", "admissionregistration.k8s.io/v1", "kind",
		      "ValidatingWebhookConfiguration", "metadata", "name", name,
		      "webhooks", "name", arena_printf(p->a, "webhook.%s", group),
		      "admissionReviewVersions", "v1", "sideEffects", "None",
		      "failurePolicy", "Fail", "rules", "apiGroups", group, "apiVersions",
		      "v1", "operations", "CREATE", "UPDATE", "resources", "*/*",
		      "clientConfig", "service", "name", name, "namespace", p->ns));
}

/* Of the load-balancer controller: no Service is made while none of its pods runs. */
static void service_webhook(struct plan *p, const char *controller)
{
	static const char name[] = "aws-load-balancer-webhook-service";

	add(p, json_pack("{s:s,s:s,s:o,s:{s:{s:s},s:[{s:i}]}}", "apiVersion", "v1",
			 "kind", "Service", "metadata", meta(p, name), "spec", "selector",
			 "k8s-app", controller, "ports", "port", 443));
	add(p, json_pack("{s:s,s:s,s:{s:s},s:[{s:s,s:[s],s:s,s:s,s:[{s:[s],s:[s],s:[s],"
			 "s:[s]}],s:{s:s,s:{s:s,s:s,s:s}}}]}",
			 "apiVersion", "admissionregistration.k8s.io/v1", "kind",
			 "MutatingWebhookConfiguration", "metadata", "name",
			 "aws-load-balancer-webhook", "webhooks", "name",
			 "mservice.elbv2.k8s.aws", "admissionReviewVersions", "v1",
			 "sideEffects", "None", "failurePolicy", "Fail", "rules",
			 "apiGroups", "", "apiVersions", "v1", "operations", "CREATE",
			 "resources", "services", "clientConfig", "caBundle",
			 "Y2E=", "service", "name", name, "namespace", p->ns, "path",
			 "/mutate-v1-service"));
}

/* An API of Kubernetes that the pods of that name answer. */
static void api_service(struct plan *p, const char *group, const char *version,
			const char *name)
{
	add(p, json_pack("{s:s,s:s,s:o,s:{s:{s:s},s:[{s:s,s:i}]}}", "apiVersion", "v1",
			 "kind", "Service", "metadata", meta(p, name), "spec", "selector",
			 "k8s-app", name, "ports", "name", "https", "port", 443));
	add(p,
	    json_pack("{s:s,s:s,s:{s:s},s:{s:s,s:s,s:i,s:i,s:b,s:{s:s,s:s,s:i}}}",
		      "apiVersion", "apiregistration.k8s.io/v1", "kind", "APIService",
		      "metadata", "name", arena_printf(p->a, "%s.%s", version, group),
		      "spec", "group", group, "version", version, "groupPriorityMinimum",
		      100, "versionPriority", 100, "insecureSkipTLSVerify", 1, "service",
		      "name", name, "namespace", p->ns, "port", 443));
}

static void csi_driver(struct plan *p, const char *name)
{
	add(p,
	    json_pack("{s:s,s:s,s:{s:s},s:{s:b,s:[s]}}", "apiVersion",
		      "storage.k8s.io/v1", "kind", "CSIDriver", "metadata", "name", name,
		      "spec", "attachRequired", 0, "volumeLifecycleModes", "Persistent"));
}

/* A deployment of the add-on, with what its configuration says of tolerations. */
static void tolerant(struct plan *p, const char *name, const json_t *tolerations)
{
	deployment(p, name, NULL);
	if (tolerations)
		json_put(json_array_get(p->objects, json_array_size(p->objects) - 1),
			 "spec.template.spec.tolerations", json_deep_copy(tolerations));
}

static void certificates(struct plan *p, const json_t *addon)
{
	const json_t *v = operator_values(p->a, addon);

	tolerant(p, "cert-manager", json_at(v, "tolerations"));
	tolerant(p, "cert-manager-cainjector", json_at(v, "cainjector.tolerations"));
	tolerant(p, "cert-manager-webhook", json_at(v, "webhook.tolerations"));
	webhook(p, "cert-manager-webhook", "cert-manager.io");
}

json_t *operator_values(struct arena *a, const json_t *addon)
{
	struct err e;
	const char *text = json_str_at(addon, "configurationValues");

	return text ? json_parse(a, str_of(text), &e) : NULL;
}

static void endpoints(struct plan *p, const json_t *addon)
{
	const json_t *v = operator_values(p->a, addon);

	deployment(p, "hyperpod-inference-controller-manager",
		   json_str_at(v, "executionRoleArn"));
	if (json_bool_or(v, "keda.enabled", true)) {
		deployment(p, "keda-operator",
			   json_str_at(v, "keda.auth.aws.irsa.roleArn"));
		deployment(p, "keda-operator-metrics-apiserver", NULL);
		api_service(p, "external.metrics.k8s.io", "v1beta1",
			    "keda-operator-metrics-apiserver");
		deployment(p, "keda-admission-webhooks", NULL);
	}
	if (json_bool_or(v, "alb.enabled", true)) {
		deployment(p, "aws-load-balancer-controller",
			   json_str_at(v, "alb.serviceAccount.roleArn"));
		service_webhook(p, "aws-load-balancer-controller");
	}
}

static json_t *objects_of(struct arena *a, const json_t *addon, const char *image)
{
	const char *name = json_str_or(addon, "addonName", "");
	const struct eks_addon_kind *k = eks_addon_kind(name);
	const char *kind = streq(k->workload, "daemonset") ? "DaemonSet" : "Deployment";
	const char *own = streq(name, "vpc-cni") ? "aws-node" : name;
	struct plan p = {
		.a = a, .objects = json_new_list(a), .ns = k->ns, .image = image};

	if (streq(name, "cert-manager")) {
		certificates(&p, addon);
	} else if (streq(name, training)) {
		deployment(&p, "hp-training-operator-controller-manager", NULL);
		webhook(&p, "hp-training-operator-controller-manager",
			"sagemaker.amazonaws.com");
	} else if (streq(name, inference)) {
		endpoints(&p, addon);
	} else {
		account(&p, own, NULL);
		workload(&p, kind, own, own, 2);
	}
	if (streq(name, "metrics-server"))
		api_service(&p, "metrics.k8s.io", "v1beta1", own);
	else if (streq(name, "aws-mountpoint-s3-csi-driver"))
		csi_driver(&p, "s3.csi.aws.com");
	else if (streq(name, "aws-fsx-csi-driver"))
		csi_driver(&p, "fsx.csi.aws.com");
	else if (streq(name, "aws-ebs-csi-driver"))
		csi_driver(&p, "ebs.csi.aws.com");
	return p.objects;
}

/* --- into Kubernetes and out of it ---------------------------------------------------
 */

static const char *plural_of(const json_t *o)
{
	static const char *const kinds[][2] = {
		{"ServiceAccount", "serviceaccounts"},
		{"Deployment", "deployments"},
		{"DaemonSet", "daemonsets"},
		{"Service", "services"},
		{"CSIDriver", "csidrivers"},
		{"APIService", "apiservices"},
		{"ValidatingWebhookConfiguration", "validatingwebhookconfigurations"},
		{"MutatingWebhookConfiguration", "mutatingwebhookconfigurations"},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (streq(json_str_at(o, "kind"), kinds[i][0]))
			return kinds[i][1];
	return "";
}

static json_t *stored(struct cloud *c, const char *cluster, const json_t *o)
{
	return cloud_kube_get(c, cluster, json_str_at(o, "apiVersion"), plural_of(o),
			      json_str_at(o, "metadata.namespace"),
			      json_str_at(o, "metadata.name"));
}

/* A definition that is there keeps its state. */
static void define(struct cloud *c, struct arena *a, const char *cluster,
		   const char *definition)
{
	char *z = arena_strdup(a, definition);
	struct err e;
	json_t *crd;

	for (char *p = z; *p; p++)
		if (*p == '\'')
			*p = '"';
	crd = json_parse(a, str_of(z), &e);
	if (!cloud_kube_get(c, cluster, "apiextensions.k8s.io/v1",
			    "customresourcedefinitions", NULL,
			    json_str_or(crd, "metadata.name", "")))
		cloud_kube_put(c, cluster, json_deep_copy(crd));
}

/* Add-ons are applied: what differs is written over, what others added stays. */
static void put(struct cloud *c, struct arena *a, const char *cluster, const json_t *o)
{
	const json_t *was = stored(c, cluster, o);
	json_t *next;

	if (!was) {
		cloud_kube_put(c, cluster, json_deep_copy(o));
		return;
	}
	next = json_own(a, json_deep_copy(was));
	json_object_update_recursive(next, (json_t *)(uintptr_t)o);
	if (!json_equal(next, was))
		cloud_kube_put(c, cluster, json_incref(next));
}

static void take(struct cloud *c, const char *cluster, const json_t *o)
{
	cloud_kube_remove(c, cluster, json_str_at(o, "apiVersion"), plural_of(o),
			  json_str_at(o, "metadata.namespace"),
			  json_str_at(o, "metadata.name"));
}

static bool is_in(const json_t *list, const json_t *o)
{
	size_t i;
	json_t *other;

	json_array_foreach(list, i, other)
		if (streq(json_str_at(o, "kind"), json_str_at(other, "kind")) &&
		    streq(json_str_at(o, "metadata.name"),
			  json_str_at(other, "metadata.name")))
			return true;
	return false;
}

static void make_namespace(struct cloud *c, const char *cluster, const char *name)
{
	if (cloud_kube_get(c, cluster, "v1", "namespaces", NULL, name))
		return;
	cloud_kube_put(c, cluster,
		       json_pack("{s:s,s:s,s:{s:s,s:{s:s}},s:{s:[s]},s:{s:s}}",
				 "apiVersion", "v1", "kind", "Namespace", "metadata",
				 "name", name, "labels", "kubernetes.io/metadata.name",
				 name, "spec", "finalizers", "kubernetes", "status",
				 "phase", "Active"));
}

void operator_apply(struct cloud *c, struct arena *a, json_t *addon)
{
	const char *cluster = json_str_or(addon, "clusterName", "");
	const char *name = json_str_or(addon, "addonName", "");
	json_t *now = objects_of(a, addon, eks_image(c, a)), *o;
	const char *const *d = operator_definitions(name);
	size_t i;

	make_namespace(c, cluster, eks_addon_kind(name)->ns);
	for (; d && *d; d++)
		define(c, a, cluster, *d);
	json_array_foreach(json_object_get(addon, "_objects"), i, o)
		if (!is_in(now, o))
			take(c, cluster, o);
	json_array_foreach(now, i, o)
		put(c, a, cluster, o);
	json_object_set(addon, "_objects", now);
}

void operator_remove(struct cloud *c, struct arena *a, json_t *addon)
{
	size_t i;
	json_t *o;

	(void)a;
	json_array_foreach(json_object_get(addon, "_objects"), i, o)
		take(c, json_str_or(addon, "clusterName", ""), o);
}
