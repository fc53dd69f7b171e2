/*
 * chart_wait.c - until what a chart has brought runs.
 *
 * What it has brought is what Helm marked with the release's name, in whatever namespace:
 * the Deployments, and the DaemonSets that want a pod on some node. A DaemonSet for a
 * device that no node has wants none and is not waited for; of the others one ready pod
 * is enough, since a node may be down for reasons of its own.
 */
#include "core/domain/dependency/install.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* Not installed yet, by the row before. */
static bool is_early(const struct step_ctx *c, const struct component *k)
{
	return json_at(c->data, arena_printf(c->arena, "early.%s", k->name));
}

static bool list(struct step_ctx *c, struct exchange *x, const char *plural)
{
	return read_kube(c, x, plural,
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "apps/v1",
						.plural = plural,
						.label_selector = HELM_MANAGED});
}

bool chart_wait_observe(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);

	if (!component_wanted(c, k) || is_early(c, k))
		return false;
	return release_read(c, x, k) || list(c, x, "deployments") ||
	       list(c, x, "daemonsets") ||
	       read_kube(c, x, "nodes",
			 &(struct kube_request){
				 .verb = KUBE_LIST, .api = "v1", .plural = "nodes"});
}

/* What of the release is not as it should be: how it is said; NULL: all is well. */
static const char *unready(struct step_ctx *c, const struct component *k)
{
	size_t i;
	json_t *o;

	json_array_foreach(json_at(saw(c, "deployments"), "items"), i, o) {
		const int64_t has = json_int_or(o, "status.availableReplicas", 0);
		const int64_t want = json_int_or(o, "spec.replicas", 1);

		if (helm_owns(o, k->release, k->ns) && has < want)
			return arena_printf(c->arena,
					    "the deployment %s of %s (%lld of %lld "
					    "replicas)",
					    json_str_or(o, "metadata.name", "?"),
					    k->title, (long long)has, (long long)want);
	}
	json_array_foreach(json_at(saw(c, "daemonsets"), "items"), i, o) {
		const int64_t want = json_int_or(o, "status.desiredNumberScheduled", 0);

		if (helm_owns(o, k->release, k->ns) && want > 0 &&
		    json_int_or(o, "status.numberReady", 0) == 0)
			return arena_printf(c->arena,
					    "the daemon set %s of %s (0 of %lld pods)",
					    json_str_or(o, "metadata.name", "?"),
					    k->title, (long long)want);
	}
	return NULL;
}

void chart_wait_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	const char *version, *status, *waiting;
	int64_t revision, modified_s;

	(void)x;
	if (!component_wanted(c, k) || c->planning || is_early(c, k))
		return;
	status = helm_release_status(saw(c, "secrets"), &revision, &modified_s);
	if (!streq(status, "deployed")) {
		/*
		 * No deployment to wait for is no proof: a helm that froze in a
		 * recovery has taken away what its successor installed.
		 */
		step_goto(c, arena_printf(c->arena, "%s_install", k->name));
		return;
	}
	version = helm_release_chart_version(saw(c, "secrets"), c->arena);
	waiting = unready(c, k);
	if (!waiting) {
		component_state(c, k, "ready", version);
		return;
	}
	if (!any_node_ready(json_at(saw(c, "nodes"), "items"))) {
		component_state(c, k, "waiting_for_nodes", version);
		return;
	}
	step_wait(c, 10, "%s", waiting);
}
