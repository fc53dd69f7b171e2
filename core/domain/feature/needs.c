/*
 * needs.c - what must be there before a feature: found against needed.
 *
 * What is missing and can be installed is brought along; what is too old, or in
 * nobody's power here, blocks before anything is made (cases TC-06, TC-08, DP-09).
 */
#include "core/domain/feature/feature.h"
#include "core/domain/karpenter/prerequisites.h"
#include "core/domain/step/read.h"
#include "core/domain/step/version.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

static const struct least {
	enum feature_id feature;
	const struct component *component;
	const char *version;
} least[] = {
	{FEATURE_INFERENCE, &component_s3_csi, "v1.14.1-eksbuild.1"},
	{FEATURE_INFERENCE, &component_fsx_csi, "v1.6.0-eksbuild.1"},
	{FEATURE_INFERENCE, &component_metrics, "v0.7.2-eksbuild.4"},
	{FEATURE_INFERENCE, &component_cert_manager, "v1.18.2-eksbuild.2"},
};
static const char least_governance[] = "v1.3.0-eksbuild.1";

static const char *needed_version(const struct feature *f, const struct component *k)
{
	for (size_t i = 0; i < sizeof(least) / sizeof(least[0]); i++)
		if (least[i].feature == f->id && least[i].component == k)
			return least[i].version;
	return NULL;
}

static void add(json_t *list, const char *name, const char *title, const char *found,
		const char *needed, const char *state, const char *detail)
{
	json_push(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s*}", "name", name,
				  "title", title, "found", found, "needed", needed,
				  "state", state, "detail", detail));
}

static void judge_component(struct step_ctx *c, const struct feature *f,
			    const struct component *k, json_t *list)
{
	const json_t *addon = json_at(saw(c, survey_key(c, "addon", k->name)), "addon");
	const char *found = json_str_at(addon, "addonVersion");
	const char *status = json_str_or(addon, "status", "");
	const char *needed = needed_version(f, k);
	const char *said = needed ? needed : "any";

	if (!addon && saw_ok(c, survey_key(c, "sign", k->name)))
		add(list, k->name, k->title, "installed by another method", said, "ok",
		    "the version is unknown");
	else if (!addon)
		add(list, k->name, k->title, "missing", said, "brought", NULL);
	else if (needed && version_compare(found, needed) < 0)
		add(list, k->name, k->title, found ? found : "?", needed, "blocked",
		    arena_printf(c->arena, "Update the add-on %s", k->addon));
	else if (streq(status, "DEGRADED") || streq(status, "ACTIVE") ||
		 streq(status, "CREATING") || streq(status, "UPDATING"))
		add(list, k->name, k->title, found ? found : "?", said, "ok", NULL);
	else
		add(list, k->name, k->title,
		    arena_printf(c->arena, "%s, %s", found ? found : "?", status), said,
		    "brought", NULL);
}

static void judge_training(struct step_ctx *c, json_t *list)
{
	const char *found = json_str_at(saw(c, "governance"), "addon.addonVersion");
	const char *trouble = way_trouble(c);

	if (found)
		add(list, "task_governance", "Task governance", found, least_governance,
		    version_compare(found, least_governance) < 0 ? "blocked" : "ok",
		    version_compare(found, least_governance) < 0
			    ? "Update the add-on amazon-sagemaker-hyperpod-taskgovernance"
			    : NULL);
	add(list, "way_to_aws", "Network access to SageMaker and EKS Auth",
	    trouble ? trouble : "available",
	    "NAT, or interface endpoints that accept traffic from the nodes",
	    trouble ? "blocked" : "ok",
	    trouble ? "Add the endpoint or the security group rule" : NULL);
}

/* https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-model-deployment-setup.html
 */
static void judge_chart(struct step_ctx *c, json_t *list)
{
	const char *deployment = survey_charted(c);

	if (deployment)
		add(list, "inference_chart", "Operator",
		    arena_printf(c->arena, "installed by Helm (deployment %s)",
				 deployment),
		    "none, or the add-on", "blocked",
		    "Uninstall its Helm release (two installations of the operator "
		    "conflict)");
}

static void judge_hyperpod(struct step_ctx *c, json_t *list)
{
	const json_t *cluster = saw(c, "hyperpod");

	add(list, "hyperpod", "HyperPod cluster",
	    json_str_or(cluster, "ClusterStatus", "missing"), "there",
	    cluster ? "ok" : "blocked", cluster ? NULL : "Create it first");
}

/* By the same rules as the operation that switches it. */
static void judge_autoscaling(struct step_ctx *c, json_t *list)
{
	struct findings f = findings_new(c->arena);

	if (!saw(c, "hyperpod"))
		return;
	prerequisites_check(saw(c, "hyperpod"), json_at(saw(c, "agents"), "items"), &f);
	for (size_t i = 0; i < f.n; i++)
		add(list, "autoscaling", "Autoscaling",
		    f.v[i].seen[0] ? f.v[i].seen : "missing", f.v[i].expected, "blocked",
		    f.v[i].detail);
}

json_t *feature_needs(struct step_ctx *c, const struct feature *f)
{
	json_t *list = json_new_list(c->arena), *node = serving_need(c, f);

	judge_hyperpod(c, list);
	for (size_t i = 0; f->brings && f->brings[i]; i++)
		judge_component(c, f, f->brings[i], list);
	if (node)
		json_push(list, json_incref(node));
	if (f->id == FEATURE_TRAINING)
		judge_training(c, list);
	if (f->id == FEATURE_INFERENCE)
		judge_chart(c, list);
	if (f->id == FEATURE_AUTOSCALING)
		judge_autoscaling(c, list);
	return list;
}

const json_t *feature_blocker(const json_t *needs)
{
	return json_find(needs, "state", "blocked");
}

/* What the part says of itself, as chain_read() has seen it. */
static const json_t *tags_of_part(const struct step_ctx *c, const struct feature *f,
				  const json_t *part)
{
	const char *what = json_str_or(part, "part", "");
	const char *name = json_str_or(part, "name", "");

	if (streq(what, "addon"))
		return json_at(saw(c, survey_key(c, "addon", f->name)), "addon.tags");
	if (streq(what, "bucket"))
		return json_at(saw(c, "bucket_tags"), "TagSet");
	if (streq(what, "association"))
		return json_at(saw(c, "one"), "association.tags");
	if (f->id == FEATURE_AUTOSCALING)
		return json_at(saw(c, "scaler"), "Role.Tags");
	return json_at(saw(c, survey_key(c, "role", name)), "Role.Tags");
}

bool feature_refuse_foreign(struct step_ctx *c, const struct feature *f)
{
	const json_t *part = json_find(feature_chain(c, f), "state", "foreign");
	const char *detail = json_str_at(part, "detail");
	struct err *e;

	if (!part || json_bool_or(c->input, "adopt", false))
		return false;
	e = step_fail(c, ERR_FOREIGN_OBJECT,
		      "The %s %s was not created by InstantStart%s%s",
		      json_str_or(part, "part", "?"), json_str_or(part, "name", "?"),
		      detail ? ": " : "", detail ? detail : "");
	owner_tell(c, e, tags_of_part(c, f, part));
	err_field(e, "/adopt", "false", "true");
	err_fix(e, "Set adopt to take it over. Otherwise it is not changed.");
	return true;
}
