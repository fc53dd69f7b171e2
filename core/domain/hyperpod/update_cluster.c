#include "core/domain/hyperpod/update_cluster.h"

#include <string.h>

#include "core/domain/hyperpod/group_spec.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

enum {
	SENDS_MAX = 5,    /* somebody else keeps changing the same value */
	LOOKS_MAX = 3,    /* before a difference is believed: reads lag behind */
	LOOK_AGAIN_S = 5, /* between them */
	BUSY_S = 20
};

/*
 * data._update.<step> = {trying: [specs], sent: [specs], sends, sends_now, looks}: what
 * is being sent; what was taken last, until a later read has been compared with it; how
 * often in all, and in this try. A call that was refused, throttled or lost is no
 * evidence against anybody.
 */
static const char *path(const struct step_ctx *c, const char *member)
{
	return arena_printf(c->arena, "_update.%s%s%s", c->step->name, member ? "." : "",
			    member ? member : "");
}

bool update_cluster_is_busy(const char *status)
{
	static const char *const busy[] = {"Creating", "Updating", "SystemUpdating",
					   "RollingBack", "Deleting"};

	for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++)
		if (streq(status, busy[i]))
			return true;
	return false;
}

/* --- what want() calls ----------------------------------------------------------- */

static json_t *live_group(const json_t *live, const char *name)
{
	return json_find(json_at(live, "InstanceGroups"), "InstanceGroupName", name);
}

void update_add_group(json_t *in, json_t *spec)
{
	if (!json_object_get(in, "InstanceGroups"))
		json_object_set_new(in, "InstanceGroups", json_array());
	json_push(json_object_get(in, "InstanceGroups"), spec);
}

json_t *update_group(struct step_ctx *c, const json_t *live, json_t *in, const char *name)
{
	json_t *there =
		json_find(json_at(in, "InstanceGroups"), "InstanceGroupName", name);
	const json_t *details = live_group(live, name);
	struct err e = {0};
	json_t *spec;

	if (there)
		return there;
	if (!details) {
		struct err *why = step_fail(c, ERR_CLOUD_NOT_FOUND,
					    "%s has no instance group named %s",
					    hyperpod_name(c), name);
		err_field(why, "/group", name, "a name from list_instance_groups");
		return NULL;
	}
	spec = group_spec(details, c->arena, &e);
	if (!spec) {
		*step_fail(c, e.code, "%s", e.detail) = e;
		return NULL;
	}
	update_add_group(in, json_incref(spec));
	return spec;
}

/* --- desired less actual --------------------------------------------------------- */

/* Whether every member of `wanted` is in `live` so: AWS adds members of its own. */
static bool is_so(const json_t *wanted, const json_t *live)
{
	const char *key;
	json_t *v;

	if (!json_is_object(wanted) || !json_is_object(live))
		return live && json_equal(wanted, live);
	json_object_foreach((json_t *)(uintptr_t)wanted, key, v)
		if (!is_so(v, json_object_get(live, key)))
			return false;
	return true;
}

static bool group_is_so(struct step_ctx *c, const json_t *spec, const json_t *live)
{
	const json_t *details =
		live_group(live, json_str_or(spec, "InstanceGroupName", ""));
	struct err ignored = {0};
	const json_t *now = details ? group_spec(details, c->arena, &ignored) : NULL;

	return now && group_spec_compare(spec, now, NULL, NULL) == 0;
}

static void prune_groups(struct step_ctx *c, json_t *in, const json_t *live)
{
	json_t *list = json_object_get(in, "InstanceGroups");

	for (size_t i = json_array_size(list); i-- > 0;)
		if (group_is_so(c, json_array_get(list, i), live))
			json_array_remove(list, i);
}

static void prune_deletions(json_t *in, const json_t *live)
{
	json_t *list = json_object_get(in, "InstanceGroupsToDelete");

	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *g =
			live_group(live, json_string_value(json_array_get(list, i)));

		if (!g || streq(json_str_at(g, "Status"), "Deleting"))
			json_array_remove(list, i);
	}
}

