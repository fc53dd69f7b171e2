/* Helm releases: observed from their Secrets, recovered when stuck. */
#include <string.h>

#include "core/domain/dependency/install.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/kube_delete.h"
#include "core/domain/step/names.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

/* A pending release that is older than this has lost its helm (case DP-02). */
static const int64_t PENDING_MAX_S = 10 * 60;

/* On the record of each release: pin_of() what was installed. */
static const char PIN[] = "instantstart/pin";

bool release_read(struct step_ctx *c, struct exchange *x, const struct component *k)
{
	return read_kube(c, x, "secrets",
			 &(struct kube_request){
				 .verb = KUBE_LIST,
				 .api = "v1",
				 .plural = "secrets",
				 .ns = k->ns,
				 .label_selector = arena_printf(
					 c->arena, "owner=helm,name=%s", k->release)});
}

/* Without a release of the name that we would give, others may have given another. */
static bool marks_read(struct step_ctx *c, struct exchange *x, const struct component *k)
{
	int64_t revision, modified_s;

	return k->mark.plural && !c->issued_before &&
	       !helm_release_status(saw(c, "secrets"), &revision, &modified_s) &&
	       read_kube(c, x, "marks", &k->mark);
}

/* Begun by us: it says so, or this step has sent it and never heard the end. */
static struct mark mark_of_release(const struct step_ctx *c)
{
	return (struct mark){
		.installation = helm_release_label(saw(c, "secrets"), LABEL_INSTALLATION),
		.cluster = helm_release_label(saw(c, "secrets"), LABEL_CLUSTER)};
}

static enum owner owner_of_release(const struct step_ctx *c)
{
	const struct component *k = component_here(c);
	const struct mark m = mark_of_release(c);

	/* Of others unless it says something: a release has no cluster that it is in. */
	if (!m.cluster)
		return m.installation ? OWNER_UNKNOWN : OWNER_NOBODY;
	return owner_of_mark(c, &m, name_label(c), "helm:release",
			     arena_printf(c->arena, "%s/%s", k->ns, k->release));
}

static bool is_ours(const struct step_ctx *c)
{
	const enum owner owner = owner_of_release(c);

	return owner == OWNER_US || (c->issued_before && owner != OWNER_INSTALLATION);
}

static void tell_owner(struct step_ctx *c, struct err *e)
{
	const struct mark m = mark_of_release(c);

	owner_tell_mark(c, e, owner_of_release(c), &m);
}

/*
 * What was installed, in one word: the chart by its content, since a chart may change
 * under one version, and what it was told.
 */
static const char *pin_of(struct step_ctx *c, const json_t *chart, const json_t *values)
{
	const char *mirror = c->cfg ? c->cfg->image_mirror : NULL;

	return arena_printf(
		c->arena, "%.40s",
		json_digest(c->arena,
			    json_packf(c->arena, "{s:s, s:s, s:O?, s:s}", "digest",
				       json_str_or(chart, "digest", ""), "version",
				       json_str_or(chart, "version", ""), "values",
				       values, "mirror", mirror ? mirror : "")));
}

/* Whether what is there leads to an install or an upgrade of ours. */
static bool may_install(struct step_ctx *c, const struct component *k)
{
	const json_t *chart = component_chart(c->where, k), *secrets = saw(c, "secrets");
	int64_t revision, modified_s;
	const char *status = helm_release_status(secrets, &revision, &modified_s);

	if (!chart || c->planning || helm_release_going(secrets))
		return false;
	if (status && !is_ours(c) && !json_bool_or(c->input, "adopt", false))
		return false;
	return !streq(status, "deployed") || !is_ours(c) ||
	       !streq(helm_release_label(secrets, PIN),
		      pin_of(c, chart, k->values ? k->values(c) : NULL));
}

bool chart_observe(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);

	return component_wanted(c, k) &&
	       (release_read(c, x, k) || marks_read(c, x, k) ||
		(k->look && k->look(c, x)) ||
		(k->intercepts &&
		 read_kube(c, x, "nodes",
			   &(struct kube_request){
				   .verb = KUBE_LIST, .api = "v1", .plural = "nodes"})) ||
		(may_install(c, k) && definitions_observe(c, x, k)));
}

