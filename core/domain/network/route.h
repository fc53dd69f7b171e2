/*
 * route.h - where the default route of a subnet leads.
 *
 * Tables are members of DescribeRouteTables' list. A subnet uses the table that is
 * associated with it, else its VPC's main one. A route whose target is gone is shown
 * as a blackhole and leads nowhere.
 * https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html
 */
#ifndef INSTANTSTART_DOMAIN_NETWORK_ROUTE_H
#define INSTANTSTART_DOMAIN_NETWORK_ROUTE_H

#include <jansson.h>
#include <stdbool.h>

enum route_way {
	ROUTE_NONE,      /* no route 0.0.0.0/0 */
	ROUTE_BLACKHOLE, /* one whose target no longer exists */
	ROUTE_INTERNET,  /* an internet gateway: for what has a public address */
	ROUTE_PEERING,   /* another VPC, which takes no traffic further */
	ROUTE_OUT /* NAT, transit gateway, appliance, virtual private gateway … */
};

/* NULL when the list has neither its own table nor a main one. */
const json_t *route_table_used(const json_t *tables, const char *subnet);
/* *ret_target, unless NULL: what the route points at, or NULL. */
enum route_way route_way(const json_t *table, const char **ret_target);
/* Its default route is an active one to a NAT gateway. */
bool route_is_nat(const json_t *table);

#endif
