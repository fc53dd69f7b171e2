/* Why a pod waits for a node: each of the places that know it, and what wins. */
#include "core/domain/karpenter/pending.h"
#include "tests/unit/domain_scene.h"

struct pending_case {
	const char *id;
	const char *pod;          /* more of its spec */
	const char *pool, *class; /* more of their members; NULL: there is none */
	const char *claims, *events, *cluster_events; /* lists */
	const char *says[SCENE_WORDS];
};

#define GPUS(n) "'containers':[{'resources':{'requests':{'nvidia.com/gpu':'" n "'}}}]"
#define ANY_TYPE                                                                         \
	"'requirements':[{'key':'node.kubernetes.io/instance-type','operator':'Exists'}]"
#define TYPES(v)                                                                         \
	"'requirements':[{'key':'node.kubernetes.io/instance-type','operator':'In',"     \
	"'values':[" v "]}]"
#define READY     "'conditions':[{'type':'Ready','status':'True'}]"
#define NOT_READY "'conditions':[{'type':'Ready','status':'False','message':'no subnet'}]"
#define POOL(spec, more, status)                                                         \
	"{'metadata':{'name':'train'},'spec':{'template':{'spec':{'nodeClassRef':{"      \
	"'name':'gpu'}," spec "}}" more "},'status':{" status "}}"
#define CLASS(type, status)                                                              \
	"{'metadata':{'name':'gpu'},'spec':{'instanceGroups':['ig']},'status':{"         \
	"'instanceGroups':[{'name':'ig','instanceTypes':['" type "']}]," status "}}"
#define CLAIM(n, at, conditions)                                                          \
	"{'metadata':{'name':'train-" n "','creationTimestamp':'2026-01-02T" at "Z',"     \
	"'labels':{'karpenter.sh/nodepool':'train'}},'status':{'conditions':[" conditions \
	"]}}"
#define SHORT                                                                            \
	"{'type':'Launched','status':'False','reason':'InsufficientCapacity','message':" \
	"'not enough ml.g5.xlarge'}"
#define EVENT(n, count, first, last)                                                     \
	"{'involvedObject':{'kind':'NodeClaim','name':'train-" n "'},'reason':"          \
	"'InsufficientCapacityError','count':" count                                     \
	",'firstTimestamp':'2026-01-02T" first "Z','lastTimestamp':'2026-01-02T" last    \
	"Z','message':'not enough " n "'}"
#define CLUSTER_ERROR(text)                                                              \
	"{'EventLevel':'Error','InstanceGroupName':'ig','EventTime':"                    \
	"'2026-01-02T03:00:00Z','Description':'" text "'}"

#define AFFINITY(operator, type)                                                         \
	",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuring"            \
	"Execution':{'nodeSelectorTerms':[{'matchExpressions':[{'key':"                  \
	"'node.kubernetes.io/instance-type','operator':'"                                \
	operator"','values':['" type "']}]}]}}}"

