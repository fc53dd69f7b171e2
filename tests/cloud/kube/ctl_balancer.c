/*
 * The AWS Load Balancer Controller, as far as others must reckon with it: while its
 * pods run, a Service of type LoadBalancer, an Ingress of class alb, a Gateway or a
 * target group binding gets its finalizer, its load balancer (elb.h), which deletion
 * protection keeps, and what stands in the VPC for it: a
 * security group with the tag elbv2.k8s.aws/cluster, a rule of the nodes' group that
 * names it, interfaces in subnets that carry the role's tag. All of it goes with the
 * object; without running pods the finalizer stays for ever, and so does the rest.
 * https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/subnet_discovery/
 *
 * settings.balancers_left: true: its groups outlive the objects.
 */
#include <string.h>

#include "tests/cloud/ec2.h"
#include "tests/cloud/elb.h"
#include "tests/cloud/kube/server.h"

enum { ALB_ZONES = 2, ALB_ADDRESSES = 8 };

static const struct balancer {
	const char *resource, *group, *plural, *finalizer, *kind;
	int zones; /* that need a subnet; 0: nothing of its own in the VPC */
} balancers[] = {
	{"/services", "", "services", "service.k8s.aws/resources", "net", 1},
	{"networking.k8s.io/ingresses", "networking.k8s.io", "ingresses",
	 "ingress.k8s.aws/resources", "app", ALB_ZONES},
	{"gateway.networking.k8s.io/gateways", "gateway.networking.k8s.io", "gateways",
	 "gateway.k8s.aws/alb", "app", ALB_ZONES},
	{"elbv2.k8s.aws/targetgroupbindings", "elbv2.k8s.aws", "targetgroupbindings",
	 "elbv2.k8s.aws/resources", "app", 0},
};

static bool controller_runs(struct ks *k)
{
	const char *key;
	json_t *d;

	json_object_foreach(ks_all(k, "apps/deployments"), key, d)
		if (streq(json_str_at(d, "metadata.name"),
			  "aws-load-balancer-controller") &&
		    json_int_or(d, "status.availableReplicas", 0) > 0)
			return true;
	return false;
}

static const char *note(const json_t *obj, const char *name)
{
	return json_string_value(
		json_object_get(json_at(obj, "metadata.annotations"), name));
}

static bool is_wanted(const struct balancer *b, const json_t *obj)
{
	if (streq(b->plural, "services"))
		return streq(json_str_at(obj, "spec.type"), "LoadBalancer");
	if (streq(b->plural, "ingresses"))
		return streq(json_str_at(obj, "spec.ingressClassName"), "alb") ||
		       streq(note(obj, "kubernetes.io/ingress.class"), "alb");
	return true;
}

static bool has_finalizer(const json_t *obj, const char *name)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(obj, "metadata.finalizers"), i, v)
		if (streq(json_string_value(v), name))
			return true;
	return false;
}

static const char *role_tag(const json_t *obj)
{
	const char *scheme = note(obj, "alb.ingress.kubernetes.io/scheme");

	if (!scheme)
		scheme = note(obj, "service.beta.kubernetes.io/aws-load-balancer-scheme");
	return streq(scheme, "internet-facing") ? "kubernetes.io/role/elb"
						: "kubernetes.io/role/internal-elb";
}

/* One subnet a zone: tagged, in the cluster's VPC, with room. */
static json_t *subnets_for(struct ks *k, struct arena *a, const char *vpc,
			   const char *tag)
{
	json_t *list = json_new_list(a), *zones = json_new_object(a), *s;
	const char *id;

	json_object_foreach(cloud_table(k->cloud, "ec2.subnet"), id, s) {
		const char *zone = json_str_or(s, "AvailabilityZone", "");

		if (!streq(json_str_at(s, "VpcId"), vpc) ||
		    !json_find(json_at(s, "Tags"), "Key", tag) ||
		    json_object_get(zones, zone) ||
		    ec2_free_addresses(k->cloud, id) < ALB_ADDRESSES)
			continue;
		json_object_set_new(zones, zone, json_true());
		json_array_append_new(list, json_string(id));
	}
	return list;
}

static const char *nodes_group(struct ks *k)
{
	const char *name;
	json_t *cluster;

	json_object_foreach(cloud_table(k->cloud, "sagemaker.cluster"), name, cluster)
		if (streq(json_str_at(cluster, "_eks"), k->name))
			return json_str_at(cluster, "VpcConfig.SecurityGroupIds.0");
	return NULL;
}

/* "ingress.k8s.aws/stack": "namespace/name", as the controller tags its groups. */
static const char *stack_tag(struct arena *a, const struct balancer *b)
{
	return arena_printf(a, "%.*s/stack", (int)strcspn(b->finalizer, "/"),
			    b->finalizer);
}

static const char *stack_of(struct arena *a, const json_t *obj)
{
	return arena_printf(a, "%s/%s", json_str_or(obj, "metadata.namespace", ""),
			    json_str_or(obj, "metadata.name", ""));
}

static const char *owner_of(struct arena *a, const json_t *obj)
{
	return arena_printf(a, "elb:%s", json_str_or(obj, "metadata.uid", "?"));
}

static const char *attributes_of(const json_t *obj)
{
	const char *says =
		note(obj, "alb.ingress.kubernetes.io/load-balancer-attributes");

	return says ? says
		    : note(obj,
			   "service.beta.kubernetes.io/aws-load-balancer-attributes");
}

