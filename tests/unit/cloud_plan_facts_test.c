/* What can be known is known in the plan: when a fact turns, the plan says so. */
#include "core/domain/dependency/component.h"
#include "core/domain/dependency/footprint.h"
#include "core/domain/offer/instance_types.h"
#include "tests/cloud/ec2.h"
#include "tests/cloud/eks/eks.h"
#include "tests/unit/cloud_plan_facts.h"

/* --- a given network ------------------------------------------------------------------
 */

static json_t *own_vpc(struct facts_world *f)
{
	return json_pack("{s:s, s:[s, s]}", "vpc_id", f->vpc, "subnet_ids", f->plane1,
			 f->plane2);
}

static json_t *nodes(struct facts_world *f)
{
	(void)f;
	return json_pack("{s:s, s:i, s:s, s:s, s:s}", "instance_type", "ml.g5.xlarge",
			 "count", 2, "zone", "us-west-2a", "group_name", "more", "name",
			 "more");
}

static json_t *given_nodes(struct facts_world *f)
{
	json_t *in = nodes(f);

	json_put_str(in, "subnet_id", f->nodes);
	json_put_str(in, "hyperpod_name", "pod");
	return in;
}

/* A new HyperPod cluster: a name that is free. */
static json_t *new_nodes(struct facts_world *f)
{
	json_t *in = given_nodes(f);

	json_put_str(in, "hyperpod_name", "second");
	return in;
}

static json_t *pipeline(struct facts_world *f)
{
	json_t *in = new_nodes(f), *vpc = own_vpc(f);

	json_object_update(in, vpc);
	json_decref(vpc);
	return in;
}

static json_t *pipeline_nat(struct facts_world *f)
{
	json_t *in = pipeline(f);

	json_object_del(in, "subnet_id");
	return in;
}

static json_t *vpc_row(struct facts_world *f)
{
	return cloud_get(f->w.s.l.cloud, "ec2.vpc", f->vpc);
}

static void no_dns(struct facts_world *f)
{
	json_put_bool(vpc_row(f), "_dns_support", false);
}

static void no_hostnames(struct facts_world *f)
{
	json_put_bool(vpc_row(f), "_dns_hostnames", false);
}

static void nat_gone(struct facts_world *f)
{
	const char *id;
	json_t *nat;

	json_object_foreach(cloud_table(f->w.s.l.cloud, "ec2.nat"), id, nat)
		json_put_str(nat, "State", "deleted");
}

static void no_endpoint(struct facts_world *f)
{
	json_object_clear(cloud_table(f->w.s.l.cloud, "ec2.endpoint"));
}

static void no_way(struct facts_world *f)
{
	nat_gone(f);
	no_endpoint(f);
}

/* One interface holds all addresses but so many. */
static void fill(struct facts_world *f, const char *subnet, int64_t leave)
{
	const int64_t free = ec2_free_addresses(f->w.s.l.cloud, subnet);
	json_t *taken = json_array();

	for (int64_t i = leave; i < free; i++)
		json_array_append_new(taken, json_object());
	cloud_put(f->w.s.l.cloud, "ec2.interface", "eni-0fa11",
		  json_pack("{s:s, s:s, s:s, s:o}", "NetworkInterfaceId", "eni-0fa11",
			    "SubnetId", subnet, "VpcId", f->vpc, "PrivateIpAddresses",
			    taken));
}

static void plane_full(struct facts_world *f)
{
	fill(f, f->plane2, 4);
}

static void plane_tight(struct facts_world *f)
{
	fill(f, f->plane2, 12);
}

static void nodes_full(struct facts_world *f)
{
	fill(f, f->nodes, 20);
}

static void elsewhere(struct facts_world *f)
{
	json_put_str(cloud_get(f->w.s.l.cloud, "ec2.subnet", f->nodes), "VpcId",
		     "vpc-0fee1dead0fee1dea");
}

static json_t *more_nodes(struct facts_world *f)
{
	(void)f;
	return json_pack("{s:s, s:i, s:s}", "group_name", "gpu", "count", 3,
			 "hyperpod_name", "pod");
}

