/* Whole operations on what somebody gives us: a network of his, nodes that are checked.
 */
#include "tests/unit/cloud_operate.h"
#include "tests/unit/cloud_site.h"

#define PUBLIC  "kubernetes.io/role/elb"
#define PRIVATE "kubernetes.io/role/internal-elb"

struct given {
	struct site s;
	struct operate o;
	const char *vpc, *public_subnet, *private_subnet, *nodes;
};

static struct given g;

static const char *subnet(const char *cidr, const char *zone, const char *table)
{
	struct lab *l = &g.s.l;
	const char *id =
		json_str_at(lab_call(l, "ec2", "CreateSubnet", "{s:s,s:s,s:s}", "VpcId",
				     g.vpc, "CidrBlock", cidr, "AvailabilityZone", zone),
			    "Subnet.SubnetId");

	lab_wait(l, 5000);
	lab_call(l, "ec2", "AssociateRouteTable", "{s:s,s:s}", "RouteTableId", table,
		 "SubnetId", id);
	return id;
}

/* The table whose default route leads to the internet gateway. */
static const char *public_table(void)
{
	const json_t *tables = json_at(lab_call(&g.s.l, "ec2", "DescribeRouteTables",
						"{s:[{s:s,s:[s]}]}", "Filters", "Name",
						"vpc-id", "Values", g.vpc),
				       "RouteTables");
	size_t i, k;
	json_t *t, *r;

	json_array_foreach(tables, i, t)
		json_array_foreach(json_at(t, "Routes"), k, r)
			if (str_starts(json_str_or(r, "GatewayId", ""), "igw-"))
				return json_str_at(t, "RouteTableId");
	cr_assert(false, "no public table");
	return NULL;
}

static void given_build(void)
{
	const char *private_table;

	build(&g.s, "sagemaker-demo-scripts");
	g.vpc = lab_output(g.s.stack, "VpcId");
	private_table = lab_output(g.s.stack, "PrivateRouteTable1Id");
	g.public_subnet = subnet("10.90.64.0/24", "us-west-2a", public_table());
	g.private_subnet = subnet("10.90.65.0/24", "us-west-2b", private_table);
	g.nodes = subnet("10.90.80.0/20", "us-west-2a", private_table);
	put_agent(&g.s.l);
	cloud_configure(g.s.l.cloud,
			json_packf(&g.s.l.arena, "{s:{s:i}}", "quota", "L-6A74A6A9", 50));
	operate_init(&g.o, &g.s.l);
	g.o.cfg.kubernetes_oldest = "1.28";
	g.o.cfg.kubernetes_newest = "1.35";
	lab_wait(&g.s.l, 60000);
}

static void given_free(void)
{
	operate_free(&g.o);
	lab_stop(&g.s.l);
}

static bool has_tag(const char *subnet_id, const char *key)
{
	const json_t *row = cloud_get(g.s.l.cloud, "ec2.subnet", subnet_id);

	return json_find(json_at(row, "Tags"), "Key", key);
}

static void expect_roles(const char *how, bool tagged)
{
	cr_expect_eq(has_tag(g.public_subnet, PUBLIC), tagged, "%s: public", how);
	cr_expect_eq(has_tag(g.private_subnet, PRIVATE), tagged, "%s: private", how);
	cr_expect_not(has_tag(g.public_subnet, PRIVATE) ||
			      has_tag(g.private_subnet, PUBLIC),
		      "%s: the other role", how);
}

/* --- a control plane ---------------------------------------------------------------- */

static json_t *plane(bool consent)
{
	return json_own(&g.s.l.arena,
			json_pack("{s:s, s:[s, s], s:b, s:s}", "vpc_id", g.vpc,
				  "subnet_ids", g.public_subnet, g.private_subnet,
				  "tag_subnets", consent, "manager_arn",
				  "arn:aws:iam::111122223333:user/operator"));
}

/* The site's own cluster is in the way: its name is the one that operate() has. */
static void forget_demo(void)
{
	static const char *const tables[] = {
		"cloudformation.stack", "eks.cluster",      "eks.addon",
		"eks.access_entry",     "eks.pod_identity", "kube"};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		json_object_clear(cloud_table(g.s.l.cloud, tables[i]));
}

Test(cloud_given, subnets_of_a_control_plane_get_their_roles_with_consent)
{
	json_t *saved;
	int all;

	given_build();
	forget_demo();
	saved = cloud_save(g.s.l.cloud);
	operate(&g.o, "create_eks_control_plane", plane(false), 0);
	cr_assert_null(g.o.failed, "%s\n%s", g.o.failed, g.o.log);
	expect_roles("without consent", false);
	cr_expect_null(strstr(g.o.log, "tag_subnets"), "%s", g.o.log);

	cloud_restore(g.s.l.cloud, saved);
	operate(&g.o, "create_eks_control_plane", plane(true), 0);
	cr_assert_null(g.o.failed, "%s\n%s", g.o.failed, g.o.log);
	expect_roles("with consent", true);
	all = g.o.mutations;

	/* Stopped before each of its calls, and begun anew: the same end. */
	for (int stop = 1; stop <= all && stop <= 3; stop++) {
		cloud_restore(g.s.l.cloud, saved);
		operate(&g.o, "create_eks_control_plane", plane(true), stop);
		cr_expect(g.o.stopped);
		operate(&g.o, "create_eks_control_plane", plane(true), 0);
		cr_expect_null(g.o.failed, "stopped before %d: %s\n%s", stop, g.o.failed,
			       g.o.log);
		expect_roles("after a stop", true);
	}
	json_decref(saved);
	given_free();
}

