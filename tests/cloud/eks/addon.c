/* Add-ons. */
#include <string.h>

#include "tests/cloud/eks/operator.h"

enum { CREATE_MS = 45 * 1000, DELETE_MS = 20 * 1000, UPDATE_MS = 40 * 1000 };

static json_t *need_addon(struct cloud_call *c)
{
	const char *cluster = json_str_or(c->in, "clusterName", "");
	const char *name = json_str_or(c->in, "addonName", "");
	json_t *addon;

	if (!eks_need_cluster(c, "clusterName"))
		return NULL;
	addon = cloud_get(c->cloud, EKS_ADDONS, eks_key(c->arena, cluster, name));
	if (!addon) {
		cloud_fault(c, "ResourceNotFoundException",
			    "No addon: %s found in cluster: %s", name, cluster);
		c->fault_members = json_packf(c->arena, "{s:s,s:s}", "clusterName",
					      cluster, "addonName", name);
	}
	return addon;
}

static bool bad(struct cloud_call *c, const char *message)
{
	c->fault_members = json_packf(c->arena, "{s:s,s:s}", "clusterName",
				      json_str_or(c->in, "clusterName", ""), "addonName",
				      json_str_or(c->in, "addonName", ""));
	return cloud_fault(c, "InvalidParameterException", "%s", message);
}

/* UpdateAddon without values keeps those that are there. */
static bool check_values(struct cloud_call *c, const struct eks_addon_kind *k)
{
	const char *values = json_str_at(c->in, "configurationValues");
	const char *why = streq(c->op, "UpdateAddon") && !values
				  ? NULL
				  : operator_bad_values(c->arena, k->name, values);

	return !why || bad(c, why);
}

static bool check_addon(struct cloud_call *c, const struct eks_addon_kind *k)
{
	const char *version = json_str_at(c->in, "addonVersion");

	if (!k)
		return bad(c, arena_printf(c->arena,
					   "The specified addon name %s is not supported",
					   json_str_or(c->in, "addonName", "")));
	if (version && !streq(version, k->version))
		return bad(c, "Addon version specified is not supported");
	if (json_array_size(json_object_get(c->in, "podIdentityAssociations")) > 0 &&
	    !k->pod_identity)
		return bad(
			c,
			arena_printf(
				c->arena,
				"Pod identity associations are not supported for addon "
				"%s version %s",
				k->name, k->version));
	return check_values(c, k);
}

static bool make_identities(struct cloud_call *c, json_t *addon,
			    const struct eks_addon_kind *k)
{
	json_t *arns = json_array(), *p;
	size_t i;

	json_object_set_new(addon, "podIdentityAssociations", arns);
	json_array_foreach(json_object_get(c->in, "podIdentityAssociations"), i, p) {
		json_t *made;

		if (!eks_identity_put(c, json_str_or(addon, "clusterName", ""), k->ns,
				      json_str_or(p, "serviceAccount", ""),
				      json_str_or(p, "roleArn", ""),
				      json_str_at(addon, "addonArn"), &made))
			return false;
		json_array_append(arns, json_object_get(made, "associationArn"));
	}
	return true;
}

static json_t *new_addon(struct cloud_call *c, const struct eks_addon_kind *k)
{
	static const char *const kept[] = {"serviceAccountRoleArn",
					   "configurationValues"};
	const char *cluster = json_str_or(c->in, "clusterName", "");
	json_t *tags = json_object_get(c->in, "tags");
	json_t *addon = json_pack(
		"{s:s,s:s,s:s,s:s,s:{s:[]},s:s,s:o,s:o,s:s,s:s}", "addonName", k->name,
		"clusterName", cluster, "status", "CREATING", "addonVersion", k->version,
		"health", "issues", "addonArn",
		eks_arn(c->cloud, c->arena,
			arena_printf(c->arena, "addon/%s/%s/%s", cluster, k->name,
				     cloud_id(c->cloud, c->arena, "", 32))),
		"createdAt", cloud_seconds(c->now_ms), "modifiedAt",
		cloud_seconds(c->now_ms), "owner", "aws", "publisher", "eks");

	json_object_set_new(addon, "tags", tags ? json_deep_copy(tags) : json_object());
	for (size_t i = 0; i < 2; i++)
		json_put_str(addon, kept[i], json_str_at(c->in, kept[i]));
	json_put_int(addon, "_until_ms", c->now_ms + cloud_ms(c->cloud, CREATE_MS));
	return addon;
}