/* ' for " */
static json_t *quoted(struct facts_world *f, const char *text)
{
	char *z = arena_strdup(&f->w.s.l.arena, text);

	for (char *q = z; *q; q++)
		if (*q == '\'')
			*q = '"';
	return json_loads(z, 0, NULL);
}

static void tell_cni(struct facts_world *f, const char *patch)
{
	json_t *cni =
		json_deep_copy(cloud_kube_get(f->w.s.l.cloud, "demo", "apps/v1",
					      "daemonsets", "kube-system", "aws-node"));

	cr_assert(cni);
	json_object_update_new(json_at(cni, "spec.template.spec.containers.0"),
			       quoted(f, patch));
	cloud_kube_put(f->w.s.l.cloud, "demo", cni);
}

/* The CNI of the cluster is told to take addresses by sixteen. */
static void prefixes(struct facts_world *f)
{
	tell_cni(f, "{'env':[{'name':'ENABLE_PREFIX_DELEGATION','value':'true'}]}");
	fill(f, f->nodes, 100);
}

static void old_cni(struct facts_world *f)
{
	tell_cni(f, "{'image':'mirror:5000/amazon-k8s-cni:v1.18.2-eksbuild.1'}");
}

/* Pods of nodes in the named zone are in a subnet of their own, which is nearly full. */
static void pods_of_zone(struct facts_world *f, const char *zone)
{
	tell_cni(f,
		 "{'env':[{'name':'AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG','value':'true'},"
		 "{'name':'ENI_CONFIG_LABEL_DEF','value':"
		 "'topology.kubernetes.io/zone'}]}");
	cloud_kube_put(
		f->w.s.l.cloud, "demo",
		quoted(f,
		       "{'apiVersion':'apiextensions.k8s.io/v1','kind':"
		       "'CustomResourceDefinition','metadata':{'name':"
		       "'eniconfigs.crd.k8s.amazonaws.com'},'spec':{'group':"
		       "'crd.k8s.amazonaws.com','scope':'Cluster','names':{'kind':"
		       "'ENIConfig','listKind':'ENIConfigList','plural':'eniconfigs',"
		       "'singular':'eniconfig'},'versions':[{'name':'v1alpha1','served':"
		       "true,'storage':true,'schema':{'openAPIV3Schema':{'type':'object',"
		       "'x-kubernetes-preserve-unknown-fields':true}}}]}}"));
	lab_wait(&f->w.s.l, 5000);
	cloud_kube_put(f->w.s.l.cloud, "demo",
		       json_pack("{s:s,s:s,s:{s:s},s:{s:s}}", "apiVersion",
				 "crd.k8s.amazonaws.com/v1alpha1", "kind", "ENIConfig",
				 "metadata", "name", zone, "spec", "subnet", f->plane1));
	fill(f, f->plane1, 20);
}

static void pods_elsewhere(struct facts_world *f)
{
	pods_of_zone(f, "us-west-2a");
}

static void pods_nowhere(struct facts_world *f)
{
	pods_of_zone(f, "us-west-2b");
}

#define DNS                                                                              \
	{                                                                                \
		"ec2:DescribeVpcAttribute"                                               \
	}
#define WAYS                                                                             \
	{                                                                                \
		"ec2:DescribeRouteTables"                                                \
	}
#define PIPELINE .kind = "create_cluster", .target = "fresh", .input = pipeline
#define PLANE    .kind = "create_eks_control_plane", .target = "fresh", .input = own_vpc
#define HYPERPOD .kind = "create_hyperpod_cluster", .target = "demo", .input = new_nodes
#define GROUP    .kind = "add_instance_group", .target = "demo", .input = given_nodes
#define MORE     .kind = "scale_instance_group", .target = "demo", .input = more_nodes
#define OFF                                                                              \
	{                                                                                \
		"DNS support of the VPC", "--enable-dns-support"                         \
	}
#define NAMELESS                                                                         \
	{                                                                                \
		"DNS hostnames of the VPC", "--enable-dns-hostnames"                     \
	}
#define DEAD                                                                             \
	{                                                                                \
		"which no longer exists", "to a NAT gateway"                             \
	}

