/*
 * check_arch.c - whether what is installed, or will be, has images for the nodes asked
 * for, before they are paid for.
 *
 * Of a type EC2 says which processors it has; of an add-on EKS says for which its images
 * are made; of our charts the table of components. An image for another architecture
 * ends a container at its first instruction ("exec format error"). Nodes of two
 * architectures in one group or one cluster are told, too: a pod lands on either.
 * https://docs.aws.amazon.com/eks/latest/APIReference/API_AddonVersionInfo.html
 */
#include "core/base/listing.h"
#include "core/domain/dependency/component.h"
#include "core/domain/hyperpod/others_arch.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/offer/wish.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

enum { ADDONS_MAX = 24 };

/* As Kubernetes and EKS call it; NULL: EC2 does not say. */
static const char *arch_of(const json_t *type)
{
	const json_t *all = json_at(type, "ProcessorInfo.SupportedArchitectures");

	if (texts_have(all, "x86_64"))
		return "amd64";
	return texts_have(all, "arm64") ? "arm64" : NULL;
}

/* Names of the types of that architecture, of a list of DescribeInstanceTypes. */
static json_t *types_of(struct step_ctx *c, const json_t *types, const char *arch)
{
	json_t *names = json_new_list(c->arena), *type;
	size_t i;

	json_array_foreach(types, i, type)
		if (streq(arch_of(type), arch))
			json_push(names,
				  json_sprintf("ml.%s",
					       json_str_or(type, "InstanceType", "?")));
	return names;
}

static const json_t *asked(const struct step_ctx *c)
{
	return json_at(saw(c, "type"), "InstanceTypes");
}

static bool wants_arm(struct step_ctx *c)
{
	return json_array_size(types_of(c, asked(c), "arm64")) > 0;
}

/* --- reads ----------------------------------------------------------------------------
 */

/* What runs in the cluster, and what we shall install. */
static json_t *addons(struct step_ctx *c)
{
	json_t *names = json_new_list(c->arena);

	texts_add(names, json_at(saw(c, "addons"), "addons"));
	for (size_t i = 0; component_list()[i]; i++)
		if (component_list()[i]->via == COMPONENT_ADDON)
			texts_add(names, json_packf(c->arena, "[s]",
						    component_list()[i]->addon));
	return names;
}

static const char *key_of(struct step_ctx *c, const char *what, const char *addon)
{
	return arena_printf(c->arena, "%s %s", what, addon);
}

static bool read_versions(struct step_ctx *c, struct exchange *x, const char *addon)
{
	const char *version = json_str_at(saw(c, "eks"), "cluster.version");
	json_t *in = json_packf(c->arena, "{s:s}", "addonName", addon);

	if (!version)
		version = step_input(c, "kubernetes_version");
	json_put_str(in, "kubernetesVersion", version);
	return (texts_have(json_at(saw(c, "addons"), "addons"), addon) &&
		read_aws(c, x, key_of(c, "addon", addon), AWS_EKS_DescribeAddon,
			 json_packf(c->arena, "{s:s, s:s}", "clusterName", eks_name(c),
				    "addonName", addon))) ||
	       read_all(c, x, key_of(c, "versions", addon), AWS_EKS_DescribeAddonVersions,
			in);
}

static bool others_read(struct step_ctx *c, struct exchange *x)
{
	const json_t *there = json_at(c->data, "types_there");

	return json_array_size(there) > 0 &&
	       read_all(c, x, "there", AWS_EC2_DescribeInstanceTypes,
			json_packf(c->arena, "{s:[{s:s, s:O}]}", "Filters", "Name",
				   "instance-type", "Values", there));
}

bool arch_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *names, *name;
	size_t i;

	if (instance_type_read(c, x) || others_read(c, x))
		return true;
	if (!wants_arm(c))
		return false;
	if (read_aws(c, x, "eks", AWS_EKS_DescribeCluster,
		     json_packf(c->arena, "{s:s}", "name", eks_name(c))) ||
	    (saw_ok(c, "eks") &&
	     read_all(c, x, "addons", AWS_EKS_ListAddons,
		      json_packf(c->arena, "{s:s}", "clusterName", eks_name(c)))))
		return true;
	names = addons(c);
	json_array_foreach(names, i, name)
		if (i < ADDONS_MAX && read_versions(c, x, json_string_value(name)))
			return true;
	return others_arch_observe(c, x);
}

/* --- judgement
 * --------------------------------------------------------------------------- */