struct helm_request chart_request(struct step_ctx *c, const struct component *k,
				  enum helm_verb verb)
{
	return (struct helm_request){
		.verb = verb,
		.release = k->release,
		.ns = k->ns,
		.chart = json_str_at(component_chart(c->where, k), "chart"),
		.values = k->values ? k->values(c) : NULL,
	};
}

/*
 * A helm that died left the record pending: nothing else clears it. An upgrade goes
 * back to what was deployed last, or to the one before. A first install, and an
 * uninstall that stopped midway, are forgotten: installed anew, Helm takes over the
 * objects that carry the release's name. Never uninstalled: that would take namespaces
 * of the chart's, with all that others have put there since.
 * Another's is for a person to judge.
 */
static void recover(struct step_ctx *c, struct exchange *x, const struct component *k,
		    const char *status, int64_t revision)
{
	struct helm_request r = {
		.verb = HELM_ROLLBACK, .release = k->release, .ns = k->ns};
	const json_t *record = helm_release_record(saw(c, "secrets"));
	const bool forget =
		streq(status, "pending-install") || streq(status, "uninstalling");
	struct kube_target t;

	if (!forget)
		r.revision = helm_release_deployed(saw(c, "secrets"));
	if (!is_ours(c)) {
		struct err *e = step_fail(c, ERR_FOREIGN_OBJECT,
					  "The Helm release %s/%s is stuck in %s and was "
					  "not started by InstantStart",
					  k->ns, k->release, status);
		tell_owner(c, e);
		err_fix(e,
			"If no user is working on it, run: helm %s %s -n %s. Then retry.",
			forget ? "uninstall" : "rollback", k->release, k->ns);
		return;
	}
	eks_target(c, &t);
	c->item = arena_printf(c->arena, "recover/%lld", (long long)revision);
	if (forget)
		kube_delete(c, x,
			    (struct kube_request){
				    .api = "v1",
				    .plural = "secrets",
				    .ns = k->ns,
				    .name = json_str_at(record, "metadata.name")},
			    record, KUBE_SEEN_CONTENT);
	else
		exchange_helm(x, &t, &r);
	x->what = arena_printf(c->arena, "Recover the Helm release %s, stuck in %s",
			       k->release, status);
	step_event(c, "recovery",
		   json_pack("{s:s, s:s, s:I, s:I}", "release", k->release, "status",
			     status, "revision", (json_int_t)revision, "back_to",
			     (json_int_t)r.revision));
}

static void install(struct step_ctx *c, struct exchange *x, const struct component *k,
		    const json_t *chart, int64_t revision)
{
	struct helm_request r = chart_request(c, k, HELM_UPGRADE_INSTALL);
	struct kube_target t;

	r.labels = arena_printf(c->arena, "%s=%s,%s=%s,%s=%s", LABEL_CLUSTER,
				name_label(c), LABEL_INSTALLATION, c->where->installation,
				PIN, pin_of(c, chart, r.values));
	r.take_ownership = json_bool_or(c->input, "adopt", false);
	eks_target(c, &t);
	c->item = arena_printf(c->arena, "revision/%lld", (long long)revision + 1);
	exchange_helm(x, &t, &r);
	x->what = arena_printf(c->arena, "Install the chart %s %s as %s/%s", k->name,
			       json_str_or(chart, "version", "?"), k->ns, k->release);
}

/* The release is there and working: kept as it is when it is what is wanted, or when
 * it is another's. */
static bool is_settled(struct step_ctx *c, const struct component *k, const json_t *chart)
{
	const json_t *secrets = saw(c, "secrets");
	const char *pin = helm_release_label(secrets, PIN);
	const char *version;

	if (is_ours(c))
		return streq(pin, pin_of(c, chart, k->values ? k->values(c) : NULL));
	if (json_bool_or(c->input, "adopt", false))
		return false;
	version = helm_release_chart_version(secrets, c->arena);
	step_warn(c,
		  "The Helm release %s/%s (chart version %s) was not created by "
		  "InstantStart and is used unchanged",
		  k->ns, k->release, version ? version : "unknown");
	return true;
}