/* False: the actual state is the desired one. */
static bool prune(struct step_ctx *c, json_t *in, const json_t *live)
{
	const char *key;
	json_t *v;
	void *next;

	prune_groups(c, in, live);
	prune_deletions(in, live);
	json_object_foreach_safe(in, next, key, v) {
		const bool empty = json_is_array(v) && json_array_size(v) == 0;

		if (empty || (!streq(key, "ClusterName") && !json_is_array(v) &&
			      is_so(v, json_object_get(live, key))))
			json_object_del(in, key);
	}
	return json_object_size(in) > 1;
}

/* False: a verdict was set. */
static bool add_rest(struct step_ctx *c, json_t *in, const json_t *live)
{
	size_t i;
	json_t *g;

	json_array_foreach(json_at(live, "InstanceGroups"), i, g)
		if (!streq(json_str_at(g, "Status"), "Deleting") &&
		    !update_group(c, live, in, json_str_or(g, "InstanceGroupName", "")))
			return false;
	return true;
}

/* --- who else wrote? ------------------------------------------------------------- */

struct race {
	struct step_ctx *c; /* NULL: count only */
	const char *group;
};

static void lost_race(void *about, const char *member, const json_t *wanted,
		      const json_t *live)
{
	const struct race *r = about;
	struct step_ctx *c = r->c;

	step_warn(
		c,
		"%s of the instance group %s was changed outside InstantStart during the "
		"update: sent %s, now %s",
		member, r->group, wanted ? json_text(c->arena, wanted) : "nothing",
		live ? json_text(c->arena, live) : "not set");
}

static size_t compare_sent(struct step_ctx *c, const json_t *live, bool tell)
{
	size_t i, n = 0;
	json_t *spec;

	json_array_foreach(json_at(c->data, path(c, "sent")), i, spec) {
		const char *name = json_str_or(spec, "InstanceGroupName", "?");
		const json_t *g = live_group(live, name);
		struct race r = {.c = c, .group = name};
		struct err ignored = {0};
		const json_t *now = g ? group_spec(g, c->arena, &ignored) : NULL;

		if (now)
			n += group_spec_compare(spec, now, tell ? lost_race : NULL, &r);
		else if (!g && tell)
			step_warn(c, "the instance group %s was deleted after the update",
				  name);
		n += !g;
	}
	return n;
}

/* False: waits, since the read may be older than our call. */
static bool judge_race(struct step_ctx *c, const json_t *live)
{
	const int64_t looks = step_count(c, path(c, "looks")) + 1;

	if (json_len_at(c->data, path(c, "sent")) == 0)
		return true;
	/* Of a call whose outcome is unknown a difference says nothing. */
	if (!c->issued_before && compare_sent(c, live, false) > 0) {
		if (looks < LOOKS_MAX) {
			step_counted(c, path(c, "looks"));
			step_wait(c, LOOK_AGAIN_S, "%s to show the sent values",
				  hyperpod_name(c));
			return false;
		}
		compare_sent(c, live, true);
	}
	step_save(c, path(c, "sent"), json_array());
	step_count_forget(c, path(c, "looks"));
	return true;
}

/* --- the step -------------------------------------------------------------------- */

bool update_cluster_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x);
}

