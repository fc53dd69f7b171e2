/* NodePool: whether it may be used, and what its nodes have together. */
#include "tests/cloud/karpenter/karpenter.h"

static bool is_of(const json_t *claim, const json_t *pool)
{
	return streq(json_string_value(json_object_get(json_at(claim, "metadata.labels"),
						       "karpenter.sh/nodepool")),
		     json_str_at(pool, "metadata.name"));
}

json_t *karp_sum(struct karp *k, const json_t *pool)
{
	json_t *sum = json_new_object(k->a), *claim;
	const char *key;

	json_object_foreach(ks_all(&k->k, KARP_CLAIMS), key, claim) {
		const char *name;
		json_t *q;

		if (!is_of(claim, pool))
			continue;
		json_put_int(sum, "nodes", json_int_or(sum, "nodes", 0) + 1);
		json_object_foreach(json_at(claim, "status.capacity"), name, q) {
			double n = 0;

			if (!ks_quantity(q, &n))
				continue;
			n += json_number_value(json_object_get(sum, name));
			json_object_set_new(sum, name, json_real(n));
		}
	}
	return sum;
}

static json_t *resources_of(struct karp *k, const json_t *sum)
{
	json_t *out = json_object(), *v;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)sum, name, v)
		json_object_set_new(
			out, name,
			json_string(arena_printf(k->a, "%.0f", json_number_value(v))));
	return out;
}

static void run_pool(struct karp *k, const json_t *live)
{
	const json_t *class = karp_class_of(k, live);
	const bool ready = karp_is(class, "Ready", "True");
	const char *why = !class   ? "NodeClass not found"
			  : !ready ? "NodeClass is not ready"
				   : "";
	const json_t *sum = karp_sum(k, live);
	json_t *next = json_deep_copy(live);

	ks_set_condition(next, k->k.now_ms, "ValidationSucceeded", "True",
			 "ValidationSucceeded", "");
	ks_set_condition(next, k->k.now_ms, "NodeClassReady", ready ? "True" : "False",
			 ready ? "NodeClassReady" : "NodeClassNotReady", why);
	ks_set_condition(next, k->k.now_ms, "Ready", ready ? "True" : "False",
			 ready ? "Ready" : "UnhealthyDependents", why);
	json_put(next, "status.resources", resources_of(k, sum));
	json_put_int(next, "status.nodes", json_int_or(sum, "nodes", 0));
	ks_update_if_changed(&k->k, k->pool, live, next);
}

void karp_run_pools(struct karp *k)
{
	json_t *list = ks_snapshot(&k->k, k->a, KARP_POOLS), *pool;
	size_t i;

	json_array_foreach(list, i, pool)
		run_pool(k, pool);
}
