/* Deployments, replica sets, stateful sets, daemon sets. */
#include <stdlib.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

struct pods {
	json_t *all; /* of this owner, not leaving */
	int64_t n, ready;
};

/* Servers do not write a count that is none. */
static void put_count(json_t *obj, const char *path, int64_t n)
{
	if (n == 0)
		json_drop(obj, path);
	else
		json_put_int(obj, path, n);
}

static struct pods pods_of(struct ks *k, struct arena *a, const json_t *owner)
{
	struct pods p = {json_new_list(a), 0, 0};
	const char *key = NULL;
	json_t *pod = NULL;

	json_object_foreach(ks_all(k, "/pods"), key, pod) {
		if (!ks_owned_by(pod, owner) || ks_pod_done(pod) ||
		    json_str_at(pod, "metadata.deletionTimestamp"))
			continue;
		json_array_append(p.all, pod);
		p.n++;
		p.ready += ks_pod_ready(pod);
	}
	return p;
}

static void remove_pods(struct ks *k, const struct pods *p, int64_t from)
{
	for (int64_t i = p->n; i > from; i--)
		ks_delete(k, ks_builtin("/pods"), json_array_get(p->all, (size_t)i - 1),
			  "Background");
}

/* --- replica sets ------------------------------------------------------------------ */

static void run_replica_set(struct ks *k, struct arena *a, const json_t *rs)
{
	const int64_t want = json_int_or(rs, "spec.replicas", 1);
	struct pods p = pods_of(k, a, rs);
	json_t *next = NULL;

	if (json_str_at(rs, "metadata.deletionTimestamp"))
		return;
	for (int64_t i = p.n; i < want; i++)
		ks_new_pod(k, rs, json_at(rs, "spec.template"),
			   arena_printf(a, "%s-%s", json_str_or(rs, "metadata.name", ""),
					ks_suffix(k, a, 5)),
			   NULL);
	if (p.n > want)
		remove_pods(k, &p, want);
	next = json_deep_copy(rs);
	json_put_int(next, "status.replicas", want);
	json_put_int(next, "status.fullyLabeledReplicas", want);
	put_count(next, "status.readyReplicas", p.ready);
	put_count(next, "status.availableReplicas", p.ready);
	json_put(next, "status.observedGeneration",
		 json_integer(json_int_or(rs, "metadata.generation", 1)));
	ks_update_if_changed(k, ks_builtin("apps/replicasets"), rs, next);
}

/* --- deployments -------------------------------------------------------------------- */

static json_t *find_set(struct ks *k, struct arena *a, const json_t *deploy,
			const char *hash, json_t **ret_old)
{
	const char *key = NULL;
	json_t *rs = NULL;
	json_t *found = NULL;

	*ret_old = json_new_list(a);
	json_object_foreach(ks_all(k, "apps/replicasets"), key, rs) {
		const char *have = json_string_value(json_object_get(
			json_at(rs, "metadata.labels"), "pod-template-hash"));

		if (!ks_owned_by(rs, deploy))
			continue;
		if (streq(have, hash))
			found = rs;
		else
			json_array_append(*ret_old, rs);
	}
	return found;
}

static void make_set(struct ks *k, struct arena *a, const json_t *deploy,
		     const char *hash)
{
	const struct ks_kind *kind = ks_builtin("apps/replicasets");
	json_t *rs = json_pack(
		"{s:s,s:s,s:{s:o,s:s,s:[o]},s:{s:I,s:o,s:o}}", "apiVersion", "apps/v1",
		"kind", "ReplicaSet", "metadata", "name",
		json_sprintf("%s-%s", json_str_or(deploy, "metadata.name", ""), hash),
		"namespace", json_str_or(deploy, "metadata.namespace", ""),
		"ownerReferences", ks_owner_ref(deploy), "spec", "replicas",
		(json_int_t)json_int_or(deploy, "spec.replicas", 1), "selector",
		json_deep_copy(json_at(deploy, "spec.selector")), "template",
		json_deep_copy(json_at(deploy, "spec.template")));
	json_t *labels = NULL;

	(void)a;
	if (!json_at(rs, "spec.template.metadata.labels"))
		json_put(rs, "spec.template.metadata.labels", json_object());
	labels = json_at(rs, "spec.template.metadata.labels");
	json_object_set_new(labels, "pod-template-hash", json_string(hash));
	json_put(rs, "metadata.labels", json_deep_copy(labels));
	if (!json_at(rs, "spec.selector.matchLabels"))
		json_put(rs, "spec.selector.matchLabels", json_object());
	json_object_set_new(json_at(rs, "spec.selector.matchLabels"), "pod-template-hash",
			    json_string(hash));
	json_put_int(rs, "metadata.generation", 1);
	ks_stamp_new(k, rs);
	ks_complete(k, kind, rs);
	ks_write(k, kind, rs);
}

