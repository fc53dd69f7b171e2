#include "core/domain/cluster/balancers.h"

#include <string.h>

#include "core/base/listing.h"
#include "core/domain/cluster/stack.h"
#include "core/domain/cluster/teardown.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/kube_delete.h"
#include "core/domain/step/names.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* A load balancer goes within two minutes; a controller that does not answer in ten
 * has no pods, or may not delete what it made. */
static const int64_t BALANCER_PATIENCE_MS = 10 * 60 * 1000;

/* Kinds whose objects stand for something in AWS; the outer ones first. */
static const struct holder {
	const char *api, *plural, *kind;
} holders[] = {
	{"aga.k8s.aws/v1beta1", "globalaccelerators", "GlobalAccelerator"},
	{"gateway.networking.k8s.io/v1", "gateways", "Gateway"},
	{"networking.k8s.io/v1", "ingresses", "Ingress"},
	{"v1", "services", "Service"},
	{"elbv2.k8s.aws/v1beta1", "targetgroupbindings", "TargetGroupBinding"},
};
enum { N_HOLDERS = sizeof(holders) / sizeof(holders[0]) };

#define CLUSTER_TAG "elbv2.k8s.aws/cluster"

/* --- reads ---------------------------------------------------------------------------
 */

static bool read_holders(struct step_ctx *c, struct exchange *x)
{
	for (size_t i = 0; i < N_HOLDERS; i++)
		if (read_kube(c, x, holders[i].plural,
			      &(struct kube_request){.verb = KUBE_LIST,
						     .api = holders[i].api,
						     .plural = holders[i].plural}))
			return true;
	return false;
}

static bool is_ours(const struct step_ctx *c)
{
	return stack_seen(c) && step_tagged_cluster(c, json_at(stack_seen(c), "Tags"));
}

/* The API server, if there is one; the stack says whether it goes. */
static bool reach(struct step_ctx *c, struct exchange *x, bool *ret_reachable)
{
	*ret_reachable = false;
	if (stack_read(c, x) ||
	    read_aws(c, x, "eks", AWS_EKS_DescribeCluster,
		     json_packf(c->arena, "{s:s}", "name", eks_name(c))))
		return true;
	if (!streq(json_str_or(saw(c, "eks"), "cluster.status", ""), "ACTIVE"))
		return false;
	if (!json_at(c->data, "eks"))
		eks_save(c, json_at(saw(c, "eks"), "cluster"));
	*ret_reachable = is_ours(c);
	return false;
}

/* --- what holds the network ------------------------------------------------------------
 */

/* A finalizer of the controller's: it has made something. */
static bool is_held(const json_t *object)
{
	size_t i;
	json_t *f;

	json_array_foreach(json_at(object, "metadata.finalizers"), i, f)
		if (strstr(json_string_value(f), "k8s.aws/") ||
		    streq(json_string_value(f),
			  "service.kubernetes.io/load-balancer-cleanup"))
			return true;
	return false;
}

static const char *note(const json_t *object, const char *key)
{
	return json_string_value(
		json_object_get(json_at(object, "metadata.annotations"), key));
}

/* It has made something, or is about to. */
static bool holds(const struct holder *h, const json_t *object)
{
	if (is_held(object))
		return true;
	if (streq(h->kind, "Service"))
		return streq(json_str_at(object, "spec.type"), "LoadBalancer");
	if (streq(h->kind, "Ingress"))
		return streq(json_str_at(object, "spec.ingressClassName"), "alb") ||
		       streq(note(object, "kubernetes.io/ingress.class"), "alb");
	return false;
}

/* Made by the controller for an Ingress or a Service: goes with it. */
static bool is_of_another(const json_t *object)
{
	const char *key;
	json_t *v;

	json_object_foreach(json_at(object, "metadata.labels"), key, v)
		if (strstr(key, "k8s.aws/stack"))
			return true;
	return false;
}

static const char *name_of(const struct step_ctx *c, const struct holder *h,
			   const json_t *object)
{
	return arena_printf(c->arena, "%s %s/%s", h->kind,
			    json_str_or(object, "metadata.namespace", "?"),
			    json_str_or(object, "metadata.name", "?"));
}

/* "Service web/front, Ingress web/api"; NULL: none. */
static const char *all_names(const struct step_ctx *c)
{
	struct listing names = listing_new(c->arena, ", ", LISTING_LONG);
	size_t n;
	json_t *o;

	for (size_t i = 0; i < N_HOLDERS; i++)
		json_array_foreach(json_at(saw(c, holders[i].plural), "items"), n, o)
			if (holds(&holders[i], o) && !is_of_another(o))
				listing_add(&names, "%s", name_of(c, &holders[i], o));
	return names.n ? listing_text(&names) : NULL;
}

/* --- said before anything is deleted
 * ----------------------------------------------------- */

bool balancers_check_observe(struct step_ctx *c, struct exchange *x)
{
	bool reachable;

	if (reach(c, x, &reachable))
		return true;
	return reachable &&
	       (read_holders(c, x) ||
		read_kube(c, x, "volumes",
			  &(struct kube_request){.verb = KUBE_LIST,
						 .api = "v1",
						 .plural = "persistentvolumes"}));
}

