#include "core/live/ask.h"

#include "core/base/base64.h"
#include "core/json/tree.h"
#include "gen/queries.h"

static bool find_target(const struct upstreams *up, const char *key, struct arena *a,
			struct kube_target *ret, struct err *e)
{
	struct db_rows rows;
	const json_t *cluster;
	const char *ca;

	if (!DB(up->db, a, &Q_cache_get, &rows, e, key))
		return false;
	if (rows.n == 0)
		return err_set(e, ERR_NOT_FOUND,
			       "The endpoint of the cluster is unknown");
	cluster =
		json_at(json_parse(a, str_of(db_text(&rows, 0, "value")), e), "cluster");
	ca = json_str_at(cluster, "certificateAuthority.data");
	*ret = (struct kube_target){.endpoint = json_str_at(cluster, "endpoint"),
				    .ca_pem =
					    ca && *ca ? base64_decode(a, ca, NULL) : NULL,
				    .cluster_name = json_str_or(cluster, "name", "")};
	return ret->endpoint ||
	       err_set(e, ERR_NOT_FOUND, "The cluster has no endpoint yet");
}

struct net_stream *ask_send(const struct upstreams *up, const struct ask *q,
			    const struct net_events *events, struct err *e)
{
	struct kube_target target;
	struct http_request req;
	struct secret token;
	struct arena a;
	struct net_stream *s = NULL;

	err_clear(e);
	arena_init(&a, 0);
	if (find_target(up, q->target, &a, &target, e) &&
	    keyring_get(up->keys, target.cluster_name, &a, &token, e) == KEYRING_READY &&
	    kube_build(&target, q->request, token, &a, &req, e)) {
		req.on_data = q->on_data;
		req.on_data_ctx = q->ctx;
		if (q->timeout_ms)
			req.timeout_ms = q->timeout_ms;
		s = net_stream_open(up->net, &req, events, e);
	}
	arena_free(&a);
	return s;
}

void ask_drop_token(const struct upstreams *up, const char *target)
{
	struct kube_target t;
	struct arena a;
	struct err e;

	arena_init(&a, 0);
	if (find_target(up, target, &a, &t, &e))
		keyring_drop(up->keys, t.cluster_name);
	arena_free(&a);
}