/* false: an event says why not. */
static bool build(struct ks *k, struct arena *a, const struct balancer *b,
		  const json_t *obj)
{
	const char *vpc = json_str_or(cloud_get(k->cloud, "eks.cluster", k->name),
				      "resourcesVpcConfig.vpcId", "");
	const char *tag = role_tag(obj);
	json_t *subnets = subnets_for(k, a, vpc, tag);
	const char *name = arena_printf(
		a, "k8s-%.8s-%.8s-%.10s", json_str_or(obj, "metadata.namespace", ""),
		json_str_or(obj, "metadata.name", ""),
		json_digest(a, json_packf(a, "s", json_str_or(obj, "metadata.uid", ""))));
	const char *group;

	if ((int)json_array_size(subnets) < b->zones) {
		ks_event(k, obj, "Warning", "FailedBuildModel", b->plural,
			 arena_printf(a,
				      "Failed build model due to unable to resolve at "
				      "least %s (%zu match VPC and tags: [%s])",
				      b->zones > 1 ? "two subnets" : "one subnet",
				      json_array_size(subnets), tag));
		return false;
	}
	group = ec2_create_group(
		k->cloud, a, vpc, name, "[k8s] Managed SecurityGroup for LoadBalancer",
		json_packf(a, "[{s:s, s:s}, {s:s, s:s}]", "Key", "elbv2.k8s.aws/cluster",
			   "Value", k->name, "Key", stack_tag(a, b), "Value",
			   stack_of(a, obj)));
	if (nodes_group(k))
		ec2_allow_group(k->cloud, a, nodes_group(k), group);
	for (size_t i = 0; i < json_array_size(subnets); i++)
		ec2_create_interface(
			k->cloud, a,
			&(struct ec2_interface_spec){
				.subnet_id =
					json_string_value(json_array_get(subnets, i)),
				.groups = json_packf(a, "[s]", group),
				.description = arena_printf(a, "ELB %s/%s/%.16s", b->kind,
							    name, group),
				.owner = owner_of(a, obj)});
	if (b->zones > 0)
		elb_make(k->cloud, a,
			 &(struct elb_spec){.name = name,
					    .kind = b->kind,
					    .vpc = vpc,
					    .owner = owner_of(a, obj),
					    .attributes = attributes_of(obj)});
	return true;
}

static void made(struct ks *k, struct arena *a, const struct balancer *b,
		 const struct ks_kind *kind, const json_t *obj)
{
	json_t *next = json_deep_copy(obj);

	if (!json_at(next, "metadata.finalizers"))
		json_put(next, "metadata.finalizers", json_array());
	json_push(json_at(next, "metadata.finalizers"), json_string(b->finalizer));
	if (b->zones > 0)
		json_put(next, "status.loadBalancer.ingress",
			 json_pack("[{s:s}]", "hostname",
				   arena_printf(a, "k8s-%s.elb.%s.%s",
						json_str_or(obj, "metadata.name", ""),
						cloud_opts(k->cloud)->region,
						cloud_dns_suffix(k->cloud))));
	ks_update_if_changed(k, kind, obj, next);
}

static bool is_of(struct ks *k, struct arena *a, const struct balancer *b,
		  const json_t *obj, const json_t *group)
{
	const json_t *tags = json_at(group, "Tags");

	return streq(json_str_at(json_find(tags, "Key", stack_tag(a, b)), "Value"),
		     stack_of(a, obj)) &&
	       streq(json_str_at(json_find(tags, "Key", "elbv2.k8s.aws/cluster"),
				 "Value"),
		     k->name);
}

static void tear_down(struct ks *k, struct arena *a, const struct balancer *b,
		      const json_t *obj)
{
	const bool left = json_bool_or(cloud_settings(k->cloud), "balancers_left", false);
	json_t *groups = cloud_table(k->cloud, "ec2.group"), *g;
	const char *id;
	void *next;

	ec2_delete_interfaces_of(k->cloud, owner_of(a, obj));
	json_object_foreach_safe(groups, next, id, g)
		if (!left && is_of(k, a, b, obj, g)) {
			ec2_forget_group(k->cloud, id);
			ec2_delete_group(k->cloud, arena_strdup(a, id));
		}
}

static void one(struct ks *k, struct arena *a, const struct balancer *b,
		const struct ks_kind *kind, const json_t *obj)
{
	const bool held = has_finalizer(obj, b->finalizer);

	if (json_str_at(obj, "metadata.deletionTimestamp")) {
		if (!held || !elb_delete_of(k->cloud, owner_of(a, obj)))
			return;
		tear_down(k, a, b, obj);
		ks_drop_finalizer(k, kind, obj, b->finalizer);
	} else if (!held && is_wanted(b, obj) && (b->zones == 0 || build(k, a, b, obj))) {
		made(k, a, b, kind, obj);
	}
}

void ks_run_balancers(struct ks *k)
{
	struct arena a;

	if (!controller_runs(k))
		return;
	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(balancers) / sizeof(balancers[0]); i++) {
		const struct balancer *b = &balancers[i];
		const struct ks_kind *kind =
			ks_kind_find(k, &a, b->group, NULL, b->plural);
		json_t *list = kind ? ks_snapshot(k, &a, b->resource) : NULL, *obj;
		size_t n;

		json_array_foreach(list, n, obj)
			one(k, &a, b, kind, obj);
	}
	arena_free(&a);
}
