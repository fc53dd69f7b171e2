/* ops.h - what the files of EC2 share: kinds of things, lookups, describing. */
#ifndef INSTANTSTART_TESTS_CLOUD_EC2_OPS_H
#define INSTANTSTART_TESTS_CLOUD_EC2_OPS_H

#include "tests/cloud/core.h"
#include "tests/cloud/ec2.h"

enum { VPC_PENDING_MS = 1000, SUBNET_PENDING_MS = 1000 };

/* A filter's name and the path of what it looks at; "*" is every list member. */
struct kind_filter {
	const char *name, *path;
};

struct ec2_kind {
	const char *table, *id_member, *prefix;
	const char *resource_type;             /* of tags */
	const char *missing;                   /* error code */
	const char *malformed;                 /* the same of an id that is none */
	const char *missing_text;              /* printf format with the id */
	const char *ids_in, *filters_in, *out; /* members of Describe… */
	const struct kind_filter *filters;     /* ended by a row without a name */
	/* The object as it is shown; NULL: without its private members. */
	json_t *(*view)(struct cloud *c, struct arena *a, const json_t *object);
};

extern const struct ec2_kind kind_vpc, kind_subnet, kind_igw, kind_address, kind_nat,
	kind_route_table, kind_group, kind_rule, kind_endpoint, kind_interface;
extern const struct ec2_kind *const ec2_kinds[]; /* ended by NULL */

json_t *ec2_public(struct arena *a, const json_t *object);
json_t *ec2_show(struct cloud *c, struct arena *a, const struct ec2_kind *k,
		 const json_t *object);
/* Sets the fault of what is missing or malformed and returns NULL when there is none. */
json_t *ec2_require(struct cloud_call *call, const struct ec2_kind *k, const char *id);
bool ec2_describe(struct cloud_call *call, const struct ec2_kind *k, json_t **ret_out);
bool ec2_filters_take(struct cloud_call *call, const json_t *filters,
		      const struct kind_filter *known, const json_t *object,
		      bool *ret_take);
/* A new object with id, tags of the input's specifications, and its effect. */
json_t *ec2_add(struct cloud_call *call, const struct ec2_kind *k, json_t *object,
		const char **ret_id);
bool ec2_remove(struct cloud_call *call, const struct ec2_kind *k, const char *id);
void ec2_changed(struct cloud_call *call, const struct ec2_kind *k, const char *id);
/* Tags for this kind in TagSpecifications; false: a fault is set. */
bool ec2_spec_tags(struct cloud_call *call, const char *resource_type, json_t **ret_tags);
/* State (or another member) changes to `next` after real_ms, speed considered. */
void ec2_later(struct cloud *c, json_t *object, const char *member, const char *next,
	       int64_t real_ms);
/* Whether the call's ClientToken was seen: *ret_out is the answer of then.
 * false with a fault set: other parameters. */
bool ec2_replayed(struct cloud_call *call, json_t **ret_out, bool *ret_seen);
void ec2_remember(struct cloud_call *call, const json_t *out);
bool ec2_has_id(const json_t *list, const char *id);
void ec2_drop_id(json_t *list, const char *id);

/* --- cidr.c --- */
struct cidr {
	uint32_t net;
	int bits;
};

bool ec2_cidr_parse(const char *text, struct cidr *ret);
const char *ec2_cidr_text(struct arena *a, struct cidr c);
bool cidr_overlap(struct cidr a, struct cidr b);
bool cidr_within(struct cidr inner, struct cidr outer);
const char *ip_text(struct arena *a, uint32_t ip);

/* --- parts that files of EC2 ask each other for --- */
void vpc_make_defaults(struct cloud_call *call, const char *vpc_id);
json_t *route_table_new(struct cloud_call *call, const char *vpc_id, bool main_table,
			const char **ret_id);
json_t *group_new(struct cloud *c, struct arena *a, const char *vpc_id, const char *name,
		  const char *description, const json_t *tags, const char **ret_id);
/* The table of the subnet: its own, else the VPC's main one. */
json_t *route_table_of(struct cloud *c, const json_t *subnet);
bool group_in_use(struct cloud *c, const char *id);
void nat_advance(struct cloud *c, int64_t now_ms);
void endpoint_advance(struct cloud *c, int64_t now_ms);

cloud_handler ec2_create_vpc, ec2_describe_vpcs, ec2_modify_vpc_attribute,
	ec2_describe_vpc_attribute, ec2_associate_cidr, ec2_disassociate_cidr,
	ec2_delete_vpc;
cloud_handler ec2_create_subnet, ec2_describe_subnets, ec2_modify_subnet,
	ec2_delete_subnet;
cloud_handler ec2_create_igw, ec2_attach_igw, ec2_describe_igws, ec2_detach_igw,
	ec2_delete_igw;
cloud_handler ec2_allocate_address, ec2_describe_addresses, ec2_release_address;
cloud_handler ec2_create_nat, ec2_describe_nats, ec2_delete_nat;
cloud_handler ec2_create_route_table, ec2_create_route, ec2_replace_route,
	ec2_delete_route, ec2_associate_route_table, ec2_disassociate_route_table,
	ec2_describe_route_tables, ec2_delete_route_table;
cloud_handler ec2_create_group_op, ec2_authorize_ingress, ec2_authorize_egress,
	ec2_revoke_ingress, ec2_revoke_egress, ec2_describe_groups, ec2_describe_rules,
	ec2_delete_group_op;
cloud_handler ec2_create_endpoint, ec2_describe_endpoints, ec2_modify_endpoint,
	ec2_delete_endpoints, ec2_describe_endpoint_services;
cloud_handler ec2_describe_interfaces, ec2_delete_interface_op;
cloud_handler ec2_create_tags, ec2_delete_tags, ec2_describe_tags;
cloud_handler ec2_describe_zones, ec2_describe_regions, ec2_describe_types,
	ec2_describe_offerings;

#endif
