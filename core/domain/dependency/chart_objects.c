/*
 * chart_objects.c - whose the objects of a chart are, before Helm is let at them.
 *
 * Helm installs nothing over an object that it has not marked with the release's own
 * name, and names only the first of them. Here the chart is rendered and every object
 * looked up: all that belong to somebody else are told, each with its owner. With
 * input.adopt Helm takes them over.
 * https://helm.sh/docs/topics/charts_tips_and_tricks/#tell-helm-not-to-uninstall-a-resource
 */
#include <string.h>

#include "core/base/listing.h"
#include "core/domain/dependency/install.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* With the reads before them within a claim's bounds. */
enum { OBJECTS_MAX = 100 };

static const json_t *objects(const struct step_ctx *c)
{
	return json_at(saw(c, "rendered"), "objects");
}

static const char *key_of(struct step_ctx *c, size_t i)
{
	return arena_printf(c->arena, "object %zu", i);
}

static bool object_read(struct step_ctx *c, struct exchange *x, size_t i, const json_t *o)
{
	return read_kube(c, x, key_of(c, i),
			 &(struct kube_request){.verb = KUBE_GET,
						.api = json_str_at(o, "api"),
						.plural = json_str_at(o, "plural"),
						.ns = json_str_at(o, "namespace"),
						.name = json_str_at(o, "name")});
}

bool chart_objects_observe(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	struct helm_request render;
	size_t i;
	json_t *o;

	if (!component_wanted(c, k))
		return false;
	if (chart_observe(c, x))
		return true;
	/* What was refused here, the row that installs is refused, too, and says so. */
	if (!saw_ok(c, "secrets") || !chart_is_due(c, k))
		return false;
	render = chart_request(c, k, HELM_TEMPLATE);
	render.kube_version = json_str_at(c->data, "eks.version");
	if (read_helm(c, x, "rendered", &render))
		return true;
	json_array_foreach(objects(c), i, o)
		if (i < OBJECTS_MAX && object_read(c, x, i, o))
			return true;
	return false;
}

/* Who wrote it last: an add-on, kubectl, another controller. */
static const char *manager_of(const json_t *object)
{
	const char *who = NULL, *at = "";
	size_t i;
	json_t *m;

	json_array_foreach(json_at(object, "metadata.managedFields"), i, m)
		if (!json_str_at(m, "subresource") &&
		    strcmp(json_str_or(m, "time", ""), at) >= 0) {
			who = json_str_at(m, "manager");
			at = json_str_or(m, "time", "");
		}
	return who;
}

static const char *owner_of(struct step_ctx *c, const json_t *object)
{
	const char *release = helm_owner(object, c->arena);
	const char *manager = manager_of(object);

	if (release)
		return arena_printf(c->arena, "the release %s", release);
	return manager ? arena_printf(c->arena, "%s", manager) : "no owner is named";
}

static const char *name_of(struct step_ctx *c, const json_t *o)
{
	const char *ns = json_str_at(o, "namespace");

	return arena_printf(c->arena, "%s %s%s%s", json_str_or(o, "kind", "?"),
			    ns ? ns : "", ns ? "/" : "", json_str_or(o, "name", "?"));
}

struct findings {
	struct listing foreign, unread;
};

static void judge(struct step_ctx *c, const struct component *k, struct findings *f)
{
	size_t i;
	json_t *o;

	json_array_foreach(objects(c), i, o) {
		const char *key = key_of(c, i);
		const json_t *there = saw(c, key);

		if (there && !helm_owns(there, k->release, k->ns))
			listing_add(&f->foreign, "%s (%s)", name_of(c, o),
				    owner_of(c, there));
		else if (i >= OBJECTS_MAX || saw_refused(c, key))
			listing_add(&f->unread, "%s", name_of(c, o));
	}
}

static void tell_foreign(struct step_ctx *c, const struct component *k,
			 struct listing *foreign)
{
	const size_t n = foreign->n;
	struct err *e;

	if (json_bool_or(c->input, "adopt", false)) {
		step_warn(c, "Helm takes over %zu objects of others for %s: %s", n,
			  k->title, listing_text(foreign));
		return;
	}
	e = step_fail(c, ERR_FOREIGN_OBJECT,
		      "%s cannot be installed as %s/%s: %zu of its objects %s there and "
		      "belong to others: %s",
		      k->title, k->ns, k->release, n, n == 1 ? "is" : "are",
		      listing_text(foreign));
	step_certain(c);
	err_fix(e,
		"Reconcile the dependencies with adopt to have Helm take them over, which "
		"changes them, or remove what they belong to.");
}

static void say_unread(struct step_ctx *c, const struct component *k, struct findings *f)
{
	const int64_t unnamed = json_int_or(saw(c, "rendered"), "unread", 0);

	if (f->unread.n > 0)
		step_not_known(c, "ownership",
			       "whether these objects of %s belong to others: %s",
			       k->title, listing_text(&f->unread));
	if (unnamed > 0)
		step_not_known(
			c, "ownership",
			"who owns %lld objects of %s whose names the chart computes",
			(long long)unnamed, k->title);
}

void chart_objects_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	struct findings f = {listing_new(c->arena, ", ", LISTING_LONG),
			     listing_new(c->arena, ", ", LISTING_LONG)};

	(void)x;
	if (!component_wanted(c, k) || !saw_ok(c, "secrets") || !chart_is_due(c, k))
		return;
	if (!saw_ok(c, "rendered")) {
		step_not_known(
			c, "ownership",
			"whether objects of %s are there and belong to others: Helm "
			"could not render its chart (%s)",
			k->title, saw_message(c, "rendered"));
		return;
	}
	judge(c, k, &f);
	say_unread(c, k, &f);
	step_event(c, "ownership",
		   json_pack("{s:s, s:I, s:I, s:s}", "component", k->name, "objects",
			     (json_int_t)json_array_size(objects(c)), "of_others",
			     (json_int_t)f.foreign.n, "verdict",
			     f.foreign.n  ? "does_not_fit"
			     : f.unread.n ? "not_known"
					  : "fits"));
	if (f.foreign.n > 0)
		tell_foreign(c, k, &f.foreign);
}