Test(cloud_plan_facts, a_given_network_is_read_before_anything_is_made)
{
	static const struct fact rows[] = {
		{"dns", PIPELINE, no_dns, OFF, DNS},
		{"dns", PLANE, no_dns, OFF, DNS},
		{"dns", HYPERPOD, no_dns, OFF, DNS},
		{"dns", GROUP, no_dns, OFF, DNS},
		{"hostnames", PIPELINE, no_hostnames, NAMELESS, DNS},
		{"hostnames", PLANE, no_hostnames, NAMELESS, DNS},
		{"hostnames", HYPERPOD, no_hostnames, NAMELESS, DNS},
		{"hostnames", GROUP, no_hostnames, NAMELESS, DNS},
		{"a way out", PIPELINE, no_way, DEAD, WAYS},
		{"a way out", HYPERPOD, no_way, DEAD, WAYS},
		{"a way out", GROUP, no_way, DEAD, WAYS},
		{"endpoints without NAT",
		 PIPELINE,
		 nat_gone,
		 {"no interface endpoint", "ecr.api"},
		 WAYS},
		{"endpoints without NAT",
		 HYPERPOD,
		 nat_gone,
		 {"no interface endpoint", "ecr.api"},
		 WAYS},
		{"NAT for the subnet that we make", .kind = "create_cluster",
		 .target = "fresh", .input = pipeline_nat, .turn = nat_gone,
		 .says = {"No route table of vpc-", "set subnet_id"}, .reads = WAYS},
		{"addresses of the control plane",
		 PIPELINE,
		 plane_full,
		 {"has 4 free addresses, and EKS needs 6"},
		 {"ec2:DescribeSubnets"}},
		{"addresses of the control plane",
		 PLANE,
		 plane_full,
		 {"has 4 free addresses, and EKS needs 6"},
		 {"ec2:DescribeSubnets"}},
		{"few addresses of the control plane",
		 PLANE,
		 plane_tight,
		 {"has 12 free addresses: a load balancer needs"},
		 {"ec2:DescribeSubnets"}},
		{"addresses of nodes",
		 PIPELINE,
		 nodes_full,
		 {"has 20 free addresses", "nodes of"},
		 {"ec2:DescribeSubnets"}},
		{"addresses of nodes",
		 HYPERPOD,
		 nodes_full,
		 {"has 20 free addresses", "nodes of"},
		 {"ec2:DescribeSubnets"}},
		{"addresses of nodes",
		 GROUP,
		 nodes_full,
		 {"has 20 free addresses", "nodes of"},
		 {"ec2:DescribeSubnets"}},
		{"dns", MORE, no_dns, OFF, DNS},
		{"a way out", MORE, no_way, DEAD, WAYS},
		{"prefixes",
		 GROUP,
		 prefixes,
		 {"has 100 free addresses", "nodes of 129 addresses each"},
		 {"kube:get daemonsets"}},
		{"prefixes",
		 HYPERPOD,
		 prefixes,
		 {"has 100 free addresses", "nodes of 129 addresses each"},
		 {"kube:get daemonsets"}},
		{"an old CNI",
		 GROUP,
		 old_cni,
		 {"The VPC CNI of this cluster is v1.18.2-eksbuild.1",
		  "v1.18.3 or later"},
		 {"kube:get daemonsets"}},
		{"a subnet of the pods",
		 GROUP,
		 pods_elsewhere,
		 {"of the pods has 20 free addresses, 30 are needed"},
		 {"kube:get daemonsets"}},
		{"a subnet of the pods",
		 HYPERPOD,
		 pods_elsewhere,
		 {"of the pods has 20 free addresses, 30 are needed"},
		 {"kube:list eniconfigs"}},
		{"no subnet of the pods",
		 GROUP,
		 pods_nowhere,
		 {"no ENIConfig object is for the zone us-west-2a: pods on the new nodes"},
		 {"kube:get daemonsets"}},
		{"the VPC of the subnet",
		 PIPELINE,
		 elsewhere,
		 {"is in the VPC vpc-0fee1dead0fee1dea, the cluster is in"},
		 {"ec2:DescribeSubnets"}},
		{"the VPC of the subnet",
		 HYPERPOD,
		 elsewhere,
		 {"is in the VPC vpc-0fee1dead0fee1dea, the cluster is in"},
		 {"ec2:DescribeSubnets"}},
		{"the VPC of the subnet",
		 GROUP,
		 elsewhere,
		 {"is in the VPC vpc-0fee1dead0fee1dea, the cluster is in"},
		 {"ec2:DescribeSubnets"}},
	};

	facts_build();
	FACTS_HOLD(rows);
	facts_free();
}