/* For which its images are: of the version that is installed, else of any. */
static json_t *made_for(struct step_ctx *c, const char *addon)
{
	const json_t *versions =
		json_at(saw(c, key_of(c, "versions", addon)), "addons.0.addonVersions");
	const char *installed =
		json_str_at(saw(c, key_of(c, "addon", addon)), "addon.addonVersion");
	json_t *all = json_new_list(c->arena), *v;
	size_t i;

	json_array_foreach(versions, i, v)
		if (!installed || streq(json_str_at(v, "addonVersion"), installed))
			texts_add(all, json_at(v, "architecture"));
	return all;
}

struct verdicts {
	struct listing lack, unread;
};

static void judge_addons(struct step_ctx *c, struct verdicts *v)
{
	json_t *names = addons(c), *name;
	size_t i;

	json_array_foreach(names, i, name) {
		const char *addon = json_string_value(name);
		const json_t *made = made_for(c, addon);

		if (json_array_size(made) == 0)
			listing_add(&v->unread, "%s", addon);
		else if (!texts_have(made, "arm64"))
			listing_add(&v->lack, "%s", addon);
	}
}

static void judge_charts(struct step_ctx *c, struct verdicts *v)
{
	const bool mirrored = c->cfg && c->cfg->image_mirror && *c->cfg->image_mirror;

	for (size_t i = 0; component_list()[i]; i++) {
		const struct component *k = component_list()[i];

		if (k->via != COMPONENT_CHART)
			continue;
		if (mirrored)
			listing_add(&v->unread, "%s (images of the mirror)", k->title);
		else if (!k->arm64)
			listing_add(&v->lack, "%s", k->title);
	}
}

static void judge_images(struct step_ctx *c)
{
	struct verdicts v = {listing_new(c->arena, ", ", LISTING_LONG),
			     listing_new(c->arena, ", ", LISTING_LONG)};
	const char *types = texts_named(c->arena, types_of(c, asked(c), "arm64"), NULL,
					LISTING_SHORT);

	if (!saw_ok(c, "eks") && !saw_missing(c, "eks"))
		listing_add(&v.unread, "what is installed in %s (%s)", eks_name(c),
			    saw_why(c, "eks"));
	else if (saw_ok(c, "eks") && !saw_ok(c, "addons"))
		listing_add(&v.unread, "what is installed in %s (%s)", eks_name(c),
			    saw_why(c, "addons"));
	judge_addons(c, &v);
	judge_charts(c, &v);
	step_event(c, "architecture",
		   json_pack("{s:s, s:s, s:s}", "instance_type", types, "architecture",
			     "arm64", "verdict",
			     v.lack.n     ? "does_not_fit"
			     : v.unread.n ? "not_known"
					  : "fits"));
	if (v.lack.n > 0)
		step_warn(
			c,
			"%s has arm64 processors, and these have no arm64 images: %s. Their pods fail on such nodes. Use an x86_64 type, update the add-ons, or keep their pods on other nodes",
			types, listing_text(&v.lack));
	if (v.unread.n > 0)
		step_not_known(c, "architecture",
			       "whether these have arm64 images, which %s needs: %s",
			       types, listing_text(&v.unread));
	others_arch_judge(c, types);
}

/* "ml.c7g.xlarge": of those asked for and of those there. */
static void judge_mix(struct step_ctx *c)
{
	const json_t *there = json_at(saw(c, "there"), "InstanceTypes");
	json_t *arm = types_of(c, asked(c), "arm64"),
	       *amd = types_of(c, asked(c), "amd64");

	texts_add(arm, types_of(c, there, "arm64"));
	texts_add(amd, types_of(c, there, "amd64"));
	if (json_array_size(arm) > 0 && json_array_size(amd) > 0)
		step_warn(
			c,
			"the cluster will have nodes of two architectures (arm64: %s; amd64: %s), and pods can be scheduled on either. Use images built for both, or set a nodeSelector on kubernetes.io/arch",
			texts_named(c->arena, arm, NULL, LISTING_SHORT),
			texts_named(c->arena, amd, NULL, LISTING_SHORT));
	if (json_array_size(json_at(c->data, "types_there")) > json_array_size(there))
		step_not_known(c, "architecture",
			       "which processors the existing nodes have");
}

static void judge_unlisted(struct step_ctx *c)
{
	size_t i;
	json_t *type;

	json_array_foreach(asked(c), i, type)
		if (!arch_of(type))
			step_not_known(c, "architecture", "which processors ml.%s has",
				       json_str_or(type, "InstanceType", "?"));
	if (json_array_size(asked(c)) < json_array_size(wish_types(c)))
		step_not_known(c, "architecture", "which processors %s has",
			       wish_types_text(c));
}

void arch_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	judge_unlisted(c);
	judge_mix(c);
	if (wants_arm(c))
		judge_images(c);
}
