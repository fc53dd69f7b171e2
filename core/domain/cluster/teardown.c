/* Network and logs. */
#include "core/domain/cluster/teardown.h"
#include "core/base/listing.h"

#include <string.h>

#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/network/compute_subnet.h"
#include "core/domain/step/absent.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

/* The service needs minutes; what is there after this long waits for somebody. */
static const int64_t INTERFACE_PATIENCE_MS = 30 * 60 * 1000;

/* --- interfaces that were left behind --------------------------------------------- */

static json_t *cluster_filter(struct step_ctx *c)
{
	return json_packf(c->arena, "{s:[{s:s, s:[s]}, {s:s, s:[s]}]}", "Filters", "Name",
			  "tag:instantstart:cluster", "Values", c->target, "Name",
			  "tag-key", "Values", COMPUTE_SUBNET_TAG);
}

/* The filter finds what carries the tag; only what we made is ours. */
json_t *teardown_subnets_ours(struct step_ctx *c)
{
	json_t *list = json_new_list(c->arena);
	size_t i;
	json_t *s;

	json_array_foreach(json_at(saw(c, "subnets"), "Subnets"), i, s)
		if (step_tagged_cluster(c, json_at(s, "Tags")))
			json_push(list, json_incref(s));
	return list;
}

static json_t *subnet_ids(struct step_ctx *c)
{
	json_t *ids = json_new_list(c->arena), *subnets = teardown_subnets_ours(c);
	size_t i;
	json_t *s;

	json_array_foreach(subnets, i, s)
		json_push(ids, json_string(json_str_or(s, "SubnetId", "")));
	return ids;
}

bool teardown_subnets_read(struct step_ctx *c, struct exchange *x)
{
	return read_all(c, x, "subnets", AWS_EC2_DescribeSubnets, cluster_filter(c));
}

bool teardown_interfaces_observe(struct step_ctx *c, struct exchange *x)
{
	if (teardown_subnets_read(c, x))
		return true;
	return json_array_size(subnet_ids(c)) > 0 &&
	       read_all(c, x, "interfaces", AWS_EC2_DescribeNetworkInterfaces,
			json_packf(c->arena, "{s:[{s:s, s:O}]}", "Filters", "Name",
				   "subnet-id", "Values", subnet_ids(c)));
}

const char *interface_names(struct arena *a, const json_t *interfaces)
{
	struct listing names = listing_new(a, ", ", LISTING_LONG);
	size_t i;
	json_t *n;

	json_array_foreach(interfaces, i, n)
		listing_add(&names, "%s (%s, %s, of %s)",
			    json_str_or(n, "NetworkInterfaceId", "?"),
			    json_str_or(n, "Status", "?"),
			    json_str_or(n, "Description", "no description"),
			    json_str_or(n, "Attachment.InstanceOwnerId",
					json_str_or(n, "RequesterId",
						    json_str_or(n, "OwnerId", "?"))));
	return names.n ? listing_text(&names) : NULL;
}

/* Of the cluster's nodes: by our tag, the CNI's, or the service's words. */
static bool is_of_nodes(const struct step_ctx *c, const json_t *interface)
{
	const json_t *tags = json_at(interface, "TagSet");
	const char *says = json_str_or(interface, "Description", "");
	const char *of;

	if (!tags)
		tags = json_at(interface, "Tags");
	of = json_str_at(json_find(tags, "Key", "cluster.k8s.amazonaws.com/name"),
			 "Value");
	if (of) /* it says whose: words that fit every cluster do not count */
		return streq(of, eks_name(c));
	return step_tagged_cluster(c, tags) || str_starts(says, "aws-K8S-") ||
	       strcasestr(says, "sagemaker");
}

static const char *left_over(const struct step_ctx *c, const json_t *list)
{
	size_t i;
	json_t *n;

	json_array_foreach(list, i, n)
		if (streq(json_str_or(n, "Status", ""), "available") && is_of_nodes(c, n))
			return json_str_at(n, "NetworkInterfaceId");
	return NULL;
}

/*
 * The service takes its interfaces away some minutes after the nodes. Detached
 * ones of our nodes are removed; all others are waited for by name, for a while
 * (case NW-08): what others attached or made is never touched.
 */
void teardown_interfaces_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *list = json_at(saw(c, "interfaces"), "NetworkInterfaces");
	const char *id = left_over(c, list);
	struct err *e;

	if (id) {
		removal_send(c, x, AWS_EC2_DeleteNetworkInterface,
			     json_packf(c->arena, "{s:s}", "NetworkInterfaceId", id), id,
			     "Delete the remaining network interface");
		return;
	}
	if (json_array_size(list) == 0)
		return;
	if (step_waited_ms(c) < INTERFACE_PATIENCE_MS) {
		step_wait(c, 15,
			  "network interfaces in the compute subnets to be deleted: %s",
			  interface_names(c->arena, list));
		return;
	}
	e = step_fail(c, ERR_BLOCKED, "Network interfaces use the compute subnets: %s",
		      interface_names(c->arena, list));
	err_fix(e, "Remove what uses these network interfaces, then retry.");
}

/* --- compute subnets -----------------------------------------------------------------
 */

static json_t *owned_ids(struct step_ctx *c, const char *type)
{
	json_t *ids = json_new_list(c->arena), *row;
	size_t i;

	json_array_foreach(ledger_rows(c), i, row)
		if (streq(json_str_at(row, "type"), type))
			json_push(ids, json_string(json_str_or(row, "id", "?")));
	return ids;
}