/* --- what nodes offer ------------------------------------------------------------------
 */

static void type_is(struct facts_world *f, const char *patch)
{
	cloud_configure(f->w.s.l.cloud,
			json_packf(&f->w.s.l.arena, "{s:{s:o}}", "type_facts",
				   "g5.xlarge", json_loads(patch, 0, NULL)));
}

static void little_memory(struct facts_world *f)
{
	type_is(f, "{\"MemoryInfo\":{\"SizeInMiB\":1024}}");
}

static void some_memory(struct facts_world *f)
{
	type_is(f, "{\"MemoryInfo\":{\"SizeInMiB\":1400}}");
}

static void little_cpu(struct facts_world *f)
{
	type_is(f, "{\"VCpuInfo\":{\"DefaultCores\":0,\"DefaultVCpus\":1}}");
}

static void few_addresses(struct facts_world *f)
{
	type_is(f, "{\"NetworkInfo\":{\"Ipv4AddressesPerInterface\":6}}");
}

#define TYPES                                                                            \
	{                                                                                \
		"ec2:DescribeInstanceTypes"                                              \
	}
#define OFFERS                                                                           \
	{                                                                                \
		"ml.g5.xlarge offers pods about", "larger type"                          \
	}
#define SLOTS                                                                            \
	{                                                                                \
		"pod slots left for the components", "larger type"                       \
	}

Test(cloud_plan_facts, what_the_components_take_is_compared_with_what_nodes_offer)
{
	static const struct fact rows[] = {
		{"memory", PIPELINE, little_memory, OFFERS, TYPES},
		{"memory", HYPERPOD, little_memory, OFFERS, TYPES},
		{"memory", GROUP, little_memory, OFFERS, TYPES},
		{"memory that is not known",
		 GROUP,
		 some_memory,
		 {"whether the memory of 2 × ml.g5.xlarge is enough",
		  "offers pods between", "and 891 MiB"},
		 TYPES},
		{"CPU", PIPELINE, little_cpu, OFFERS, TYPES},
		{"CPU", HYPERPOD, little_cpu, OFFERS, TYPES},
		{"CPU", GROUP, little_cpu, OFFERS, TYPES},
		{"pods", PIPELINE, few_addresses, SLOTS, TYPES},
		{"pods", HYPERPOD, few_addresses, SLOTS, TYPES},
	};

	facts_build();
	FACTS_HOLD(rows);
	facts_free();
}

/* The simulated chart, which is placed as the published one, agrees with our table. */
Test(cloud_plan_facts, the_chart_is_placed_where_the_table_has_it)
{
	static const struct {
		const char *file, *object, *cpu, *memory;
	} rows[] = {
		{"health-monitoring-agent", "health-monitoring-agent", "cpu: 500m",
		 "memory: 512Mi"},
		{"nvidia-device-plugin", "nvidia-device-plugin", "", ""},
		{"efa-device-plugin", "aws-efa-k8s-device-plugin", "cpu: 10m",
		 "memory: 20Mi"},
	};
	struct lab l;
	size_t tried = 0;

	lab_start(&l);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *text = lab_file(
			&l, arena_printf(&l.arena,
					 "tests/cloud/charts/hyperpod-helm-chart/"
					 "templates/%s.yaml",
					 rows[i].file));
		const struct footprint *f = footprints;
		json_t *types =
			       json_at(lab_call(&l, "ec2", "DescribeInstanceTypes", "{}"),
				       "InstanceTypes"),
		       *t;
		size_t k;

		while (f->component && !streq(f->object, rows[i].object))
			f++;
		cr_assert(f->component, "%s", rows[i].object);
		cr_expect(strstr(text, rows[i].cpu) && strstr(text, rows[i].memory));
		cr_expect_eq(f->cpu_m > 0, rows[i].cpu[0] != 0);
		if (f->cpu_m)
			cr_expect(strstr(text, arena_printf(&l.arena, "cpu: %dm\n",
							    f->cpu_m)) &&
				  strstr(text, arena_printf(&l.arena, "memory: %dMi\n",
							    f->memory_mib)));
		json_array_foreach(types, k, t) {
			const char *name = arena_printf(
				&l.arena, "ml.%s", json_str_or(t, "InstanceType", ""));
			const bool listed =
				strstr(text, arena_printf(&l.arena, "%s,", name)) ||
				strstr(text, arena_printf(&l.arena, "%s]", name));

			if (!instance_type_is_known(name))
				continue;
			tried++;
			cr_expect_eq(listed, footprint_is_on(f, t), "%s on %s: %d",
				     rows[i].object, name, listed);
		}
	}
	cr_expect_gt(tried, 100);
	lab_stop(&l);
}