/* Of another's that does not work nobody knows what it should be. */
static bool refuse_foreign(struct step_ctx *c, const struct component *k,
			   const char *status)
{
	struct err *e;

	if (is_ours(c) || json_bool_or(c->input, "adopt", false))
		return false;
	e = step_fail(c, ERR_FOREIGN_OBJECT,
		      "The Helm release %s/%s is %s and was not created by "
		      "InstantStart",
		      k->ns, k->release, status);
	tell_owner(c, e);
	err_fix(e,
		"Repair or remove it (helm history %s -n %s shows its history), then "
		"retry.",
		k->release, k->ns);
	return true;
}

/*
 * Installed under another name (clusters that AWS's console or template made), or
 * without Helm: a second one would fight with it, and Helm would refuse its objects for
 * ever. It is used as it is.
 */
static const json_t *found_elsewhere(struct step_ctx *c, const struct component *k)
{
	size_t i;
	json_t *o;

	json_array_foreach(json_at(saw(c, "marks"), "items"), i, o)
		if (str_starts(json_str_or(o, "metadata.name", ""), k->mark_name) &&
		    !helm_owns(o, k->release, k->ns))
			return o;
	return NULL;
}

static bool leave_elsewhere(struct step_ctx *c, const struct component *k)
{
	const json_t *o = found_elsewhere(c, k);
	const char *owner = helm_owner(o, c->arena);

	if (!o)
		return false;
	step_save(c, arena_printf(c->arena, "elsewhere.%s", k->name), json_true());
	step_warn(c, "%s is installed %s and is used unchanged", k->title,
		  owner ? arena_printf(c->arena, "as the release %s", owner)
			: "by a method other than Helm");
	if (!c->planning)
		component_state(c, k, "ready", NULL);
	return true;
}

/* Its webhooks would refuse what others install before its pods have a node. */
static bool is_before_nodes(const struct step_ctx *c, const struct component *k)
{
	return k->intercepts && saw_ok(c, "nodes") &&
	       !any_node_ready(json_at(saw(c, "nodes"), "items"));
}

static bool is_too_early(struct step_ctx *c, const struct component *k)
{
	if (!is_before_nodes(c, k))
		return false;
	step_save(c, arena_printf(c->arena, "early.%s", k->name), json_true());
	step_warn(
		c,
		"%s is installed when a node is ready: until its pods run, its webhooks "
		"would reject %s",
		k->title, k->intercepts);
	if (!c->planning)
		component_state(c, k, "waiting_for_nodes", NULL);
	return true;
}

/*
 * Whether nobody works on a pending release any more. A helm of ours ends within
 * its claim's lease and dies with its poller, so what we left behind is known to
 * be dead when the lease has passed; of others nobody knows.
 */
static bool is_abandoned(const struct step_ctx *c, int64_t modified_s)
{
	const int64_t dead_ms = c->issued_at_ms + c->cfg->lease_ms;

	if (c->issued_before && modified_s * 1000 <= dead_ms)
		return c->now_ms > dead_ms;
	return c->now_ms / 1000 - modified_s >= PENDING_MAX_S;
}

bool chart_is_due(struct step_ctx *c, const struct component *k)
{
	const json_t *chart = component_chart(c->where, k), *secrets = saw(c, "secrets");
	int64_t revision, modified_s;
	const char *status = helm_release_status(secrets, &revision, &modified_s);
	const bool adopts = json_bool_or(c->input, "adopt", false);

	if (!chart)
		return false;
	if (!status)
		return !found_elsewhere(c, k) && !is_before_nodes(c, k);
	if (str_starts(status, "pending-") || streq(status, "uninstalling"))
		return false; /* recovered first */
	if (streq(status, "deployed") && is_ours(c))
		return !streq(helm_release_label(secrets, PIN),
			      pin_of(c, chart, k->values ? k->values(c) : NULL));
	return is_ours(c) || adopts || streq(status, "uninstalled");
}

