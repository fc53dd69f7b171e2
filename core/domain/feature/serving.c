/*
 * serving.c - what has to answer before an operator can be made.
 *
 * An operator's add-on brings Certificates, and as long as no pod of cert-manager's
 * webhook runs, the API server refuses them: the add-on ends in CREATE_FAILED
 * (AdmissionRequestDenied) and never heals. So it is created when a node can run the
 * webhook. The load-balancer controller that the inference operator brings refuses
 * every Service while it does not run itself: that one needs a node that takes pods.
 */
#include "core/domain/dependency/install.h"
#include "core/domain/feature/toggle.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/step/read.h"
#include "core/domain/step/usable.h"
#include "core/json/tree.h"

static bool intercepts(const struct step_ctx *c, const struct component *k)
{
	return k->intercepts && json_bool_or(c->data, "bundled.load", true);
}

/* cert-manager tolerates the service's checks (component.c), operators do not. */
static bool is_served(const struct step_ctx *c, const struct component *k)
{
	const json_t *nodes = json_at(saw(c, "nodes"), "items");
	size_t i;
	json_t *node;

	json_array_foreach(nodes, i, node)
		if (intercepts(c, k) ? node_takes_pods(node) : node_takes_tolerant(node))
			return true;
	return false;
}

/* --- before anything is made ------------------------------------------------------- */

static int64_t nodes_wanted(const json_t *cluster)
{
	int64_t n = 0;
	size_t i;
	json_t *g;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g)
		n += json_int_or(g, "TargetCount", 0);
	return n;
}

json_t *serving_need(struct step_ctx *c, const struct feature *f)
{
	const json_t *cluster = saw(c, "hyperpod");
	const int64_t wanted = nodes_wanted(cluster);
	const bool scales = streq(json_str_at(cluster, "AutoScaling.Mode"), "Enable");
	const char *found = "available", *state = "ok", *detail = NULL;

	if (!f->component || !f->component->guarded_by || !cluster || !saw_ok(c, "nodes"))
		return NULL;
	if (!is_served(c, f->component) && (wanted > 0 || scales)) {
		found = "not yet";
		detail = "the first one is waited for";
	} else if (!is_served(c, f->component)) {
		found = "missing, and every group has a count of 0";
		state = "blocked";
		detail = "Scale a group to at least one node (its webhooks run there)";
	}
	return json_packf(c->arena, "{s:s, s:s, s:s, s:s, s:s, s:s*}", "name", "node",
			  "title", "A node for cert-manager's webhook", "found", found,
			  "needed", "one that accepts its pods", "state", state, "detail",
			  detail);
}

/* --- the row ------------------------------------------------------------------------ */

bool toggle_node_observe(struct step_ctx *c, struct exchange *x)
{
	return !c->planning &&
	       read_kube(c, x, "nodes",
			 &(struct kube_request){
				 .verb = KUBE_LIST, .api = "v1", .plural = "nodes"});
}

void toggle_node_plan(struct step_ctx *c, struct exchange *x)
{
	const struct feature *f = toggle_feature(c);

	(void)x;
	if (c->planning || is_served(c, f->component))
		return;
	if (intercepts(c, f->component))
		step_wait(
			c, 20,
			"a node that accepts pods. Until the pods of the %s run, its webhooks reject %s",
			f->title, f->component->intercepts);
	else
		step_wait(
			c, 20,
			"a node for cert-manager's webhook, which validates objects of the %s",
			f->title);
}

void toggle_node_failed(struct step_ctx *c)
{
	const struct err was = c->verdict.error;
	struct err *e = step_fail(
		c, ERR_DEPENDENCY_FAILED,
		"no node became ready to run cert-manager's webhook: the %s was not installed",
		toggle_feature(c)->title);

	err_fix(e, "Check why no node is ready (list_nodes). Retry when one is.");
	for (size_t i = 0; i < was.n_causes; i++)
		err_because(e, was.cause[i].source, was.cause[i].code,
			    was.cause[i].message, was.cause[i].request_id);
}
