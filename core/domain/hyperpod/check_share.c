#include "core/domain/hyperpod/check_share.h"

#include "core/domain/offer/wish.h"
#include "core/json/tree.h"

/*
 * What the kubelet of EKS keeps: CPU by bands of cores, memory by the pods that may run
 * (255 MiB and 11 for each), and 100 MiB below which it evicts.
 * https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/config.go
 *
 * Two things nobody tells before the node is there, so that what pods get of the memory
 * lies between two figures. For how many pods it keeps: EKS's images count all
 * interfaces of the default network card, HyperPod's nodes have pods on one. And what
 * firmware and kernel take before Kubernetes counts: up to 7.5 %, which is what Karpenter
 * reckons with.
 */
enum { KEPT_MIB = 255, KEPT_MIB_OF_A_POD = 11, EVICTION_MIB = 100, SYSTEM_PERMILLE = 75 };

static int64_t kept_cpu_m(int64_t cpu_m)
{
	static const struct {
		int64_t from_m, per_10000;
	} bands[] = {{0, 600}, {1000, 100}, {2000, 50}, {4000, 25}, {INT64_MAX, 0}};
	int64_t sum = 0;

	for (size_t i = 0; bands[i].per_10000 && cpu_m > bands[i].from_m; i++) {
		const int64_t to = bands[i + 1].from_m;

		sum += ((cpu_m < to ? cpu_m : to) - bands[i].from_m) *
		       bands[i].per_10000 / 10000;
	}
	return sum;
}

static int64_t kept_mib(int64_t pods)
{
	return KEPT_MIB + KEPT_MIB_OF_A_POD * (pods > 0 ? pods : 0) + EVICTION_MIB;
}

/* Of the default card; where EC2 tells of no cards, of all of them. */
static int64_t interfaces(const json_t *type)
{
	const int64_t card = json_int_or(type, "NetworkInfo.DefaultNetworkCardIndex", 0);
	size_t i;
	json_t *c;

	json_array_foreach(json_at(type, "NetworkInfo.NetworkCards"), i, c)
		if (json_int_or(c, "NetworkCardIndex", 0) == card &&
		    json_at(c, "MaximumNetworkInterfaces"))
			return json_int_or(c, "MaximumNetworkInterfaces", 1);
	return json_int_or(type, "NetworkInfo.MaximumNetworkInterfaces", 1);
}

struct node_share node_share(const json_t *type, int64_t threads, int64_t kept_percent)
{
	const int64_t slots =
		json_int_or(type, "NetworkInfo.Ipv4AddressesPerInterface", 0) - 1;
	const int64_t counted = slots > 0 ? interfaces(type) * slots + 2 : 0;
	const int64_t cores = json_int_or(type, "VCpuInfo.DefaultCores", 0);
	const int64_t all = json_int_or(type, "VCpuInfo.DefaultVCpus", 0);
	const int64_t cpus = threads > 1 ? all : cores;
	const int64_t mib = json_int_or(type, "MemoryInfo.SizeInMiB", 0);
	const int64_t tiered = mib * kept_percent / 100;
	const struct footprint_sum most = {.pods = slots > 0 ? slots : -1,
					   .cpu_m = cpus * 1000 - kept_cpu_m(cpus * 1000),
					   .memory_mib = mib - tiered - kept_mib(slots)};
	struct node_share s = {.most = most, .least = most};

	s.least.memory_mib = mib - tiered - mib * SYSTEM_PERMILLE / 1000 -
			     kept_mib(counted > slots ? counted : slots);
	return s;
}

/* What runs once is there already where other nodes are. */
static struct footprint_sum once_here(const struct step_ctx *c)
{
	return json_int_or(c->data, "nodes_there", 0) > 0 ? (struct footprint_sum){0}
							  : footprint_once();
}

static const char *name_of(struct step_ctx *c, const json_t *type)
{
	const char *name = json_str_at(type, "InstanceType");

	return name ? arena_printf(c->arena, "ml.%s", name) : wish_types_text(c);
}

/* Case CC-09. */
static void judge_pods(struct step_ctx *c, const json_t *type, int64_t slots)
{
	const int64_t count = wish_count(c);
	const int64_t each = footprint_of_node(type).pods, once = once_here(c).pods;
	const int64_t left = slots > each ? count * (slots - each) : 0;
	const json_int_t all = count * slots, ours = count * each + once,
			 others = left - once;

	step_event(c, "pods",
		   json_pack("{s:s, s:I, s:I, s:I, s:s}", "instance_type",
			     name_of(c, type), "slots", all, "components", ours, "left",
			     others, "verdict", left < once ? "does_not_fit" : "fits"));
	if (left < once)
		step_warn(
			c,
			"%lld × %s has %lld pod slots left for the components, which need "
			"about %lld (%lld slots a node, %lld of them taken on every node): "
			"some will stay Pending. Use more nodes or a larger type",
			(long long)count, name_of(c, type), (long long)left,
			(long long)once, (long long)slots, (long long)each);
}

