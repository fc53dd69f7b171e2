/* download_pod_logs: the whole log as text; instantstart-live carries it over. */
#include "core/domain/pod/pod.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"

struct download_logs {
	const char *cluster;
	const char *pod;
	const char *namespace;
	const char *container;
	bool previous;
	bool timestamps;
	const char *since;
};

static const struct field download_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct download_logs, cluster),
	FIELD_POD(struct download_logs, pod, FIELD_PATH),
	FIELD_NAMESPACE(struct download_logs, namespace),
	FIELD_CONTAINER(struct download_logs, container),
	FIELD(struct download_logs, previous,
	      .doc = "Return the log of the previous container."),
	FIELD(struct download_logs, timestamps,
	      .doc = "Prefix each line with its timestamp."),
	FIELD(struct download_logs, since, .pattern = "[0-9T:.Z+-]{20,40}",
	      .example = "\"2026-01-02T03:04:05Z\"",
	      .doc = "Only lines from this time on, to the second."),
	FIELD_END};

static bool run_download(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct download_logs *q = in;
	struct kube_target t;
	const char *key, *container;
	json_t *pod, *grant;

	if (!pod_target(c, q->cluster, &t, &key, e) ||
	    !pod_read(c, &t, q->namespace, q->pod, &pod, e) ||
	    !pod_container(pod, q->container, &container, e))
		return false;
	grant = json_packf(c->arena, "{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b}", "user",
			   c->who->id, "request", c->request_id, "target", key,
			   "namespace", q->namespace, "pod", q->pod, "container",
			   container, "previous", q->previous, "timestamps",
			   q->timestamps);
	json_put_str(grant, "since", q->since);
	ret->stream = json_text(c->arena, grant);
	return true;
}

extern const struct capability cap_download_pod_logs;
const struct capability cap_download_pod_logs = {
	.name = "download_pod_logs",
	.method = "GET",
	.path = "/clusters/{cluster}/pods/{pod}/logs:download",
	.title = "Download a pod's log",
	.doc = "Returns all that the cluster still has of a container's log, as text. An "
	       "incomplete response means an incomplete log.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD | CAP_TEXT | CAP_REST_ONLY,
	.in = download_in,
	.in_size = sizeof(struct download_logs),
	.run = run_download,
};