static const struct pending_case reasons[] = {
	{"AS-03 limits reached",
	 GPUS("4"),
	 POOL(ANY_TYPE, ",'limits':{'nvidia.com/gpu':8}",
	      "'resources':{'nvidia.com/gpu':'8'}," READY),
	 CLASS("ml.g5.12xlarge", READY),
	 "",
	 "",
	 "",
	 {"'code':'limit_reached'", "8 of nvidia.com/gpu, and its limit is 8"}},
	{"a limit that one more node would break",
	 GPUS("1"),
	 POOL(ANY_TYPE, ",'limits':{'nvidia.com/gpu':'6'}",
	      "'resources':{'nvidia.com/gpu':'4'}," READY),
	 CLASS("ml.g5.12xlarge", READY),
	 "",
	 "",
	 "",
	 {"'code':'limit_reached'"}},
	{"AS-03 no capacity",
	 GPUS("1"),
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 CLAIM("a", "03:00:00", SHORT),
	 "",
	 "",
	 {"'code':'no_capacity'", "1 attempt since 03:00, last: not enough"}},
	{"AS-03 no type is large enough",
	 GPUS("8"),
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 "",
	 "",
	 "",
	 {"'code':'type_too_small'", "8 of nvidia.com/gpu", "ml.g5.xlarge"}},
	{"AS-03 a type written as EC2 writes it",
	 GPUS("1"),
	 POOL(TYPES("'g5.12xlarge'"), "", READY),
	 CLASS("ml.g5.12xlarge", READY),
	 "",
	 "",
	 "",
	 {"'code':'type_not_ml'", "Use ml.g5.12xlarge"}},
	{"a type of no group",
	 GPUS("1"),
	 POOL(TYPES("'ml.p5.48xlarge'"), "", READY),
	 CLASS("ml.g5.12xlarge", READY),
	 "",
	 "",
	 "",
	 {"'code':'type_not_in_class'", "they have ml.g5.12xlarge"}},
	{"the account's quota",
	 GPUS("1"),
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 "",
	 "",
	 CLUSTER_ERROR("The account-level service limit is 0 Instances"),
	 {"'code':'quota'", "check_quotas"}},
	{"nodes that do not join",
	 GPUS("1"),
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 "",
	 "",
	 CLUSTER_ERROR("Lifecycle scripts failed"),
	 {"'code':'node_failed'", "Lifecycle scripts failed"}},
	{"a node on its way",
	 GPUS("1"),
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 CLAIM("a", "03:00:00", "{'type':'Launched','status':'True'}"),
	 "",
	 "",
	 {"'code':'node_starting'", "train-a has been starting"}},
	{"a taint",
	 GPUS("1"),
	 POOL(ANY_TYPE ",'taints':[{'key':'gpu','effect':'NoSchedule'}]", "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 "",
	 "",
	 "",
	 {"'code':'no_match'", "taint gpu"}},
	{"another team's pool",
	 GPUS("1") ",'nodeSelector':{'team':'x'}",
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 "",
	 "",
	 "",
	 {"'code':'no_match'", "team=x"}},
	{"a type that the pool does not have",
	 GPUS("1") ",'nodeSelector':{'node.kubernetes.io/instance-type':'ml.p5.48xlarge'}",
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 "",
	 "",
	 "",
	 {"'code':'no_match'", "an instance type outside the pool", "ml.g5.xlarge"}},
	{"a type by affinity: the small one is not taken",
	 GPUS("1") AFFINITY("NotIn", "ml.g5.xlarge"),
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 "",
	 "",
	 "",
	 {"'code':'no_match'"}},
	{"a type by affinity: it is there",
	 GPUS("1") AFFINITY("In", "ml.g5.xlarge"),
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 "",
	 "",
	 "",
	 {"'code':'node_starting'"}},
	{"a node that came after the tries",
	 GPUS("1"),
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 CLAIM("b", "02:59:30",
	       "{'type':'Launched','status':'True','lastTransitionTime':"
	       "'2026-01-02T02:59:40Z'}"),
	 EVENT("a", "8", "02:50:00", "02:55:00"),
	 "",
	 {"'code':'node_starting'", "'count':8"}},
	{"tries that go on after a node came",
	 GPUS("1"),
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 CLAIM("b", "02:50:30",
	       "{'type':'Launched','status':'True','lastTransitionTime':"
	       "'2026-01-02T02:50:40Z'}"),
	 EVENT("a", "8", "02:50:00", "02:55:00"),
	 "",
	 {"'code':'no_capacity'", "'count':8"}},
	{"a class that is not ready",
	 GPUS("1"),
	 POOL(ANY_TYPE, "", NOT_READY),
	 CLASS("ml.g5.xlarge", NOT_READY),
	 "",
	 "",
	 "",
	 {"'code':'pool_not_ready'", "no subnet"}},
	{"no pool", GPUS("1"), NULL, NULL, "", "", "", {"'code':'no_pool'"}},
	{"AS-05 a loop is counted, with its first and last time",
	 GPUS("1"),
	 POOL(ANY_TYPE, "", READY),
	 CLASS("ml.g5.xlarge", READY),
	 CLAIM("c", "02:59:00", SHORT) "," CLAIM("d", "03:01:00", SHORT),
	 EVENT("a", "8", "02:50:00", "02:55:00") "," EVENT(
		 "b", "4", "02:56:00", "02:58:00") "," EVENT("c", "1", "02:59:00",
							     "02:59:00"),
	 "",
	 {"'code':'no_capacity'",
	  "14 attempts since 02:50, last: not enough ml.g5.xlarge", "'count':14",
	  "'first_at':'2026-01-02T02:50:00", "'last_at':'2026-01-02T03:01:00"}},
};

static json_t *list_of(struct arena *a, const char *items)
{
	return scene_tree(a, arena_printf(a, "[%s]", items ? items : ""));
}

static const char *explained(struct arena *a, const struct pending_case *k)
{
	const struct pending_world w = {
		.arena = a,
		.now_ms = scene_now_ms,
		.pools = list_of(a, k->pool),
		.classes = list_of(a, k->class),
		.claims = list_of(a, k->claims),
		.events = list_of(a, k->events),
		.cluster_events = list_of(a, k->cluster_events),
		.types = scene_tree(
			a,
			"[{'InstanceType':'g5.xlarge','GpuInfo':{'Gpus':[{'Count':1}]}},"
			"{'InstanceType':'g5.12xlarge','GpuInfo':{'Gpus':[{'Count':4}]}}]")};
	json_t *pod = scene_tree(
		a,
		arena_printf(
			a,
			"{'metadata':{'name':'p','namespace':'n','creationTimestamp':"
			"'2026-01-02T02:00:00Z'},'spec':{%s},'status':{'phase':'Pending',"
			"'conditions':[{'type':'PodScheduled','status':'False','reason':"
			"'Unschedulable','message':'0/3 nodes are available'}]}}",
			k->pod));
	char *text;

	cr_expect(pending_waits(pod), "%s", k->id);
	text = arena_strdup(a, json_text(a, json_own(a, pending_explain(&w, pod))));
	for (char *p = text; *p; p++)
		*p = *p == '"' ? '\'' : *p;
	return text;
}

Test(domain_pending, why_a_pod_waits)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		struct arena a;
		const char *said;

		arena_init(&a, 0);
		said = explained(&a, &reasons[i]);
		for (size_t j = 0; j < SCENE_WORDS && reasons[i].says[j]; j++)
			cr_expect(strstr(said, reasons[i].says[j]), "%s: \"%s\" in %s",
				  reasons[i].id, reasons[i].says[j], said);
		arena_free(&a);
	}
}