/* --- nodes -------------------------------------------------------------------------- */

static json_t *nodes_in(bool consent, bool checks)
{
	json_t *in =
		json_own(&g.s.l.arena,
			 json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:b}", "instance_type",
				   "ml.g5.xlarge", "count", 2, "zone", "us-west-2a",
				   "group_name", "workers", "hyperpod_name", "pod",
				   "subnet_id", g.nodes, "tag_subnets", consent));

	if (checks)
		json_put(in, "deep_health_checks", json_pack("[s]", "InstanceStress"));
	return in;
}

Test(cloud_given, a_subnet_of_nodes_gets_its_role_with_consent)
{
	json_t *saved;

	given_build();
	saved = cloud_save(g.s.l.cloud);
	operate(&g.o, "create_hyperpod_cluster", nodes_in(false, false), 0);
	cr_assert_null(g.o.failed, "%s\n%s", g.o.failed, g.o.log);
	cr_expect_not(has_tag(g.nodes, PRIVATE), "without consent");

	cloud_restore(g.s.l.cloud, saved);
	operate(&g.o, "create_hyperpod_cluster", nodes_in(true, false), 0);
	cr_assert_null(g.o.failed, "%s\n%s", g.o.failed, g.o.log);
	cr_expect(has_tag(g.nodes, PRIVATE), "with consent");
	cr_expect_not(has_tag(g.nodes, PUBLIC));
	json_decref(saved);
	given_free();
}

/* --- checks that take an hour ---------------------------------------------------------
 */

static int64_t now_ms(void)
{
	return g.s.l.clock.clock.wall_ms(&g.s.l.clock.clock);
}

/* How many nodes Kubernetes has, Ready, and free of the service's taint. */
static void count_nodes(int *ret_ready, int *ret_free)
{
	const char *name;
	json_t *server, *key_row, *taint;
	size_t i;

	*ret_ready = *ret_free = 0;
	json_object_foreach(cloud_table(g.s.l.cloud, "kube"), name, server) {
		const char *key;

		json_object_foreach(
			json_object_get(json_object_get(server, "objects"), "/nodes"),
			key, key_row) {
			bool tainted = false;

			json_array_foreach(json_at(key_row, "spec.taints"), i, taint)
				tainted |= streq(json_str_at(taint, "key"),
						 "sagemaker.amazonaws.com/"
						 "node-health-status");
			*ret_ready += streq(
				json_str_at(json_find(json_at(key_row, "status."
								       "conditions"),
						      "type", "Ready"),
					    "status"),
				"True");
			*ret_free += !tainted;
		}
	}
}

static json_t *reconcile_in(void)
{
	return json_own(&g.s.l.arena,
			json_pack("{s:[s, s], s:b}", "components", "pod_identity",
				  "coredns", "require_ready", 1));
}

Test(cloud_given, nodes_under_deep_health_checks_are_waited_for)
{
	enum { HOUR_MS = 3600 * 1000 };
	int64_t began;
	int ready, free_nodes;

	given_build();
	began = now_ms();
	operate(&g.o, "create_hyperpod_cluster", nodes_in(false, true), 0);
	cr_assert_null(g.o.failed, "%s\n%s", g.o.failed, g.o.log);
	count_nodes(&ready, &free_nodes);
	cr_expect_eq(ready, 2);
	cr_expect_eq(free_nodes, 2, "done with nodes that take no pods");
	cr_expect_geq(now_ms() - began, HOUR_MS, "done after %lld s",
		      (long long)(now_ms() - began) / 1000);
	given_free();
}

Test(cloud_given, dependencies_wait_for_nodes_that_are_ready_and_tainted)
{
	int64_t began;
	int ready = 0, free_nodes = 0;
	json_t *one = NULL;

	given_build();
	one = group(&g.s, "gpu", "ml.g5.xlarge", 2);
	json_put(one, "OnStartDeepHealthChecks", json_pack("[s]", "InstanceStress"));
	cr_assert(cloud_invoke(g.s.l.cloud, &g.s.l.arena, "sagemaker", "CreateCluster",
			       json_own(&g.s.l.arena, request(&g.s, one, true)), NULL,
			       NULL, &g.s.l.code, &g.s.l.message),
		  "%s: %s", g.s.l.code, g.s.l.message);
	for (int i = 0; i < 600 && ready < 2; i++) {
		lab_wait(&g.s.l, 5000);
		count_nodes(&ready, &free_nodes);
	}
	cr_assert_eq(ready, 2);
	cr_assert_eq(free_nodes, 0, "Ready and tainted");
	began = now_ms();
	operate(&g.o, "reconcile_dependencies", reconcile_in(), 0);
	cr_assert_null(g.o.failed, "%s\n%s", g.o.failed, g.o.log);
	cr_expect_str_eq(json_str_or(g.o.result, "components.coredns.state", ""), "ready",
			 "%s", json_text(&g.s.l.arena, g.o.result));
	count_nodes(&ready, &free_nodes);
	cr_expect_eq(free_nodes, 2);
	cr_expect_geq(now_ms() - began, 20 * 60 * 1000, "%lld s",
		      (long long)(now_ms() - began) / 1000);
	given_free();
}
