/* Which of the components that a feature has brought stay, since others use them now. */
#include "core/domain/dependency/install.h"
#include "core/domain/dependency/remove.h"
#include "core/domain/feature/toggle.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static const char *driver_of(const struct component *k)
{
	return k == &component_s3_csi    ? "s3.csi.aws.com"
	       : k == &component_fsx_csi ? "fsx.csi.aws.com"
					 : NULL;
}

static const struct component *other_operator(const struct step_ctx *c)
{
	return toggle_feature(c)->id == FEATURE_TRAINING ? &component_inference
							 : &component_training;
}

bool toggle_judge_observe(struct step_ctx *c, struct exchange *x)
{
	const struct feature *f = toggle_feature(c);

	for (size_t i = 0; f->brings[i]; i++) {
		const char *key = survey_key(c, "addon", f->brings[i]->name);

		if (addon_read(c, x, key, f->brings[i]))
			return true;
	}
	return addon_read(c, x, "other", other_operator(c)) ||
	       read_kube(c, x, "certificates",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "cert-manager.io/v1",
						.plural = "certificates"}) ||
	       read_kube(c, x, "volumes",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "v1",
						.plural = "persistentvolumes"}) ||
	       read_kube(c, x, "scalers",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "autoscaling/v2",
						.plural = "horizontalpodautoscalers"});
}

static bool has_volume(const struct step_ctx *c, const char *driver)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(saw(c, "volumes"), "items"), i, v)
		if (streq(json_str_at(v, "spec.csi.driver"), driver))
			return true;
	return false;
}

/* Of others than the operators. */
static bool has_certificate(const struct step_ctx *c)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(saw(c, "certificates"), "items"), i, v) {
		const char *ns = json_str_or(v, "metadata.namespace", "");

		if (!streq(ns, component_training.ns) &&
		    !streq(ns, component_inference.ns))
			return true;
	}
	return false;
}

static const char *why_kept(const struct step_ctx *c, const struct component *k,
			    const json_t *tags)
{
	const char *driver = driver_of(k);

	if (!step_tagged_cluster(c, tags) || !component_brought(tags))
		return "it existed before";
	if (k == &component_cert_manager && saw_ok(c, "other"))
		return arena_printf(c->arena, "the %s needs it",
				    other_operator(c)->title);
	if (k == &component_cert_manager && has_certificate(c))
		return "it contains certificates of others";
	if (k == &component_metrics && json_len_at(saw(c, "scalers"), "items") > 0)
		return "pod autoscalers read its metrics";
	if (driver && has_volume(c, driver))
		return "it has volumes";
	return NULL;
}

void toggle_judge_plan(struct step_ctx *c, struct exchange *x)
{
	const struct feature *f = toggle_feature(c);

	(void)x;
	for (size_t i = 0; f->brings[i]; i++) {
		const struct component *k = f->brings[i];
		const json_t *addon =
			json_at(saw(c, survey_key(c, "addon", k->name)), "addon");
		const char *why = addon ? why_kept(c, k, json_at(addon, "tags")) : NULL;

		if (why)
			component_keep(c, k, why);
	}
}
