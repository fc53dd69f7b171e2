#include "core/domain/dependency/footprint.h"

#include "core/base/str.h"
#include "core/json/tree.h"

const struct footprint footprints[] = {
#define FOOTPRINT(component, object, where, pods, cpu_m, memory_mib)                     \
	{component, object, where, pods, cpu_m, memory_mib},
#define FOOTPRINT_NOT(object, type)
#include "core/domain/dependency/footprint.def"
#undef FOOTPRINT
#undef FOOTPRINT_NOT
	{.component = NULL},
};

static const struct left_out {
	const char *object, *type;
} left_out[] = {
#define FOOTPRINT(...)
#define FOOTPRINT_NOT(object, type) {object, type},
#include "core/domain/dependency/footprint.def"
#undef FOOTPRINT
#undef FOOTPRINT_NOT
};

static bool has_nvidia(const json_t *type)
{
	return json_find(json_at(type, "GpuInfo.Gpus"), "Manufacturer", "NVIDIA");
}

static bool has_neuron(const json_t *type)
{
	return json_len_at(type, "NeuronInfo.NeuronDevices") > 0;
}

static bool is_left_out(const struct footprint *f, const json_t *type)
{
	const char *name = json_str_or(type, "InstanceType", "");

	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
		if (streq(left_out[i].object, f->object) &&
		    str_starts(name, left_out[i].type))
			return true;
	return false;
}

static bool has_device(const struct footprint *f, const json_t *type)
{
	switch (f->where) {
	case ON_EVERY_NODE:
		return true;
	case ON_NVIDIA:
		return has_nvidia(type);
	case ON_NEURON:
		return has_neuron(type);
	case ON_ACCELERATOR:
		return has_nvidia(type) || has_neuron(type);
	case ON_EFA:
		return json_int_or(type, "NetworkInfo.EfaInfo.MaximumEfaInterfaces", 0) >
		       0;
	case ONCE:
		break;
	}
	return false;
}

bool footprint_is_on(const struct footprint *f, const json_t *type)
{
	return has_device(f, type) && !is_left_out(f, type);
}

bool footprint_is_lacking(const struct footprint *f, const json_t *type)
{
	return has_device(f, type) && is_left_out(f, type);
}

static void add(struct footprint_sum *sum, const struct footprint *f)
{
	sum->pods += f->pods;
	sum->cpu_m += (int64_t)f->pods * f->cpu_m;
	sum->memory_mib += (int64_t)f->pods * f->memory_mib;
}

struct footprint_sum footprint_of_node(const json_t *type)
{
	struct footprint_sum sum = {0};

	for (const struct footprint *f = footprints; f->component; f++)
		if (footprint_is_on(f, type))
			add(&sum, f);
	return sum;
}

struct footprint_sum footprint_once(void)
{
	struct footprint_sum sum = {0};

	for (const struct footprint *f = footprints; f->component; f++)
		if (f->where == ONCE)
			add(&sum, f);
	return sum;
}
