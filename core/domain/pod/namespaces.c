/* A namespace as a filter: an empty list of one that there is not misleads. */
#include "core/base/nearest.h"
#include "core/domain/pod/pod.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

bool pod_namespace_can_be(struct call *c, const struct kube_target *t, const char *ns,
			  struct err *e)
{
	const struct kube_request r = {
		.verb = KUBE_LIST, .api = "v1", .plural = "namespaces"};
	struct nearest n = {.wanted = ns};
	struct kube_result res;
	size_t i;
	json_t *v;

	if (!ns)
		return true;
	kube_list_all(c->cloud->kube, t, &r, c->arena, &res);
	if (!res.ok) /* not known: the list stands as it is */
		return true;
	json_array_foreach(json_at(res.out, "items"), i, v) {
		const char *name = json_str_or(v, "metadata.name", "");

		if (streq(name, ns))
			return true;
		nearest_offer(&n, name);
	}
	err_set(e, ERR_INVALID_INPUT, "The cluster has no namespace %s", ns);
	return err_field(e, "/namespace", ns,
			 nearest_hint(&n, c->arena, "a namespace of the cluster"));
}
