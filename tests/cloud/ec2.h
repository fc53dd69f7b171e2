/*
 * ec2.h - networks and instance types, for the services that live in them.
 *
 * Tables hold the model's shapes (Vpc, Subnet, …) under their ids, with
 * private members that begin with "_". Borrowed trees: what a service changes
 * of them it changes through these functions.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_EC2_H
#define INSTANTSTART_TESTS_CLOUD_EC2_H

#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloud.h"

/* NULL when there is none. */
json_t *ec2_vpc(struct cloud *c, const char *id);
json_t *ec2_subnet(struct cloud *c, const char *id);
json_t *ec2_group(struct cloud *c, const char *id);
json_t *ec2_interface(struct cloud *c, const char *id);
/* IPv4 addresses that are free in a subnet; -1: no such subnet. */
int64_t ec2_free_addresses(struct cloud *c, const char *subnet_id);
/* Whether the subnet's route table leads anywhere through a live gateway:
 * "igw", "nat" or NULL. */
const char *ec2_way_out(struct cloud *c, const char *subnet_id);
/* Whether every protocol is allowed from the group to itself, both ways: EFA. */
bool ec2_group_allows_itself(struct cloud *c, const char *group_id);

/* An interface that a service places in a customer's subnet. */
struct ec2_interface_spec {
	const char *subnet_id;
	const json_t *groups; /* list of ids; NULL: the VPC's default group */
	const char *description;
	const char *type;  /* NULL: "interface"; "efa", "nat_gateway", "vpc_endpoint" */
	const char *owner; /* whose it is: "sagemaker:cluster/node"; see below */
	const char *instance_id; /* attached to; NULL: shown as attached by the service */
	int addresses;           /* how many IPv4 addresses it takes; 0 counts as 1 */
	bool can_be_deleted;     /* by its user, with DeleteNetworkInterface */
};

/* The id, or NULL when there is no such subnet or it has too few free addresses. */
const char *ec2_create_interface(struct cloud *c, struct arena *a,
				 const struct ec2_interface_spec *spec);
void ec2_delete_interface(struct cloud *c, const char *id);
/* All whose owner begins with this text; returns how many. */
size_t ec2_delete_interfaces_of(struct cloud *c, const char *owner_prefix);
/* A group that a service makes in a VPC, as EKS does; rules: to and from itself. */
const char *ec2_create_group(struct cloud *c, struct arena *a, const char *vpc_id,
			     const char *name, const char *description,
			     const json_t *tags);
void ec2_delete_group(struct cloud *c, const char *id);
/* Everything from `from` may enter the group; and the rules of others that name it go. */
void ec2_allow_group(struct cloud *c, struct arena *a, const char *id, const char *from);
void ec2_forget_group(struct cloud *c, const char *id);

/* --- zones ------------------------------------------------------------------ */

enum { EC2_ZONES_MAX = 6 };

struct ec2_zone {
	const char *name; /* "us-west-2a" */
	const char *id;   /* "usw2-az2" */
	int index;        /* of the id, from 0 */
	bool takes_eks;   /* EKS control planes cannot be placed everywhere */
	/* "availability-zone"; near a town, "local-zone" or "wavelength-zone". */
	const char *type;
	const char *group;  /* "us-west-2-zg-1", "us-west-2-lax-1" */
	const char *border; /* network border group: the region, or the group */
	const char *opt_in; /* "opt-in-not-required", "opted-in" or "not-opted-in" */
};

/* Zones of the cloud's region in the order of their names. Strings live as
 * long as the cloud. */
size_t ec2_zones(struct cloud *c, struct ec2_zone ret[EC2_ZONES_MAX]);
/* Those near towns, likewise: the account has opted in to all but one of them. */
size_t ec2_edge_zones(struct cloud *c, struct ec2_zone ret[EC2_ZONES_MAX]);
/* By name or id, of both kinds; false: none. */
bool ec2_find_zone(struct cloud *c, const char *name_or_id, struct ec2_zone *ret);

/* --- instance types ----------------------------------------------------------- */

struct ec2_type {
	const char *name; /* "p5.48xlarge" */
	int vcpus;
	int64_t memory_mib;
	const char *gpu; /* "H100"; NULL: none */
	int gpus;
	int64_t gpu_memory_mib; /* of each */
	const char *neuron;     /* "Trainium"; NULL: none */
	int neurons, neuron_cores;
	int64_t neuron_memory_mib;
	int efas; /* interfaces that may be EFA */
	int enis, ips_per_eni, cards;
	int64_t storage_gb;  /* instance store, 0: none */
	const char *network; /* "3200 Gigabit" */
	const char *arch;    /* "x86_64", "arm64" */
	unsigned zones;      /* bit per zone index that offers it */
	bool spot, capacity_block;
};

/* With or without the "ml." that HyperPod writes in front; NULL: unknown. */
const struct ec2_type *ec2_type_find(const char *name);
/* In settings.offerings {"p5.48xlarge": ["usw2-az1"]}, else by the table. */
bool ec2_type_offered(struct cloud *c, const struct ec2_type *t,
		      const struct ec2_zone *z);
/* All of them, ended by a row without a name. */
extern const struct ec2_type ec2_types[];

#endif
