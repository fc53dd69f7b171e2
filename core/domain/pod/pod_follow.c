/* Subscriptions of the live channel, looked at before anything is followed. */
#include "core/domain/pod/pod.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"

#define FIELDS_RESUME(S)                                                                 \
	FIELD(S, epoch, .pattern = "[A-Za-z0-9_-]*", .max = 36,                          \
	      .doc = "ID of the interrupted stream."),                                   \
		FIELD(S, after, .min = -1, .max = INT64_C(1) << 52, .dflt = "-1",        \
		      .doc = "Number of the last line received.")

struct follow_in {
	const char *cluster;
	const char *namespace;
	const char *pod;
	const char *container;
	int64_t tail;
	bool previous;
	const char *epoch;
	int64_t after;
	const char *time;
};

const struct field pod_follow_in[] = {
	FIELD(struct follow_in, cluster, .pattern = "-|[A-Za-z0-9][A-Za-z0-9_-]*",
	      .min = 1, .max = 100, .dflt = "\"-\"", .doc = "Name of the cluster."),
	FIELD_NAMESPACE(struct follow_in, namespace),
	FIELD_POD(struct follow_in, pod, 0),
	FIELD_CONTAINER(struct follow_in, container),
	FIELD(struct follow_in, tail, .min = 0, .max = POD_TAIL_MAX, .dflt = "500",
	      .doc = "Number of past lines to send first."),
	FIELD(struct follow_in, previous,
	      .doc = "Return the log of the previous container."),
	FIELDS_RESUME(struct follow_in),
	FIELD(struct follow_in, time, .pattern = "[0-9T:.Z+-]*", .max = 39,
	      .doc = "Time of the last line received."),
	FIELD_END};

struct events_in {
	const char *epoch;
	int64_t after;
};

const struct field events_follow_in[] = {FIELDS_RESUME(struct events_in), FIELD_END};

static void put_resume(json_t *grant, const char *epoch, int64_t after)
{
	json_put_str(grant, "epoch", epoch);
	if (after >= 0 && epoch && *epoch)
		json_put_int(grant, "after", after);
}

bool pod_follow(struct call *c, const json_t *in, json_t **ret, struct err *e)
{
	struct follow_in q = {0};
	struct kube_target t;
	const char *key, *container;
	json_t *pod;

	if (!field_decode(pod_follow_in, in, c->arena, &q, e) ||
	    !pod_target(c, q.cluster, &t, &key, e))
		return false;
	container = q.container;
	/* A name that was given is looked at by who follows it. */
	if (!container && (!pod_read(c, &t, q.namespace, q.pod, &pod, e) ||
			   !pod_container(pod, NULL, &container, e)))
		return false;
	*ret = json_packf(c->arena, "{s:s, s:s, s:s, s:s, s:s, s:b, s:I}", "feed", "logs",
			  "target", key, "namespace", q.namespace, "pod", q.pod,
			  "container", container, "previous", q.previous, "tail",
			  (json_int_t)q.tail);
	put_resume(*ret, q.epoch, q.after);
	json_put_str(*ret, "time", q.time);
	return true;
}

bool events_follow(struct call *c, const json_t *in, json_t **ret, struct err *e)
{
	struct events_in q = {0};

	if (!field_decode(events_follow_in, in, c->arena, &q, e))
		return false;
	*ret = json_packf(c->arena, "{s:s}", "feed", "events");
	put_resume(*ret, q.epoch, q.after);
	return true;
}