/* Of a deployment's history: kubectl rollout reads it, undo goes back by it. */
#define REVISION "deployment.kubernetes.io/revision"

static int64_t revision_of(const json_t *obj)
{
	const char *text = json_string_value(
		json_object_get(json_at(obj, "metadata.annotations"), REVISION));
	int64_t n = 0;

	return text && str_to_i64(str_of(text), &n) ? n : 0;
}

static void put_revision(json_t *obj, int64_t revision)
{
	if (!json_at(obj, "metadata.annotations"))
		json_put(obj, "metadata.annotations", json_object());
	json_object_set_new(json_at(obj, "metadata.annotations"), REVISION,
			    json_sprintf("%lld", (long long)revision));
}

/* The newest set has the highest number, also when it is an old one again. */
static int64_t newest_revision(const json_t *rs, const json_t *old)
{
	int64_t highest = 0;
	const json_t *each = NULL;
	size_t i = 0;

	json_array_foreach(old, i, each) {
		if (revision_of(each) > highest)
			highest = revision_of(each);
	}
	return revision_of(rs) > highest ? revision_of(rs) : highest + 1;
}

static void scale_set(struct ks *k, const json_t *rs, int64_t replicas, int64_t revision)
{
	json_t *next = json_deep_copy(rs);

	if (revision > 0)
		put_revision(next, revision);
	if (json_int_or(rs, "spec.replicas", 1) != replicas) {
		json_put_int(next, "spec.replicas", replicas);
		json_put_int(next, "metadata.generation",
			     json_int_or(rs, "metadata.generation", 1) + 1);
	}
	ks_update_if_changed(k, ks_builtin("apps/replicasets"), rs, next);
}

static void deployment_status(struct ks *k, const json_t *deploy, const json_t *rs,
			      int64_t revision)
{
	json_t *next = json_deep_copy(deploy);
	const int64_t want = json_int_or(deploy, "spec.replicas", 1);
	const int64_t ready = json_int_or(rs, "status.readyReplicas", 0);
	const bool enough = ready >= want;

	put_revision(next, revision);
	json_put_int(next, "status.observedGeneration",
		     json_int_or(deploy, "metadata.generation", 1));
	put_count(next, "status.replicas", json_int_or(rs, "status.replicas", 0));
	put_count(next, "status.updatedReplicas", json_int_or(rs, "status.replicas", 0));
	put_count(next, "status.readyReplicas", ready);
	put_count(next, "status.availableReplicas", ready);
	if (ready < want)
		json_put_int(next, "status.unavailableReplicas", want - ready);
	else
		json_drop(next, "status.unavailableReplicas");
	ks_set_condition(next, k->now_ms, "Available", enough ? "True" : "False",
			 enough ? "MinimumReplicasAvailable"
				: "MinimumReplicasUnavailable",
			 enough ? "Deployment has minimum availability."
				: "Deployment does not have minimum availability.");
	ks_set_condition(next, k->now_ms, "Progressing", "True",
			 enough ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
			 enough ? "ReplicaSet has successfully progressed."
				: "ReplicaSet is progressing.");
	ks_update_if_changed(k, ks_builtin("apps/deployments"), deploy, next);
}

static void run_deployment(struct ks *k, struct arena *a, const json_t *deploy)
{
	char hash[11];
	json_t *old = NULL;
	json_t *rs = NULL;
	const json_t *each = NULL;
	size_t i = 0;

	if (json_str_at(deploy, "metadata.deletionTimestamp"))
		return;
	str_copy(hash, sizeof(hash), json_digest(a, json_at(deploy, "spec.template")));
	rs = find_set(k, a, deploy, hash, &old);
	if (!rs) {
		make_set(k, a, deploy, hash);
		return;
	}
	const int64_t revision = newest_revision(rs, old);

	scale_set(k, rs, json_int_or(deploy, "spec.replicas", 1), revision);
	/* The old sets go when the new one can take over. */
	if (json_int_or(rs, "status.readyReplicas", 0) >=
	    json_int_or(deploy, "spec.replicas", 1)) {
		json_array_foreach(old, i, each) {
			scale_set(k, each, 0, 0);
		}
	}
	deployment_status(k, deploy, rs, revision);
}

