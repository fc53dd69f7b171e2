/* Groups of thousands of nodes: what a step may take of time and memory. */
#include <stdlib.h>

#include "tests/unit/domain_scene.h"

enum { FLEET = 2000, PODS_EACH = 5, VICTIMS = FLEET - 100 };

static json_t *nodes(struct arena *a)
{
	json_t *list = json_new_list(a);

	for (int i = 0; i < FLEET; i++)
		json_push(list, json_pack("{s:s, s:o, s:o, s:{s:s}}", "InstanceGroupName",
					  "gpu", "InstanceId", json_sprintf("i-%017x", i),
					  "NodeLogicalId", json_sprintf("l%d", i),
					  "InstanceStatus", "Status", "Running"));
	return json_packf(a, "{s:O}", "ClusterNodeSummaries", list);
}

/* The first hundred are at work. */
static json_t *pods(struct arena *a)
{
	json_t *list = json_new_list(a);

	for (int i = 0; i < FLEET * PODS_EACH; i++)
		json_push(list, json_pack("{s:{s:s, s:o}, s:{s:o}, s:{s:s}}", "metadata",
					  "namespace", "default", "name",
					  json_sprintf("p%d", i), "spec", "nodeName",
					  json_sprintf("hyperpod-i-%017x", i % 100),
					  "status", "phase", "Running"));
	return json_packf(a, "{s:O, s:{}}", "items", list, "metadata");
}

static void choose(struct arena *a, json_t *data)
{
	static struct config cfg = {.poll_scale_percent = 100};
	const struct kind *kind = kind_find(kinds, "scale_instance_group");
	struct step_ctx c = {.arena = a,
			     .cfg = &cfg,
			     .op_id = "op_1",
			     .root_id = "op_1",
			     .target = "demo",
			     .input = scene_tree(a, "{'group_name':'gpu','count':100}"),
			     .data = data,
			     .seen = json_new_object(a),
			     .step = kind_step(kind, "choose_nodes"),
			     .now_ms = scene_now_ms,
			     .events = json_new_list(a)};
	json_t *answers = json_packf(a, "{s:O, s:O}", "sagemaker:ListClusterNodes",
				     nodes(a), "kubernetes:list pods", pods(a));
	struct exchange x = {.via = VIA_NONE};

	scene_observe(&c, answers);
	c.step->plan(&c, &x);
}

Test(group_fleet, of_two_thousand_nodes_those_without_work_go_in_little_memory,
     .timeout = 60)
{
	struct arena a;
	json_t *data, *victim;
	size_t i;

	arena_init(&a, 8 << 20);
	data = json_packf(&a, "{s:b, s:i, s:i, s:{s:s, s:s, s:s}}", "continuous", 1,
			  "from", FLEET, "more", -VICTIMS, "eks", "name", "e", "endpoint",
			  "https://x", "ca_pem", "c");
	choose(&a, data);
	cr_assert_eq(json_len_at(data, "victims"), VICTIMS);
	json_array_foreach(json_at(data, "victims"), i, victim)
		cr_expect_geq(strtol(json_str_or(victim, "id", "i-0") + 2, NULL, 16), 100,
			      "%s is at work", json_str_or(victim, "id", ""));
	arena_free(&a);
}
