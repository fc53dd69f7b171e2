/* What people ask for, at random. */
#include "core/json/tree.h"
#include "tests/faults/fleet.h"

static int64_t below(struct fleet *f, int64_t n)
{
	return (int64_t)rng_below(&f->rng.rng, (uint64_t)n);
}

static bool one_in(struct fleet *f, int64_t n)
{
	return below(f, n) == 0;
}

static const char *pick(struct fleet *f, const char *const *list, int64_t n)
{
	return list[below(f, n)];
}

static const char *const names[] = {"gpu", "train", "idle", "spare", "workers"};
enum { NEW_NAMES = 4, NAMES = 5 };

const char *fleet_node(struct fleet *f)
{
	json_t *nodes = cloud_table(lab(f->h)->cloud, "sagemaker.node"), *node;
	const int64_t n = (int64_t)json_object_size(nodes);
	int64_t at;
	const char *id;

	if (n == 0)
		return NULL;
	at = below(f, n);
	json_object_foreach(nodes, id, node)
		if (at-- == 0)
			return json_str_or(node, "InstanceId", id);
	return NULL;
}

static json_t *labels(struct fleet *f)
{
	static const char *const teams[] = {"red", "green", "blue"};

	return json_pack("{s:s}", "team", pick(f, teams, 3));
}

static json_t *add(struct fleet *f)
{
	static const char *const zones[] = {"us-west-2a", "us-west-2b"};
	json_t *in =
		json_packf(&f->h->run, "{s:s, s:s, s:I, s:s, s:s, s:i}", "group_name",
			   pick(f, names, NEW_NAMES), "instance_type", "ml.g5.12xlarge",
			   "count", (json_int_t)below(f, 3), "zone", pick(f, zones, 2),
			   "capacity_type", "on_demand", "volume_size_gb", 500);

	if (one_in(f, 3))
		json_put(in, "labels", labels(f));
	if (one_in(f, 4))
		json_put_int(in, "threads_per_core", 1 + below(f, 2));
	if (one_in(f, 6))
		json_put(in, "deep_health_checks", json_pack("[s]", "InstanceStress"));
	return in;
}

static json_t *scale(struct fleet *f)
{
	return json_packf(&f->h->run, "{s:s, s:I}", "group_name", pick(f, names, NAMES),
			  "count", (json_int_t)below(f, 5));
}

static json_t *update(struct fleet *f)
{
	json_t *in = json_packf(&f->h->run, "{s:s}", "group_name", pick(f, names, NAMES));

	switch (below(f, 5)) {
	case 0:
		json_put_int(in, "threads_per_core", 1 + below(f, 2));
		break;
	case 1:
		json_put(in, "taints",
			 json_pack("[{s:s, s:s, s:s}]", "key", "only", "value", "us",
				   "effect", "PreferNoSchedule"));
		break;
	case 2:
		json_put(in, "clear",
			 json_pack("[s]", one_in(f, 2) ? "labels" : "taints"));
		break;
	case 3:
		json_put_int(in, "min_count", 1);
		break;
	default:
		json_put(in, "labels", labels(f));
	}
	return in;
}

static json_t *delete_group(struct fleet *f)
{
	return json_packf(&f->h->run, "{s:s}", "group_name", pick(f, names, NEW_NAMES));
}

static json_t *toggles(struct fleet *f)
{
	static const char *const features[] = {"tiered_checkpointing",
					       "training_operator", "inference_operator",
					       "autoscaling"};
	const int64_t set = 1 + below(f, 15), on = below(f, 16);
	json_t *in = json_packf(&f->h->run, "{s:b, s:b}", "adopt", one_in(f, 3),
				"install_prerequisites", 1);

	for (int i = 0; i < 4; i++)
		if (set >> i & 1)
			json_put(in, features[i],
				 json_pack("{s:b}", "enabled", (int)(on >> i & 1)));
	return in;
}

static json_t *nodes(struct fleet *f)
{
	json_t *list = json_array();

	for (int64_t n = 1 + below(f, 2); n > 0; n--) {
		const char *id = fleet_node(f);

		if (id && (json_array_size(list) == 0 ||
			   !streq(json_string_value(json_array_get(list, 0)), id)))
			json_push(list, json_string(id));
	}
	if (json_array_size(list) == 0)
		json_push(list, json_string("i-0123456789abcdef0"));
	return json_packf(&f->h->run, "{s:o}", "nodes", list);
}

static json_t *new_class(struct fleet *f)
{
	return json_packf(&f->h->run, "{s:s, s:[s]}", "name", "gpu", "instance_groups",
			  pick(f, names, NEW_NAMES));
}

static json_t *new_pool(struct fleet *f)
{
	return json_packf(&f->h->run, "{s:s, s:{s:s}}", "name", "train", "node_class_ref",
			  "name", "gpu");
}

static json_t *named(struct fleet *f, const char *name)
{
	return json_packf(&f->h->run, "{s:s}", "name", name);
}

static json_t *old_class(struct fleet *f)
{
	return named(f, "gpu");
}

static json_t *old_pool(struct fleet *f)
{
	return named(f, "train");
}

static json_t *software(struct fleet *f)
{
	return json_packf(&f->h->run, "{s:[s]}", "groups", pick(f, names, NAMES));
}

static const struct {
	const char *kind;
	int64_t weight; /* of a hundred */
	json_t *(*input)(struct fleet *f);
} draws[] = {
	{"add_instance_group", 18, add},
	{"scale_instance_group", 22, scale},
	{"update_instance_group", 15, update},
	{"delete_instance_group", 6, delete_group},
	{"update_features", 14, toggles},
	{"reboot_nodes", 5, nodes},
	{"replace_nodes", 5, nodes},
	{"delete_nodes", 4, nodes},
	{"create_node_class", 3, new_class},
	{"create_node_pool", 3, new_pool},
	{"delete_node_pool", 2, old_pool},
	{"delete_node_class", 1, old_class},
	{"update_cluster_software", 2, software},
};

struct fleet_request fleet_draw(struct fleet *f)
{
	int64_t at = below(f, 100);
	size_t i = 0;

	while (at >= draws[i].weight)
		at -= draws[i++].weight;
	return (struct fleet_request){draws[i].kind, draws[i].input(f)};
}
