/* Instance types and where they are offered. */
#include <string.h>

#include "tests/cloud/ec2/ops.h"

const struct ec2_type ec2_types[] = {
#include "tests/cloud/ec2/types.def"
	{.name = NULL},
};

const struct ec2_type *ec2_type_find(const char *name)
{
	if (name && str_starts(name, "ml."))
		name += strlen("ml.");
	for (const struct ec2_type *t = ec2_types; t->name; t++)
		if (streq(t->name, name))
			return t;
	return NULL;
}

bool ec2_type_offered(struct cloud *c, const struct ec2_type *t, const struct ec2_zone *z)
{
	/* Type names hold dots: no path lookups here. */
	const json_t *own =
		json_object_get(json_object_get(cloud_settings(c), "offerings"), t->name);

	if (own)
		return ec2_has_id(own, z->id) || ec2_has_id(own, z->name);
	return t->zones >> z->index & 1;
}

static const char *maker(const struct ec2_type *t)
{
	return t->neuron || str_starts(t->arch, "arm") ? "AWS"
	       : str_starts(t->name, "p4d") || t->name[0] == 'c' || t->name[0] == 'm'
		       ? "Intel"
		       : "AMD";
}

static json_t *network_info(const struct ec2_type *t)
{
	json_t *cards = json_array();

	for (int i = 0; i < t->cards; i++)
		json_array_append_new(
			cards, json_pack("{s:i, s:s, s:i}", "NetworkCardIndex", i,
					 "NetworkPerformance", t->network,
					 "MaximumNetworkInterfaces", t->enis / t->cards));
	json_t *info = json_pack(
		"{s:s, s:i, s:i, s:i, s:o, s:i, s:i, s:b, s:s, s:b, s:b}",
		"NetworkPerformance", t->network, "MaximumNetworkInterfaces", t->enis,
		"MaximumNetworkCards", t->cards, "DefaultNetworkCardIndex", 0,
		"NetworkCards", cards, "Ipv4AddressesPerInterface", t->ips_per_eni,
		"Ipv6AddressesPerInterface", t->ips_per_eni, "Ipv6Supported", 1,
		"EnaSupport", "required", "EfaSupported", t->efas > 0,
		"EncryptionInTransitSupported", t->name[0] != 't');

	if (t->efas > 0)
		json_object_set_new(info, "EfaInfo",
				    json_pack("{s:i}", "MaximumEfaInterfaces", t->efas));
	return info;
}

static void add_accelerators(json_t *v, const struct ec2_type *t)
{
	if (t->gpu)
		json_object_set_new(v, "GpuInfo",
				    json_pack("{s:[{s:s, s:s, s:i, s:{s:I}}], s:I}",
					      "Gpus", "Name", t->gpu, "Manufacturer",
					      "NVIDIA", "Count", t->gpus, "MemoryInfo",
					      "SizeInMiB", (json_int_t)t->gpu_memory_mib,
					      "TotalGpuMemoryInMiB",
					      (json_int_t)(t->gpu_memory_mib * t->gpus)));
	if (t->neuron)
		json_object_set_new(
			v, "NeuronInfo",
			json_pack("{s:[{s:i, s:s, s:{s:i, s:i}, s:{s:I}}], s:I}",
				  "NeuronDevices", "Count", t->neurons, "Name", t->neuron,
				  "CoreInfo", "Count", t->neuron_cores, "Version", 2,
				  "MemoryInfo", "SizeInMiB",
				  (json_int_t)t->neuron_memory_mib,
				  "TotalNeuronDeviceMemoryInMiB",
				  (json_int_t)(t->neuron_memory_mib * t->neurons)));
	if (t->storage_gb > 0)
		json_object_set_new(v, "InstanceStorageInfo",
				    json_pack("{s:I, s:s, s:s}", "TotalSizeInGB",
					      (json_int_t)t->storage_gb, "NvmeSupport",
					      "required", "EncryptionSupport",
					      "required"));
}

static json_t *describe_type(struct arena *a, const struct ec2_type *t)
{
	int threads = streq(t->arch, "arm64") ? 1 : 2;
	json_t *classes = json_pack("[s]", "on-demand");

	if (t->spot)
		json_array_append_new(classes, json_string("spot"));
	if (t->capacity_block)
		json_array_append_new(classes, json_string("capacity-block"));
	json_t *v = json_packf(
		a,
		"{s:s, s:b, s:b, s:o, s:[s], s:[s], s:b, s:s, s:{s:[s], s:f, s:s}, "
		"s:{s:i, s:i, s:i}, s:{s:I}, s:b, s:o, s:{s:[s, s, s]}, s:b, s:b, s:b}",
		"InstanceType", t->name, "CurrentGeneration", 1, "FreeTierEligible", 0,
		"SupportedUsageClasses", classes, "SupportedRootDeviceTypes", "ebs",
		"SupportedVirtualizationTypes", "hvm", "BareMetal", 0, "Hypervisor",
		"nitro", "ProcessorInfo", "SupportedArchitectures", t->arch,
		"SustainedClockSpeedInGhz", 3.1, "Manufacturer", maker(t), "VCpuInfo",
		"DefaultVCpus", t->vcpus, "DefaultCores", t->vcpus / threads,
		"DefaultThreadsPerCore", threads, "MemoryInfo", "SizeInMiB",
		(json_int_t)t->memory_mib, "InstanceStorageSupported", t->storage_gb > 0,
		"NetworkInfo", network_info(t), "PlacementGroupInfo",
		"SupportedStrategies", "cluster", "partition", "spread",
		"HibernationSupported", 0, "BurstablePerformanceSupported",
		t->name[0] == 't' && t->name[1] == '3', "DedicatedHostsSupported", 1);

	add_accelerators(v, t);
	return v;
}