void chart_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	const json_t *chart = component_chart(c->where, k);
	const json_t *secrets = saw(c, "secrets");
	int64_t revision = 0, modified_s = 0;
	const char *status, *lack;

	if (!component_wanted(c, k))
		return;
	if (!chart) {
		struct err *e =
			step_fail(c, ERR_CONFIG, "No chart is pinned for %s", k->title);
		err_fix(e,
			"Set INSTANTSTART_CHARTS to a directory whose charts.json names "
			"%s.",
			k->name);
		return;
	}
	json_drop(c->data, arena_printf(c->arena, "early.%s", k->name));
	status = helm_release_status(secrets, &revision, &modified_s);
	if (helm_release_going(secrets)) {
		step_wait(c, 2, "the record of the release %s to be deleted", k->release);
		return;
	}
	if (status && (str_starts(status, "pending-") || streq(status, "uninstalling"))) {
		if (!is_abandoned(c, modified_s))
			step_wait(c, 15, "the Helm release %s in state %s", k->release,
				  status);
		else
			recover(c, x, k, status, revision);
		return;
	}
	if (streq(status, "deployed") && is_settled(c, k, chart)) {
		if (is_ours(c))
			step_own(c, "helm:release",
				 arena_printf(c->arena, "%s/%s", k->ns, k->release), NULL,
				 "made");
		return;
	}
	if (status && !streq(status, "uninstalled") && refuse_foreign(c, k, status))
		return;
	if (!status && leave_elsewhere(c, k))
		return;
	if (!status && is_too_early(c, k))
		return;
	lack = k->lacks ? k->lacks(c) : NULL;
	if (lack)
		step_warn(c, "%s", lack);
	if (!definitions_plan(c, x, k))
		install(c, x, k, chart, revision);
}

/*
 * A rollback refuses an object that the stopped upgrade was about to take away: it is in
 * the cluster and not in the release. Helm notes the failure, and an upgrade from what
 * was deployed last goes through. Once for a record: what Helm did not even note is told.
 */
static bool goes_on(struct step_ctx *c, const struct component *k, const struct answer *a)
{
	const char *at = arena_printf(c->arena, "not_rolled_back.%s", k->name);

	if (a->errc != ERR_DEPENDENCY_FAILED || streq(json_str_at(c->data, at), c->item))
		return false;
	step_save(c, at, json_string(c->item));
	step_warn(c, "Helm could not roll back the release %s/%s (%s): it is upgraded",
		  k->ns, k->release, a->text ? a->text : a->message);
	return true;
}

void chart_absorb(struct step_ctx *c, const struct answer *a)
{
	const struct component *k = component_here(c);

	if (definitions_absorb(c, a))
		return;
	/* Another helm is at work, or a namespace that was uninstalled a moment ago
	 * is not gone yet: the step's own deadline ends it. */
	if (!a->ok && a->errc == ERR_CLOUD_CONFLICT) {
		const char *last = strrchr(a->message, '\n');

		step_wait(c, 15, "Helm to get access to the release %s: %s", k->release,
			  last ? last + 1 : a->message);
		return;
	}
	if (str_starts(c->item ? c->item : "", "recover/") &&
	    (a->ok || a->errc == ERR_CLOUD_NOT_FOUND || goes_on(c, k, a))) {
		step_goto(c, c->step->name);
		return;
	}
	if (!a->ok) {
		struct err *e = step_fail(c, ERR_DEPENDENCY_FAILED,
					  "Helm could not install %s", k->title);
		err_because(e, "helm", a->code, a->text ? a->text : a->message, NULL);
		err_fix(e,
			"Resolve the cause that Helm reports, or pin another version of the chart, then retry. The earlier installation is kept.");
		return;
	}
	step_own(c, "helm:release", arena_printf(c->arena, "%s/%s", k->ns, k->release),
		 NULL, "made");
	step_advance(c);
}
