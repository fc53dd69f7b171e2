#include "core/domain/pod/pod.h"

#include "core/base/base64.h"
#include "core/domain/offer/cached.h"
#include "core/domain/site/cluster.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

/* An endpoint and its authority do not change while a cluster lives. */
enum { TARGET_AGE_S = 600 };

bool pod_target(struct call *c, const char *cluster, struct kube_target *ret,
		const char **ret_key, struct err *e)
{
	struct cluster k;
	const json_t *found;
	json_t *in, *out;
	int64_t at_ms;
	const char *ca;

	if (!cluster_mean(c, cluster, &k, e))
		return false;
	in = json_packf(c->arena, "{s:s}", "name", k.eks_name ? k.eks_name : k.name);
	if (!cached_read(c, AWS_EKS_DescribeCluster, in, TARGET_AGE_S, &out, &at_ms, e))
		return false;
	found = json_at(out, "cluster");
	ca = json_str_at(found, "certificateAuthority.data");
	*ret = (struct kube_target){
		.endpoint = json_str_at(found, "endpoint"),
		.ca_pem = ca && *ca ? base64_decode(c->arena, ca, NULL) : NULL,
		.cluster_name = json_str_or(found, "name", k.name)};
	if (ret_key)
		*ret_key = cached_key(c, AWS_EKS_DescribeCluster, in);
	if (ret->endpoint)
		return true;
	err_set(e, ERR_STATE_CONFLICT, "The control plane of %s has no endpoint yet: %s",
		k.name, json_str_or(found, "status", "unknown"));
	return err_fix(e, "Wait until it is ACTIVE.");
}

bool pod_read(struct call *c, const struct kube_target *t, const char *ns,
	      const char *pod, json_t **ret, struct err *e)
{
	const struct kube_request r = {
		.verb = KUBE_GET, .api = "v1", .plural = "pods", .ns = ns, .name = pod};
	struct kube_result res;

	kube_call(c->cloud->kube, t, &r, c->arena, &res);
	*ret = res.out;
	if (res.ok)
		return true;
	if (res.status != 404)
		return kube_err(&r, &res, e);
	err_set(e, ERR_NOT_FOUND, "There is no pod %s in namespace %s", pod, ns);
	err_field(e, "/pod", pod, "a name from list_pods");
	return err_because(e, "kubernetes", res.code, res.message, res.audit_id);
}

bool pod_container(const json_t *pod, const char *wanted, const char **ret, struct err *e)
{
	static const char *const lists[] = {"spec.containers", "spec.initContainers",
					    "spec.ephemeralContainers"};
	const json_t *notes = json_at(pod, "metadata.annotations");
	const json_t *found = NULL;

	*ret = wanted;
	if (!wanted)
		*ret = json_string_value(json_object_get(
			notes, "kubectl.kubernetes.io/default-container"));
	if (!*ret)
		*ret = json_str_at(pod, "spec.containers.0.name");
	for (size_t i = 0; i < 3 && !found && *ret; i++)
		found = json_find(json_at(pod, lists[i]), "name", *ret);
	if (found)
		return true;
	err_set(e, ERR_NOT_FOUND, "The pod has no container named %s", *ret ? *ret : "");
	return err_field(e, "/container", wanted ? wanted : "",
			 "a container from list_pods");
}
