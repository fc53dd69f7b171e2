#include "core/domain/karpenter/pending.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/node_class.h"
#include "core/domain/karpenter/node_pool.h"
#include "core/domain/karpenter/users.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

static const int64_t FRESH_MS = 60 * 60 * 1000; /* of events that say why */

const char *pending_code_name(enum pending_code code)
{
	static const char *const names[] = {
#define X(name, word) [PENDING_##name] = (word),
		PENDING_CODES(X)
#undef X
	};

	return names[code];
}

/* One pool's word about one pod. */
struct word {
	enum pending_code code;
	const char *pool; /* NULL: of no pool */
	const char *reason, *fix;
	json_t *tries; /* of the arena */
};

static const json_t *unscheduled(const json_t *pod)
{
	const json_t *c =
		json_find(json_at(pod, "status.conditions"), "type", "PodScheduled");

	return streq(json_str_at(c, "status"), "False") ? c : NULL;
}

bool pending_waits(const json_t *pod)
{
	return streq(json_str_or(pod, "status.phase", "Pending"), "Pending") &&
	       !json_str_at(pod, "spec.nodeName") &&
	       !json_at(pod, "metadata.deletionTimestamp") && unscheduled(pod);
}

/* --- the types that a pool could have ---------------------------------------------- */

static json_t *types_of(const struct pending_world *w, const json_t *class)
{
	json_t *list = json_new_list(w->arena), *g, *v;
	size_t i, k;

	json_array_foreach(json_at(class, "status.instanceGroups"), i, g)
		json_array_foreach(json_at(g, "instanceTypes"), k, v)
			json_array_append(list, v);
	return list;
}

static const char *joined(const struct pending_world *w, const json_t *list)
{
	return texts_named(w->arena, list, NULL, LISTING_LONG);
}

/* Of the pool's types those that the class has. *ret_odd: one written as EC2's. */
static json_t *usable(const struct pending_world *w, const json_t *pool,
		      const json_t *types, const char **ret_odd)
{
	const json_t *named = node_pool_values(pool, "node.kubernetes.io/instance-type");
	json_t *list = json_new_list(w->arena), *v;
	size_t i;

	*ret_odd = NULL;
	if (!named)
		return (json_t *)(uintptr_t)types;
	json_array_foreach(named, i, v) {
		const char *name = json_string_value(v);

		if (texts_have(types, name))
			json_array_append(list, v);
		else if (name && !str_starts(name, "ml."))
			*ret_odd = name;
	}
	return list;
}

/* NULL: one of the types fits; else of the last one what is short. */
static const char *all_short(const struct pending_world *w,
			     const struct pending_want *want, const json_t *types)
{
	const char *what = NULL;
	size_t i;
	json_t *v;

	json_array_foreach(types, i, v) {
		what = pending_short(w, want, json_string_value(v));
		if (!what)
			return NULL;
	}
	return what;
}

/* --- limits ------------------------------------------------------------------------ */

/* The smallest that one more node would add. */
static double least(const struct pending_world *w, const struct pending_want *want,
		    const json_t *types, const char *resource)
{
	double best = 0;
	size_t i;
	json_t *v;

	json_array_foreach(types, i, v) {
		const double n = pending_has(w, json_string_value(v), resource);

		if (!pending_short(w, want, json_string_value(v)) && n > 0 &&
		    (best <= 0 || n < best))
			best = n;
	}
	return best;
}

static bool over_limit(const struct pending_world *w, const struct pending_want *want,
		       const json_t *pool, const json_t *types, struct word *ret)
{
	const json_t *used = json_at(pool, "status.resources");
	const char *name;
	json_t *v;

	json_object_foreach(json_at(pool, "spec.limits"), name, v) {
		double limit = 0, have = 0, more = least(w, want, types, name);

		if (!pending_quantity(v, &limit))
			continue;
		(void)pending_quantity(json_object_get(used, name), &have);
		/* Whatever the type: a node has at least what the pod asks for. */
		if (more <= 0)
			more = json_number_value(json_object_get(want->requests, name));
		if (have + more <= limit && have < limit)
			continue;
		ret->code = PENDING_LIMIT;
		ret->reason = arena_printf(w->arena,
					   "the pool has %g of %s, and its limit is %g",
					   have, name, limit);
		ret->fix = arena_printf(
			w->arena,
			"Raise limits.%s with create_node_pool, or stop workloads that "
			"use it.",
			name);
		return true;
	}
	return false;
}

