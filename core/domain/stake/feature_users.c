#include "core/domain/stake/feature_users.h"

#include <strings.h>

#include "core/domain/dependency/component.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static const char training[] = "training_operator";
static const char inference[] = "inference_operator";
static const char tiered[] = "tiered_checkpointing";

/* --- which of them count ------------------------------------------------------------ */

static bool always(struct step_ctx *c, const json_t *object)
{
	(void)c;
	(void)object;
	return true;
}

/* A job that has ended needs nobody. */
static bool goes_on(struct step_ctx *c, const json_t *object)
{
	static const char *const ends[] = {"Completed", "Succeeded", "Failed"};
	const json_t *conditions = json_at(object, "status.conditions");

	(void)c;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (streq(json_str_at(json_find(conditions, "type", ends[i]), "status"),
			  "True"))
			return false;
	return true;
}

/* Its second cache is what tiered checkpointing keeps in the nodes' memory. */
static bool caches_in_tiers(struct step_ctx *c, const json_t *object)
{
	const json_t *cache = json_at(object, "spec.kvCacheSpec");
	const char *backend = json_str_or(cache, "l2CacheSpec.l2CacheBackend", "");

	(void)c;
	return json_bool_or(cache, "enableL2Cache", false) &&
	       strcasecmp(backend, "tieredstorage") == 0;
}

/* Not when a KEDA of others serves them: they do not need the operator's. */
static bool is_served_here(struct step_ctx *c, const json_t *object)
{
	size_t i;
	json_t *d;

	(void)object;
	json_array_foreach(json_at(saw(c, "deployments"), "items"), i, d)
		if (streq(json_str_at(d, "metadata.name"), "keda-operator") &&
		    !streq(json_str_at(d, "metadata.namespace"), component_inference.ns))
			return false;
	return true;
}

#define JOB       "sagemaker.amazonaws.com/v1", "hyperpodpytorchjobs", "HyperPodPyTorchJob"
#define INFERENCE "inference.sagemaker.aws.amazon.com/v1"
#define ENDPOINT  INFERENCE, "inferenceendpointconfigs", "InferenceEndpointConfig"
#define MODEL     INFERENCE, "jumpstartmodels", "JumpStartModel"

static const struct user_kind {
	const char *feature, *api, *plural, *kind;
	bool (*counts)(struct step_ctx *c, const json_t *object);
} user_kinds[] = {
	{training, JOB, goes_on},
	{inference, ENDPOINT, always},
	{inference, MODEL, always},
	{inference, "keda.sh/v1alpha1", "scaledobjects", "ScaledObject", is_served_here},
	/* Whether a job keeps checkpoints there, its own code alone says. */
	{tiered, JOB, goes_on},
	{tiered, ENDPOINT, caches_in_tiers},
	{tiered, MODEL, caches_in_tiers},
	{"autoscaling", "karpenter.sh/v1", "nodepools", "NodePool", always},
	{"autoscaling", "karpenter.sagemaker.amazonaws.com/v1", "hyperpodnodeclasses",
	 "HyperpodNodeClass", always},
};
enum { N_USER_KINDS = sizeof(user_kinds) / sizeof(user_kinds[0]) };

/* --- reads and lists ------------------------------------------------------------------
 */

static bool list_all(struct step_ctx *c, struct exchange *x, const char *key,
		     const char *api, const char *plural)
{
	return read_kube(
		c, x, key,
		&(struct kube_request){.verb = KUBE_LIST, .api = api, .plural = plural});
}

static const char *key_of(const struct step_ctx *c, const struct user_kind *k)
{
	return arena_printf(c->arena, "users:%s", k->plural);
}

bool feature_users_read(struct step_ctx *c, struct exchange *x, const char *feature)
{
	for (size_t i = 0; i < N_USER_KINDS; i++)
		if (streq(user_kinds[i].feature, feature) &&
		    list_all(c, x, key_of(c, &user_kinds[i]), user_kinds[i].api,
			     user_kinds[i].plural))
			return true;
	return streq(feature, inference) &&
	       list_all(c, x, "deployments", "apps/v1", "deployments");
}

static const char *text_of(struct step_ctx *c, const struct user_kind *k,
			   const json_t *object)
{
	const char *ns = json_str_at(object, "metadata.namespace");

	return arena_printf(c->arena, "%s %s%s%s", k->kind, ns ? ns : "", ns ? "/" : "",
			    json_str_or(object, "metadata.name", "?"));
}

static bool visit(struct step_ctx *c, const struct user_kind *k,
		  bool (*each)(struct step_ctx *, const struct feature_user *, void *),
		  void *arg)
{
	size_t i;
	json_t *o;

	json_array_foreach(json_at(saw(c, key_of(c, k)), "items"), i, o) {
		const struct feature_user u = {
			.text = text_of(c, k, o),
			.request = {.api = k->api,
				    .plural = k->plural,
				    .ns = json_str_at(o, "metadata.namespace"),
				    .name = json_str_at(o, "metadata.name")},
			.object = o,
			.going = json_at(o, "metadata.deletionTimestamp") != NULL,
		};

		if (k->counts(c, o) && !each(c, &u, arg))
			return false;
	}
	return true;
}

void feature_users_each(struct step_ctx *c, const char *feature,
			bool (*each)(struct step_ctx *, const struct feature_user *,
				     void *),
			void *arg)
{
	for (size_t i = 0; i < N_USER_KINDS; i++)
		if (streq(user_kinds[i].feature, feature) &&
		    !visit(c, &user_kinds[i], each, arg))
			return;
}

static bool add_text(struct step_ctx *c, const struct feature_user *u, void *arg)
{
	(void)c;
	json_push(arg, json_string(u->text));
	return true;
}

json_t *feature_users(struct step_ctx *c, const char *feature)
{
	json_t *list = json_new_list(c->arena);

	feature_users_each(c, feature, add_text, list);
	return list;
}
