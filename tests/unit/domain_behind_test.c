/* What others do behind our back while we wait: said by its name, not by a guess. */
#include "core/domain/step/held.h"
#include "tests/unit/domain_scene.h"

/* --- a cluster that does not know us -------------------------------------------------
 */

#define UNKNOWN "{'!':'Unauthorized','message':'Unauthorized','status':401}"

/* The first thing that each kind asks of Kubernetes. */
Test(domain_behind, a_cluster_that_does_not_know_us_is_no_fault_of_our_keys)
{
	static const struct scene rows[] = {
		{"mount", "create_s3_storage", "check_objects",
		 .data = "{'eks':{'name':'research','endpoint':'https://k'}}",
		 .answers = "{'kubernetes:list persistentvolumes':" UNKNOWN
			    ",'kubernetes:get persistentvolumeclaims':" UNKNOWN
			    ",'kubernetes:get persistentvolumes':" UNKNOWN "}",
		 .says = {"retry credentials", "the cluster does not know us",
			  "cluster research", "arn:aws:iam::111122223333:role/us",
			  "create-access-entry", "!Check the credentials"}},
		{"unmount", "delete_storage", "delete_claim",
		 .data = "{'eks':{'endpoint':'https://k'}}", .input = "{'name':'data'}",
		 .answers = "{'kubernetes:get persistentvolumeclaims':" UNKNOWN "}",
		 .says = {"retry credentials", "EKS cluster demo", "made again"}},
		/* AWS that takes our keys no longer is another matter. */
		{"AWS", "delete_storage", "read_eks",
		 .answers =
			 "{'eks:DescribeCluster':{'!':'ExpiredTokenException','message':"
			 "'expired','status':403}}",
		 .says = {"retry credentials", "!access-entry"}},
	};

	SCENES_HOLD(rows);
}

/* --- what keeps an object that is being deleted --------------------------------------
 */

#define GOING(more)                                                                         \
	"{'metadata':{'name':'x','uid':'u','deletionTimestamp':'2026-01-02T03:04:05Z'" more \
	"}"
#define OURS                                                                             \
	",'labels':{'app.kubernetes.io/managed-by':'instantstart','instantstart.io/cluster':'demo'}"
#define KEPT ",'finalizers':['kubernetes.io/pvc-protection','example.com/backup']"

Test(domain_behind, a_wait_for_an_end_names_what_keeps_it)
{
	static const struct scene rows[] = {
		{"a claim", "delete_storage", "delete_claim", .input = "{'name':'data'}",
		 .data = "{'eks':{'endpoint':'https://k'}}",
		 .answers = "{'kubernetes:get persistentvolumeclaims':" GOING(
			 OURS KEPT) "}}",
		 .says = {"wait: the claim default/data to be gone (kept by",
			  "a pod that uses it", "the finalizer example.com/backup"}},
		{"a node pool", "delete_node_pool", "delete", .input = "{'name':'x'}",
		 .data = "{'eks':{'endpoint':'https://k'}}",
		 .answers = "{'kubernetes:get nodepools':" GOING(
			 ",'finalizers':['karpenter.sh/termination']") "}}",
		 .says = {"wait: the ", "the finalizer karpenter.sh/termination"}},
		{"a namespace", "create_s3_storage", "apply_namespace",
		 .input = "{'name':'data','namespace':'x'}",
		 .data = "{'eks':{'endpoint':'https://k'}}",
		 .answers = "{'kubernetes:get namespaces':" GOING(
			 "") ",'status':{'conditions':["
			     "{'type':'NamespaceContentRemaining','status':'False','message':'no'},"
			     "{'type':'NamespaceFinalizersRemaining','status':'True','message':"
			     "'Some content in the namespace has finalizers remaining: "
			     "example.com/hold in 1 resource instances'}]}}}",
		 .says = {"wait: the namespace x", "example.com/hold in 1", "!(no)"}},
		{"nothing is known", "create_s3_storage", "apply_namespace",
		 .input = "{'name':'data','namespace':'x'}",
		 .data = "{'eks':{'endpoint':'https://k'}}",
		 .answers = "{'kubernetes:get namespaces':" GOING("") "}}",
		 .says = {"to be gone", "!kept", "!()"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_behind, what_is_not_being_deleted_is_kept_by_nothing)
{
	struct arena a;

	arena_init(&a, 0);
	cr_expect_str_eq(
		held_text(&a, scene_tree(&a, "{'metadata':{'finalizers':['a/b']}}")), "");
	cr_expect_str_eq(held_text(&a, NULL), "");
	/* However many there are, the text stays a text. */
	cr_expect_lt(
		strlen(held_text(
			&a,
			scene_tree(
				&a,
				GOING(",'finalizers':["
				      "'example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1',"
				      "'example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2',"
				      "'example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa3',"
				      "'example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa4',"
				      "'example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa5']") "}"))),
		340);
	arena_free(&a);
}
