/* Pods: which of them are work, and which nodes they are on. */
#include "core/domain/stake/stake.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* Up to so many nodes each one's pods are asked for; a cluster has far more. */
enum { BY_NODE_MAX = 60 };

bool pod_counts(const json_t *pod)
{
	const char *phase = json_str_or(pod, "status.phase", "");

	return !streq(phase, "Succeeded") && !streq(phase, "Failed") &&
	       !json_find(json_at(pod, "metadata.ownerReferences"), "kind",
			  "DaemonSet") &&
	       !json_object_get(json_at(pod, "metadata.annotations"),
				"kubernetes.io/config.mirror");
}

void pod_local_volumes(const json_t *pod, json_t *list)
{
	const char *name = json_str_or(pod, "metadata.name", "?");
	size_t i;
	json_t *v;

	json_array_foreach(json_at(pod, "spec.volumes"), i, v) {
		const char *path = json_str_at(v, "hostPath.path");

		if (path)
			json_push(list, json_sprintf("%s: hostPath %s (%s)", name, path,
						     json_str_or(v, "name", "?")));
		else if (json_at(v, "emptyDir") &&
			 !streq(json_str_at(v, "emptyDir.medium"), "Memory"))
			json_push(list, json_sprintf("%s: emptyDir %s", name,
						     json_str_or(v, "name", "?")));
	}
}

static const char *key_of(struct step_ctx *c, const char *name)
{
	/* A step may have read pods of its own. */
	return name ? arena_printf(c->arena, "stake/pods/%s", name) : "stake/pods";
}

static bool read_list(struct step_ctx *c, struct exchange *x, const char *name)
{
	/* Whatever has ended counts nowhere, and a cluster keeps many of them. */
	const char *going = "status.phase!=Succeeded,status.phase!=Failed";

	return read_kube(
		c, x, key_of(c, name),
		&(struct kube_request){.verb = KUBE_LIST,
				       .api = "v1",
				       .plural = "pods",
				       .field_selector =
					       name ? arena_printf(c->arena,
								   "spec.nodeName=%s,%s",
								   name, going)
						    : going});
}

bool stake_read_pods(struct step_ctx *c, struct exchange *x, const json_t *names)
{
	json_t *name;
	size_t i;

	if (json_array_size(names) > BY_NODE_MAX)
		return read_list(c, x, NULL);
	json_array_foreach(names, i, name)
		if (read_list(c, x, json_string_value(name)))
			return true;
	return false;
}

/* Those of one node, or of all that `by_node` has. */
static void sort_in(json_t *by_node, const json_t *list, const char *only)
{
	size_t i;
	json_t *pod;

	json_array_foreach(json_at(list, "items"), i, pod) {
		const char *name = json_str_or(pod, "spec.nodeName", "");
		json_t *there = json_object_get(by_node, name);

		if (there && (!only || streq(only, name)) && pod_counts(pod))
			json_array_append(there, pod);
	}
}

json_t *stake_pods(struct step_ctx *c, const json_t *names)
{
	json_t *by_node = json_new_object(c->arena), *v;
	size_t i;

	json_array_foreach(names, i, v) {
		const char *name = json_string_value(v);

		json_object_set_new(by_node, name, json_array());
		sort_in(by_node, saw(c, key_of(c, name)), name);
	}
	sort_in(by_node, saw(c, key_of(c, NULL)), NULL);
	return by_node;
}