/* False: a verdict was set. */
static bool may_update(struct step_ctx *c, const json_t *live)
{
	const char *status = json_str_or(live, "ClusterStatus", "");
	struct err *e;

	if (!live) {
		hyperpod_absent(c);
		return false;
	}
	if (update_cluster_is_busy(status) && c->planning) {
		step_warn(c, "%s is %s: the update waits until it is InService",
			  hyperpod_name(c), status);
	} else if (update_cluster_is_busy(status)) {
		step_wait(c, BUSY_S, "the HyperPod cluster %s in status %s",
			  hyperpod_name(c), status);
		return false;
	} else if (streq(status, "Failed")) {
		e = step_fail(c, ERR_CLUSTER_FAILED,
			      "The HyperPod cluster %s is Failed and cannot be updated: "
			      "%s",
			      hyperpod_name(c),
			      json_str_or(live, "FailureMessage", "no reason given"));
		err_fix(e,
			"A failed cluster cannot be changed. Retry the operation that "
			"created it: the failed cluster is deleted and created again.");
		return false;
	}
	return true;
}

static void send_update(struct step_ctx *c, struct exchange *x, json_t *in,
			const char *what)
{
	const json_t *groups = json_object_get(in, "InstanceGroups");
	struct err *e;

	if (step_count(c, path(c, "sends_now")) >= SENDS_MAX) {
		e = step_fail(
			c, ERR_STATE_CONFLICT,
			"%s was updated %d times, and each update was reverted outside "
			"InstantStart. Last difference: %s",
			hyperpod_name(c), SENDS_MAX, json_text(c->arena, in));
		e->retry = RETRY_HUMAN;
		err_fix(e,
			"Find out what else changes the cluster (the warnings name the "
			"fields), then retry.");
		return;
	}
	step_save(c, path(c, "trying"), groups ? json_deep_copy(groups) : json_array());
	exchange_aws(x, AWS_SAGEMAKER_UpdateCluster, in);
	x->what = what;
}

void update_cluster_plan(struct step_ctx *c, struct exchange *x)
{
	const struct update_cluster *u = c->step->arg;
	const json_t *live = saw(c, "hyperpod");
	const char *what;
	json_t *in;

	/* Planned before the cluster is there: what its groups are is not known. */
	if (!live && c->planning)
		return;
	if (!may_update(c, live) || !judge_race(c, live))
		return;
	in = json_packf(c->arena, "{s:s}", "ClusterName", hyperpod_name(c));
	what = u->want(c, live, in);
	if (!what || c->verdict.kind != VERDICT_NONE || !prune(c, in, live))
		return;
	if (!u->all_groups || add_rest(c, in, live))
		send_update(c, x, in, what);
}

static bool says_no_changes(const struct answer *a)
{
	return a->message && (strcasestr(a->message, "no changes") ||
			      strcasestr(a->message, "no updates") ||
			      strcasestr(a->message, "nothing to update"));
}

/* The guide tells of a refusal while deep health checks run, not of its code. */
static bool says_later(const struct answer *a)
{
	return a->errc == ERR_CLOUD_CONFLICT ||
	       (a->message && strcasestr(a->message, "deep health check") &&
		strcasestr(a->message, "in progress"));
}

void update_cluster_absorb(struct step_ctx *c, const struct answer *a)
{
	struct err *e;

	if (a->ok) {
		step_save(c, path(c, "sends"),
			  json_integer(json_int_or(c->data, path(c, "sends"), 0) + 1));
		step_counted(c, path(c, "sends_now"));
		step_save(c, path(c, "sent"),
			  json_deep_copy(json_at(c->data, path(c, "trying"))));
		json_drop(c->data, path(c, "trying"));
		step_count_forget(c, path(c, "looks"));
		step_wait(c, 1, "%s to show the update", hyperpod_name(c));
	} else if (says_later(a)) {
		step_wait(c, BUSY_S,
			  "the HyperPod cluster %s, which accepts no update now",
			  hyperpod_name(c));
	} else if (says_no_changes(a)) {
		step_advance(c);
	} else if (!hyperpod_role_trouble(c, a, json_at(saw(c, "role"), "Role"))) {
		e = step_fail_answer(c, a, "the update of %s was rejected",
				     hyperpod_name(c));
		if (e->code == ERR_QUOTA)
			err_fix(e,
				"Request an increase of the quota that the message names "
				"in Service Quotas, then retry.");
	}
}
