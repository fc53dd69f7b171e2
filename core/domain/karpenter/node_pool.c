#include "core/domain/karpenter/node_pool.h"

#include <string.h>

#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/node_class.h"
#include "core/domain/karpenter/users.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

#define TYPE_KEY "node.kubernetes.io/instance-type"
#define ZONE_KEY "topology.kubernetes.io/zone"

static const json_t *requirement(const json_t *object, const char *key)
{
	return json_find(json_at(object, "spec.template.spec.requirements"), "key", key);
}

const json_t *node_pool_values(const json_t *object, const char *key)
{
	const json_t *r = requirement(object, key);

	return streq(json_str_at(r, "operator"), "In") ? json_at(r, "values") : NULL;
}

/* --- what it may say -------------------------------------------------------------- */

static const char *joined(struct arena *a, const json_t *list)
{
	return texts_named(a, list, NULL, LISTING_SHORT);
}

/* Types of the class's groups: the cluster's own words, not the class's status, which
 * may not be there yet. */
static json_t *types_of(const json_t *class, const json_t *cluster, struct arena *a)
{
	json_t *types = json_new_list(a), *v;
	size_t i;

	json_array_foreach(json_at(class, "spec.instanceGroups"), i, v) {
		const json_t *g = json_find(json_at(cluster, "InstanceGroups"),
					    "InstanceGroupName", json_string_value(v));

		texts_add(types, json_at(g, "InstanceRequirements.CurrentInstanceTypes"));
		if (json_str_at(g, "InstanceType") &&
		    !texts_have(types, json_str_at(g, "InstanceType")))
			json_array_append(types, json_at(g, "InstanceType"));
	}
	return types;
}

static json_t *zones_of(const json_t *class, struct arena *a)
{
	json_t *zones = json_new_list(a), *g, *s;
	size_t i, k;

	json_array_foreach(json_at(class, "status.instanceGroups"), i, g)
		json_array_foreach(json_at(g, "subnets"), k, s)
			if (json_at(s, "zone") &&
			    !texts_have(zones, json_str_at(s, "zone")))
				json_array_append(zones, json_at(s, "zone"));
	return zones;
}

/* Of a list of the input, the members that `allowed` has not. */
static void check_members(const json_t *input, const char *member, const json_t *allowed,
			  const char *what, struct findings *f)
{
	const char *class = json_str_or(input, "node_class_ref.name", "");
	size_t i;
	json_t *v;

	json_array_foreach(json_at(input, member), i, v)
		if (!texts_have(allowed, json_string_value(v)))
			finding_add(f, arena_printf(f->arena, "/%s/%zu", member, i),
				    arena_printf(f->arena,
						 "%s is not %s of any group of the node "
						 "class %s",
						 json_string_value(v), what, class),
				    json_string_value(v), joined(f->arena, allowed));
}

static bool is_reserved(const char *key)
{
	static const char *const domains[] = {"karpenter.sh", "kubernetes.io", "k8s.io"};
	const char *slash = strchr(key, '/');

	for (size_t i = 0; slash && i < sizeof(domains) / sizeof(domains[0]); i++) {
		const size_t n = strlen(domains[i]), have = (size_t)(slash - key);

		if (have >= n && strncmp(slash - n, domains[i], n) == 0 &&
		    (have == n || slash[-(long)n - 1] == '.'))
			return true;
	}
	return false;
}

static void check_labels(const json_t *input, struct findings *f)
{
	const char *key;
	json_t *v;

	json_object_foreach(json_at(input, "labels"), key, v)
		if (is_reserved(key))
			finding_add(f, "/labels",
				    arena_printf(f->arena,
						 "the autoscaler rejects the label %s",
						 key),
				    key,
				    "labels outside karpenter.sh, kubernetes.io and "
				    "k8s.io");
}

void node_pool_check(const json_t *input, const json_t *classes, const json_t *cluster,
		     struct findings *f)
{
	const char *name = json_str_or(input, "node_class_ref.name", "");
	const json_t *class = users_find(classes, name), *zones;
	const char *known = users_names(f->arena, classes);

	check_labels(input, f);
	if (karpenter_state(cluster, NULL).state != KARPENTER_ON) {
		finding_add(f, "/cluster", "autoscaling is not in service",
			    json_str_or(cluster, "AutoScaling.Status", "off"),
			    "update_features with autoscaling enabled");
		return;
	}
	if (!class) {
		finding_add(f, "/node_class_ref/name",
			    arena_printf(f->arena, "there is no node class %s", name),
			    name, known ? known : "one from create_node_class");
		return;
	}
	check_members(input, "instance_types", types_of(class, cluster, f->arena),
		      "the type", f);
	zones = zones_of(class, f->arena);
	if (json_array_size(zones))
		check_members(input, "zones", zones, "the zone", f);
}

/* --- the object ------------------------------------------------------------------ */

static json_t *requirements_of(const json_t *input)
{
	json_t *types = json_at(input, "instance_types"),
	       *zones = json_at(input, "zones");
	json_t *list = json_array();

	if (json_array_size(types))
		json_push(list, json_pack("{s:s, s:s, s:O}", "key", TYPE_KEY, "operator",
					  "In", "values", types));
	else
		json_push(list,
			  json_pack("{s:s, s:s}", "key", TYPE_KEY, "operator", "Exists"));
	if (json_array_size(zones))
		json_push(list, json_pack("{s:s, s:s, s:O}", "key", ZONE_KEY, "operator",
					  "In", "values", zones));
	return list;
}