Test(cloud_plan_facts, every_component_has_its_pods_in_the_table)
{
	for (size_t i = 0; component_list()[i]; i++) {
		size_t rows = 0;

		for (const struct footprint *f = footprints; f->component; f++)
			rows += streq(f->component, component_list()[i]->name);
		cr_expect_gt(rows, 0, "%s", component_list()[i]->name);
	}
	for (const struct footprint *f = footprints; f->component; f++)
		cr_expect(streq(f->component, "eks") || component_find(f->component),
			  "%s", f->component);
}

/* --- processors ------------------------------------------------------------------------
 */

#define ARM "{\"ProcessorInfo\":{\"SupportedArchitectures\":[\"arm64\"]}}"

static void arm_nodes(struct facts_world *f)
{
	type_is(f, ARM);
}

/* On arm64 already, so that the add-on alone is the fact. */
static void arm_base(struct facts_world *f)
{
	arm_nodes(f);
	cloud_configure(f->w.s.l.cloud,
			json_packf(&f->w.s.l.arena, "{s:{s:o}}", "type_facts",
				   "g5.12xlarge", json_loads(ARM, 0, NULL)));
}

static void addon_is_amd(struct facts_world *f, const char *addon)
{
	arm_base(f);
	cloud_configure(f->w.s.l.cloud,
			json_packf(&f->w.s.l.arena, "{s:{s:[s]}}", "addon_architectures",
				   addon, "amd64"));
}

static void pods_amd(struct facts_world *f)
{
	addon_is_amd(f, "eks-pod-identity-agent");
}

/* An operator that is installed, and no component of ours. */
static void operator_amd(struct facts_world *f)
{
	lab_try(&f->w.s.l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName", "demo",
		"addonName", "amazon-sagemaker-hyperpod-training-operator");
	addon_is_amd(f, "amazon-sagemaker-hyperpod-training-operator");
}

static void daemon_set(struct facts_world *f, const char *name, const char *image,
		       const char *arch)
{
	json_t *set = quoted(f, "{'apiVersion':'apps/v1','kind':'DaemonSet','metadata':"
				"{'namespace':'logs'},'spec':{'selector':{'matchLabels':"
				"{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},"
				"'spec':{'containers':[{'name':'main'}]}}}}");
	json_t *pod = json_at(set, "spec.template.spec");

	json_put_str(json_at(set, "metadata"), "name", name);
	json_put_str(json_at(pod, "containers.0"), "image", image);
	if (arch)
		json_put(pod, "nodeSelector",
			 json_pack("{s:s}", "kubernetes.io/arch", arch));
	cloud_kube_put(f->w.s.l.cloud, "demo", set);
}

static void others(struct facts_world *f)
{
	arm_base(f);
	daemon_set(f, "kept-away", "example.com/a:amd64", "amd64");
	daemon_set(f, "made-for-it", "example.com/a:1", "arm64");
	daemon_set(f, "collector", "example.com/a:1", NULL);
	daemon_set(f, "shipper", "example.com/b:1-amd64", NULL);
}

static void mirror(struct facts_world *f)
{
	arm_base(f);
	f->w.o.cfg.image_mirror = "mirror.example.com";
}

/* Two types in one group. */
static json_t *mixed(struct facts_world *f)
{
	json_t *in = given_nodes(f);

	json_object_del(in, "instance_type");
	json_put(in, "instance_types",
		 json_pack("[s, s]", "ml.g5.xlarge", "ml.g6.xlarge"));
	return in;
}