/* --- stateful sets --------------------------------------------------------------------
 */

static void run_stateful_set(struct ks *k, struct arena *a, const json_t *set)
{
	const int64_t want = json_int_or(set, "spec.replicas", 1);
	const char *ns = json_str_or(set, "metadata.namespace", "");
	struct pods p = pods_of(k, a, set);
	json_t *next = NULL;

	if (json_str_at(set, "metadata.deletionTimestamp"))
		return;
	for (int64_t i = 0; i < want; i++) {
		const char *name =
			arena_printf(a, "%s-%lld", json_str_or(set, "metadata.name", ""),
				     (long long)i);

		if (!ks_at(k, "/pods", ns, name))
			ks_new_pod(k, set, json_at(set, "spec.template"), name, NULL);
	}
	if (p.n > want)
		remove_pods(k, &p, want);
	next = json_deep_copy(set);
	json_put_int(next, "status.observedGeneration",
		     json_int_or(set, "metadata.generation", 1));
	json_put_int(next, "status.replicas", p.n);
	put_count(next, "status.readyReplicas", p.ready);
	json_put_int(next, "status.availableReplicas", p.ready);
	json_put_int(next, "status.currentReplicas", p.n);
	put_count(next, "status.updatedReplicas", p.n);
	ks_update_if_changed(k, ks_builtin("apps/statefulsets"), set, next);
}

/* --- daemon sets
 * ------------------------------------------------------------------------ */

static json_t *pod_on(const struct pods *p, const char *node)
{
	json_t *pod = NULL;
	size_t i = 0;

	json_array_foreach(p->all, i, pod) {
		if (streq(json_str_at(pod, "spec.nodeName"), node))
			return pod;
	}
	return NULL;
}

static void daemon_status(struct ks *k, const json_t *set, int64_t want,
			  const struct pods *p)
{
	json_t *next = json_deep_copy(set);

	json_put_int(next, "status.observedGeneration",
		     json_int_or(set, "metadata.generation", 1));
	json_put_int(next, "status.desiredNumberScheduled", want);
	json_put_int(next, "status.currentNumberScheduled", p->n);
	json_put_int(next, "status.updatedNumberScheduled", p->n);
	json_put_int(next, "status.numberMisscheduled", 0);
	json_put_int(next, "status.numberReady", p->ready);
	json_put_int(next, "status.numberAvailable", p->ready);
	json_put_int(next, "status.numberUnavailable", want - p->ready);
	ks_update_if_changed(k, ks_builtin("apps/daemonsets"), set, next);
}

static void run_daemon_set(struct ks *k, struct arena *a, const json_t *set)
{
	struct pods p = pods_of(k, a, set);
	json_t *nodes = ks_snapshot(k, a, "/nodes");
	const json_t *node = NULL;
	int64_t want = 0;
	size_t i = 0;

	if (json_str_at(set, "metadata.deletionTimestamp"))
		return;
	json_array_foreach(nodes, i, node) {
		const char *name = json_str_or(node, "metadata.name", "");
		json_t *pod;

		/* A fleet comes with the pods that it has: see sagemaker/fleet.c. */
		if (json_object_get(json_at(node, "metadata.labels"), "cloud/fleet"))
			continue;
		pod = pod_on(&p, name);
		/* Unschedulable nodes keep theirs: daemons tolerate that. */
		if (!ks_node_selected(json_at(set, "spec.template.spec"), node)) {
			if (pod)
				ks_delete(k, ks_builtin("/pods"), pod, "Background");
			continue;
		}
		want++;
		if (!pod)
			ks_new_pod(k, set, json_at(set, "spec.template"),
				   arena_printf(a, "%s-%s",
						json_str_or(set, "metadata.name", ""),
						ks_suffix(k, a, 5)),
				   name);
	}
	p = pods_of(k, a, set);
	daemon_status(k, set, want, &p);
}

void ks_run_workloads(struct ks *k)
{
	static const struct {
		const char *resource;
		void (*run)(struct ks *k, struct arena *a, const json_t *obj);
	} rows[] = {
		{"apps/deployments", run_deployment},
		{"apps/replicasets", run_replica_set},
		{"apps/statefulsets", run_stateful_set},
		{"apps/daemonsets", run_daemon_set},
	};
	struct arena a;

	arena_init(&a, 0);
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		json_t *list = ks_snapshot(k, &a, rows[r].resource);
		json_t *obj = NULL;
		size_t i = 0;

		json_array_foreach(list, i, obj) {
			rows[r].run(k, &a, obj);
		}
	}
	arena_free(&a);
}
