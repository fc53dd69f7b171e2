/* Deletions in Kubernetes: each names the object that was looked at, and what is another
 * one by then is looked at again. One row for every step that deletes. */
#include <glob.h>
#include <stdio.h>

#include "tests/unit/domain_scene.h"

#define EKS  "'eks':{'name':'demo','endpoint':'https://k'}"
#define DATA "{" EKS "}"
#define OURS                                                                             \
	"'labels':{'app.kubernetes.io/managed-by':'instantstart'"                        \
	",'instantstart/installation':'here',"                                           \
	"'instantstart.io/cluster'"                                                      \
	":'demo'}"
#define SEEN      "'name':'x','namespace':'default','uid':'uid-1','resourceVersion':'77'"
#define ONE(more) "{'metadata':{" SEEN "," OURS "}" more "}"
#define LIST(one) "{'items':[" one "]}"
#define STACK                                                                            \
	"'cloudformation:DescribeStacks':{'Stacks':[{'StackName':'instantstart-demo',"   \
	"'StackStatus':'CREATE_COMPLETE','Tags':[{'Key':'instantstart:cluster','Value':" \
	"'demo'},{'Key':'instantstart:operation','Value':'op_1'}]}]}"
#define CLUSTER                                                                          \
	"'eks:DescribeCluster':{'cluster':{'name':'demo','status':'ACTIVE','endpoint':"  \
	"'https://k','certificateAuthority':{'data':''}}}"
#define BOUND                                                                            \
	"'eks:ListPodIdentityAssociations':{'associations':[{'associationId':'a'}]},"    \
	"'eks:DescribePodIdentityAssociation':{'association':{'associationId':'a',"      \
	"'createdAt':'2026-01-02T03:04:05Z'}}"
#define STALE                                                                            \
	"{'metadata':{" SEEN ",'creationTimestamp':'2026-01-01T00:00:00Z'},'spec':{"     \
	"'serviceAccountName':'s3-csi-driver-sa','containers':[{'name':'c'}]}}"
#define RECORD                                                                           \
	"{'metadata':{" SEEN                                                             \
	",'labels':{'owner':'helm','name':'r','version':'1','status':"                   \
	"'pending-install','modifiedAt':'1','instantstart/cluster':'demo',"              \
	"'instantstart/installation':'here'}}}"

static const struct row {
	const char *file; /* where kube_delete() is called */
	const char *kind, *step, *input, *answers;
	const char *plural;
	bool object_only; /* what it was judged by never changes */
} rows[] = {
	{"karpenter/node_object.c", "delete_node_pool", "delete", "{'name':'x'}",
	 "'kubernetes:get nodepools':" ONE(""), "nodepools", false},
	{"karpenter/node_object.c", "delete_node_class", "delete", "{'name':'x'}",
	 "'kubernetes:get hyperpodnodeclasses':" ONE(""), "hyperpodnodeclasses", false},
	{"storage/probe.c", "create_s3_storage", "clear_probe", "{'name':'data'}",
	 "'kubernetes:get jobs':" ONE(""), "jobs", false},
	{"storage/delete_storage.c", "delete_storage", "delete_probe", "{'name':'data'}",
	 "'kubernetes:get jobs':" ONE(""), "jobs", false},
	{"storage/delete_storage.c", "delete_storage", "delete_claim", "{'name':'data'}",
	 "'kubernetes:get persistentvolumeclaims':" ONE(""), "persistentvolumeclaims",
	 false},
	{"storage/delete_storage.c", "delete_storage", "delete_volume", "{'name':'data'}",
	 "'kubernetes:get persistentvolumes':" ONE(""), "persistentvolumes", false},
	{"cluster/balancers.c", "delete_cluster", "delete_load_balancers", "{}",
	 STACK "," CLUSTER ",'kubernetes:list services':" LIST(
		 ONE(",'spec':{'type':'LoadBalancer'}")),
	 "services", false},
	{"dependency/refresh.c", "reconcile_dependencies", "s3_csi_refresh", "{}",
	 BOUND ",'kubernetes:list pods':" LIST(STALE), "pods", true},
	{"dependency/chart.c", "reconcile_dependencies", "kuberay_install", "{}",
	 "'kubernetes:list secrets':" LIST(RECORD), "secrets", false},
	{"feature/users.c", "set_training_operator", "end_users",
	 "{'feature':'training_operator','enabled':false,'confirmed':[{'feature':"
	 "'training_operator','workloads':['HyperPodPyTorchJob default/x']}]}",
	 "'kubernetes:list hyperpodpytorchjobs':" LIST(ONE("")), "hyperpodpytorchjobs",
	 false},
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

static const char *play(struct arena *a, const struct row *r, const char *answered)
{
	const struct scene s = {
		.id = r->plural,
		.kind = r->kind,
		.step = r->step,
		.input = r->input,
		.data = DATA,
		.answers = arena_printf(a, "{%s}", r->answers),
		.answered = answered,
	};

	return scene_play(a, &s);
}

Test(domain_deletes, each_says_what_it_has_seen)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct row *r = &rows[i];
		struct arena a;
		const char *said;

		arena_init(&a, 0);
		said = play(&a, r, NULL);
		cr_expect(strstr(said, arena_printf(&a, "call kubernetes:delete %s",
						    r->plural)),
			  "%s of %s: %s", r->step, r->kind, said);
		cr_expect(strstr(said, "'uid':'uid-1'"), "%s: %s", r->step, said);
		cr_expect_eq(strstr(said, "'resourceVersion':'77'") == NULL,
			     r->object_only, "%s: %s", r->step, said);
		arena_free(&a);
	}
}

