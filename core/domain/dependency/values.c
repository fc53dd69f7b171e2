/*
 * values.c - what our charts are told.
 *
 * A chart's own defaults are those of one region and of one purpose. Told are: where
 * images come from, what an add-on or nobody has asked for, what pods cannot find out
 * by themselves. The images of a private mirror are Helm's part (core/kube/helm.h):
 * some templates spell theirs out.
 */
#include <string.h>

#include "core/aws/partition.h"
#include "core/domain/dependency/install.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

json_t *load_balancer_values(struct step_ctx *c)
{
	/* Given, because the controller would ask instance metadata, which pods
	 * on HyperPod nodes cannot reach (case DP-08). */
	return json_packf(c->arena, "{s:s, s:s, s:s, s:{s:b, s:s}}", "clusterName",
			  step_get(c, "eks.name") ? step_get(c, "eks.name") : c->target,
			  "region", c->where->region, "vpcId", step_get(c, "eks.vpc_id"),
			  "serviceAccount", "create", 1, "name",
			  "aws-load-balancer-controller");
}

/* --- registries ---------------------------------------------------------------- */

/*
 * The accounts of EKS's own images where it is not 602401143452.
 * https://docs.aws.amazon.com/eks/latest/userguide/add-ons-images.html
 */
static const struct registry {
	const char *region, *account;
} registries[] = {
	{"af-south-1", "877085696533"},
	{"ap-east-1", "800184023465"},
	{"ap-east-2", "533267051163"},
	{"ap-northeast-1", NULL},
	{"ap-northeast-2", NULL},
	{"ap-northeast-3", NULL},
	{"ap-south-1", NULL},
	{"ap-south-2", "900889452093"},
	{"ap-southeast-1", NULL},
	{"ap-southeast-2", NULL},
	{"ap-southeast-3", "296578399912"},
	{"ap-southeast-4", "491585149902"},
	{"ap-southeast-5", "151610086707"},
	{"ap-southeast-6", "333609536671"},
	{"ap-southeast-7", "121268973566"},
	{"ca-central-1", NULL},
	{"ca-west-1", "761377655185"},
	{"cn-north-1", "918309763551"},
	{"cn-northwest-1", "961992271922"},
	{"eu-central-1", NULL},
	{"eu-central-2", "900612956339"},
	{"eu-north-1", NULL},
	{"eu-south-1", "590381155156"},
	{"eu-south-2", "455263428931"},
	{"eu-west-1", NULL},
	{"eu-west-2", NULL},
	{"eu-west-3", NULL},
	{"il-central-1", "066635153087"},
	{"me-central-1", "759879836304"},
	{"me-south-1", "558608220178"},
	{"mx-central-1", "730335286997"},
	{"sa-east-1", NULL},
	{"us-east-1", NULL},
	{"us-east-2", NULL},
	{"us-gov-east-1", "151742754352"},
	{"us-gov-west-1", "013241004608"},
	{"us-west-1", NULL},
	{"us-west-2", NULL},
};
static const char COMMON_ACCOUNT[] = "602401143452";

static const struct registry *registry_of(const char *region)
{
	for (size_t i = 0; i < sizeof(registries) / sizeof(registries[0]); i++)
		if (streq(registries[i].region, region))
			return &registries[i];
	return NULL;
}

/* "ACCOUNT.dkr.ecr.REGION.SUFFIX", the first part of an image's name. */
static const char *registry_seen(const struct step_ctx *c, const char *image)
{
	const char *end = strchr(image, '/');
	const char *host =
		end ? arena_strndup(c->arena, image, (size_t)(end - image)) : "";
	const char *want = arena_printf(c->arena, ".dkr.ecr.%s.%s", c->where->region,
					aws_partition_of(c->where->region)->dns_suffix);
	enum { ACCOUNT_DIGITS = 12 };

	if (strspn(host, "0123456789") != ACCOUNT_DIGITS ||
	    !streq(host + ACCOUNT_DIGITS, want))
		return NULL;
	return host;
}

