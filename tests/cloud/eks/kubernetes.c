/* The API server of a cluster, and what EKS itself writes to it. */
#include "tests/cloud/eks/eks.h"

#include <openssl/evp.h>
#include <string.h>

static const char *base64(struct arena *a, const char *text)
{
	size_t n = strlen(text);
	unsigned char *out = arena_alloc(a, (n + 2) / 3 * 4 + 1);

	EVP_EncodeBlock(out, (const unsigned char *)text, (int)n);
	return (const char *)out;
}

static void put(struct cloud *c, const char *cluster, json_t *object)
{
	cloud_kube_put(c, cluster, object);
}

static void put_service_account(struct cloud *c, const char *cluster, const char *ns,
				const char *name)
{
	put(c, cluster,
	    json_pack("{s:s,s:s,s:{s:s,s:s}}", "apiVersion", "v1", "kind",
		      "ServiceAccount", "metadata", "name", name, "namespace", ns));
}

static void put_namespace(struct cloud *c, const char *cluster, const char *name)
{
	if (cloud_kube_get(c, cluster, "v1", "namespaces", NULL, name))
		return;
	put(c, cluster,
	    json_pack("{s:s,s:s,s:{s:s,s:{s:s}},s:{s:[s]},s:{s:s}}", "apiVersion", "v1",
		      "kind", "Namespace", "metadata", "name", name, "labels",
		      "kubernetes.io/metadata.name", name, "spec", "finalizers",
		      "kubernetes", "status", "phase", "Active"));
}

static void put_workload(struct cloud *c, struct arena *a, const char *cluster,
			 const char *kind, const char *ns, const char *name, int replicas)
{
	json_t *o = json_pack(
		"{s:s,s:s,s:{s:s,s:s,s:{s:s}},s:{s:{s:{s:s}},s:{s:{s:{s:s}},s:{s:s,s:[{s:s,s:s}]}}}}",
		"apiVersion", "apps/v1", "kind", kind, "metadata", "name", name,
		"namespace", ns, "labels", "eks.amazonaws.com/component", name, "spec",
		"selector", "matchLabels", "k8s-app", name, "template", "metadata",
		"labels", "k8s-app", name, "spec", "serviceAccountName", name,
		"containers", "name", name, "image", eks_image(c, a));

	if (streq(kind, "Deployment"))
		json_put_int(o, "spec.replicas", replicas);
	put_service_account(c, cluster, ns, name);
	put(c, cluster, o);
}

static void put_aws_auth(struct cloud *c, const char *cluster)
{
	put(c, cluster,
	    json_pack("{s:s,s:s,s:{s:s,s:s},s:{s:s}}", "apiVersion", "v1", "kind",
		      "ConfigMap", "metadata", "name", "aws-auth", "namespace",
		      "kube-system", "data", "mapRoles", ""));
}

/* A real API server, when the settings have one for this cluster. */
static void put_endpoint(struct cloud *c, struct arena *a, json_t *cluster,
			 const char *id)
{
	const struct cloud_options *o = cloud_opts(c);
	const json_t *external =
		json_object_get(json_object_get(cloud_settings(c), "kube_external"),
				json_str_or(cluster, "name", ""));
	const char *ca = json_str_or(external, "ca", o->kube_ca_pem);

	json_put_str(cluster, "endpoint",
		     json_str_or(external, "endpoint",
				 arena_printf(a, "%s/k8s/%s", o->kube_base_url, id)));
	json_put_str(cluster, "certificateAuthority.data", base64(a, ca));
}

void eks_kubernetes_start(struct cloud *c, struct arena *a, json_t *cluster)
{
	static const char *const namespaces[] = {"default", "kube-system", "kube-public",
						 "kube-node-lease"};
	const struct cloud_options *o = cloud_opts(c);
	const char *name = json_str_or(cluster, "name", "");
	const char *id = cloud_id(c, a, "", 32);

	cloud_kube_create(c, name, id);
	json_put_str(cluster, "_kube_id", id);
	put_endpoint(c, a, cluster, id);
	json_put_str(cluster, "identity.oidc.issuer",
		     arena_printf(a, "https://oidc.eks.%s.%s/id/%s", o->region,
				  cloud_dns_suffix(c), id));
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
		put_namespace(c, name, namespaces[i]);
	if (!streq(json_str_at(cluster, "accessConfig.authenticationMode"), "API"))
		put_aws_auth(c, name);
	if (json_bool_or(cluster, "_self_managed", true)) {
		put_workload(c, a, name, "DaemonSet", "kube-system", "aws-node", 0);
		put_workload(c, a, name, "DaemonSet", "kube-system", "kube-proxy", 0);
		put_workload(c, a, name, "Deployment", "kube-system", "coredns", 2);
	}
}

static bool node_is_ready(const json_t *node)
{
	const json_t *ready =
		json_find(json_at(node, "status.conditions"), "type", "Ready");

	return streq(json_str_at(ready, "status"), "True");
}

/* Under deep health checks, or waiting for its repair: Ready all the same. */
static bool is_kept_free(const json_t *node)
{
	return json_find(json_at(node, "spec.taints"), "key",
			 "sagemaker.amazonaws.com/node-health-status");
}

/* HyperPod's nodes; this EKS has no others. */
int eks_ready_nodes(struct cloud *c, struct arena *a, const char *cluster, bool tolerates)
{
	const char *id;
	json_t *node;
	int n = 0;

	json_object_foreach(cloud_table(c, "sagemaker.node"), id, node) {
		const char *instance = json_str_or(node, "InstanceId", "");

		if (!streq(json_str_at(node, "_eks"), cluster))
			continue;
		const json_t *there =
			cloud_kube_get(c, cluster, "v1", "nodes", NULL,
				       arena_printf(a, "hyperpod-%s", instance));

		n += node_is_ready(there) && (tolerates || !is_kept_free(there));
	}
	return n;
}