bool eks_create_addon(struct cloud_call *c, json_t **ret_out)
{
	const char *cluster = json_str_or(c->in, "clusterName", "");
	const char *name = json_str_or(c->in, "addonName", "");
	const char *key = eks_key(c->arena, cluster, name), *seen;
	const struct eks_addon_kind *k = eks_addon_kind(name);
	enum replay r = eks_replay(c, &seen);
	json_t *addon = cloud_get(c->cloud, EKS_ADDONS, key);

	if (r == REPLAY_OTHER || !eks_need_active(c, "clusterName"))
		return false;
	if (addon && r == REPLAY_SAME) {
		*ret_out = json_packf(c->arena, "{s:O}", "addon", addon);
		return true;
	}
	if (addon) {
		bad(c, "");
		return cloud_fault(c, "ResourceInUseException", "Addon already exists.");
	}
	if (!check_addon(c, k))
		return false;
	addon = json_own(c->arena, new_addon(c, k));
	if (!make_identities(c, addon, k))
		return false;
	cloud_put(c->cloud, EKS_ADDONS, key, json_incref(addon));
	replay_keep(c, json_str_at(c->in, "clientRequestToken"), key);
	cloud_effect(c->cloud, EKS_ADDONS, key, "create");
	*ret_out = json_packf(c->arena, "{s:O}", "addon", addon);
	return true;
}

bool eks_describe_addon(struct cloud_call *c, json_t **ret_out)
{
	json_t *addon = need_addon(c);

	if (!addon)
		return false;
	*ret_out = json_packf(c->arena, "{s:O}", "addon", addon);
	return true;
}

static bool is_busy(struct cloud_call *c, const json_t *addon)
{
	const char *status = json_str_or(addon, "status", "");

	if (!streq(status, "CREATING") && !streq(status, "UPDATING") &&
	    !(streq(status, "DELETING") && streq(c->op, "UpdateAddon")))
		return false;
	bad(c, "");
	/* Each as its model has it. */
	cloud_fault(c,
		    streq(c->op, "DeleteAddon") ? "InvalidRequestException"
						: "ResourceInUseException",
		    "Addon %s currently has an update in progress",
		    json_str_or(addon, "addonName", ""));
	return true;
}

bool eks_update_addon(struct cloud_call *c, json_t **ret_out)
{
	const char *seen;
	enum replay r = eks_replay(c, &seen);
	json_t *addon = need_addon(c), *update;
	const char *values = json_str_at(c->in, "configurationValues");
	const struct eks_addon_kind *k;

	if (!addon || r == REPLAY_OTHER)
		return false;
	if (r == REPLAY_SAME) {
		*ret_out = json_packf(c->arena, "{s:O}", "update",
				      cloud_get(c->cloud, EKS_UPDATES, seen));
		return true;
	}
	k = eks_addon_kind(json_str_or(addon, "addonName", ""));
	if (is_busy(c, addon) || !check_addon(c, k))
		return false;
	if (json_object_get(c->in, "podIdentityAssociations") &&
	    !make_identities(c, addon, k))
		return false;
	if (values)
		json_put_str(addon, "configurationValues", values);
	update = eks_update(c, "AddonUpdate", json_str_or(addon, "clusterName", ""),
			    k->name);
	json_object_set_new(addon, "modifiedAt", cloud_seconds(c->now_ms));
	json_put_str(addon, "status", "UPDATING");
	json_put_str(addon, "_update", json_str_at(update, "id"));
	json_put_int(addon, "_until_ms", c->now_ms + cloud_ms(c->cloud, UPDATE_MS));
	replay_keep(c, json_str_at(c->in, "clientRequestToken"),
		    json_str_at(update, "id"));
	cloud_effect(c->cloud, EKS_ADDONS, json_str_or(addon, "addonArn", ""), "update");
	*ret_out = json_packf(c->arena, "{s:O}", "update", update);
	return true;
}

bool eks_delete_addon(struct cloud_call *c, json_t **ret_out)
{
	json_t *addon = need_addon(c);

	if (!addon)
		return false;
	if (is_busy(c, addon))
		return false;
	if (!streq(json_str_at(addon, "status"), "DELETING")) {
		json_put_bool(addon, "_preserve", json_bool_or(c->in, "preserve", false));
		json_put_str(addon, "status", "DELETING");
		json_put_int(addon, "_until_ms",
			     c->now_ms + cloud_ms(c->cloud, DELETE_MS));
		cloud_effect(c->cloud, EKS_ADDONS, json_str_or(addon, "addonArn", ""),
			     "delete");
	}
	*ret_out = json_packf(c->arena, "{s:O}", "addon", addon);
	return true;
}