static bool offered_somewhere(struct cloud *c, const struct ec2_type *t)
{
	struct ec2_zone zone[EC2_ZONES_MAX];
	size_t n = ec2_zones(c, zone);

	for (size_t i = 0; i < n; i++)
		if (ec2_type_offered(c, t, &zone[i]))
			return true;
	return false;
}

static bool check_names(struct cloud_call *call, const json_t *names)
{
	json_t *one;
	size_t i;

	json_array_foreach(names, i, one) {
		const struct ec2_type *t = ec2_type_find(json_string_value(one));

		if (!t || str_starts(json_string_value(one), "ml.") ||
		    !offered_somewhere(call->cloud, t))
			return cloud_fault(call, "InvalidInstanceType",
					   "The following supplied instance types do not "
					   "exist: [%s]",
					   json_string_value(one));
	}
	return true;
}

static bool answer_page(struct cloud_call *call, json_t *list, const char *member,
			int64_t page_size, json_t **ret_out)
{
	const char *next;
	json_t *page = cloud_page(call, list, json_str_at(call->in, "NextToken"),
				  json_int_or(call->in, "MaxResults", page_size), &next);

	if (!page)
		return cloud_fault(call, "InvalidNextToken", "The token is not valid");
	*ret_out =
		json_packf(call->arena, "{s:O, s:s*}", member, page, "NextToken", next);
	return true;
}

bool ec2_describe_types(struct cloud_call *call, json_t **ret_out)
{
	static const struct kind_filter filters[] = {
		{"instance-type", "InstanceType"},
		{"current-generation", "CurrentGeneration"},
		{"processor-info.supported-architecture",
		 "ProcessorInfo.SupportedArchitectures.*"},
		{"network-info.efa-supported", "NetworkInfo.EfaSupported"},
		{"supported-usage-class", "SupportedUsageClasses.*"},
		{"vcpu-info.default-vcpus", "VCpuInfo.DefaultVCpus"},
		{"memory-info.size-in-mib", "MemoryInfo.SizeInMiB"},
		{"bare-metal", "BareMetal"},
		{NULL, NULL},
	};
	json_t *names = json_object_get(call->in, "InstanceTypes");
	json_t *list = json_new_list(call->arena);
	bool take;

	if (!check_names(call, names))
		return false;
	if (json_array_size(names) > 0 && json_object_get(call->in, "MaxResults"))
		return cloud_fault(call, "InvalidParameterCombination",
				   "The parameter InstanceTypes cannot be used with the "
				   "parameter MaxResults");
	for (const struct ec2_type *t = ec2_types; t->name; t++) {
		if (!offered_somewhere(call->cloud, t) ||
		    (json_array_size(names) > 0 && !ec2_has_id(names, t->name)))
			continue;
		json_t *v = describe_type(call->arena, t);

		json_merge_patch(
			v, json_object_get(json_object_get(cloud_settings(call->cloud),
							   "type_facts"),
					   t->name));
		if (!ec2_filters_take(call, json_object_get(call->in, "Filters"), filters,
				      v, &take))
			return false;
		if (take)
			json_array_append(list, v);
	}
	return answer_page(call, list, "InstanceTypes", 100, ret_out);
}

bool ec2_describe_offerings(struct cloud_call *call, json_t **ret_out)
{
	static const struct kind_filter filters[] = {
		{"instance-type", "InstanceType"},
		{"location", "Location"},
		{NULL, NULL},
	};
	const char *kind = json_str_or(call->in, "LocationType", "region");
	const char *region = cloud_opts(call->cloud)->region;
	json_t *list = json_new_list(call->arena);
	struct ec2_zone zone[EC2_ZONES_MAX];
	size_t n = streq(kind, "region") ? 1 : ec2_zones(call->cloud, zone);
	bool take;

	for (const struct ec2_type *t = ec2_types; t->name; t++)
		for (size_t i = 0; i < n; i++) {
			bool there = streq(kind, "region")
					     ? offered_somewhere(call->cloud, t)
					     : ec2_type_offered(call->cloud, t, &zone[i]);
			const char *where = streq(kind, "region") ? region
					    : streq(kind, "availability-zone-id")
						    ? zone[i].id
						    : zone[i].name;

			if (!there)
				continue;
			json_t *o = json_packf(call->arena, "{s:s, s:s, s:s}",
					       "InstanceType", t->name, "LocationType",
					       kind, "Location", where);

			if (!ec2_filters_take(call, json_object_get(call->in, "Filters"),
					      filters, o, &take))
				return false;
			if (take)
				json_array_append(list, o);
		}
	return answer_page(call, list, "InstanceTypeOfferings", 1000, ret_out);
}