#define MADE                                                                             \
	{                                                                                \
		"ec2:DescribeInstanceTypes", "eks:DescribeAddonVersions"                 \
	}

Test(cloud_plan_facts, images_must_be_made_for_the_processors_of_the_nodes)
{
	static const struct fact rows[] = {
		{"an add-on",
		 PIPELINE,
		 pods_amd,
		 {"these have no arm64 images: eks-pod-identity-agent",
		  "Use an x86_64 type"},
		 MADE},
		{"an add-on",
		 HYPERPOD,
		 pods_amd,
		 {"these have no arm64 images: eks-pod-identity-agent"},
		 MADE},
		{"an add-on",
		 GROUP,
		 pods_amd,
		 {"these have no arm64 images: eks-pod-identity-agent"},
		 MADE},
		{"an operator",
		 HYPERPOD,
		 operator_amd,
		 {"these have no arm64 images: amazon-sagemaker-hyperpod-training-operator"},
		 MADE},
		{"an operator",
		 GROUP,
		 operator_amd,
		 {"these have no arm64 images: amazon-sagemaker-hyperpod-training-operator"},
		 {"ec2:DescribeInstanceTypes", "eks:ListAddons"}},
		{"DaemonSets of others",
		 GROUP,
		 others,
		 {"which ml.g5.xlarge has: logs/collector\"",
		  "has arm64: logs/shipper (example.com/b:1-amd64)."},
		 {"kube:list daemonsets"}},
		{"DaemonSets of others",
		 HYPERPOD,
		 others,
		 {"which ml.g5.xlarge has: logs/collector\""},
		 {"kube:list daemonsets"}},
		{"nodes of two kinds",
		 GROUP,
		 arm_nodes,
		 {"nodes of two architectures (arm64: ml.g5.xlarge; amd64: ml.g5.12xlarge)"},
		 TYPES},
		{"types of two kinds", .kind = "add_instance_group", .target = "demo",
		 .input = mixed, .turn = arm_nodes,
		 .says = {"nodes of two architectures (arm64: ml.g5.xlarge; amd64: ml.g6.xlarge"},
		 .reads = TYPES},
		{"a mirror",
		 PIPELINE,
		 mirror,
		 {"not known: whether these have arm64 images", "images of the mirror"}},
	};

	facts_build();
	FACTS_HOLD(rows);
	facts_free();
}

/* --- objects of others ---------------------------------------------------------------
 */

static json_t *nothing(struct facts_world *f)
{
	(void)f;
	return json_object();
}

static json_t *adopting(struct facts_world *f)
{
	(void)f;
	return json_pack("{s:b}", "adopt", 1);
}

static void put(struct facts_world *f, json_t *o)
{
	cloud_kube_put(f->w.s.l.cloud, "demo", o);
}

/* One of another release, and one that nobody has marked. */
static void two_foreign(struct facts_world *f)
{
	put(f, json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind", "Namespace",
			 "metadata", "name", "kuberay-operator"));
	put(f, json_pack("{s:s,s:s,s:{s:s,s:s,s:{s:s,s:s}}}", "apiVersion", "v1", "kind",
			 "ServiceAccount", "metadata", "name", "kuberay-operator",
			 "namespace", "kuberay-operator", "annotations",
			 "meta.helm.sh/release-name", "ray",
			 "meta.helm.sh/release-namespace", "kuberay-operator"));
	put(f, json_pack("{s:s,s:s,s:{s:s},s:[]}", "apiVersion",
			 "rbac.authorization.k8s.io/v1", "kind", "ClusterRole",
			 "metadata", "name", "kuberay-operator", "rules"));
}

/* Marked with our release's name: left by an install that did not end. */
static void own_remains(struct facts_world *f)
{
	put(f, json_pack("{s:s,s:s,s:{s:s,s:{s:s,s:s}},s:[]}", "apiVersion",
			 "rbac.authorization.k8s.io/v1", "kind", "ClusterRole",
			 "metadata", "name", "kuberay-operator", "annotations",
			 "meta.helm.sh/release-name", "kuberay-operator",
			 "meta.helm.sh/release-namespace", "kuberay-operator", "rules"));
}

