/* EKS add-ons. */
#include "core/domain/dependency/install.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/kube/webhook.h"
#include "core/op/owner.h"

/* With nodes, replicas come within minutes or not at all. */
static const int64_t DEGRADED_MAX_MS = 10 * 60 * 1000;
enum { UNSERVED_TRIES = 3 };

static json_t *by_addon(struct step_ctx *c, const struct component *k)
{
	return json_packf(c->arena, "{s:s, s:s}", "clusterName", eks_name(c), "addonName",
			  k->addon);
}

bool addon_read(struct step_ctx *c, struct exchange *x, const char *key,
		const struct component *k)
{
	return read_aws(c, x, key, AWS_EKS_DescribeAddon, by_addon(c, k));
}

/* What we have asked for ourselves may show before its add-on does, or outlive it. */
static bool may_be_elsewhere(const struct step_ctx *c, const struct component *k)
{
	return k->sign.name && !c->issued_before &&
	       !json_at(c->data, arena_printf(c->arena, "cleared.%s", k->name));
}

bool addon_observe(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);

	return component_wanted(c, k) &&
	       (addon_read(c, x, "addon", k) ||
		(may_be_elsewhere(c, k) && saw_missing(c, "addon") &&
		 read_kube(c, x, "sign", &k->sign)));
}

/* Case DP-09: of a chart or by hand. The add-on would be written over it. */
static bool leave_elsewhere(struct step_ctx *c, const struct component *k)
{
	if (!may_be_elsewhere(c, k) || !saw_ok(c, "sign") ||
	    json_bool_or(c->input, "adopt", false))
		return false;
	step_save(c, arena_printf(c->arena, "elsewhere.%s", k->name), json_true());
	step_warn(c,
		  "%s is not installed by its add-on (%s %s) and is used unchanged. To "
		  "replace it, set adopt.",
		  k->title, k->sign.plural, k->sign.name);
	if (!c->planning)
		component_state(c, k, "ready", NULL);
	return true;
}

/* Values that somebody has added stay: UpdateAddon replaces the whole text. */
json_t *addon_values(struct step_ctx *c, const struct component *k, const json_t *addon)
{
	const char *text = json_str_at(addon, "configurationValues");
	struct err ignored;
	json_t *has = text ? json_parse(c->arena, str_of(text), &ignored) : NULL;
	json_t *wanted;

	if (!k->values)
		return NULL;
	wanted =
		has ? json_own(c->arena, json_deep_copy(has)) : json_new_object(c->arena);
	json_merge_patch(wanted, k->values(c));
	return has && json_equal(has, wanted) ? NULL : wanted;
}

static void take_over(struct step_ctx *c, struct exchange *x, const struct component *k,
		      const json_t *addon)
{
	struct err *e;

	if (component_adopt(c, x, json_str_at(addon, "addonArn")))
		return;
	e = step_fail(c, ERR_FOREIGN_OBJECT,
		      "The add-on %s exists and was not created by InstantStart",
		      k->addon);
	owner_tell(c, e, json_at(addon, "tags"));
	err_field(e, "", json_str_or(addon, "addonVersion", "?"), "none");
	err_fix(e, "Set adopt to take it over unchanged.");
}

/*
 * The add-on of a feature, as it should be. The item names what was seen, so that an
 * update which failed is sent anew, and one whose answer got lost is not.
 */
static void keep_equal(struct step_ctx *c, struct exchange *x, const struct component *k,
		       const json_t *addon)
{
	const char *status = json_str_or(addon, "status", "");
	json_t *values = addon_values(c, k, addon), *in;

	step_own(c, "eks:addon", k->addon, json_str_at(addon, "addonArn"), "made");
	if (!values && !streq(status, "UPDATE_FAILED"))
		return;
	if (streq(status, "CREATING") || streq(status, "UPDATING")) {
		step_wait(c, 10, "the add-on %s in state %s", k->addon, status);
		return;
	}
	in = by_addon(c, k);
	/* What people have changed of its objects stays, unless they are given up. */
	json_put_str(in, "resolveConflicts",
		     json_bool_or(c->input, "adopt", false) ? "OVERWRITE" : "PRESERVE");
	if (values)
		json_put_str(in, "configurationValues", json_text(c->arena, values));
	c->item = arena_printf(
		c->arena, "update/%.16s",
		json_digest(c->arena, json_packf(c->arena, "{s:O, s:O?}", "in", in, "at",
						 json_at(addon, "modifiedAt"))));
	exchange_aws(x, AWS_EKS_UpdateAddon, in);
	x->what = arena_printf(c->arena, "Configure the add-on %s", k->addon);
}

