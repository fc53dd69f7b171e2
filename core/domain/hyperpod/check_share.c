#include "core/domain/hyperpod/check_share.h"

#include "core/domain/offer/wish.h"
#include "core/json/tree.h"

/*
 * What the nodes of EKS keep: by the cores and by the pods that fit, and what the system
 * itself takes of a type's memory before Kubernetes counts it.
 * https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/config.go
 */
enum {
	KEPT_MIB = 255,
	KEPT_MIB_OF_A_POD = 11,
	EVICTION_MIB = 100,
	SYSTEM_PERMILLE = 75,
	CORES_TABLED = 4
};

static int64_t kept_cpu_m(int64_t cpus)
{
	/* Thousandths of a core, doubled: 6 %, 1 %, 0.5 % twice, then 0.25 %. */
	static const int64_t kept_doubled[CORES_TABLED] = {120, 20, 10, 10};
	int64_t sum = 0;

	for (int64_t i = 0; i < cpus; i++)
		sum += i < CORES_TABLED ? kept_doubled[i] : 5;
	return (sum + 1) / 2;
}

struct footprint_sum node_share(const json_t *type, int64_t threads, int64_t kept_percent)
{
	const int64_t slots =
		json_int_or(type, "NetworkInfo.Ipv4AddressesPerInterface", 0) - 1;
	const int64_t cores = json_int_or(type, "VCpuInfo.DefaultCores", 0);
	const int64_t all = json_int_or(type, "VCpuInfo.DefaultVCpus", 0);
	const int64_t cpus = threads > 1 ? all : cores;
	int64_t mib = json_int_or(type, "MemoryInfo.SizeInMiB", 0);

	mib -= mib * SYSTEM_PERMILLE / 1000 + mib * kept_percent / 100;
	mib -= KEPT_MIB + KEPT_MIB_OF_A_POD * (slots > 0 ? slots : 0) + EVICTION_MIB;
	return (struct footprint_sum){.pods = slots > 0 ? slots : -1,
				      .cpu_m = cpus * 1000 - kept_cpu_m(cpus),
				      .memory_mib = mib};
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

	step_event(c, "pods",
		   json_pack("{s:s, s:I, s:I, s:I, s:s}", "instance_type",
			     name_of(c, type), "slots", (json_int_t)(count * slots),
			     "components", (json_int_t)(count * each + once), "left",
			     (json_int_t)(left - once), "verdict",
			     left < once ? "does_not_fit" : "fits"));
	if (left < once)
		step_warn(
			c,
			"%lld × %s has %lld pod slots left for the components, which need "
			"about %lld (%lld slots a node, %lld of them taken on every node): "
			"some will stay Pending. Use more nodes or a larger type",
			(long long)count, name_of(c, type), (long long)left,
			(long long)once, (long long)slots, (long long)each);
}

static void judge_resources(struct step_ctx *c, const json_t *type,
			    const struct footprint_sum *has)
{
	const int64_t count = wish_count(c);
	const struct footprint_sum each = footprint_of_node(type), once = once_here(c);
	const int64_t cpu = count * (has->cpu_m - each.cpu_m) - once.cpu_m;
	const int64_t mib = count * (has->memory_mib - each.memory_mib) - once.memory_mib;
	const bool fits = cpu >= 0 && mib >= 0 && each.cpu_m <= has->cpu_m &&
			  each.memory_mib <= has->memory_mib;

	step_event(c, "share",
		   json_pack("{s:s, s:{s:I, s:I}, s:{s:I, s:I}, s:{s:I, s:I}, s:s}",
			     "instance_type", name_of(c, type), "node", "cpu_m",
			     (json_int_t)has->cpu_m, "memory_mib",
			     (json_int_t)has->memory_mib, "components", "cpu_m",
			     (json_int_t)each.cpu_m, "memory_mib",
			     (json_int_t)each.memory_mib, "left", "cpu_m",
			     (json_int_t)cpu, "memory_mib", (json_int_t)mib, "verdict",
			     fits ? "fits" : "does_not_fit"));
	if (!fits)
		step_warn(
			c,
			"%lld × %s offers pods about %lldm CPU and %lld MiB a node; the "
			"components request %lldm and %lld MiB on every node and %lldm "
			"and %lld MiB once: some will stay Pending. Use more nodes or a larger type",
			(long long)count, name_of(c, type), (long long)has->cpu_m,
			(long long)has->memory_mib, (long long)each.cpu_m,
			(long long)each.memory_mib, (long long)once.cpu_m,
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
		const struct footprint_sum has =
			node_share(type, json_int_or(c->input, "threads_per_core", 0),
				   json_int_or(c->data, "kept_percent", 0));

		judge_placement(c, type);
		if (has.pods >= 0)
			judge_pods(c, type, has.pods);
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