static void copy(json_t *to, const char *path, const json_t *input, const char *member)
{
	json_t *v = json_at(input, member);

	if (v && json_array_size(v) + json_object_size(v) > 0)
		json_put(to, path, json_deep_copy(v));
}

/* Nothing runs out and nothing is packed together while pods run: training dies of
 * both (case AS-04). */
json_t *node_pool_object(struct arena *a, const json_t *input)
{
	json_t *o = json_packf(
		a,
		"{s:s, s:s, s:{s:s, s:{s:s}}, s:{s:{s:s, s:s}, s:{s:{s:{s:s, s:s, s:s},"
		" s:o, s:s}}}}",
		"apiVersion", KARPENTER_API, "kind", "NodePool", "metadata", "name",
		json_str_or(input, "name", ""), "labels", "app.kubernetes.io/managed-by",
		"instantstart", "spec", "disruption", "consolidationPolicy",
		json_str_or(input, "consolidation", "WhenEmpty"), "consolidateAfter",
		json_str_or(input, "consolidate_after", "5m"), "template", "spec",
		"nodeClassRef", "group", KARPENTER_CLASS_GROUP, "kind",
		KARPENTER_CLASS_KIND, "name",
		json_str_or(input, "node_class_ref.name", ""), "requirements",
		requirements_of(input), "expireAfter",
		json_str_or(input, "expire_after", "Never"));

	json_put_str(o, "spec.template.spec.terminationGracePeriod",
		     json_str_at(input, "termination_grace_period"));
	if (json_at(input, "weight"))
		json_put_int(o, "spec.weight", json_int_or(input, "weight", 0));
	copy(o, "spec.limits", input, "limits");
	copy(o, "spec.template.metadata.labels", input, "labels");
	copy(o, "spec.template.spec.taints", input, "taints");
	return o;
}

/* --- what a change of it ends --------------------------------------------------------
 */

/* Members of the template of which each node keeps what it was launched with: with
 * another value a node has drifted, and is replaced. */
static bool template_differs(const json_t *was, const json_t *will)
{
	static const char *const members[] = {"metadata.labels", "spec.nodeClassRef.name",
					      "spec.taints", "spec.expireAfter",
					      "spec.terminationGracePeriod"};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const json_t *a = json_at(json_at(was, "spec.template"), members[i]);
		const json_t *b = json_at(json_at(will, "spec.template"), members[i]);
		const bool none = !a && !b;
		const bool empty = a && !b &&
				   json_array_size(a) + json_object_size(a) == 0 &&
				   !json_is_string(a);

		if (!none && !empty && !(a && b && json_equal(a, b)))
			return true;
	}
	return false;
}

static bool fits(const json_t *pool, const json_t *node)
{
	static const char *const keys[] = {TYPE_KEY, ZONE_KEY};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const json_t *values = node_pool_values(pool, keys[i]);
		const json_t *has =
			json_object_get(json_at(node, "metadata.labels"), keys[i]);

		if (values && has && !texts_have(values, json_string_value(has)))
			return false;
	}
	return true;
}

/* Nodes with pods on them are emptied where that saves something. */
static bool packs(const json_t *pool)
{
	return streq(json_str_or(pool, "spec.disruption.consolidationPolicy",
				 "WhenEmptyOrUnderutilized"),
		     "WhenEmptyOrUnderutilized");
}

bool node_pool_ends(const json_t *was, const json_t *will, const json_t *node)
{
	return template_differs(was, will) || !fits(will, node) ||
	       (packs(will) && !packs(was));
}

/* Strings all: quantities may be numbers in objects of others. */
static json_t *quantities(struct arena *a, const json_t *map)
{
	json_t *out = json_object(), *v;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)map, key, v)
		json_object_set_new(out, key,
				    json_string(json_is_string(v) ? json_string_value(v)
								  : json_text(a, v)));
	return out;
}

json_t *node_pool_row(struct arena *a, const json_t *object)
{
	const json_t *spec = json_at(object, "spec"), *ref;
	const json_t *labels = json_at(spec, "template.metadata.labels");
	const json_t *types = node_pool_values(object, TYPE_KEY);
	const char *why, *state = node_object_state(object, &why);
	json_t *row;

	ref = json_at(spec, "template.spec.nodeClassRef");
	row = json_pack(
		"{s:s, s:s, s:s*, s:s, s:o, s:o, s:o, s:o, s:I, s:s, s:s, s:s, s:o, s:s*}",
		"name", json_str_or(object, "metadata.name", "?"), "state", state, "why",
		why, "node_class", json_str_or(ref, "name", "?"), "instance_types",
		types ? json_deep_copy(types) : json_array(), "limits",
		quantities(a, json_at(spec, "limits")), "resources",
		quantities(a, json_at(object, "status.resources")), "labels",
		labels ? json_deep_copy(labels) : json_object(), "nodes",
		(json_int_t)json_int_or(object, "status.nodes", 0), "consolidation",
		json_str_or(spec, "disruption.consolidationPolicy",
			    "WhenEmptyOrUnderutilized"),
		"consolidate_after",
		json_str_or(spec, "disruption.consolidateAfter", "0s"), "expire_after",
		json_str_or(spec, "template.spec.expireAfter", "720h"), "conditions",
		node_object_conditions(object), "created_at",
		json_str_at(object, "metadata.creationTimestamp"));
	if (json_at(spec, "weight"))
		json_put_int(row, "weight", json_int_or(spec, "weight", 0));
	if (json_at(spec, "template.spec.taints"))
		json_put(row, "taints",
			 json_deep_copy(json_at(spec, "template.spec.taints")));
	return row;
}