/* Somebody has replaced or changed it: nothing was deleted; it is judged anew. */
Test(domain_deletes, a_conflict_is_looked_at_again)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		struct arena a;
		const char *said;

		arena_init(&a, 0);
		said = play(&a, &rows[i],
			    "{'!':'Conflict','status':409,'message':'the UID in the "
			    "precondition does not match'}");
		cr_expect(strstr(said, "wait: "), "%s: %s", rows[i].step, said);
		cr_expect_null(strstr(said, " is gone"), "%s: %s", rows[i].step, said);
		arena_free(&a);
	}
}

/* And what took its name is not ours: it stays. */
Test(domain_deletes, what_took_the_name_is_judged_like_the_first)
{
#define THEIRS "{'metadata':{" SEEN "}}"
	static const struct scene theirs[] = {
		{"a pool", "delete_node_pool", "delete", .input = "{'name':'x'}",
		 .data = "{" EKS ",'deleting':'uid-0'}",
		 .answers = "{'kubernetes:get nodepools':" THEIRS "}",
		 .says = {"fail goal-moved", "node pool x was deleted", "is kept"}},
		{"a claim", "delete_storage", "delete_claim", .input = "{'name':'data'}",
		 .data = DATA,
		 .answers = "{'kubernetes:get persistentvolumeclaims':" THEIRS "}",
		 .says = {"fail foreign-object"}},
		{"a job", "create_s3_storage", "clear_probe", .input = "{'name':'data'}",
		 .data = DATA, .answers = "{'kubernetes:get jobs':" THEIRS "}",
		 .says = {"fail foreign-object"}},
	};

	SCENES_HOLD(theirs);
}

/* --- every step that deletes has its row
 * ------------------------------------------------
 */

static bool is_in_table(const char *path)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (strstr(path, rows[i].file))
			return true;
	return strstr(path, "step/kube_delete.") != NULL;
}

Test(domain_deletes, every_step_that_deletes_has_a_row)
{
	static char text[1 << 17];
	glob_t files = {0};

	cr_assert_eq(glob("core/domain/*/*.c", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		FILE *f = fopen(files.gl_pathv[i], "r");
		const size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

		cr_assert(f);
		fclose(f);
		text[n] = '\0';
		if (strstr(text, "kube_delete(") || strstr(text, ".verb = KUBE_DELETE"))
			cr_expect(is_in_table(files.gl_pathv[i]), "no row for %s",
				  files.gl_pathv[i]);
	}
	globfree(&files);
}
