#include "core/domain/offer/wish.h"
#include "core/base/listing.h"

#include "core/domain/step/read.h"
#include "core/json/tree.h"

const char *wish_str(const struct step_ctx *c, const char *name)
{
	const char *given = step_input(c, name);

	return given ? given : json_str_at(json_at(c->data, "wish"), name);
}

const json_t *wish_types(struct step_ctx *c)
{
	const json_t *list = json_at(c->input, "instance_types");
	const char *one = step_input(c, "instance_type");

	if (json_array_size(list) > 0)
		return list;
	list = json_at(c->data, "wish.instance_types");
	if (!one && json_array_size(list) > 0)
		return list;
	one = wish_str(c, "instance_type");
	return one ? json_packf(c->arena, "[s]", one) : json_new_list(c->arena);
}

const char *wish_types_text(struct step_ctx *c)
{
	const json_t *types = wish_types(c);
	struct listing text = listing_new(c->arena, " or ", LISTING_LONG);
	size_t i;
	json_t *t;

	json_array_foreach(types, i, t)
		listing_add(&text, "%s", json_string_value(t));
	return listing_text(&text);
}

/* By a filter: a name that EC2 does not know is an empty list, not an error. */
bool instance_type_read(struct step_ctx *c, struct exchange *x)
{
	json_t *plain = json_array();
	size_t i;
	json_t *type;

	json_array_foreach(wish_types(c), i, type) {
		const char *name = json_string_value(type);

		json_push(plain, json_string(str_starts(name, "ml.") ? name + 3 : name));
	}
	return read_all(c, x, "type", AWS_EC2_DescribeInstanceTypes,
			json_packf(c->arena, "{s:[{s:s, s:o}]}", "Filters", "Name",
				   "instance-type", "Values", plain));
}

int64_t wish_count(const struct step_ctx *c)
{
	return json_int_or(c->input, "count", 1);
}

int64_t wish_more(const struct step_ctx *c)
{
	return json_int_or(c->data, "more", wish_count(c));
}

json_t *wish_of_group(struct arena *a, const json_t *group)
{
	const json_t *types = json_at(group, "InstanceRequirements.DesiredInstanceTypes");
	json_t *w = json_new_object(a);

	if (!types)
		types = json_at(group, "InstanceRequirements.CurrentInstanceTypes");
	json_put_str(w, "instance_type", json_str_at(group, "InstanceType"));
	if (json_array_size(types) > 0)
		json_put(w, "instance_types", json_deep_copy(types));
	json_put_str(w, "capacity_type",
		     json_str_at(group, "TrainingPlanArn")         ? "training_plan"
		     : json_at(group, "CapacityRequirements.Spot") ? "spot"
								   : "on_demand");
	json_put_str(w, "training_plan_arn", json_str_at(group, "TrainingPlanArn"));
	json_put_str(w, "interface_mode",
		     json_str_at(group, "NetworkInterface.InterfaceType"));
	return w;
}

void wish_save(struct step_ctx *c, const json_t *cluster, const json_t *group)
{
	const json_t *vpc = json_at(group, "OverrideVpcConfig");
	json_t *w = json_deep_copy(wish_of_group(c->arena, group));

	if (!vpc)
		vpc = json_at(cluster, "VpcConfig");
	json_put_str(w, "subnet_id", json_str_at(vpc, "Subnets.0"));
	step_save(c, "wish", w);
}