/* A file system that the driver made for a claim: its interfaces stand in the compute
 * subnets, and its data is the user's. */
static const char *file_systems(const struct step_ctx *c)
{
	struct listing names = listing_new(c->arena, ", ", LISTING_LONG);
	size_t i;
	json_t *v;

	json_array_foreach(json_at(saw(c, "volumes"), "items"), i, v)
		if (streq(json_str_at(v, "spec.csi.driver"), "fsx.csi.aws.com") &&
		    note(v, "pv.kubernetes.io/provisioned-by"))
			listing_add(&names, "%s/%s (%s)",
				    json_str_or(v, "spec.claimRef.namespace", "?"),
				    json_str_or(v, "spec.claimRef.name", "?"),
				    json_str_or(v, "spec.csi.volumeHandle", "?"));
	return names.n ? listing_text(&names) : NULL;
}

/*
 * With deletion protection the controller cannot delete a load balancer: its object
 * stays, and so would the network, when other things have gone already.
 * https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/ingress/annotations/#load-balancer-attributes
 */
static bool is_protected(const json_t *object)
{
	static const char *const keys[] = {
		"service.beta.kubernetes.io/aws-load-balancer-attributes",
		"alb.ingress.kubernetes.io/load-balancer-attributes",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *says = note(object, keys[i]);

		if (says && strstr(says, "deletion_protection.enabled=true"))
			return true;
	}
	return false;
}

/* True: some are, and the step has failed. */
static bool refuse_protected(struct step_ctx *c)
{
	struct listing names = listing_new(c->arena, ", ", LISTING_LONG);
	struct err *e;
	size_t n;
	json_t *o;

	for (size_t i = 0; i < N_HOLDERS; i++)
		json_array_foreach(json_at(saw(c, holders[i].plural), "items"), n, o)
			if (holds(&holders[i], o) && is_protected(o))
				listing_add(&names, "%s", name_of(c, &holders[i], o));
	if (!names.n)
		return false;
	e = step_fail(c, ERR_BLOCKED,
		      "nothing was deleted: load balancers have deletion protection: %s",
		      listing_text(&names));
	err_fix(e, "Set deletion_protection.enabled=false in the annotation of each, or "
		   "delete it yourself, then retry.");
	return true;
}

void balancers_check_plan(struct step_ctx *c, struct exchange *x)
{
	const char *names = all_names(c), *systems = file_systems(c);
	struct err *e;

	(void)x;
	if (json_at(c->data, "eks") && is_ours(c) && !saw_ok(c, "services") &&
	    !c->planning)
		/* A cluster that is broken must be deletable all the same. */
		step_warn(c,
			  "load balancers could not be checked because the Kubernetes "
			  "API does not answer (%s)",
			  saw_why(c, "services"));
	if (refuse_protected(c))
		return;
	if (systems) {
		e = step_fail(c, ERR_BLOCKED,
			      "File systems created for volume claims use the network: "
			      "%s",
			      systems);
		err_fix(e,
			"Copy the data that you need, delete these claims and with them "
			"the file systems, then retry.");
		return;
	}
	if (names)
		step_warn(c, "the load balancers of these are also deleted: %s", names);
}

/* --- deleted while their controller runs
 * -------------------------------------------------- */

bool balancers_observe(struct step_ctx *c, struct exchange *x)
{
	bool reachable;

	return reach(c, x, &reachable) || (reachable && read_holders(c, x));
}

/* The first that nobody has deleted yet. */
static const json_t *first_standing(const struct step_ctx *c, const struct holder **ret)
{
	size_t n;
	json_t *o;

	for (size_t i = 0; i < N_HOLDERS; i++)
		json_array_foreach(json_at(saw(c, holders[i].plural), "items"), n, o)
			if (holds(&holders[i], o) && !is_of_another(o) &&
			    !json_str_at(o, "metadata.deletionTimestamp")) {
				*ret = &holders[i];
				return o;
			}
	return NULL;
}

static void await_controllers(struct step_ctx *c, const char *names)
{
	struct err *e;

	if (step_waited_ms(c) < BALANCER_PATIENCE_MS) {
		step_wait(c, 10, "the load balancers of %s to be deleted", names);
		return;
	}
	e = step_fail(c, ERR_BLOCKED, "Load balancers use the network: %s", names);
	err_fix(e,
		"Their controller has not deleted them. Check its pods and their events, "
		"and turn off deletion protection of the load balancers. Then retry.");
}

void balancers_plan(struct step_ctx *c, struct exchange *x)
{
	const struct holder *h = NULL;
	const json_t *one = first_standing(c, &h);
	const char *names = all_names(c);

	if (one) {
		kube_delete(c, x,
			    (struct kube_request){
				    .api = h->api,
				    .plural = h->plural,
				    .ns = json_str_at(one, "metadata.namespace"),
				    .name = json_str_at(one, "metadata.name")},
			    one, KUBE_SEEN_CONTENT);
		x->what = arena_printf(c->arena, "Delete %s and its load balancer",
				       name_of(c, h, one));
		return;
	}
	if (names && !c->planning)
		await_controllers(c, names);
}