/* --- what became of its claims -------------------------------------------------------
 */

static const char *condition_of(const json_t *claim, const char *type)
{
	return json_str_or(json_find(json_at(claim, "status.conditions"), "type", type),
			   "status", "Unknown");
}

/* A claim of the pool on its way, without a refusal; NULL: none. */
static const json_t *coming(const struct pending_world *w, const char *pool)
{
	size_t i;
	json_t *claim;

	json_array_foreach(w->claims, i, claim)
		if (streq(json_string_value(
				  json_object_get(json_at(claim, "metadata.labels"),
						  KARPENTER_POOL_LABEL)),
			  pool) &&
		    !streq(condition_of(claim, "Launched"), "False") &&
		    !streq(condition_of(claim, "Initialized"), "True") &&
		    !json_at(claim, "metadata.deletionTimestamp"))
			return claim;
	return NULL;
}

static bool is_of_class(const json_t *class, const char *group)
{
	return texts_have(json_at(class, "spec.instanceGroups"), group);
}

static bool is_fresh(const struct pending_world *w, const json_t *event)
{
	int64_t at_ms;

	return time_parse_rfc3339(json_str_or(event, "EventTime", ""), &at_ms) &&
	       w->now_ms - at_ms < FRESH_MS;
}

/* The newest error of a group of the class; NULL: none. Newest come first. */
static const char *group_error(const struct pending_world *w, const json_t *class)
{
	size_t i;
	json_t *e;

	json_array_foreach(w->cluster_events, i, e)
		if (streq(json_str_at(e, "EventLevel"), "Error") && is_fresh(w, e) &&
		    is_of_class(class, json_str_at(e, "InstanceGroupName")))
			return json_str_or(e, "Description", "");
	return NULL;
}

static bool speaks_of_quota(const char *text)
{
	return strcasestr(text, "service limit") || strcasestr(text, "quota") ||
	       strcasestr(text, "ResourceLimitExceeded");
}

static bool speaks_of_capacity(const char *text)
{
	return strcasestr(text, "capacity") != NULL;
}

/* The pool would give a node: what keeps AWS from it? */
static void judge_launch(const struct pending_world *w, const json_t *class,
			 struct word *ret)
{
	const char *error = group_error(w, class);
	json_t *tries = pending_tries(w, ret->pool);
	const json_t *claim = coming(w, ret->pool);
	const bool came = claim && pending_came(claim, tries);

	ret->tries = tries ? json_own(w->arena, tries) : NULL;
	if (error && speaks_of_quota(error)) {
		ret->code = PENDING_QUOTA;
		ret->reason = error;
		ret->fix =
			"Request an increase in Service Quotas. check_quotas shows the "
			"quota.";
	} else if ((tries && !came) || (error && speaks_of_capacity(error))) {
		ret->code = PENDING_CAPACITY;
		ret->reason = tries ? pending_tries_text(w->arena, tries) : error;
		ret->fix = "The launch is retried automatically. For more choice, add "
			   "instance types or groups in other zones to the node class.";
	} else if (error) {
		ret->code = PENDING_NODE_FAILED;
		ret->reason = error;
		ret->fix =
			"Check the cluster events and the log of the lifecycle script.";
	} else {
		ret->code = PENDING_STARTING;
		ret->reason =
			claim ? arena_printf(w->arena,
					     "the node %s has been starting since %s",
					     json_str_or(claim, "metadata.name", "?"),
					     json_str_or(claim,
							 "metadata.creationTimestamp",
							 "?"))
			      : "the pool fits: a node is about to be requested";
	}
}

/* --- one pool, all pools --------------------------------------------------------------
 */

/* The types that both the pool and the pod take; NULL: none, and the word is said. */
static json_t *common_types(const struct pending_world *w, const json_t *pod,
			    const json_t *pool, const json_t *class, struct word *ret)
{
	const json_t *there = types_of(w, class);
	const char *odd;
	json_t *types = usable(w, pool, there, &odd), *both;

	both = pending_selected(w->arena, pod, types);
	if (json_array_size(both) > 0)
		return both;
	if (json_array_size(types) > 0) {
		ret->code = PENDING_MISMATCH;
		ret->reason = arena_printf(
			w->arena, "it selects an instance type outside the pool: %s",
			joined(w, types));
		ret->fix = "Change the selector of the pod, or the pool and its class.";
	} else if (odd) {
		ret->code = PENDING_TYPE_NAME;
		ret->reason = arena_printf(
			w->arena,
			"the pool requests %s, but HyperPod types begin with ml.", odd);
		ret->fix = arena_printf(w->arena, "Use ml.%s in the node pool.", odd);
	} else {
		ret->code = PENDING_TYPE_MISSING;
		ret->reason = arena_printf(w->arena,
					   "no group of its node class has a type that "
					   "the pool allows; they have %s",
					   joined(w, there));
		ret->fix = "Use one of these types in the node pool.";
	}
	return NULL;
}