/*
 * It never worked: made anew rather than mended. One of others may have failed since
 * they run the same by other means: its objects stay, whatever was asked for.
 */
static void clear(struct step_ctx *c, struct exchange *x, const struct component *k,
		  const json_t *addon)
{
	const bool ours = step_tagged_cluster(c, json_at(addon, "tags"));
	json_t *in = by_addon(c, k);
	struct err *e;

	if (!ours && !json_bool_or(c->input, "adopt", false)) {
		e = step_fail(
			c, ERR_FOREIGN_OBJECT,
			"The add-on %s failed (CREATE_FAILED) and was not created by "
			"InstantStart",
			k->addon);
		err_because(e, "eks:DescribeAddon",
			    json_str_at(addon, "health.issues.0.code"),
			    json_str_at(addon, "health.issues.0.message"), NULL);
		owner_tell(c, e, json_at(addon, "tags"));
		err_fix(e, "Repair the add-on, or send the request again with adopt to "
			   "have it installed again.");
		return;
	}
	if (!ours)
		json_put_bool(in, "preserve", true);
	c->item = "clear";
	exchange_aws(x, AWS_EKS_DeleteAddon, in);
	x->what = arena_printf(c->arena, "Delete the failed add-on %s", k->addon);
}

void addon_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	const json_t *addon = json_at(saw(c, "addon"), "addon");
	const char *status = json_str_or(addon, "status", "");
	json_t *in;

	if (!component_wanted(c, k))
		return;
	if (streq(status, "DELETING")) {
		step_wait(c, 10, "the add-on %s to be deleted", k->addon);
		return;
	}
	if (addon && k->is_feature && k->role &&
	    !step_tagged_cluster(c, json_at(addon, "tags"))) {
		take_over(c, x, k, addon);
		return;
	}
	if (streq(status, "CREATE_FAILED")) {
		clear(c, x, k, addon);
		return;
	}
	if (addon && k->is_feature && k->role) {
		keep_equal(c, x, k, addon);
		return;
	}
	if (addon) {
		if (step_tagged_cluster(c, json_at(addon, "tags"))) {
			step_own(c, "eks:addon", k->addon, json_str_at(addon, "addonArn"),
				 "made");
			component_settle(c, x, json_at(addon, "tags"),
					 json_str_at(addon, "addonArn"));
		}
		return;
	}
	if (leave_elsewhere(c, k))
		return;
	in = by_addon(c, k);
	json_put_str(in, "resolveConflicts", "OVERWRITE");
	json_put(in, "tags", json_incref(component_tags(c)));
	if (k->values)
		json_put_str(in, "configurationValues",
			     json_text(c->arena, k->values(c)));
	exchange_aws(x, AWS_EKS_CreateAddon, in);
	x->what = arena_printf(c->arena, "Install the add-on %s", k->addon);
}

void addon_absorb(struct step_ctx *c, const struct answer *a)
{
	const struct component *k = component_here(c);

	/* It is there already, or somebody changes it or the cluster at this moment. */
	if (!a->ok && a->errc == ERR_CLOUD_CONFLICT) {
		step_wait(c, 5, "EKS to accept the add-on %s: %s", k->addon, a->message);
		return;
	}
	if (!a->ok) {
		step_fail_answer(c, a, "the add-on %s was rejected", k->addon);
		return;
	}
	if (streq(c->item, "adopt")) {
		step_goto(c, c->step->name); /* as it should be, too? */
		return;
	}
	if (streq(c->item, "keep") || (c->item && str_starts(c->item, "update/"))) {
		step_advance(c);
		return;
	}
	if (streq(c->item, "clear")) {
		step_save(c, arena_printf(c->arena, "cleared.%s", k->name), json_true());
		step_wait(c, 5, "the failed add-on %s to be deleted", k->addon);
		return;
	}
	step_own(c, "eks:addon", k->addon, json_str_at(a->out, "addon.addonArn"), "made");
	step_advance(c);
}

