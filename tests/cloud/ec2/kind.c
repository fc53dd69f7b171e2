/* What all kinds of EC2's things have in common. */
#include <string.h>

#include "tests/cloud/ec2/ops.h"

const struct ec2_kind *const ec2_kinds[] = {
	&kind_vpc,      &kind_subnet,      &kind_igw,   &kind_address,
	&kind_nat,      &kind_route_table, &kind_group, &kind_rule,
	&kind_endpoint, &kind_interface,   NULL,
};

json_t *ec2_public(struct arena *a, const json_t *object)
{
	json_t *copy = json_new_object(a), *value;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)object, name, value)
		if (name[0] != '_')
			json_object_set(copy, name, value);
	return copy;
}

json_t *ec2_show(struct cloud *c, struct arena *a, const struct ec2_kind *k,
		 const json_t *object)
{
	return k->view ? k->view(c, a, object) : ec2_public(a, object);
}

static bool well_formed(const struct ec2_kind *k, const char *id)
{
	size_t n = strlen(k->prefix);

	if (strncmp(id, k->prefix, n) != 0)
		return false;
	size_t hex = strspn(id + n, "0123456789abcdef");

	return id[n + hex] == '\0' && (hex == 8 || hex == 17);
}

/* missing_text has one "%s" for the id. */
static void missing_fault(struct cloud_call *call, const struct ec2_kind *k,
			  const char *id)
{
	const char *mark = strstr(k->missing_text, "%s");

	cloud_fault(call, k->missing, "%.*s%s%s", (int)(mark - k->missing_text),
		    k->missing_text, id, mark + 2);
}

json_t *ec2_require(struct cloud_call *call, const struct ec2_kind *k, const char *id)
{
	json_t *object = cloud_get(call->cloud, k->table, id);

	if (object)
		return object;
	if (!id) {
		cloud_fault(call, "MissingParameter",
			    "The request must contain the parameter %s", k->id_member);
	} else if (k->malformed && !well_formed(k, id)) {
		/* Spelled by hand: InvalidGroup.NotFound, but InvalidGroupId.Malformed.
		 * docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html */
		cloud_fault(call, k->malformed,
			    "Invalid id: \"%s\" (expecting \"%s...\")", id, k->prefix);
	} else {
		missing_fault(call, k, id);
	}
	return NULL;
}

json_t *ec2_add(struct cloud_call *call, const struct ec2_kind *k, json_t *object,
		const char **ret_id)
{
	const char *id = cloud_id(call->cloud, call->arena, k->prefix, 17);
	json_t *tags = NULL;

	/* Callers have checked the tags before anything was made. */
	if (ec2_spec_tags(call, k->resource_type, &tags))
		json_object_set(object, "Tags", tags);
	json_put_str(object, k->id_member, id);
	cloud_put(call->cloud, k->table, id, object);
	cloud_effect(call->cloud, k->table, id, "create");
	if (ret_id)
		*ret_id = id;
	return object;
}

bool ec2_remove(struct cloud_call *call, const struct ec2_kind *k, const char *id)
{
	cloud_effect(call->cloud, k->table, id, "delete");
	cloud_delete(call->cloud, k->table, id);
	return true;
}

void ec2_changed(struct cloud_call *call, const struct ec2_kind *k, const char *id)
{
	cloud_effect(call->cloud, k->table, id, "update");
}

void ec2_later(struct cloud *c, json_t *object, const char *member, const char *next,
	       int64_t real_ms)
{
	json_put_str(object, "_later_member", member);
	json_put_str(object, "_later_value", next);
	json_put_int(object, "_later_ms",
		     c->o.clock->wall_ms(c->o.clock) + cloud_ms(c, real_ms));
}

/* --- describing ------------------------------------------------------------ */