static void judge_types(const struct pending_world *w, const struct pending_want *want,
			const json_t *pool, const json_t *class, struct word *ret)
{
	json_t *types = common_types(w, want->pod, pool, class, ret);
	const char *lacks = all_short(w, want, types);

	if (!types)
		return;
	if (lacks) {
		ret->code = PENDING_TOO_SMALL;
		ret->reason = arena_printf(
			w->arena, "it asks for %g of %s on one node, and %s have less",
			json_number_value(json_object_get(want->requests, lacks)), lacks,
			joined(w, types));
		ret->fix = "Add a group with a larger type to the node class, or request "
			   "less in the pod.";
	} else if (!over_limit(w, want, pool, types, ret)) {
		judge_launch(w, class, ret);
	}
}

static struct word judge_pool(const struct pending_world *w,
			      const struct pending_want *want, const json_t *pool)
{
	struct word word = {.pool = json_str_or(pool, "metadata.name", "?")};
	const json_t *class =
		users_find(w->classes,
			   json_str_or(pool, "spec.template.spec.nodeClassRef.name", ""));
	const char *why, *mismatch;

	if (!class || !streq(node_object_state(class, &why), "ready") ||
	    !streq(node_object_state(pool, &why), "ready")) {
		word.code = PENDING_NOT_READY;
		word.reason = arena_printf(w->arena, "the pool is not ready: %s",
					   !class ? "it has no node class"
					   : why  ? why
						  : "the autoscaler has not checked it "
						    "yet");
		word.fix = "Check the conditions in list_node_classes and "
			   "list_node_pools.";
		return word;
	}
	mismatch = pending_mismatch(w, want->pod, pool);
	if (mismatch) {
		word.code = PENDING_MISMATCH;
		word.reason = mismatch;
		word.fix = "Change the selector and tolerations of the pod, or change "
			   "the pool.";
		return word;
	}
	judge_types(w, want, pool, class, &word);
	return word;
}

/* A volume, a gate: no node would help. */
static bool is_other_matter(const char *scheduler)
{
	return strstr(scheduler, "PersistentVolumeClaim") ||
	       strstr(scheduler, "persistentvolumeclaim") ||
	       strstr(scheduler, "SchedulingGated");
}

static json_t *other_row(const struct word *o)
{
	return json_pack("{s:s, s:s, s:s*}", "code", pending_code_name(o->code), "reason",
			 o->reason, "node_pool", o->pool);
}

json_t *pending_explain(const struct pending_world *w, const json_t *pod)
{
	const struct pending_want want = pending_want(w->arena, pod);
	const char *scheduler = json_str_or(unscheduled(pod), "message", "");
	struct word best = {
		.code = PENDING_NO_POOL,
		.reason = "there is no node pool, so no nodes are created",
		.fix = "Enable autoscaling and create a node pool, or scale an instance "
		       "group."};
	json_t *others = json_array(), *row, *pool;
	size_t i;

	if (is_other_matter(scheduler))
		best = (struct word){.code = PENDING_SCHEDULER, .reason = scheduler};
	else if (w->unread)
		best = (struct word){.code = PENDING_NOT_KNOWN,
				     .reason = "the reason is not known: see not_known"};
	else
		json_array_foreach(w->pools, i, pool) {
			const struct word word = judge_pool(w, &want, pool);

			if (word.code < best.code) {
				if (best.pool)
					json_push(others, other_row(&best));
				best = word;
			} else {
				json_push(others, other_row(&word));
			}
		}
	row = json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s*, s:o, s:s, s:s*}", "name",
			json_str_or(pod, "metadata.name", "?"), "namespace",
			json_str_or(pod, "metadata.namespace", "?"), "code",
			pending_code_name(best.code), "reason", best.reason, "fix",
			best.fix, "node_pool", best.pool, "others", others, "scheduler",
			scheduler, "since",
			json_str_at(pod, "metadata.creationTimestamp"));
	if (best.tries)
		json_object_set(row, "tries", best.tries);
	return row;
}