/* What is left of all nodes when the components have theirs. */
struct rest {
	int64_t cpu_m, memory_mib;
	bool fits;
};

static struct rest rest_of(const struct step_ctx *c, const json_t *type,
			   const struct footprint_sum *has)
{
	const int64_t count = wish_count(c);
	const struct footprint_sum each = footprint_of_node(type), once = once_here(c);
	struct rest r = {.cpu_m = count * (has->cpu_m - each.cpu_m) - once.cpu_m,
			 .memory_mib = count * (has->memory_mib - each.memory_mib) -
				       once.memory_mib};

	r.fits = r.cpu_m >= 0 && r.memory_mib >= 0 && each.cpu_m <= has->cpu_m &&
		 each.memory_mib <= has->memory_mib;
	return r;
}

static void judge_resources(struct step_ctx *c, const json_t *type,
			    const struct node_share *has)
{
	const int64_t count = wish_count(c);
	const struct footprint_sum each = footprint_of_node(type), once = once_here(c);
	const struct rest least = rest_of(c, type, &has->least),
			  most = rest_of(c, type, &has->most);

	step_event(c, "share",
		   json_pack("{s:s, s:{s:I, s:I, s:I}, s:{s:I, s:I}, s:{s:I, s:I}, s:I, "
			     "s:s}",
			     "instance_type", name_of(c, type), "node", "cpu_m",
			     (json_int_t)has->least.cpu_m, "memory_mib",
			     (json_int_t)has->least.memory_mib, "memory_mib_at_most",
			     (json_int_t)has->most.memory_mib, "components", "cpu_m",
			     (json_int_t)each.cpu_m, "memory_mib",
			     (json_int_t)each.memory_mib, "left", "cpu_m",
			     (json_int_t)least.cpu_m, "memory_mib",
			     (json_int_t)least.memory_mib, "margin_mib",
			     (json_int_t)(has->most.memory_mib - has->least.memory_mib),
			     "verdict",
			     least.fits  ? "fits"
			     : most.fits ? "not_known"
					 : "does_not_fit"));
	if (least.fits)
		return;
	if (most.fits) {
		step_not_known(
			c, "share",
			"whether the memory of %lld × %s is enough for the components: a "
			"node offers pods between %lld and %lld MiB, which is known when "
			"it is there, and they request %lld MiB on every node and %lld "
			"MiB once",
			(long long)count, name_of(c, type),
			(long long)has->least.memory_mib, (long long)has->most.memory_mib,
			(long long)each.memory_mib, (long long)once.memory_mib);
		return;
	}
	step_warn(
		c,
		"%lld × %s offers pods about %lldm CPU and at most %lld MiB a node; the "
		"components request %lldm and %lld MiB on every node and %lldm "
		"and %lld MiB once: some will stay Pending. Use more nodes or a "
		"larger type",
		(long long)count, name_of(c, type), (long long)has->most.cpu_m,
		(long long)(has->most.memory_mib > 0 ? has->most.memory_mib : 0),
		(long long)each.cpu_m, (long long)each.memory_mib, (long long)once.cpu_m,
		(long long)once.memory_mib);
}

/* Devices that no plugin offers to pods, nodes that no agent watches. */
static void judge_placement(struct step_ctx *c, const json_t *type)
{
	for (const struct footprint *f = footprints; f->component; f++) {
		if (!footprint_is_lacking(f, type) ||
		    (f->where == ON_EFA && !wish_str(c, "interface_mode")))
			continue;
		step_warn(
			c,
			"the HyperPod chart places no %s on %s: %s. Install one for this type, or use another type",
			f->object, name_of(c, type),
			f->where == ON_ACCELERATOR
				? "faults of its accelerators are not found, and "
				  "such nodes are not repaired"
				: "pods that ask for the device stay Pending");
	}
}

void share_judge(struct step_ctx *c, const json_t *types)
{
	size_t i;
	json_t *type;

	json_array_foreach(types, i, type) {
		const struct node_share has =
			node_share(type, json_int_or(c->input, "threads_per_core", 0),
				   json_int_or(c->data, "kept_percent", 0));

		judge_placement(c, type);
		if (has.most.pods >= 0)
			judge_pods(c, type, has.most.pods);
		else
			step_not_known(c, "pods", "how many pods fit on a node of %s",
				       name_of(c, type));
		if (json_at(type, "VCpuInfo.DefaultCores") &&
		    json_at(type, "MemoryInfo.SizeInMiB"))
			judge_resources(c, type, &has);
		else
			step_not_known(c, "share",
				       "how much CPU and memory a node of %s has",
				       name_of(c, type));
	}
}