/* By id an object is missed for a quarter of the lag: reads are not uniform. */
static bool seen_by_id(struct cloud *c, const json_t *object)
{
	int64_t age =
		c->o.clock->wall_ms(c->o.clock) - json_int_or(object, "_created_ms", 0);

	return age >= c->o.list_lag_ms / 4;
}

static bool collect_ids(struct cloud_call *call, const struct ec2_kind *k,
			const json_t *ids, json_t *ret)
{
	json_t *one;
	size_t i;

	json_array_foreach(ids, i, one) {
		const char *id = json_string_value(one);
		json_t *object = ec2_require(call, k, id);

		if (!object)
			return false;
		if (!seen_by_id(call->cloud, object)) {
			missing_fault(call, k, id);
			return false;
		}
		json_array_append(ret, object);
	}
	return true;
}

static bool collect(struct cloud_call *call, const struct ec2_kind *k, json_t *ret)
{
	const json_t *ids = k->ids_in ? json_object_get(call->in, k->ids_in) : NULL;
	const char *id;
	json_t *object;

	if (json_array_size(ids) > 0)
		return collect_ids(call, k, ids, ret);
	json_object_foreach(cloud_table(call->cloud, k->table), id, object)
		if (cloud_listed(call->cloud, object))
			json_array_append(ret, object);
	return true;
}

bool ec2_describe(struct cloud_call *call, const struct ec2_kind *k, json_t **ret_out)
{
	const json_t *filters = json_object_get(call->in, k->filters_in);
	json_t *all = json_new_list(call->arena), *shown = json_new_list(call->arena);
	json_t *object, *max = json_object_get(call->in, "MaxResults");
	const char *next;
	size_t i;

	if (!collect(call, k, all))
		return false;
	if (max && k->ids_in && json_len_at(call->in, k->ids_in) > 0)
		return cloud_fault(call, "InvalidParameterCombination",
				   "The parameter %s cannot be used with the parameter "
				   "maxResults",
				   k->ids_in);
	json_array_foreach(all, i, object) {
		json_t *view = ec2_show(call->cloud, call->arena, k, object);
		bool take;

		if (!ec2_filters_take(call, filters, k->filters, view, &take))
			return false;
		if (take)
			json_array_append(shown, view);
	}
	json_t *page = cloud_page(call, shown, json_str_at(call->in, "NextToken"),
				  json_integer_value(max), &next);

	if (!page)
		return cloud_fault(call, "InvalidNextToken", "The token is not valid");
	*ret_out =
		json_packf(call->arena, "{s:O, s:s*}", k->out, page, "NextToken", next);
	return true;
}

bool ec2_has_id(const json_t *list, const char *id)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (streq(json_string_value(one), id))
			return true;
	return false;
}

void ec2_drop_id(json_t *list, const char *id)
{
	for (size_t i = json_array_size(list); i-- > 0;)
		if (streq(json_string_value(json_array_get(list, i)), id))
			json_array_remove(list, i);
}

/* --- client tokens ----------------------------------------------------------- */

bool ec2_replayed(struct cloud_call *call, json_t **ret_out, bool *ret_seen)
{
	const char *token = json_str_at(call->in, "ClientToken");
	json_t *seen = token ? cloud_get(call->cloud, "ec2.token", token) : NULL;

	*ret_seen = seen;
	if (!seen)
		return true;
	if (!streq(json_str_at(seen, "digest"), json_digest(call->arena, call->in)))
		return cloud_fault(call, "IdempotentParameterMismatch",
				   "Same token, but different parameters");
	*ret_out = json_own(call->arena, json_deep_copy(json_object_get(seen, "out")));
	return true;
}

void ec2_remember(struct cloud_call *call, const json_t *out)
{
	const char *token = json_str_at(call->in, "ClientToken");

	if (token)
		cloud_put(call->cloud, "ec2.token", token,
			  json_pack("{s:s, s:o}", "digest",
				    json_digest(call->arena, call->in), "out",
				    json_deep_copy(out)));
}