void balancers_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!kube_delete_was_another(c, a))
		removal_absorb(c, a);
}

/* --- what the controller has left
 * ----------------------------------------------------------- */

static json_t *group_ids(struct step_ctx *c)
{
	json_t *ids = json_new_list(c->arena), *g;
	size_t i;

	json_array_foreach(json_at(saw(c, "left"), "SecurityGroups"), i, g)
		json_push(ids, json_string(json_str_or(g, "GroupId", "")));
	return ids;
}

static json_t *filter(struct step_ctx *c, const char *name, json_t *values)
{
	return json_packf(c->arena, "{s:[{s:s, s:O}]}", "Filters", "Name", name, "Values",
			  values);
}

bool balancer_groups_observe(struct step_ctx *c, struct exchange *x)
{
	if (stack_read(c, x))
		return true;
	if (!is_ours(c))
		return false;
	if (read_all(c, x, "left", AWS_EC2_DescribeSecurityGroups,
		     filter(c, "tag:" CLUSTER_TAG,
			    json_packf(c->arena, "[s]", eks_name(c)))))
		return true;
	return json_array_size(group_ids(c)) > 0 &&
	       (read_all(c, x, "naming", AWS_EC2_DescribeSecurityGroups,
			 filter(c, "ip-permission.group-id", group_ids(c))) ||
		read_all(c, x, "interfaces", AWS_EC2_DescribeNetworkInterfaces,
			 filter(c, "group-id", group_ids(c))));
}

/* The rule of another group that lets one of these in; only that pair is revoked. */
static bool revoke_one(struct step_ctx *c, struct exchange *x)
{
	const json_t *left = json_at(saw(c, "left"), "SecurityGroups");
	size_t i, n, m;
	json_t *g, *p, *pair;

	json_array_foreach(json_at(saw(c, "naming"), "SecurityGroups"), i, g) {
		const char *id = json_str_or(g, "GroupId", "");

		json_array_foreach(json_at(g, "IpPermissions"), n, p) {
			json_array_foreach(json_at(p, "UserIdGroupPairs"), m, pair) {
				const char *from = json_str_or(pair, "GroupId", "");
				json_t *rule;

				if (streq(from, id) || !json_find(left, "GroupId", from))
					continue;
				rule = json_packf(
					c->arena, "{s:s, s:O*, s:O*, s:[{s:s}]}",
					"IpProtocol", json_str_or(p, "IpProtocol", "-1"),
					"FromPort", json_at(p, "FromPort"), "ToPort",
					json_at(p, "ToPort"), "UserIdGroupPairs",
					"GroupId", from);
				c->item = arena_printf(c->arena, "%s in %s", from, id);
				exchange_aws(x, AWS_EC2_RevokeSecurityGroupIngress,
					     json_packf(c->arena, "{s:s, s:[O]}",
							"GroupId", id, "IpPermissions",
							rule));
				x->what = arena_printf(c->arena,
						       "Remove the rule for %s from the "
						       "security group %s",
						       from, id);
				return true;
			}
		}
	}
	return false;
}

void balancer_groups_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *interfaces = json_at(saw(c, "interfaces"), "NetworkInterfaces");
	const char *id = json_str_at(saw(c, "left"), "SecurityGroups.0.GroupId");
	struct err *e;

	if (is_ours(c) && !saw_ok(c, "left") && !c->planning)
		step_warn(c,
			  "security groups of load balancers could not be checked (%s)",
			  saw_why(c, "left"));
	if (!id)
		return;
	if (json_array_size(interfaces) > 0) {
		if (step_waited_ms(c) < BALANCER_PATIENCE_MS) {
			step_wait(
				c, 15,
				"the network interfaces of load balancers to be deleted: "
				"%s",
				interface_names(c->arena, interfaces));
			return;
		}
		e = step_fail(c, ERR_BLOCKED,
			      "Load balancers without Kubernetes objects use the "
			      "network: %s",
			      interface_names(c->arena, interfaces));
		err_fix(e, "Delete these load balancers in EC2, then retry.");
		return;
	}
	if (revoke_one(c, x)) {
		exchange_then(x, AWS_EC2_DeleteSecurityGroup,
			      json_packf(c->arena, "{s:s}", "GroupId", id), c->arena);
		return;
	}
	c->item = id;
	exchange_aws(x, AWS_EC2_DeleteSecurityGroup,
		     json_packf(c->arena, "{s:s}", "GroupId", id));
	x->what = arena_printf(c->arena,
			       "Delete the security group %s of the load balancer "
			       "controller",
			       id);
}

void balancer_groups_absorb(struct step_ctx *c, const struct answer *a)
{
	if (answer_is(a, "DependencyViolation"))
		step_retry(c, ERR_BLOCKED, "the security group %s is still in use",
			   c->item);
	else if (answer_is(a, "InvalidPermission.NotFound"))
		step_goto(c, c->step->name);
	else
		removal_absorb(c, a);
}
