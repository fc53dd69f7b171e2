/*
 * shared_subnets.c - our subnets that say that another cluster uses them, too.
 *
 * Clusters that this installation knows are refused when a deletion is asked for
 * (cluster_sharers); what others have tagged shows in the cloud alone. Their subnet goes
 * only by the word of a plan that names them.
 * https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
 */
#include <string.h>

#include "core/domain/cluster/teardown.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

static const char TAG[] = "kubernetes.io/cluster/";

static json_t *sharers(const struct step_ctx *c, const json_t *subnet)
{
	json_t *names = json_new_list(c->arena), *tag;
	size_t i;

	json_array_foreach(json_at(subnet, "Tags"), i, tag) {
		const char *key = json_str_or(tag, "Key", "");

		if (str_starts(key, TAG) && !streq(key + strlen(TAG), eks_name(c)))
			json_push(names, json_string(key + strlen(TAG)));
	}
	return names;
}

bool shared_subnets_observe(struct step_ctx *c, struct exchange *x)
{
	return teardown_subnets_read(c, x);
}

/* What a plan's word was given for. */
static bool is_confirmed(const struct step_ctx *c, const char *id, const json_t *names)
{
	const json_t *row = json_find(json_at(c->input, "confirmed"), "subnet", id);
	size_t i;
	json_t *name;

	json_array_foreach(names, i, name)
		if (!texts_have(json_at(row, "shared_with"), json_string_value(name)))
			return false;
	return true;
}

void shared_subnets_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *subnets = teardown_subnets_ours(c), *subnet;
	size_t i;

	(void)x;
	json_array_foreach(subnets, i, subnet) {
		const char *id = json_str_or(subnet, "SubnetId", "");
		json_t *names = sharers(c, subnet);
		const char *first = json_str_at(names, "0");
		struct err *e;

		if (!first)
			continue;
		step_warn(c, "the compute subnet %s is shared with the cluster %s%s", id,
			  first, json_array_size(names) > 1 ? ", …" : "");
		if (!c->planning && !is_confirmed(c, id, names)) {
			e = step_fail(c, ERR_LOSS_NOT_CONFIRMED,
				      "The compute subnet %s is shared with the cluster "
				      "%s, and its deletion was not confirmed",
				      id, first);
			err_fix(e,
				"Nothing was deleted. Remove the tag %s%s if that "
				"cluster no longer uses the subnet, or request a plan "
				"and send its confirm value.",
				TAG, first);
			return;
		}
		step_stake(c,
			   json_pack("{s:s, s:O}", "subnet", id, "shared_with", names));
	}
}