/* By id: one that has lost its tag is still there. */
bool teardown_subnets_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *ids = owned_ids(c, "ec2:subnet");

	return teardown_interfaces_observe(c, x) ||
	       (json_array_size(ids) > 0 &&
		read_all(c, x, "owned", AWS_EC2_DescribeSubnets,
			 json_packf(c->arena, "{s:[{s:s, s:O}]}", "Filters", "Name",
				    "subnet-id", "Values", ids)));
}

/* One that we made and that no read shows yet: by its id it can go all the same. Those
 * that are not young are gone. */
static const char *unseen_subnet(struct step_ctx *c)
{
	const json_t *there = json_at(saw(c, "owned"), "Subnets"), *ids;
	const char *young = NULL, *id;
	size_t i;
	json_t *v;

	if (!saw_ok(c, "owned") || c->planning)
		return NULL;
	ids = owned_ids(c, "ec2:subnet");
	json_array_foreach(ids, i, v) {
		id = json_string_value(v);
		if (json_find(there, "SubnetId", id))
			continue;
		if (is_young(c, "ec2:subnet", id))
			young = id;
		else
			step_own(c, "ec2:subnet", id, NULL, "gone");
	}
	return young;
}

void teardown_subnets_plan(struct step_ctx *c, struct exchange *x)
{
	const char *id = json_str_at(subnet_ids(c), "0");

	if (!id)
		id = unseen_subnet(c);
	if (!id)
		return;
	step_promise(c, "ec2:subnet", id, "gone");
	removal_send(c, x, AWS_EC2_DeleteSubnet,
		     json_packf(c->arena, "{s:s}", "SubnetId", id), id,
		     "Delete the compute subnet");
}

void teardown_subnets_absorb(struct step_ctx *c, const struct answer *a)
{
	const char *holders = interface_names(
		c->arena, json_at(saw(c, "interfaces"), "NetworkInterfaces"));

	if (answer_is(a, "DependencyViolation"))
		step_retry(c, ERR_BLOCKED, "the subnet %s is still in use: %s", c->item,
			   holders ? holders : a->message);
	else
		removal_absorb(c, a);
}

bool teardown_blocks_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *ids = owned_ids(c, "ec2:vpc-cidr");

	return json_array_size(ids) > 0 &&
	       read_all(c, x, "vpcs", AWS_EC2_DescribeVpcs,
			json_packf(c->arena, "{s:[{s:s, s:O}]}", "Filters", "Name",
				   "cidr-block-association.association-id", "Values",
				   ids));
}

static const json_t *association(struct step_ctx *c, const char *id)
{
	const json_t *found;
	size_t i;
	json_t *vpc;

	json_array_foreach(json_at(saw(c, "vpcs"), "Vpcs"), i, vpc) {
		found = json_find(json_at(vpc, "CidrBlockAssociationSet"),
				  "AssociationId", id);
		if (found)
			return found;
	}
	return NULL;
}

void teardown_blocks_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *ids = owned_ids(c, "ec2:vpc-cidr");
	size_t i;
	json_t *v;

	json_array_foreach(ids, i, v) {
		const char *id = json_string_value(v);
		const json_t *one = association(c, id);

		/* Removed by its id, shown or not: a list may miss what is young. */
		if (!streq(json_str_or(one, "CidrBlockState.State", ""), "associated") &&
		    (one || c->planning || !is_young(c, "ec2:vpc-cidr", id))) {
			step_own(c, "ec2:vpc-cidr", id, NULL, "gone");
			continue;
		}
		step_promise(c, "ec2:vpc-cidr", id, "gone");
		removal_send(c, x, AWS_EC2_DisassociateVpcCidrBlock,
			     json_packf(c->arena, "{s:s}", "AssociationId", id), id,
			     "Remove the address block");
		return;
	}
}

/* --- log groups
 * -------------------------------------------------------------------------- */

static const char *hyperpod_logs(const struct step_ctx *c)
{
	return arena_printf(c->arena, "/aws/sagemaker/Clusters/%s/", hyperpod_name(c));
}

static const char *control_plane_logs(const struct step_ctx *c)
{
	return arena_printf(c->arena, "/aws/eks/%s/cluster", c->target);
}

bool teardown_logs_observe(struct step_ctx *c, struct exchange *x)
{
	return read_all(c, x, "nodes", AWS_LOGS_DescribeLogGroups,
			json_packf(c->arena, "{s:s}", "logGroupNamePrefix",
				   hyperpod_logs(c))) ||
	       read_all(c, x, "plane", AWS_LOGS_DescribeLogGroups,
			json_packf(c->arena, "{s:s}", "logGroupNamePrefix",
				   control_plane_logs(c)));
}

void teardown_logs_plan(struct step_ctx *c, struct exchange *x)
{
	const char *name = json_str_at(saw(c, "nodes"), "logGroups.0.logGroupName");

	if (!name && json_find(json_at(saw(c, "plane"), "logGroups"), "logGroupName",
			       control_plane_logs(c)))
		name = control_plane_logs(c);
	if (!name)
		return;
	removal_send(c, x, AWS_LOGS_DeleteLogGroup,
		     json_packf(c->arena, "{s:s}", "logGroupName", name), name,
		     "Delete the log group");
}