#define RECONCILE .kind = "reconcile_dependencies", .target = "demo"

Test(cloud_plan_facts, objects_of_others_are_all_named_with_their_owners)
{
	static const struct fact rows[] = {
		{"two objects",
		 RECONCILE,
		 nothing,
		 two_foreign,
		 {"2 of its objects are there and belong to others: ServiceAccount "
		  "kuberay-operator/kuberay-operator (the release "
		  "kuberay-operator/ray), ClusterRole kuberay-operator ("},
		 {"kube:get serviceaccounts", "kube:get clusterroles"}},
		{"with adopt",
		 RECONCILE,
		 adopting,
		 two_foreign,
		 {"Helm takes over 2 objects of others for KubeRay operator",
		  "take_ownership\":true"},
		 {"kube:get serviceaccounts", "kube:get clusterroles"}},
	};
	static const struct fact ours = {"our own", RECONCILE, nothing, own_remains};
	const char *text;

	facts_build();
	/* With adopt ownership is asked for whether or not there is anything. */
	fact_holds(&rows[0]);
	facts_back();
	two_foreign(&facts);
	text = fact_plan(&rows[1]);
	cr_expect(strstr(text, rows[1].says[0]) && strstr(text, rows[1].says[1]), "%s",
		  text);
	facts_back();
	own_remains(&facts);
	text = fact_plan(&ours);
	cr_expect_not(strstr(text, "belong to others"), "%s", text);
	facts_free();
}

/* --- the Kubernetes version
 * ------------------------------------------------------------- */

static void version_is(struct facts_world *f, const char *version, const char *patch)
{
	cloud_configure(f->w.s.l.cloud,
			json_packf(&f->w.s.l.arena, "{s:{s:o}}", "version_facts", version,
				   json_loads(patch, 0, NULL)));
}

static json_t *of_version(struct facts_world *f)
{
	json_t *in = own_vpc(f);

	json_put_str(in, "kubernetes_version", "1.34");
	return in;
}

/* Of the moment 2026-01-02 of the lab. */
static void extended(struct facts_world *f)
{
	version_is(f, "1.34",
		   "{\"versionStatus\":\"EXTENDED_SUPPORT\",\"status\":"
		   "\"extended-support\",\"endOfStandardSupportDate\":1764115200,"
		   "\"endOfExtendedSupportDate\":1795651200}");
}

static void soon(struct facts_world *f)
{
	version_is(f, "1.34", "{\"endOfStandardSupportDate\":1769904000}");
}

static void unsupported(struct facts_world *f)
{
	version_is(f, "1.34",
		   "{\"versionStatus\":\"UNSUPPORTED\",\"status\":\"unsupported\"}");
}

static void other_default(struct facts_world *f)
{
	version_is(f, eks_default_version(), "{\"defaultVersion\":false}");
	version_is(f, "1.33", "{\"defaultVersion\":true}");
}

#define VERSIONS                                                                         \
	{                                                                                \
		"eks:DescribeClusterVersions"                                            \
	}
#define OF_VERSION                                                                       \
	.kind = "create_eks_control_plane", .target = "fresh", .input = of_version

Test(cloud_plan_facts, the_window_of_support_is_told_with_its_cost)
{
	static const struct fact rows[] = {
		{"extended",
		 OF_VERSION,
		 extended,
		 {"extended support since 2025-11-26",
		  "0.60 USD per hour instead of 0.10",
		  "EKS upgrades it automatically on 2026-11-26"},
		 VERSIONS},
		{"soon",
		 OF_VERSION,
		 soon,
		 {"Standard support of Kubernetes 1.34 ends on 2026-02-01", "0.60 USD"},
		 VERSIONS},
		{"gone",
		 OF_VERSION,
		 unsupported,
		 {"EKS no longer creates clusters with Kubernetes 1.34"},
		 VERSIONS},
		{"the default",
		 PLANE,
		 other_default,
		 {"\"because\":\"EKS's default\",\"kubernetes_version\":\"1.33\"",
		  "\"ParameterKey\":\"KubernetesVersion\",\"ParameterValue\":\"1.33\""},
		 VERSIONS},
	};

	facts_build();
	FACTS_HOLD(rows);
	facts_free();
}