const char *eks_registry(const struct step_ctx *c)
{
	const struct registry *r = registry_of(c->where->region);
	const char *image = json_str_or(saw(c, "network_plugin"),
					"spec.template.spec.containers.0.image", "");

	if (r)
		return arena_printf(c->arena, "%s.dkr.ecr.%s.%s",
				    r->account ? r->account : COMMON_ACCOUNT, r->region,
				    aws_partition_of(r->region)->dns_suffix);
	/* A region that is newer than the list: what EKS itself runs there. */
	return registry_seen(c, image);
}

/* --- the HyperPod chart --------------------------------------------------------- */

/* Operators that the chart brings with a namespace of their own, unless told not to:
 * nobody has asked for them, but who has them keeps them. */
static const struct operator
{
	const char *value, *ns, *key;
}
operators[] = {
	{"trainingOperators", "kubeflow", "ns_kubeflow"},
	{"mpi-operator", "mpi-operator", "ns_mpi"},
};

/* Told off by name, so that no later default of the chart brings what an add-on of
 * ours or nobody brings. */
static const char *const unasked[] = {"cert-manager", "mlflow", "inferenceOperators",
				      "storage", "gpu-operator"};

static bool mirrored(const struct step_ctx *c)
{
	return c->cfg && c->cfg->image_mirror && *c->cfg->image_mirror;
}

/* The agent's images are published in the commercial partition alone. */
static bool has_agent(const struct step_ctx *c)
{
	return mirrored(c) || streq(c->where->partition, "aws");
}

bool hyperpod_look(struct step_ctx *c, struct exchange *x)
{
	const bool installed = json_len_at(saw(c, "secrets"), "items") > 0;

	for (size_t i = 0; installed && i < sizeof(operators) / sizeof(operators[0]); i++)
		if (read_kube(c, x, operators[i].key,
			      &(struct kube_request){.verb = KUBE_GET,
						     .api = "v1",
						     .plural = "namespaces",
						     .name = operators[i].ns}))
			return true;
	return !registry_of(c->where->region) &&
	       read_kube(c, x, "network_plugin",
			 &(struct kube_request){.verb = KUBE_GET,
						.api = "apps/v1",
						.plural = "daemonsets",
						.ns = "kube-system",
						.name = "aws-node"});
}

/* Its namespace is an object of our release: taking it away takes what is in it. */
static bool has_operator(const struct step_ctx *c, const struct operator* o)
{
	const json_t *notes = json_at(saw(c, o->key), "metadata.annotations");

	return streq(
		json_string_value(json_object_get(notes, "meta.helm.sh/release-name")),
		component_hyperpod.release);
}

static json_t *switched(bool on)
{
	return json_pack("{s:b}", "enabled", on);
}

json_t *hyperpod_values(struct step_ctx *c)
{
	json_t *v =
		json_packf(c->arena, "{s:{s:s}}", "global", "region", c->where->region);
	const char *registry = eks_registry(c);

	for (size_t i = 0; i < sizeof(unasked) / sizeof(unasked[0]); i++)
		json_object_set_new(v, unasked[i], switched(false));
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		json_object_set_new(v, operators[i].value,
				    switched(has_operator(c, &operators[i])));
	json_object_set_new(v, "health-monitoring-agent",
			    json_pack("{s:b, s:s}", "enabled", has_agent(c), "region",
				      c->where->region));
	if (registry)
		json_object_set_new(
			v, "aws-efa-k8s-device-plugin",
			json_pack("{s:{s:s}}", "image", "repository",
				  arena_printf(c->arena,
					       "%s/eks/aws-efa-k8s-device-plugin",
					       registry)));
	else if (!mirrored(c))
		json_object_set_new(v, "aws-efa-k8s-device-plugin",
				    json_pack("{s:o}", "devicePlugin", switched(false)));
	return v;
}

const char *hyperpod_images_missing(const struct step_ctx *c)
{
	const bool agent = !has_agent(c);
	const bool plugin = !mirrored(c) && !c->planning && !eks_registry(c);

	if (!agent && !plugin)
		return NULL;
	return arena_printf(
		c->arena,
		"No image of the %s%s%s is known for %s, so it is not installed. To "
		"install it, set INSTANTSTART_IMAGE_MIRROR to a registry that has the "
		"image.",
		agent ? "HyperPod health agent" : "",
		agent && plugin ? " and of the " : "", plugin ? "EFA device plugin" : "",
		c->where->region);
}
