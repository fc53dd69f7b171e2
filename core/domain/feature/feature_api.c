/* The managed features of a cluster: how they stand, and what should be. */
#include "core/domain/feature/feature.h"
#include "core/domain/feature/kinds.h"
#include "core/domain/not_known.h"
#include "core/domain/operation_out.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/cluster_in.h"
#include "core/domain/stake/feature_users.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

/* --- get_features --------------------------------------------------------------- */

struct of_cluster {
	const char *cluster;
};

static const struct field get_features_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct of_cluster, cluster), FIELD_END};

#define TEXT(member, sentence) OUT(member, FIELD_STR, .doc = (sentence))

static const struct field need_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "What is required."),
	OUT("title", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Description of the requirement."),
	OUT("found", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Current value."),
	OUT("needed", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Required value."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "ok, brought (installed with the feature) or blocked."),
	TEXT("detail", "How to resolve it."),
	FIELD_END};

static const struct field part_out[] = {
	OUT("part", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "role, trust, policy, association, annotation, oidc_provider, bucket or "
		   "addon."),
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the part."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "present, missing, differs or foreign."),
	TEXT("detail", "How it differs."), FIELD_END};

static const struct field feature_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the feature."),
	OUT("title", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Display name."),
	OUT("enabled", FIELD_BOOL, .doc = "Whether the feature is ready to use."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "disabled, pending, enabled, failed, foreign (created by others), "
		   "partial (parts are missing or differ) or not_known."),
	TEXT("version", "Version of its add-on."),
	TEXT("status", "Status reported by AWS."),
	TEXT("trouble", "Problem reported by AWS."),
	OUT("memory_percent", FIELD_INT,
	    .doc = "Tiered checkpointing: percentage of node memory."),
	{.name = "parts",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_MANY,
	 .fields = part_out,
	 .doc = "Parts of the feature and their state."},
	{.name = "needs",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_MANY,
	 .fields = need_out,
	 .doc = "Prerequisites: current and required values."},
	OUT("users", FIELD_STRS,
	    .doc = "What depends on the feature. Disabling it ends these or breaks them."),
	NOT_KNOWN_OUT,
	FIELD_END};

static const struct field get_features_out[] = {
	OUT("cluster", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the cluster."),
	{.name = "items",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = feature_out,
	 .doc = "Features in the order in which they are enabled."},
	OUT("observed_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Time of the observation."),
	NOT_KNOWN_OUT,
	FIELD_END};

/*
 * The reads of a step without an operation: nothing is changed by them. One that has no
 * answer is remembered as such (saw_refused), and the others are made all the same.
 */
static void read_now(struct step_ctx *s, struct call *c, const struct exchange *x)
{
	struct answer ans = {.via = x->via,
			     .call = exchange_name(x, c->arena),
			     .code = "",
			     .message = "the cloud answers too slowly",
			     .request_id = "",
			     .errc = ERR_DEADLINE};

	if (c->clock->mono_ms(c->clock) <= call_read_deadline(c))
		runner_exchange(c->cloud, x, NULL, c->arena, &ans);
	read_seen(s, &ans);
}

/* What a section of a feature is made of; a read that another section has made is its. */
static void read_section(struct step_ctx *s, struct call *c, const struct feature *f,
			 unsigned parts, const char *what, json_t *row)
{
	struct step_ctx at = *s;
	struct exchange x = {.via = VIA_NONE};
	const char *key;
	json_t *entry;

	at.seen = json_new_object(c->arena);
	while (survey_observe(&at, &x, f, parts)) {
		key = json_str_or(at.seen, "_reading", "");
		entry = json_object_get(s->seen, key);
		if (entry) {
			json_object_set(at.seen, key, entry);
			continue;
		}
		read_now(&at, c, &x);
		entry = json_object_get(at.seen, key);
		if (!json_object_get(entry, "next"))
			json_object_set(s->seen, key, entry);
	}
	json_object_foreach(at.seen, key, entry)
		if (json_is_object(entry) && saw_refused(&at, key))
			not_known(row, what, json_str_or(entry, "call", ""),
				  saw_why(&at, key));
}

/* false: there is none, or it is no cluster yet. What EKS does not tell is noted. */
static bool read_eks(struct step_ctx *s, struct call *c, json_t *answer, struct err *e)
{
	struct exchange x = {.via = VIA_NONE};

	while (eks_access_observe(s, &x))
		read_now(s, c, &x);
	if (saw_refused(s, "eks")) {
		not_known(answer, "features", json_str_or(s->seen, "eks.call", ""),
			  saw_why(s, "eks"));
		return true;
	}
	if (!saw_ok(s, "eks")) {
		err_set(e, ERR_CLOUD_NOT_FOUND, "There is no EKS cluster named %s",
			eks_name(s));
		return err_fix(e, "It was deleted. Use forget_cluster.");
	}
	if (!json_str_at(saw(s, "eks"), "cluster.endpoint")) {
		err_set(e, ERR_STATE_CONFLICT, "The EKS cluster %s is %s", eks_name(s),
			json_str_or(saw(s, "eks"), "cluster.status", "?"));
		return err_fix(e, "Wait until it is ACTIVE.");
	}
	eks_save(s, json_at(saw(s, "eks"), "cluster"));
	return true;
}

/* What AWS calls something that can be used. */
static bool is_on(const char *status)
{
	return streq(status, "ACTIVE") || streq(status, "Enable") ||
	       streq(status, "InService");
}

static bool knows(const json_t *row, const char *what)
{
	return !json_find(json_at(row, "not_known"), "what", what);
}

static void put_status(struct step_ctx *s, const struct feature *f, json_t *row)
{
	const int64_t share =
		json_int_or(saw(s, "hyperpod"),
			    "TieredStorageConfig.InstanceMemoryAllocationPercentage", 0);

	json_put_str(row, "version", feature_version(s, f));
	json_put_str(row, "status", feature_status(s, f));
	json_put_str(row, "trouble", feature_trouble(s, f));
	if (f->id == FEATURE_TIERED && share > 0)
		json_put_int(row, "memory_percent", share);
}

static void put_state(struct step_ctx *s, const struct feature *f, const json_t *parts,
		      json_t *row)
{
	const char *state = feature_state(s, f, parts);
	const bool works = streq(state, "enabled") || streq(state, "partial") ||
			   streq(state, "foreign");

	json_put_str(row, "state", state);
	json_put_bool(row, "enabled", works && is_on(feature_status(s, f)));
}

static json_t *feature_row(struct step_ctx *s, struct call *c, const struct feature *f,
			   bool told)
{
	json_t *row = json_packf(c->arena, "{s:s, s:s, s:s}", "name", f->name, "title",
				 f->title, "state", "not_known");
	json_t *parts;

	if (!told)
		return row;
	read_section(s, c, f, 0, "status", row);
	read_section(s, c, f, SURVEY_NEEDS, "needs", row);
	read_section(s, c, f, SURVEY_CHAIN, "parts", row);
	read_section(s, c, f, SURVEY_USERS, "users", row);
	survey_save(s, f);
	if (knows(row, "status"))
		put_status(s, f, row);
	if (knows(row, "parts")) {
		parts = feature_chain(s, f);
		json_put(row, "parts", json_incref(parts));
		if (knows(row, "status"))
			put_state(s, f, parts, row);
	}
	if (knows(row, "needs"))
		json_put(row, "needs", json_incref(feature_needs(s, f)));
	if (knows(row, "users"))
		json_put(row, "users", json_incref(feature_users(s, f->name)));
	return row;
}

static bool run_get_features(struct call *c, const void *in, struct reply *ret,
			     struct err *e)
{
	const struct of_cluster *q = in;
	json_t *items = json_new_list(c->arena), *answer = json_new_object(c->arena);
	struct cluster k;
	struct step_ctx s = {.arena = c->arena,
			     .cfg = c->cfg,
			     .where = c->where,
			     .data = json_new_object(c->arena),
			     .seen = json_new_object(c->arena),
			     .resources = json_new_list(c->arena),
			     .catalog = json_new_list(c->arena),
			     .events = json_new_list(c->arena)};
	char at[TIME_TEXT];

	if (!cluster_mean(c, q->cluster, &k, e))
		return false;
	s.target = k.name;
	s.input = json_packf(c->arena, "{s:s*, s:s*}", "eks_name", k.eks_name,
			     "hyperpod_name", k.hyperpod_name);
	if (!read_eks(&s, c, answer, e))
		return false;
	for (size_t i = 0; i < FEATURES_; i++)
		json_push(items, json_incref(feature_row(&s, c, &features[i],
							 knows(answer, "features"))));
	json_put_str(answer, "cluster", k.name);
	json_put(answer, "items", json_incref(items));
	json_put_str(answer, "observed_at",
		     time_rfc3339(c->clock->wall_ms(c->clock), at));
	reply_tree(c, ret, answer);
	return true;
}

extern const struct capability cap_get_features;
const struct capability cap_get_features = {
	.name = "get_features",
	.method = "GET",
	.path = "/clusters/{cluster}/features",
	.title = "Get the managed features",
	.doc = "Returns the current state of the training operator, inference operator, "
	       "tiered checkpointing and autoscaling: their parts, prerequisites and "
	       "dependents.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD,
	.in = get_features_in,
	.in_size = sizeof(struct of_cluster),
	.out = get_features_out,
	.run = run_get_features,
};

/* --- update_features --------------------------------------------------------------- */

struct wish {
	bool enabled;
	int64_t memory_percent;
};

struct update_features {
	const char *cluster;
	struct wish tiered_checkpointing;
	struct wish training_operator;
	struct wish inference_operator;
	struct wish autoscaling;
	bool adopt;
	bool install_prerequisites;
	MEMBERS_MADE
};

static const struct field wish_in[] = {FIELD(struct wish, enabled,
					     .flags = FIELD_REQUIRED,
					     .doc = "Whether the feature is enabled."),
				       FIELD_END};

/* The API takes less; below a fifth there is no room for a checkpoint.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/managed-tier-checkpointing-setup.html
 */
static const struct field tiered_in[] = {
	FIELD(struct wish, enabled, .flags = FIELD_REQUIRED,
	      .doc = "Whether the feature is enabled."),
	FIELD(struct wish, memory_percent, .min = 20, .max = 100, .unit = "percent",
	      .doc = "Percentage of node memory. Default: no change, or the AWS "
		     "default."),
	FIELD_END};

static const struct field update_features_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct update_features, cluster),
	FIELD_STRUCT(struct update_features, tiered_checkpointing, struct wish, tiered_in,
		     .example = "{\"enabled\": true, \"memory_percent\": 40}",
		     .doc = "Keeps checkpoints in node memory."),
	FIELD_STRUCT(struct update_features, training_operator, struct wish, wish_in,
		     .example = "{\"enabled\": true}",
		     .doc = "Runs HyperPodPyTorchJobs."),
	FIELD_STRUCT(struct update_features, inference_operator, struct wish, wish_in,
		     .example = "{\"enabled\": true}",
		     .doc = "Runs model endpoints. To serve models from your own bucket, "
			    "mount it as read-only storage first."),
	FIELD_STRUCT(struct update_features, autoscaling, struct wish, wish_in,
		     .example = "{\"enabled\": false}",
		     .doc = "Lets Karpenter add and remove nodes as pods need them."),
	FIELD(struct update_features, adopt,
	      .doc = "Take over objects of the same name that others created. Default: "
		     "refuse."),
	FIELD(struct update_features, install_prerequisites, .dflt = "true",
	      .doc = "Also install prerequisites that are missing. Default: refuse."),
	FIELDS_MADE(struct update_features),
	FIELD_END};

/* Only what was sent: a member that is not there is not touched. */
static void drop_unsent(const struct call *c, json_t *input)
{
	for (size_t i = 0; i < FEATURES_; i++) {
		const char *name = features[i].name;
		const json_t *sent = json_object_get(c->raw, name);

		if (!json_is_object(sent))
			json_object_del(input, name);
		else if (!json_at(sent, "memory_percent"))
			json_object_del(json_object_get(input, name), "memory_percent");
	}
}

static bool keep_wishes(struct call *c, json_t *input, struct err *e)
{
	size_t n = 0;
	/* Two requests that name different features do not mean the same. */
	json_t *meant = json_own(c->arena, json_deep_copy(c->meant));

	drop_unsent(c, input);
	drop_unsent(c, meant);
	c->meant = meant;
	for (size_t i = 0; i < FEATURES_; i++) {
		if (!json_object_get(input, features[i].name))
			continue;
		if (!kind_find(kinds, features[i].kind)) {
			err_set(e, ERR_INVALID_INPUT, "%s cannot be set here",
				features[i].name);
			return err_field(e,
					 arena_printf(c->arena, "/%s", features[i].name),
					 "", "a feature of get_features");
		}
		n++;
	}
	if (n > 0)
		return true;
	err_set(e, ERR_INVALID_INPUT, "No feature is named");
	return err_field(e, "/training_operator", "",
			 "one or more features from get_features");
}

static bool run_update_features(struct call *c, const void *in, struct reply *ret,
				struct err *e)
{
	const struct update_features *q = in;
	struct cluster k;
	json_t *input;

	if (!cluster_mean(c, q->cluster, &k, e))
		return false;
	input = cluster_input(c, &k, in);
	return keep_wishes(c, input, e) &&
	       call_submit(c, &kind_update_features, k.name, input, ret, e);
}

extern const struct capability cap_update_features;
const struct capability cap_update_features = {
	.name = "update_features",
	.method = "PATCH",
	.path = "/clusters/{cluster}/features",
	.title = "Enable or disable managed features",
	.doc = "Changes only the features that you name. Enabling also creates a role "
	       "for the feature. Disabling removes exactly what enabling created, and "
	       "ends what depends on the feature: the plan lists it.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_STAKES,
	.in = update_features_in,
	.in_size = sizeof(struct update_features),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "cluster",
	.run = run_update_features,
};