bool addon_wait_observe(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);

	if (!component_wanted(c, k))
		return false;
	return read_aws(c, x, "addon", AWS_EKS_DescribeAddon, by_addon(c, k)) ||
	       (streq(json_str_or(saw(c, "addon"), "addon.status", ""), "DEGRADED") &&
		read_kube(c, x, "nodes",
			  &(struct kube_request){
				  .verb = KUBE_LIST, .api = "v1", .plural = "nodes"}));
}

static void addon_failed(struct step_ctx *c, const struct component *k,
			 const json_t *addon)
{
	struct err *e = step_fail(
		c, ERR_DEPENDENCY_FAILED, "The add-on %s is %s: %s", k->addon,
		json_str_or(addon, "status", "gone"),
		json_str_or(addon, "health.issues.0.message", "no reason given"));

	err_because(e, "eks:DescribeAddon", json_str_at(addon, "health.issues.0.code"),
		    json_str_at(addon, "health.issues.0.message"), NULL);
}

/* Case DP-04: without nodes an add-on with replicas is degraded, not broken. */
static void degraded(struct step_ctx *c, const struct component *k, const json_t *addon)
{
	const char *code = json_str_or(addon, "health.issues.0.code", "");

	if (streq(code, "InsufficientNumberOfReplicas") &&
	    !any_node_ready(json_at(saw(c, "nodes"), "items"))) {
		component_state(c, k, "waiting_for_nodes",
				json_str_at(addon, "addonVersion"));
		return;
	}
	if (step_waited_ms(c) > DEGRADED_MAX_MS) {
		addon_failed(c, k, addon);
		return;
	}
	step_wait(c, 10, "the add-on %s in state DEGRADED: %s", k->addon,
		  json_str_or(addon, "health.issues.0.message", code));
}

/*
 * A webhook was to answer before the add-on's objects could be made, and its pods were
 * not there: that passes. Made anew, a few times; the row before clears what failed.
 */
static bool try_again(struct step_ctx *c, const struct component *k, const json_t *addon)
{
	const char *message = json_str_at(addon, "health.issues.0.message");
	const char *key = arena_printf(c->arena, "unserved.%s", k->name);
	const int64_t tries = json_int_or(c->data, key, 0);
	struct kube_webhook hook;

	if (!streq(json_str_at(addon, "status"), "CREATE_FAILED") ||
	    tries >= UNSERVED_TRIES || !kube_webhook_of(message, c->arena, &hook))
		return false;
	step_save(c, key, json_integer(tries + 1));
	step_event(c, "webhook_unserved",
		   json_pack("{s:s, s:s, s:s, s:s, s:s}", "addon", k->addon, "webhook",
			     hook.name, "namespace", hook.ns, "service", hook.service,
			     "why", hook.why));
	step_goto(c, arena_printf(c->arena, "%s_install", k->name));
	return true;
}

/* What we have installed and is there no longer, somebody else has removed. */
static const char *addon_moved(struct step_ctx *c)
{
	const struct component *k = component_here(c);
	const char *status = json_str_or(saw(c, "addon"), "addon.status", "");
	const char *install = arena_printf(c->arena, "%s_install", k->name);

	if (!component_wanted(c, k) || !step_has_sent(c, install))
		return NULL;
	if (saw_missing(c, "addon") || streq(status, "DELETING")) {
		step_gone(c, k->addon);
		return arena_printf(c->arena,
				    "the add-on %s was removed outside InstantStart "
				    "during its installation",
				    k->addon);
	}
	return NULL;
}

const struct wait wait_addon = {
	.rule = "EKS stops the installation of an add-on after 20 minutes",
	.moved = addon_moved,
};

void addon_wait_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	const json_t *addon = json_at(saw(c, "addon"), "addon");
	const char *status = json_str_or(addon, "status", "");

	(void)x;
	if (!component_wanted(c, k) || c->planning)
		return;
	if (streq(status, "ACTIVE")) {
		component_state(c, k, "ready", json_str_at(addon, "addonVersion"));
	} else if (streq(status, "DEGRADED")) {
		degraded(c, k, addon);
	} else if (streq(status, "CREATING") || streq(status, "UPDATING")) {
		step_wait(c, 10, "the add-on %s in state %s", k->addon, status);
	} else if (!try_again(c, k, addon)) {
		addon_failed(c, k, addon);
	}
}
