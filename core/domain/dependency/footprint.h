/*
 * footprint.h - which pods the components bring, on which nodes, and what they request.
 *
 * Rows of footprint.def. A DaemonSet runs where its chart places it: the health agent
 * and the device plugins on types that have the device, not on every node.
 */
#ifndef INSTANTSTART_DOMAIN_DEPENDENCY_FOOTPRINT_H
#define INSTANTSTART_DOMAIN_DEPENDENCY_FOOTPRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum footprint_where {
	ON_EVERY_NODE,
	ON_NVIDIA,      /* types with GPUs of NVIDIA */
	ON_NEURON,      /* Inferentia and Trainium */
	ON_ACCELERATOR, /* either */
	ON_EFA,         /* types with EFA interfaces */
	ONCE            /* somewhere in the cluster */
};

struct footprint {
	const char *component; /* a name of component.h; "eks": the cluster's own */
	const char *object;
	enum footprint_where where;
	int pods, cpu_m, memory_mib; /* requests of each pod */
};

struct footprint_sum {
	int64_t pods, cpu_m, memory_mib;
};

/* Ended by a row without a component. */
extern const struct footprint footprints[];

/* type: a member of DescribeInstanceTypes' list. */
bool footprint_is_on(const struct footprint *f, const json_t *type);
/* The type has the device, and the chart does not place the object on it. */
bool footprint_is_lacking(const struct footprint *f, const json_t *type);
struct footprint_sum footprint_of_node(const json_t *type);
struct footprint_sum footprint_once(void);

#endif
