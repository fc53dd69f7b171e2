#include "core/domain/karpenter/users.h"
#include "core/base/listing.h"

#include "core/json/tree.h"

const char *users_names(struct arena *a, const json_t *items)
{
	struct listing all = listing_new(a, ", ", LISTING_SHORT);
	size_t i;
	json_t *v;

	json_array_foreach(items, i, v) {
		const char *ns = json_str_at(v, "metadata.namespace");

		listing_add(&all, "%s%s%s", ns ? ns : "", ns ? "/" : "",
			    json_str_or(v, "metadata.name", "?"));
	}
	return all.n ? listing_text(&all) : NULL;
}

json_t *users_find(const json_t *items, const char *name)
{
	size_t i;
	json_t *v;

	json_array_foreach(items, i, v)
		if (streq(json_str_at(v, "metadata.name"), name))
			return v;
	return NULL;
}

static bool would_be_lost(const json_t *pod)
{
	const char *phase = json_str_or(pod, "status.phase", "");

	return !streq(phase, "Succeeded") && !streq(phase, "Failed") &&
	       !json_find(json_at(pod, "metadata.ownerReferences"), "kind", "DaemonSet");
}

json_t *users_on_nodes(struct arena *a, const json_t *pods, const json_t *nodes)
{
	json_t *names = json_new_object(a), *list = json_new_list(a), *v;
	size_t i;

	json_array_foreach(nodes, i, v)
		json_object_set_new(names, json_str_or(v, "metadata.name", "?"),
				    json_true());
	json_array_foreach(pods, i, v) {
		const char *node = json_str_at(v, "spec.nodeName");

		if (node && json_object_get(names, node) && would_be_lost(v))
			json_array_append(list, v);
	}
	return list;
}

json_t *users_labelled(struct arena *a, const json_t *items, const char *label,
		       const char *value)
{
	json_t *list = json_new_list(a), *v;
	size_t i;

	json_array_foreach(items, i, v) {
		const json_t *has = json_object_get(json_at(v, "metadata.labels"), label);

		if (streq(json_string_value(has), value))
			json_array_append(list, v);
	}
	return list;
}

json_t *users_of_class(struct arena *a, const json_t *pools, const char *class)
{
	json_t *list = json_new_list(a), *v;
	size_t i;

	json_array_foreach(pools, i, v)
		if (streq(json_str_at(v, "spec.template.spec.nodeClassRef.name"), class))
			json_array_append(list, v);
	return list;
}