bool eks_list_addons(struct cloud_call *c, json_t **ret_out)
{
	json_t *list = json_new_list(c->arena), *addon;
	const char *key;

	if (!eks_need_cluster(c, "clusterName"))
		return false;
	json_object_foreach(cloud_table(c->cloud, EKS_ADDONS), key, addon)
		if (eks_in_cluster(key, json_str_or(c->in, "clusterName", "")) &&
		    cloud_listed(c->cloud, addon))
			json_array_append(list, json_object_get(addon, "addonName"));
	return eks_page(c, "addons", list, ret_out);
}

static void set_health(json_t *addon, const char *status, const char *code,
		       const char *message)
{
	json_t *issues = json_array();

	if (code)
		json_push(issues, json_pack("{s:s,s:s,s:[]}", "code", code, "message",
					    message, "resourceIds"));
	json_put_str(addon, "status", status);
	json_put(addon, "health.issues", issues);
}

/* Its configuration lets it onto nodes under the service's checks. */
static bool tolerates_checks(const json_t *addon)
{
	const char *values = json_str_or(addon, "configurationValues", "");

	return strstr(values, "sagemaker.amazonaws.com/node-health-status");
}

/* Replicas need a node: DEGRADED until then, and healed by itself. */
static void settle(struct cloud *c, struct arena *a, json_t *addon)
{
	const struct eks_addon_kind *k =
		eks_addon_kind(json_str_or(addon, "addonName", ""));
	const char *code = NULL, *trouble = operator_trouble(c, a, addon, &code);

	if (trouble)
		set_health(addon, "DEGRADED", code, trouble);
	else if (k->needs_nodes &&
		 eks_ready_nodes(c, a, json_str_or(addon, "clusterName", ""),
				 tolerates_checks(addon)) == 0)
		set_health(addon, "DEGRADED", "InsufficientNumberOfReplicas",
			   "The add-on is unhealthy because it doesn't have the desired "
			   "number of replicas.");
	else
		set_health(addon, "ACTIVE", NULL, NULL);
}

/* What is missing or refused at the first try ends it; later it only makes it ill. */
static bool cannot_start(struct cloud *c, struct arena *a, json_t *addon)
{
	const char *code = NULL, *why = operator_refusal(c, a, addon, &code);

	if (!why)
		return false;
	set_health(addon, "CREATE_FAILED", code, why);
	return true;
}

/* Associations that the add-on made are its own. */
static void forget_identities(struct cloud *c, const json_t *addon)
{
	const char *id;
	json_t *row;
	void *next;

	json_object_foreach_safe(cloud_table(c, EKS_IDENTITIES), next, id, row)
		if (streq(json_str_at(row, "ownerArn"), json_str_at(addon, "addonArn")))
			json_object_del(cloud_table(c, EKS_IDENTITIES), id);
}

static void addon_due(struct cloud *c, struct arena *a, const char *key, json_t *addon,
		      int64_t now_ms)
{
	const char *status = json_str_or(addon, "status", "");
	json_t *update = cloud_get(c, EKS_UPDATES, json_str_at(addon, "_update"));

	if (streq(status, "DELETING")) {
		if (!json_bool_or(addon, "_preserve", false))
			operator_remove(c, a, addon);
		forget_identities(c, addon);
		cloud_delete(c, EKS_ADDONS, key);
		return;
	}
	if (streq(status, "CREATING") && cannot_start(c, a, addon)) {
		json_drop(addon, "_until_ms");
		return;
	}
	operator_apply(c, a, addon);
	json_object_set_new(addon, "modifiedAt", cloud_seconds(now_ms));
	if (update)
		json_put_str(update, "status", "Successful");
	json_drop(addon, "_until_ms");
	json_drop(addon, "_update");
	settle(c, a, addon);
}

void eks_addons_advance(struct cloud *c, int64_t now_ms)
{
	struct arena a;
	const char *key;
	json_t *addon;
	void *next;

	arena_init(&a, 0);
	json_object_foreach_safe(cloud_table(c, EKS_ADDONS), next, key, addon) {
		int64_t until = json_int_or(addon, "_until_ms", 0);

		if (until && now_ms >= until)
			addon_due(c, &a, arena_strdup(&a, key), addon, now_ms);
		else if (!until && streq(json_str_at(addon, "status"), "DEGRADED"))
			settle(c, &a, addon);
	}
	arena_free(&a);
}

void eks_addons_forget(struct cloud *c, const char *cluster)
{
	const char *key;
	json_t *addon;
	void *next;

	json_object_foreach_safe(cloud_table(c, EKS_ADDONS), next, key, addon)
		if (eks_in_cluster(key, cluster))
			json_object_del(cloud_table(c, EKS_ADDONS), key);
}
