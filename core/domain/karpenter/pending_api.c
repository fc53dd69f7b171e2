/* list_pending_pods: what waits for a node, and why. */
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/live.h"
#include "core/domain/karpenter/pending.h"
#include "core/domain/not_known.h"
#include "core/domain/offer/cached.h"
#include "core/domain/pod/pod.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

enum { TYPES_AGE_S = 6 * 3600 };

struct list_pending {
	const char *cluster;
	const char *namespace;
	int64_t limit;
	const char *cursor;
};

static const struct field list_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct list_pending, cluster),
	FIELD(struct list_pending, namespace, .pattern = POD_NS_PATTERN, .max = 63,
	      .doc = "Kubernetes namespace. Default: all."),
	FIELD(struct list_pending, limit, .min = 1, .max = 500, .dflt = "100",
	      .doc = "Maximum number of pods checked per page."),
	FIELD(struct list_pending, cursor, .min = 1, .max = 2048,
	      .doc = "next_cursor of the previous page."),
	FIELD_END};

static const struct field tries_out[] = {
	OUT("count", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "Number of attempts."),
	OUT("first_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Time of the first attempt."),
	OUT("last_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Time of the last attempt."),
	OUT("last", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Last message from AWS."),
	FIELD_END};

static const struct field other_out[] = {
	OUT("code", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "As above."),
	OUT("reason", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "As above."),
	OUT("node_pool", FIELD_STR, .doc = "Node pool."), FIELD_END};

#define X(name, word) word,
static const char *const codes[] = {PENDING_CODES(X) NULL};
#undef X

static const struct field pending_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the pod."),
	OUT("namespace", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Its namespace."),
	OUT("code", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = codes,
	    .doc = "Reason code, from the pool that came closest to providing a node."),
	OUT("reason", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Description of the reason."),
	OUT("fix", FIELD_STR, .doc = "How to resolve it."),
	OUT("node_pool", FIELD_STR, .doc = "Node pool that the reason is about."),
	{.name = "tries",
	 .type = FIELD_OBJECT,
	 .fields = tries_out,
	 .doc = "Node launches that failed for lack of capacity."},
	{.name = "others",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = other_out,
	 .doc = "Reasons of the other pools."},
	OUT("scheduler", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Message from the scheduler."),
	OUT("since", FIELD_STR, .doc = "Time when the pod was created."),
	FIELD_END};

static const struct field list_out[] = {
	{.name = "items",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = pending_out,
	 .doc = "Sorted by namespace and name."},
	OUT("next_cursor", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "Pass as cursor to get the next page. Null on the last page."),
	NOT_KNOWN_OUT,
	FIELD_END};

/* One page of what is Pending; of it, what waits for a node. */
static bool waiting_pods(struct call *c, const struct kube_target *t,
			 const struct list_pending *q, json_t *ret, const char **ret_next,
			 struct err *e)
{
	const struct kube_request r = {.verb = KUBE_LIST,
				       .api = "v1",
				       .plural = "pods",
				       .ns = q->namespace,
				       .field_selector = "status.phase=Pending",
				       .limit = q->limit,
				       .continue_ = q->cursor};
	struct kube_result res;
	const char *next;
	size_t i;
	json_t *pod;

	kube_call(c->cloud->kube, t, &r, c->arena, &res);
	if (!res.ok && (res.status == 400 || res.status == 410) && q->cursor) {
		err_set(e, ERR_INVALID_INPUT, "%s", res.message);
		return err_field(e, "/cursor", q->cursor, "no cursor, to start again");
	}
	if (!res.ok)
		return kube_err(&r, &res, e);
	json_array_foreach(json_at(res.out, "items"), i, pod)
		if (pending_waits(pod))
			json_array_append(ret, pod);
	next = json_str_at(res.out, "metadata.continue");
	*ret_next = next && *next ? next : NULL;
	return true;
}

/* Clusters that are not Continuous have no events: that is no missing answer. */
static void read_cluster_events(struct call *c, const char *cluster,
				struct pending_world *w, json_t *answer)
{
	struct cluster k;
	struct err e = {0};
	json_t *out;

	if (!cluster_mean(c, cluster, &k, &e))
		return;
	if (aws_read(c->cloud->aws, AWS_SAGEMAKER_ListClusterEvents,
		     json_packf(c->arena, "{s:s, s:i}", "ClusterName",
				k.hyperpod_name ? k.hyperpod_name : k.name, "MaxResults",
				100),
		     call_read_deadline(c), c->arena, &out, &e))
		w->cluster_events = json_at(out, "Events");
	else if (e.code != ERR_CLOUD_REFUSED && e.code != ERR_CLOUD_NOT_FOUND) {
		w->unread = true;
		not_known_err(answer, "events of the cluster", &e);
	}
}

/* Of the cluster's events, which are many, those of launches that failed. */
static bool failed_launches(struct call *c, const struct kube_target *t, json_t **ret,
			    struct err *e)
{
	const struct kube_request r = {
		.verb = KUBE_LIST,
		.api = "v1",
		.plural = "events",
		.field_selector = "involvedObject.kind=NodeClaim,reason=" PENDING_EVENT};
	struct kube_result res;

	kube_list_all(c->cloud->kube, t, &r, c->arena, &res);
	if (!res.ok)
		return kube_err(&r, &res, e);
	*ret = json_at(res.out, "items");
	return true;
}

static const json_t *read_list(struct call *c, const struct kube_target *t,
			       const char *api, const char *plural,
			       struct pending_world *w, json_t *answer)
{
	struct err e = {0};
	json_t *items = NULL;
	bool served;

	if (live_list(c, t, api, plural, &items, &served, &e))
		return items;
	w->unread = true;
	not_known_err(answer, plural, &e);
	return NULL;
}

static void read_world(struct call *c, const char *cluster, const struct kube_target *t,
		       struct pending_world *w, json_t *answer)
{
	struct err e = {0};
	json_t *events = NULL, *types = NULL;
	int64_t at_ms;

	w->pools = read_list(c, t, KARPENTER_API, KARPENTER_POOLS, w, answer);
	w->classes = read_list(c, t, KARPENTER_CLASS_API, KARPENTER_CLASSES, w, answer);
	w->claims = read_list(c, t, KARPENTER_API, KARPENTER_CLAIMS, w, answer);
	if (!failed_launches(c, t, &events, &e)) {
		w->unread = true;
		not_known_err(answer, "launches that failed", &e);
	}
	err_clear(&e);
	if (!cached_read(c, AWS_EC2_DescribeInstanceTypes, NULL, TYPES_AGE_S, &types,
			 &at_ms, &e)) {
		w->unread = true;
		not_known_err(answer, "instance types", &e);
	}
	w->events = events;
	w->types = json_at(types, "InstanceTypes");
	read_cluster_events(c, cluster, w, answer);
}

static bool run_list(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct list_pending *q = in;
	struct pending_world w = {.arena = c->arena,
				  .now_ms = c->clock->wall_ms(c->clock)};
	json_t *pods = json_new_list(c->arena), *items = json_new_list(c->arena), *pod;
	json_t *answer = json_new_object(c->arena);
	struct kube_target t;
	const char *next = NULL;
	size_t i;

	if (!pod_target(c, q->cluster, &t, NULL, e) ||
	    !waiting_pods(c, &t, q, pods, &next, e))
		return false;
	if (!q->cursor && json_array_size(pods) == 0 &&
	    !pod_namespace_can_be(c, &t, q->namespace, e))
		return false;
	if (json_array_size(pods))
		read_world(c, q->cluster, &t, &w, answer);
	json_array_foreach(pods, i, pod)
		json_push(items, pending_explain(&w, pod));
	json_put(answer, "items", json_incref(items));
	json_put(answer, "next_cursor", next ? json_string(next) : json_null());
	reply_tree(c, ret, answer);
	return true;
}

extern const struct capability cap_list_pending_pods;
const struct capability cap_list_pending_pods = {
	.name = "list_pending_pods",
	.method = "GET",
	.path = "/clusters/{cluster}/pending-pods",
	.title = "List pods waiting for a node",
	.doc = "Explains why each pod has no node, with one reason per pod: a node is "
	       "starting, no capacity, a quota, a pool limit, instance types, selectors "
	       "or taints.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD | CAP_LIST,
	.in = list_in,
	.in_size = sizeof(struct list_pending),
	.out = list_out,
	.run = run_list,
};
