/*
 * definitions.c - what a chart has in crds/, at an upgrade.
 *
 * Helm makes a definition that is not there and never changes one that is: after an
 * upgrade the new controller would meet objects of the old shape, and drop members that
 * it does not find. So they are applied before the release is upgraded, on the server's
 * side and by our name; what is equal by its mark makes no call. One that others write is
 * theirs, unless we are asked to adopt.
 * https://helm.sh/docs/chart_best_practices/custom_resource_definitions/
 */
#include <string.h>

#include "core/domain/dependency/install.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/charts.h"

#define API     "apiextensions.k8s.io/v1"
#define PLURAL  "customresourcedefinitions"
#define MARK    "instantstart/definition" /* on each: the digest of what was applied */
#define DEFINES "definition/"

/* Who writes the specification of a definition that we may change: Helm has made it,
 * the others fill in what they are for. */
static const char *const harmless[] = {"helm", "instantstart", "kube-apiserver",
				       "cainjector", "cert-manager-cainjector"};

static const char *key_of(const struct step_ctx *c, const char *name)
{
	return arena_printf(c->arena, DEFINES "%s", name);
}

/* NULL, or who else writes it. */
static const char *other_writer(const json_t *live)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_at(live, "metadata.managedFields"), i, entry) {
		const char *who = json_str_or(entry, "manager", "?");
		bool known = !json_object_get(json_at(entry, "fieldsV1"), "f:spec");

		for (size_t n = 0; n < sizeof(harmless) / sizeof(harmless[0]); n++)
			known |= streq(harmless[n], who);
		if (!known)
			return who;
	}
	return NULL;
}

/* There, not as the chart has it by its mark, and ours to change. */
static bool is_due(const struct step_ctx *c, const json_t *d)
{
	const json_t *live = saw(c, key_of(c, json_str_or(d, "name", "")));
	const char *mark = json_string_value(
		json_object_get(json_at(live, "metadata.annotations"), MARK));

	return live && !streq(mark, json_str_at(d, "digest")) &&
	       (!other_writer(live) || json_bool_or(c->input, "adopt", false));
}

/* One of a part of the chart comes with that part, which values switch on: elsewhere it
 * is another's, whoever has made it. */
static bool is_brought(struct step_ctx *c, const struct component *k, const json_t *d)
{
	struct str rest = str_of(json_str_or(d, "when", ""));
	const json_t *values;

	if (rest.n == 0)
		return true;
	values = k->values ? k->values(c) : NULL;
	while (rest.p) {
		const json_t *v = json_at(values, str_dup(c->arena, str_cut(&rest, ',')));

		if (json_is_boolean(v))
			return json_is_true(v);
	}
	return false;
}

/* Until the first one that is due: the next claim goes on behind it. */
bool definitions_observe(struct step_ctx *c, struct exchange *x,
			 const struct component *k)
{
	const json_t *chart = component_chart(c->where, k), *d;
	size_t i;

	json_array_foreach(json_at(chart, "definitions"), i, d) {
		const char *name = json_str_or(d, "name", "");

		if (!is_brought(c, k, d))
			continue;
		if (read_kube(c, x, key_of(c, name),
			      &(struct kube_request){.verb = KUBE_GET,
						     .api = API,
						     .plural = PLURAL,
						     .name = name}))
			return true;
		if (is_due(c, d))
			return false;
	}
	return false;
}

static void warn_of_others(struct step_ctx *c, const json_t *d)
{
	const json_t *live = saw(c, key_of(c, json_str_or(d, "name", "")));
	const char *who = live ? other_writer(live) : NULL;

	if (who && !json_bool_or(c->input, "adopt", false))
		step_warn(
			c,
			"The definition %s is written by %s and is not changed, whatever "
			"the chart contains. To replace it, set adopt.",
			json_str_or(d, "name", "?"), who);
}

static bool apply(struct step_ctx *c, struct exchange *x, const json_t *chart,
		  const json_t *d)
{
	const char *name = json_str_or(d, "name", "");
	struct kube_request r = {.verb = KUBE_APPLY,
				 .api = API,
				 .plural = PLURAL,
				 .name = name,
				 .force = true};
	struct kube_target t;
	struct err e;
	json_t *body = charts_definition(chart, name, c->arena, &e);

	if (!body) {
		err_fix(step_fail(c, e.code, "%s", e.detail),
			"Fetch the charts again (make charts), then retry.");
		return true;
	}
	if (!json_at(body, "metadata.annotations"))
		json_put(body, "metadata.annotations", json_object());
	json_object_set_new(json_at(body, "metadata.annotations"), MARK,
			    json_string(json_str_or(d, "digest", "")));
	r.body = body;
	eks_target(c, &t);
	c->item = arena_printf(c->arena, DEFINES "%s/%s", name,
			       json_str_or(d, "digest", ""));
	exchange_kube(x, &t, &r);
	x->what = arena_printf(c->arena, "Update the definition %s", name);
	return true;
}

bool definitions_plan(struct step_ctx *c, struct exchange *x, const struct component *k)
{
	const json_t *chart = component_chart(c->where, k), *d;
	size_t i;

	/* A plan shows the chart itself: that is the same change. */
	if (c->planning)
		return false;
	json_array_foreach(json_at(chart, "definitions"), i, d) {
		if (!is_brought(c, k, d))
			continue;
		warn_of_others(c, d);
		if (is_due(c, d))
			return apply(c, x, chart, d);
	}
	return false;
}

bool definitions_absorb(struct step_ctx *c, const struct answer *a)
{
	const char *name;
	struct err *e;

	if (!c->item || !str_starts(c->item, DEFINES))
		return false;
	if (a->ok) {
		step_goto(c, c->step->name);
		return true;
	}
	name = c->item + sizeof(DEFINES) - 1;
	e = step_fail(c, ERR_DEPENDENCY_FAILED, "the definition %.*s was not updated",
		      (int)strcspn(name, "/"), name);
	err_because(e, "kubernetes", a->code, a->text ? a->text : a->message,
		    a->request_id);
	err_fix(e,
		"The chart was not changed. Resolve the cause (objects stored in a removed "
		"version must be written again first), or pin another version of the "
		"chart. Then retry.");
	return true;
}
